//! Lines: how the stream is cut into them, and what of their bytes is JSON.
//!
//! Specification: 2026-07-28, `basic/transports/stdio`; RFC 8259 for what JSON is;
//! <https://www.jsonrpc.org/specification#error_object> for parse errors.

use serde_json::{Value, json};
use tightwire_tests::{Pair, call, modern_meta, modern_result, refusal, server, text};

const NOTHING: Vec<Value> = Vec::new();

/// A call of `echo` with the id 1 and the bytes of its message.
fn echo(message: &[u8]) -> Vec<u8> {
    let start = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"#;
    let end = format!("}},\"_meta\":{}}}}}\n", modern_meta());
    [&start[..], message, end.as_bytes()].concat()
}

fn hi(id: impl Into<Value>) -> String {
    call(id, "echo", &json!({ "message": "hi" }))
}

#[test]
fn blank_lines_are_no_messages() {
    let mut pair = Pair::new(server());
    for blank in ["\n", "\n\n\n", "  \n", "\t\r\n", "\r\n \r\n"] {
        assert_eq!(pair.send_bytes(blank.as_bytes()), NOTHING, "{blank:?}");
    }
    assert_eq!(pair.ask(&hi(1)), modern_result(1, text("hi")));
}

#[test]
fn a_line_may_end_in_cr_lf() {
    let mut pair = Pair::new(server());
    let lines = format!("{}\r\n{}\n{}\r\n", hi(1), hi(2), hi(3));
    let expected = [1, 2, 3].map(|id| modern_result(id, text("hi")));
    assert_eq!(pair.send_bytes(lines.as_bytes()), expected);
}

#[test]
fn a_stream_may_be_cut_anywhere() {
    let stream = format!("\u{feff}{}\r\n\n{}\n", hi("é😀"), hi(2));
    let expected = [
        modern_result("é😀", text("hi")),
        modern_result(2, text("hi")),
    ];
    for size in [1, 2, 3, 5, 64, 65, stream.len()] {
        let mut pair = Pair::new(server());
        let answers: Vec<Value> = stream
            .as_bytes()
            .chunks(size)
            .flat_map(|piece| pair.send_bytes(piece))
            .collect();
        assert_eq!(answers, expected, "in pieces of {size}");
    }
}

#[test]
fn a_byte_order_mark_opens_the_stream_and_nothing_else() {
    let mut pair = Pair::new(server());
    assert_eq!(
        pair.ask(&format!("\u{feff}{}", hi(1))),
        modern_result(1, text("hi"))
    );
    assert_eq!(
        refusal(&pair.ask(&format!("\u{feff}{}", hi(2)))).code,
        -32700
    );
    let inside = pair.ask(&call(3, "echo", &json!({ "message": "\u{feff}x" })));
    assert_eq!(inside, modern_result(3, text("\u{feff}x")));
}

#[test]
fn the_last_line_needs_no_end() {
    let mut pair = Pair::new(server());
    assert_eq!(pair.send_bytes(hi(1).as_bytes()), NOTHING);
    pair.memory().finish();
    assert_eq!(pair.take(), [modern_result(1, text("hi"))]);
    pair.memory().finish();
    assert_eq!(pair.take(), NOTHING);
}

#[test]
fn text_comes_back_as_it_was_sent() {
    let every_control: String = (0..0x20_u8).map(char::from).collect();
    let texts = [
        "",
        "\0",
        "\u{7f}\u{85}\u{a0}",
        "\u{2028}\u{2029}",
        "\"\\/",
        "é漢😀",
        "\u{ffff}\u{10ffff}",
        &every_control,
        &"a\"é\n".repeat(5_000),
    ];
    let mut pair = Pair::new(server());
    for said in texts {
        assert_eq!(
            pair.ask(&call(1, "echo", &json!({ "message": said }))),
            modern_result(1, text(said))
        );
    }
    let escapes = br#""\u0041\u00E9\u00e9\uD83D\uDE00\ud83d\ude00\/\"\\\b\f\n\r\t""#;
    let expected = "Aéé😀😀/\"\\\u{8}\u{c}\n\r\t";
    assert_eq!(
        pair.send_bytes(&echo(escapes)),
        [modern_result(1, text(expected))]
    );
}

#[test]
fn a_character_may_stand_at_any_place_of_a_block() {
    let mut pair = Pair::new(server());
    for pad in 0..130 {
        let said = format!("{}é\"\\😀", "x".repeat(pad));
        let answer = pair.ask(&call(1, "echo", &json!({ "message": said })));
        assert_eq!(answer, modern_result(1, text(&said)), "{pad}");
    }
}

