//! The JSON-RPC envelope, and the bytes it comes in.
//!
//! Specification: 2026-07-28, `basic/index`, Messages, and `basic/transports/stdio`;
//! <https://www.jsonrpc.org/specification>; RFC 8259 for what JSON is.

use serde_json::{Value, json};
use tightwire::Limits;
use tightwire_tests::{
    Held, Pair, call, cancelled, initialize, legacy, legacy_result, modern, modern_meta,
    modern_result, refusal, server, text,
};

const NOTHING: Vec<Value> = Vec::new();

/// A call of `echo` with the JSON of its id and of its message.
fn echo(id: &str, message: &str) -> String {
    let meta = modern_meta();
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"message":{message}}},"_meta":{meta}}}}}"#
    )
}

/// A request for `tools/list` with one more member in its `_meta`.
fn with_meta_member(id: &str, member: &str) -> String {
    let meta = modern_meta().to_string();
    let members = meta.strip_suffix('}').unwrap_or_default();
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"_meta":{members},{member}}}}}}}"#
    )
}

/// Ids, and how they come back: the same, but for escapes that JSON does not demand.
const IDS: [(&str, &str); 20] = [
    ("0", "0"),
    ("1", "1"),
    ("-1", "-1"),
    ("-0", "-0"),
    ("2147483648", "2147483648"),
    ("9007199254740993", "9007199254740993"),
    ("9223372036854775807", "9223372036854775807"),
    ("9223372036854775808", "9223372036854775808"),
    ("-9223372036854775808", "-9223372036854775808"),
    ("18446744073709551615", "18446744073709551615"),
    ("18446744073709551616", "18446744073709551616"),
    ("-9223372036854775809", "-9223372036854775809"),
    (
        "123456789012345678901234567890",
        "123456789012345678901234567890",
    ),
    (
        "-123456789012345678901234567890",
        "-123456789012345678901234567890",
    ),
    (r#""""#, r#""""#),
    (r#""1""#, r#""1""#),
    (
        r#""2f1acc0a-7a4f-4d3e-9a77-6f7d3ac1f0b1""#,
        r#""2f1acc0a-7a4f-4d3e-9a77-6f7d3ac1f0b1""#,
    ),
    (
        r#""\"\\\b\f\n\r\t\u0000\u001f""#,
        r#""\"\\\b\f\n\r\t\u0000\u001f""#,
    ),
    (r#""\u0061\/\u00e9\ud83d\ude00""#, r#""a/é😀""#),
    ("\"\u{7f}\u{2028}é😀\"", "\"\u{7f}\u{2028}é😀\""),
];

#[test]
fn ids_come_back_as_they_were_sent() {
    let held = Held::default();
    let mut pair = Pair::new(server().tool(held.tool()));
    let meta = modern_meta();
    for (sent, back) in IDS {
        let start = format!(r#"{{"jsonrpc":"2.0","id":{back},"#);
        let served = [
            echo(sent, r#""x""#),
            format!(" {} ", echo(&format!(" {sent} "), r#""x""#)),
        ];
        for line in served {
            let answer = pair.ask_text(&line);
            assert!(
                answer.starts_with(&format!(r#"{start}"result":"#)),
                "{line}: {answer}"
            );
        }
        let refused = [
            format!(r#"{{"jsonrpc":"2.0","id":{sent},"method":"no/such"}}"#),
            format!(r#"{{"method":"ping","id":{sent}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{sent},"method":"ping","params":[]}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{sent},"method":"ping","params":{{"x":1e400}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","params":{{"x":"\ud800"}},"method":"ping","id":{sent}}}"#),
        ];
        for line in refused {
            let answer = pair.ask_text(&line);
            assert!(
                answer.starts_with(&format!(r#"{start}"error":"#)),
                "{line}: {answer}"
            );
        }
        let deferred = format!(
            r#"{{"jsonrpc":"2.0","id":{sent},"method":"tools/call","params":{{"name":"hold","_meta":{meta}}}}}"#
        );
        assert_eq!(pair.ask_text(&deferred), "");
        let again = pair.ask_text(&deferred);
        assert!(
            again.starts_with(&format!(r#"{start}"error":{{"code":-32600"#)),
            "{again}"
        );
        held.answer("x");
        let _ = pair.memory().poll();
        let answer = pair.ask_text("");
        assert!(
            answer.starts_with(&format!(r#"{start}"result":"#)),
            "{deferred}: {answer}"
        );
    }
}

#[test]
fn an_id_beyond_64_bits_does_not_change_the_rest_of_the_message() {
    let message = r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\u0000 é😀 {\"id\":7}""#;
    let said: Value = serde_json::from_str(message).expect("a string");
    let mut pair = Pair::new(server());
    for id in ["18446744073709551616", "-123456789012345678901234567890"] {
        let answer = pair.ask_text(&echo(id, message));
        assert!(answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result""#)));
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(answer["result"]["content"][0]["text"], said);
        // It is checked like any other.
        for (line, code) in [
            (with_meta_member(id, r#""progressToken":{}"#), -32602),
            (
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","method":"ping"}}"#),
                -32600,
            ),
            (
                format!(r#"{{"jsonrpc":"1.0","id":{id},"method":"ping"}}"#),
                -32600,
            ),
        ] {
            let answer = pair.ask_text(&line);
            let wanted = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code}"#);
            assert!(answer.starts_with(&wanted), "{line}: {answer}");
        }
        let response = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_eq!(pair.ask_text(&response), "");
    }
}

#[test]
fn a_number_and_a_string_are_two_ids() {
    let held = Held::default();
    let mut pair = Pair::new(server().tool(held.tool()));
    let hold = |id: Value| modern(id, "tools/call", json!({ "name": "hold" }));
    for id in [json!(1), json!("1"), json!(0), json!("")] {
        assert_eq!(pair.send(&hold(id)), NOTHING);
    }
    assert_eq!(pair.memory().in_flight(), 4);
    assert_eq!(pair.send(&cancelled("1")), NOTHING);
    assert_eq!(pair.memory().in_flight(), 3);
    held.answer("one");
    assert_eq!(pair.poll(), [modern_result(1, text("one"))]);
}

#[test]
fn an_id_that_is_no_string_and_no_integer_is_refused_without_an_id() {
    let mut pair = Pair::new(server());
    let wrong = [
        "null",
        "true",
        "false",
        "1.0",
        "1.5",
        "-0.0",
        "1e3",
        "1E2",
        "0e0",
        "[1]",
        "[]",
        "{}",
        r#"{"id":1}"#,
        "9223372036854775808.0",
        "1e30",
        "-1e30",
        "1.5e300",
        "123456789012345678901234567890.0",
    ];
    for id in wrong {
        let refusal = refusal(&pair.ask(&echo(id, r#""x""#)));
        assert_eq!(refusal.head(), (None, -32600), "{id}");
        assert!(refusal.message.contains("\"id\""), "{}", refusal.message);
    }
    for id in [
        "01", "-01", "+1", "1.", ".5", "-", "0x1", "NaN", "Infinity", "1e", "1e400", "'a'",
    ] {
        let refusal = refusal(&pair.ask(&echo(id, r#""x""#)));
        assert_eq!(refusal.head(), (None, -32700), "{id}");
    }
}

#[test]
fn an_envelope_that_is_none_is_an_invalid_request_with_its_id() {
    let mut pair = Pair::new(server());
    let cases = [
        // The version of JSON-RPC.
        (r#"{"id":1,"method":"ping"}"#, "\"jsonrpc\""),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "\"jsonrpc\""),
        (
            r#"{"jsonrpc":"2.00","id":1,"method":"ping"}"#,
            "\"jsonrpc\"",
        ),
        (r#"{"jsonrpc":"","id":1,"method":"ping"}"#, "\"jsonrpc\""),
        (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, "\"jsonrpc\""),
        (r#"{"jsonrpc":2,"id":1,"method":"ping"}"#, "\"jsonrpc\""),
        (r#"{"jsonrpc":null,"id":1,"method":"ping"}"#, "\"jsonrpc\""),
        (
            r#"{"jsonrpc":["2.0"],"id":1,"method":"ping"}"#,
            "\"jsonrpc\"",
        ),
        (r#"{"JSONRPC":"2.0","id":1,"method":"ping"}"#, "\"jsonrpc\""),
        // The method.
        (r#"{"jsonrpc":"2.0","id":1}"#, "\"method\" is missing"),
        (
            r#"{"jsonrpc":"2.0","id":1,"Method":"ping"}"#,
            "\"method\" is missing",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
            "\"method\" must be a string",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
            "\"method\" must be a string",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":["ping"]}"#,
            "\"method\" must be a string",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":{}}"#,
            "\"method\" must be a string",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":true}"#,
            "\"method\" must be a string",
        ),
        // A request and a response at once.
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
            "not two",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}"#,
            "not two",
        ),
        // Members given twice.
        (
            r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}"#,
            "\"jsonrpc\" is there twice",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#,
            "\"method\" is there twice",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a","\u006dethod":"b"}"#,
            "\"method\" is there twice",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}"#,
            "\"params\" is there twice",
        ),
    ];
    for (line, words) in cases {
        let refusal = refusal(&pair.ask(line));
        assert_eq!(refusal.head(), (Some(json!(1)), -32600), "{line}");
        assert!(
            refusal.message.contains(words),
            "{line}: {}",
            refusal.message
        );
    }
    // Which of two ids was meant is unknown.
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","id":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","id":18446744073709551616}"#,
        r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","params":{"x":1e400}}"#,
    ] {
        let refusal = refusal(&pair.ask(line));
        assert!(refusal.id.is_none() && refusal.code <= -32600, "{line}");
    }
    // Nothing else is a message at all.
    for line in [
        "1",
        "-1.5",
        "null",
        "true",
        "false",
        r#""ping""#,
        "[]",
        "[1]",
        "{}",
    ] {
        assert_eq!(refusal(&pair.ask(line)).head(), (None, -32600), "{line}");
    }
}

#[test]
fn parameters_given_twice_are_refused() {
    let meta = modern_meta();
    let cases = [
        (
            "tools/call",
            r#""name":"echo","name":"boom""#,
            "params.name",
        ),
        (
            "tools/call",
            r#""name":"echo","arguments":{},"arguments":{}"#,
            "params.arguments",
        ),
        (
            "tools/call",
            r#""name":"echo","n\u0061me":"boom""#,
            "params.name",
        ),
        (
            "resources/read",
            r#""uri":"pair://hello","uri":"pair://hello""#,
            "params.uri",
        ),
        (
            "prompts/get",
            r#""name":"review","name":"review""#,
            "params.name",
        ),
        (
            "tools/list",
            r#""cursor":"a","cursor":"a""#,
            "params.cursor",
        ),
        ("tools/list", r#""_meta":{}"#, "params._meta"),
    ];
    let mut pair = Pair::new(server());
    for (method, members, words) in cases {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{members},"_meta":{meta}}}}}"#
        );
        let refusal = refusal(&pair.ask(&line));
        assert_eq!(refusal.head(), (Some(json!(1)), -32602), "{line}");
        assert_eq!(refusal.message, format!("{words} is there twice"));
    }
    // In arguments, a model can do something about it.
    let answer = pair.ask(&echo("1", r#""a","message":"b""#));
    assert_eq!(answer["result"]["isError"], true);
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","protocolVersion":"2024-11-05"}}"#;
    let refused = refusal(&pair.ask(line));
    assert_eq!(refused.message, "params.protocolVersion is there twice");
    assert_eq!(pair.ask(&initialize("2024-11-05"))["id"], "init");
}

#[test]
fn metadata_given_twice_is_refused() {
    let cases = [
        ("io.modelcontextprotocol/protocolVersion", r#""2026-07-28""#),
        ("io.modelcontextprotocol/clientCapabilities", "{}"),
        (
            "io.modelcontextprotocol/clientInfo",
            r#"{"name":"tests","version":"1"}"#,
        ),
        (
            "io.modelcontextprotocol\\u002fclientInfo",
            r#"{"name":"tests","version":"1"}"#,
        ),
    ];
    let mut pair = Pair::new(server());
    for (key, value) in cases {
        let refusal = refusal(&pair.ask(&with_meta_member("1", &format!(r#""{key}":{value}"#))));
        assert_eq!(refusal.head(), (Some(json!(1)), -32602), "{key}");
        assert!(
            refusal.message.contains("is there twice"),
            "{}",
            refusal.message
        );
    }
    for (key, value) in [
        ("progressToken", "1"),
        ("io.modelcontextprotocol/logLevel", r#""info""#),
    ] {
        let once = format!(r#""{key}":{value}"#);
        assert!(pair.ask(&with_meta_member("1", &once))["result"].is_object());
        let twice = format!("{once},{once}");
        let refusal = refusal(&pair.ask(&with_meta_member("1", &twice)));
        assert_eq!(refusal.message, format!("_meta[\"{key}\"] is there twice"));
    }
}

#[test]
fn members_come_in_any_order_with_escaped_keys_and_others_between() {
    let meta = modern_meta();
    let lines = [
        format!(
            r#"{{"params":{{"_meta":{meta},"arguments":{{"message":"hi"}},"name":"echo"}},"method":"tools/call","id":1,"jsonrpc":"2.0"}}"#
        ),
        format!(
            r#"{{"\u006asonrpc":"2.0","\u0069\u0064":1,"m\u0065thod":"tools\/call","p\u0061rams":{{"n\u0061me":"\u0065cho","\u005fmeta":{meta},"\u0061rguments":{{"messag\u0065":"\u0068i"}}}}}}"#
        ),
        format!(
            r#"{{"x":[{{"id":9}}],"jsonrpc":"2.0","id":1,"ID":2,"":3,"method":"tools/call","trace":null,"params":{{"id":4,"method":"x","name":"echo","arguments":{{"message":"hi"}},"_meta":{meta},"y":{{"_meta":5}}}}}}"#
        ),
        format!(
            "\t {{ \"jsonrpc\" :\t\"2.0\" , \"id\" : 1 , \"method\" : \"tools/call\" ,\r \"params\" : {{ \"name\" : \"echo\" , \"arguments\" : {{ \"message\" : \"hi\" }} , \"_meta\" : {meta} }} }} \t\r"
        ),
    ];
    let mut pair = Pair::new(server());
    for line in lines {
        assert_eq!(pair.ask(&line), modern_result(1, text("hi")), "{line}");
    }
}

#[test]
fn responses_and_unknown_notifications_are_not_answered() {
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","result":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"no/such","params":{"x":1}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}"#,
        r#"{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
        r#"{"jsonrpc":"2.0","method":""}"#,
    ];
    let pairs = [
        Pair::new(server()),
        Pair::session(server(), "2025-11-25"),
        Pair::session(server(), "2024-11-05"),
    ];
    for mut pair in pairs {
        for line in lines {
            assert_eq!(pair.send(line), NOTHING, "{line}");
        }
        assert_eq!(
            pair.ask(&call(1, "echo", &json!({ "message": "hi" })))["id"],
            1
        );
    }
}

#[test]
fn cancellations_that_name_nothing_are_not_answered() {
    let held = Held::default();
    let mut pair = Pair::new(server().tool(held.tool()));
    assert_eq!(
        pair.send(&modern(1, "tools/call", json!({ "name": "hold" }))),
        NOTHING
    );
    for params in [
        json!({}),
        json!({ "requestId": null }),
        json!({ "requestId": true }),
        json!({ "requestId": [1] }),
        json!({ "requestId": { "id": 1 } }),
        json!({ "requestId": 1.0 }),
        json!({ "requestId": "1" }),
        json!({ "requestId": -1 }),
        json!({ "requestID": 1 }),
    ] {
        let line =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        assert_eq!(pair.send(&line.to_string()), NOTHING, "{params}");
    }
    let bare = r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
    assert_eq!(pair.send(bare), NOTHING);
    // A request of that name cancels nothing.
    assert_eq!(
        refusal(&pair.ask(&modern(
            2,
            "notifications/cancelled",
            json!({ "requestId": 1 })
        )))
        .code,
        -32601
    );
    held.answer("done");
    assert_eq!(pair.poll(), [modern_result(1, text("done"))]);
    // Nor does one that comes too late.
    assert_eq!(pair.send(&cancelled(1)), NOTHING);
    assert_eq!(
        pair.ask(&call(1, "echo", &json!({ "message": "hi" })))["id"],
        1
    );
}

#[test]
fn a_request_whose_id_is_beyond_64_bits_can_be_cancelled() {
    let held = Held::default();
    let mut pair = Pair::session(server().tool(held.tool()), "2025-11-25");
    for id in ["18446744073709551616", "-123456789012345678901234567890"] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"hold"}}}}"#
        );
        let cancel = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        );
        assert_eq!(pair.ask_text(&line), "");
        assert_eq!(pair.ask_text(&cancel), "");
        assert_eq!(pair.memory().in_flight(), 0, "{id}");
        held.answer("late");
        assert_eq!(pair.poll(), NOTHING);
    }
}

#[test]
fn an_id_beyond_64_bits_is_answered_however_the_line_is_rewritten() {
    // Less than a mebibyte as it is sent, whatever it is rewritten to.
    let limits = Limits {
        values_max: 1_000,
        ..Limits::default()
    };
    let mut pair = Pair::new(server().limits(limits));
    let message = format!(r#""hi","x":[{}0]"#, "1e15,".repeat(180_000));
    for id in ["1", "18446744073709551616"] {
        let answer = pair.ask_text(&echo(id, &message));
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
        assert!(answer.starts_with(&start), "{id}: {answer}");
    }
}

#[test]
fn an_error_about_a_message_without_an_id_is_a_response() {
    let line = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut pair = Pair::session(server(), version);
        assert_eq!(pair.send(line), NOTHING, "{version}");
    }
}

#[test]
fn a_ping_without_a_session_is_a_plain_envelope() {
    let mut pair = Pair::new(server());
    assert_eq!(
        pair.ask_text(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
    );
    assert_eq!(
        pair.ask(&legacy("a", "ping", &json!({ "x": 1 }))),
        legacy_result("a", &json!({}))
    );
}