#[test]
fn what_is_not_acceptable_json_is_a_parse_error_with_its_id() {
    let messages: [&[u8]; 28] = [
        // Not UTF-8: stray, overlong, a surrogate, beyond the last character, cut off.
        b"\"\xff\xfe\"",
        b"\"\x80\"",
        b"\"\xc0\xaf\"",
        b"\"\xe0\x80\xaf\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xf4\x90\x80\x80\"",
        b"\"\xe6\xbc\"",
        b"\"\xf0\x9f\x98\"",
        // Half of a pair.
        br#""\ud800""#,
        br#""\udc00""#,
        br#""\ud800\ud800""#,
        br#""\ud800x""#,
        br#""\ude00\ud83d""#,
        // Escapes that JSON does not have.
        br#""\x41""#,
        br#""\u00g0""#,
        br#""\u12""#,
        br#""\'""#,
        // Raw control characters.
        b"\"\0\"",
        b"\"\x01\"",
        b"\"a\tb\"",
        b"\"\x1f\"",
        // Numbers that JSON does not have, or that no double is.
        b"01",
        b"1.",
        b"1e400",
        b"-1e400",
        // Syntax.
        b"[1,]",
        b"tru",
        b"\"a\" \"b\"",
    ];
    let mut pair = Pair::new(server());
    for message in messages {
        let line = echo(message);
        let answers = pair.send_bytes(&line);
        let shown = String::from_utf8_lossy(message);
        assert_eq!(answers.len(), 1, "{shown}");
        assert_eq!(
            refusal(&answers[0]).head(),
            (Some(json!(1)), -32700),
            "{shown}"
        );
    }
    assert_eq!(pair.ask(&hi(2)), modern_result(2, text("hi")));
}

#[test]
fn a_line_that_is_not_one_whole_object_is_a_parse_error_without_an_id() {
    let whole = hi(1);
    let mut lines: Vec<String> = [
        "hello",
        "{",
        "}",
        "[",
        "]",
        "{]",
        "\"",
        "'a'",
        "Content-Length: 5",
        "nul",
        "{'id':1}",
        "{\"id\":1",
        "{\"id\":1,",
        "{\"id\":1,\"x\":\"",
        "\u{feff}",
        "//",
    ]
    .map(str::to_owned)
    .into();
    lines.extend(
        (1..whole.len())
            .step_by(7)
            .map(|cut| whole[..cut].to_owned()),
    );
    lines.extend(["}", "]", "{}", "x", ",", "1", &whole].map(|more| format!("{whole}{more}")));
    lines.push(format!("{whole} {whole}"));
    lines.push(format!("x{whole}"));
    let mut pair = Pair::new(server());
    assert_eq!(pair.ask(&hi("before"))["id"], "before");
    for line in lines {
        assert_eq!(refusal(&pair.ask(&line)).head(), (None, -32700), "{line}");
    }
    assert_eq!(pair.ask(&hi(2)), modern_result(2, text("hi")));
}

#[test]
fn a_truncated_line_is_not_completed_by_the_next() {
    let whole = hi(1);
    let (head, tail) = whole.split_at(whole.len() / 2);
    let mut pair = Pair::new(server());
    let answers = pair.send_bytes(format!("{head}\n{tail}\n{}\n", hi(2)).as_bytes());
    assert_eq!(answers.len(), 3);
    assert!(
        answers[..2]
            .iter()
            .all(|answer| refusal(answer).head() == (None, -32700))
    );
    assert_eq!(answers[2], modern_result(2, text("hi")));
}

#[test]
fn a_bad_line_costs_the_others_nothing() {
    let mut pair = Pair::new(server());
    let bad = [
        &b"\xff\n"[..],
        b"\0\n",
        b"{\n",
        b"\"\n",
        b"[[[[\n",
        b"{\"id\":1}{\n",
        b"\xef\xbb\xbf\n",
    ];
    for bytes in bad {
        let line = [bytes, hi("next").as_bytes(), b"\n"].concat();
        let answers = pair.send_bytes(&line);
        assert_eq!(answers.len(), 2, "{bytes:?}");
        assert_eq!(refusal(&answers[0]).head(), (None, -32700), "{bytes:?}");
        assert_eq!(answers[1], modern_result("next", text("hi")));
    }
}

#[test]
fn numbers_keep_their_value() {
    let tool = tightwire::Tool::new(
        "count",
        |call: tightwire::Call<'_>, reply: tightwire::Reply<'_>| {
            let number = call
                .arguments()
                .find("n")
                .and_then(|number| number.as_f64());
            reply.number(number.unwrap_or(f64::NAN));
        },
    );
    let mut pair = Pair::new(server().tool(tool));
    let meta = modern_meta();
    let cases = [
        ("5", "5"),
        ("-5", "-5"),
        ("5.0", "5"),
        ("0.1", "0.1"),
        ("-0", "-0"),
        ("1E2", "100"),
        ("1e+02", "100"),
        ("12e-1", "1.2"),
        ("9007199254740991", "9007199254740991"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("18446744073709551616", "18446744073709552000"),
        ("2.2250738585072011e-308", "2.225073858507201e-308"),
        ("1e-400", "0"),
    ];
    for (sent, said) in cases {
        for pad in [0, 1, 31, 63] {
            let pad = " ".repeat(pad);
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"count","arguments":{{"n":{pad}{sent}}},"_meta":{meta}}}}}"#
            );
            let answer = pair.ask(&line);
            let text = answer["result"]["content"][0]["text"]
                .as_str()
                .unwrap_or_default();
            let wanted: f64 = said.parse().expect("a number");
            assert_eq!(text.parse(), Ok(wanted), "{sent}: {answer}");
        }
    }
}
