use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{JsonWriter, LINE_PADDING, Line, Parser, ParserLimits};

fn parser(lines_remembered: usize) -> Parser {
    Parser::new(ParserLimits {
        lines_remembered,
        ..ParserLimits::default()
    })
}

/// What comes of a line, numbers bit by bit, and whether it was remembered.
fn parse(parser: &mut Parser, text: &[u8]) -> (Result<Vec<String>, String>, bool) {
    let mut bytes = text.to_vec();
    bytes.resize(text.len() + LINE_PADDING, 0xFF);
    let mut line = Line::padded(&mut bytes, text.len()).unwrap();
    let parsed = parser.parse(&mut line).map(|document| {
        let nodes = document.tape.0.iter();
        let shown = nodes.map(|node| match node {
            Node::Static(StaticNode::F64(value)) => format!("{:016x}", value.to_bits()),
            node => format!("{node:?}"),
        });
        shown.collect()
    });
    let parsed = parsed.map_err(|error| {
        let mut id = Vec::new();
        if let Some(found) = parser.recover_id(&mut line) {
            JsonWriter::new(&mut id).id(&found);
        }
        format!("{error:?} {}", String::from_utf8_lossy(&id))
    });
    let is_remembered = parsed.is_ok() && parser.progress.source.is_none();
    (parsed, is_remembered)
}

/// Parses the lines one after the other with a memory and without, and tells which of them were
/// not parsed in full.
fn remembered<T: AsRef<[u8]>>(lines: &[T]) -> Vec<bool> {
    let mut with = parser(2);
    let parse_both = |text: &T| {
        let text = text.as_ref();
        let (parsed, is_remembered) = parse(&mut with, text);
        let (expected, _) = parse(&mut parser(0), text);
        assert_eq!(parsed, expected, "{}", String::from_utf8_lossy(text));
        is_remembered
    };
    lines.iter().map(parse_both).collect()
}

const EARLIER: &str = r#"{"id":1,"s":"abc","n":[-2.5,"",0,true,null],"o":{"k":"é"}}"#;

#[test]
fn a_line_that_differs_in_scalars_alone_is_not_parsed() {
    // What stands in the earlier line, and what in its place in the next.
    let cases: [&[(&str, &str)]; 12] = [
        &[],
        // Numbers: longer, shorter, of another kind.
        &[(":1,", ":1000,"), ("-2.5", "7")],
        &[(":1,", ":0,"), ("0,t", "10,t")],
        &[(":1,", ":-1,"), ("-2.5", "-0.0")],
        &[(":1,", ":999999999999999999,"), ("0,t", "0.1,t")],
        &[
            (":1,", ":-999999999999999999,"),
            ("-2.5", "99999999.9999999"),
        ],
        &[(":1,", ":1.50,"), ("-2.5", "-2.05"), ("0,t", "3.0,t")],
        // Strings: longer, shorter, empty, not ASCII, names.
        &[("abc", "abcd"), ("\"\"", "\"x\""), ("é", "è")],
        &[("abc", ""), ("é", "")],
        &[("\"\"", "\"東京, {}[]:\""), ("é", "ee")],
        &[("\"s\"", "\"id\""), ("\"k\"", "\"\"")],
        &[
            (":1,", ":2,"),
            ("abc", "b"),
            ("-2.5", "2"),
            ("\"\"", "\"c\""),
            ("0,t", "5,t"),
        ],
    ];
    for edits in cases {
        let line = edited(edits);
        assert_eq!(remembered(&[EARLIER, &line]), [false, true], "{line}");
    }
}

#[test]
fn a_line_that_differs_in_anything_else_is_parsed() {
    let cases = [
        (":1,", ":1e3,"),
        (":1,", ":1.5e3,"),
        (":1,", ":-0,"),
        (":1,", ":1234567890123456789,"),
        (":1,", ":99999999999999999999,"),
        (":1,", ":0.1234567890123456,"),
        (":1,", ":1 ,"),
        (":1,", ":\"1\","),
        (":1,", ":true,"),
        ("abc", "a\\\"c"),
        ("\"abc\"", "1"),
        ("\"abc\"", "null"),
        ("true", "false"),
        ("true", "1"),
        ("null", "null,1"),
        ("null", "[]"),
        ("\"k\":\"é\"", ""),
        ("}}", "},\"p\":1}"),
        ("}}", "}} "),
    ];
    for (from, to) in cases {
        let line = edited(&[(from, to)]);
        assert_eq!(remembered(&[EARLIER, &line]), [false; 2], "{line}");
        assert!(parse(&mut parser(0), line.as_bytes()).0.is_ok(), "{line}");
    }
}

#[test]
fn what_is_no_json_is_refused_as_ever() {
    let cases = [
        (":1,", ":01,"),
        (":1,", ":1.,"),
        (":1,", ":1.x,"),
        (":1,", ":-,"),
        (":1,", ":--1,"),
        (":1,", ":+1,"),
        (":1,", ":-01,"),
        (":1,", ":,"),
        (":1,", ":1x,"),
        (":1,", ":1 2,"),
        ("-2.5", "-2.5.5"),
        ("-2.5", "1e999"),
        ("-2.5", "00.5"),
        ("0,t", "0t"),
        ("abc", "a\"c"),
        ("\"abc", "abc"),
        ("abc\"", "abc"),
        ("abc", "a\x1Fc"),
        ("abc", "a\0c"),
        ("}}", "}"),
        ("}}", "}}}"),
        ("}}", "}} {"),
    ];
    let mut lines: Vec<_> = cases
        .iter()
        .map(|edit| edited(&[*edit]).into_bytes())
        .collect();
    // Nor is what is not UTF-8.
    for text in [&b"a\xE9c"[..], b"\xED\xA0\x80", b"\xC0\xAF"] {
        let (before, behind) = EARLIER.split_once("abc").unwrap();
        lines.push([before.as_bytes(), text, behind.as_bytes()].concat());
    }
    for line in &lines {
        assert_eq!(remembered(&[EARLIER.as_bytes(), line]), [false; 2]);
        assert!(parse(&mut parser(0), line).0.is_err());
    }
}

fn edited(edits: &[(&str, &str)]) -> String {
    edits.iter().fold(EARLIER.to_owned(), |line, (from, to)| {
        assert!(line.contains(from), "{line} has no {from}");
        line.replacen(from, to, 1)
    })
}

#[test]
fn every_byte_may_be_another_and_every_end_come_early() {
    let earlier = r#"{"id":12,"s":"a东b","n":[-1.5, {"k":""},true]}"#.as_bytes();
    for at in 0..earlier.len() {
        remembered(&[earlier, &earlier[..at]]);
        for byte in 0..=u8::MAX {
            let mut line = earlier.to_vec();
            line[at] = byte;
            remembered(&[earlier, &line]);
            line.insert(at, earlier[at]);
            remembered(&[earlier, &line]);
        }
    }
}

#[test]
fn lines_with_escapes_or_wide_integers_and_long_ones_are_parsed_each_time() {
    let many = format!("{{\"a\":[{}0]}}", "0,".repeat(Memo::NODES_MAX));
    let long = |chars: usize| format!(r#"{{"s":"{}"}}"#, "é".repeat(chars));
    let too_long = long(Memo::LINE_BYTES / 2);
    let lines = [
        r#"{"s":"\n"}"#,
        r#"{"n":12345678901234567890123}"#,
        &too_long,
        &many,
        "[1]",
        "1",
        "{",
        "",
    ];
    for line in lines {
        let found = remembered(&[line, line, "", "{}"]);
        assert_eq!(found, [false; 4], "{line}");
    }
    let line = long(Memo::LINE_BYTES / 2 - 10);
    assert_eq!(remembered(&[&line, &line]), [false, true]);
}

#[test]
fn a_line_is_remembered_up_to_each_bound() {
    let text = |bytes: usize| format!(r#"{{"s":"{}"}}"#, "é".repeat(bytes / 2 - 4));
    let list = |item: &str, count: usize| format!("{{\"a\":[{}0]}}", item.repeat(count));
    let [short, long] = [text(Memo::LINE_BYTES - 2), text(Memo::LINE_BYTES)];
    assert_eq!(short.len(), Memo::LINE_BYTES - 2);
    assert_eq!(remembered(&[&short, &format!("{short} ")]), [false; 2]);
    let short = format!("{short} ");
    assert_eq!(remembered(&[&short, &short]), [false, true]);
    assert_eq!(remembered(&[&long, &long]), [false; 2]);
    // The object, its name, the array and its last item are four.
    let [few, many] = [60, 61].map(|count| list("0,", count));
    assert_eq!(Memo::NODES_MAX, 64);
    assert_eq!(remembered(&[&few, &few]), [false, true]);
    assert_eq!(remembered(&[&many, &many]), [false; 2]);
    for (count, is_found) in [(Memo::CHANGES_MAX, true), (Memo::CHANGES_MAX + 1, false)] {
        let [one, other] = ["1,", "2,"].map(|item| list(item, count));
        assert_eq!(remembered(&[one, other]), [false, is_found]);
    }
}

#[test]
fn a_number_in_any_form_gives_way_to_another() {
    for number in ["1E+5", "1e-5", "-0", "-1.5e3", "1234567890123456789"] {
        let line = |number| format!(r#"{{"n":[{number}],"s":""}}"#);
        assert_eq!(
            remembered(&[line(number), line("7")]),
            [false, true],
            "{number}"
        );
    }
}

#[test]
fn a_line_that_was_refused_is_refused_again() {
    for line in [
        &b"{\"a\":1e999}"[..],
        b"{\"id\":1,\"a\":\"\xFF\"}",
        b"{\"a\":1",
    ] {
        assert_eq!(
            remembered(&[line, line, b"{\"a\":12345}", line]),
            [false; 4]
        );
    }
    // The memo rests from the refused line on.
    let mut parser = parser(4);
    for len in 1..Memo::DOUBT_MAX {
        let text = format!("{{\"a\":[{}0]}}", "0,".repeat(len as usize));
        assert!(parse(&mut parser, text.as_bytes()).0.is_ok());
    }
    assert!(parse(&mut parser, b"{\"a\":1e999}").0.is_err());
    for _ in 0..Memo::REST {
        assert!(parse(&mut parser, b"{\"a\":12345}").0.is_ok());
    }
    assert!(parse(&mut parser, b"{\"a\":1e999}").0.is_err());
}

#[test]
fn what_is_remembered_is_counted_as_held() {
    let mut parser = parser(2);
    let mut held = vec![parser.bytes()];
    for line in [r#"{"a":1}"#, r#"{"b":[]}"#, r#"{"c":{}}"#] {
        assert!(!parse(&mut parser, line.as_bytes()).1);
        held.push(parser.bytes());
    }
    // The line and its nodes, for each of two; the draft and the changes once.
    let shape = Memo::LINE_BYTES + Memo::NODES_MAX * size_of::<Node<'_>>();
    assert!(held[1] >= held[0] + shape + Memo::LINE_BYTES, "{held:?}");
    assert!(held[2] >= held[1] + shape, "{held:?}");
    assert!(held[3] < held[2] + shape, "{held:?}");
    let mut memo = Memo::new(2);
    memo.changes.reserve_exact(Memo::CHANGES_MAX);
    assert_eq!(memo.bytes(), Memo::CHANGES_MAX * size_of::<Change>());
}

#[test]
fn lines_take_turns_and_the_one_of_least_use_is_forgotten() {
    let [a, b, c] = [r#"{"a":1}"#, r#"{"b":[]}"#, r#"{"c":{}}"#];
    assert_eq!(
        remembered(&[a, b, a, b, a]),
        [false, false, true, true, true]
    );
    assert_eq!(
        remembered(&[a, b, a, c, a, b]),
        [false, false, true, false, true, false]
    );
    // Of three, the other that was of use later is kept.
    let mut parser = parser(3);
    let d = r#"{"d":""}"#;
    let found = [a, b, c, a, d, c, b].map(|line| parse(&mut parser, line.as_bytes()).1);
    assert_eq!(found, [false, false, false, true, false, true, false]);
}

#[test]
fn the_memo_does_not_rest_where_half_of_the_lines_are_found() {
    let mut parser = parser(8);
    let found = (0..4 * Memo::DOUBT_MAX).filter(|len| {
        let items = "0,".repeat(*len as usize % 50);
        let other = format!("{{\"b\":[{items}0]}}");
        assert!(!parse(&mut parser, other.as_bytes()).1);
        parse(&mut parser, b"{\"a\":1}").1
    });
    assert_eq!(found.count(), 4 * Memo::DOUBT_MAX as usize - 1);
}

#[test]
fn what_lines_are_like_has_a_number_of_its_own_and_places() {
    let mut parser = parser(2);
    let mut likeness = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(text.len() + LINE_PADDING, 0);
        let mut line = Line::padded(&mut bytes, text.len()).unwrap();
        let document = parser.parse(&mut line).unwrap();
        let members = document.root().as_object().unwrap();
        for (_, value) in members {
            let place = document.place(value);
            assert_eq!(document.value_at(place).kind(), value.kind());
            assert_eq!(document.value_at(place).nodes_left(), value.nodes_left());
        }
        assert!(document.value_at(1000).is_null());
        let likeness = document.likeness()?;
        Some((likeness.line(), likeness.places().collect::<Vec<_>>()))
    };
    assert_eq!(likeness(r#"{"a":1,"b":"x"}"#), None);
    let (first, places) = likeness(r#"{"a":1,"b":"x"}"#).unwrap();
    assert!(places.is_empty());
    assert_eq!(likeness(r#"{"a":23,"b":"yz"}"#), Some((first, vec![2, 4])));
    assert_eq!(likeness(r#"{"c":1,"b":"x"}"#), Some((first, vec![1])));
    // Two more, so that it is forgotten.
    assert_eq!(likeness(r#"{"a":[1]}"#), None);
    assert_eq!(likeness(r#"{"a":{}}"#), None);
    assert_eq!(likeness(r#"{"a":1,"b":"x"}"#), None);
    let (again, _) = likeness(r#"{"a":1,"b":"x"}"#).unwrap();
    assert_ne!(again, first);
}

#[test]
fn names_are_filled_in_where_they_are_those_of_the_line() {
    let mut named = parser(2);
    named.expect(|text| match text {
        "s" => Some("s"),
        "id" => Some("no"),
        "abc" => Some("abc"),
        _ => None,
    });
    let edited = edited(&[("abc", "s"), ("\"s\"", "\"id\"")]);
    for line in [EARLIER, EARLIER, &edited] {
        let (expected, _) = parse(&mut parser(0), line.as_bytes());
        assert_eq!(parse(&mut named, line.as_bytes()).0, expected);
    }
}

#[test]
fn the_memo_rests_where_no_line_is_like_an_earlier_one() {
    let mut parser = parser(8);
    let mut count = |lines: u32, len: u32| {
        let found = (0..lines).filter(|line| {
            let items = "0,".repeat((line % len) as usize);
            let text = format!("{{\"a\":[{items}0]}}");
            parse(&mut parser, text.as_bytes()).1
        });
        found.count()
    };
    assert_eq!(count(Memo::DOUBT_MAX, 40), 0);
    // Each of these would be found.
    assert_eq!(count(Memo::REST, 1), 0);
    assert_eq!(count(10, 1), 9);
}

#[test]
fn a_long_line_whose_skeleton_is_looked_at_is_one_line_of_the_rest() {
    let mut parser = parser(8);
    for len in 0..Memo::DOUBT_MAX {
        let text = format!("{{\"a\":[{}0]}}", "0,".repeat(len as usize));
        assert!(!parse(&mut parser, text.as_bytes()).1);
    }
    let long = format!(r#"{{"s":"{}"}}"#, "x".repeat(2_000));
    let mut found = |lines| {
        let found = (0..lines).filter(|_| parse(&mut parser, long.as_bytes()).1);
        found.count()
    };
    assert_eq!(found(Memo::REST), 0);
    assert_eq!(found(10), 9);
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    let scalar = prop_oneof![
        Just("true".to_owned()),
        (0..20_u64).prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        any::<f64>().prop_map(|value| format!("{value:?}")),
        (-5000..5000_i32).prop_map(|value| (f64::from(value) / 100.0).to_string()),
        "\"[a-z é東]{0,6}\"",
    ];
    let value = scalar.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            vec(("[a-d]{0,2}", inner), 0..4).prop_map(|members| {
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, value)| format!("\"{name}\": {value}"))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    });
    vec(value, 1..4).prop_map(|values| {
        let members = values.iter().enumerate();
        let members: Vec<_> = members
            .map(|(at, value)| format!("\"{at}\":{value}"))
            .collect();
        format!("{{{}}}", members.join(",")).into_bytes()
    })
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[0-9]{0,20}".prop_map(String::into_bytes),
        "[-+.eE0-9\"a-z,:{}\\[\\] \\\\é]{0,4}".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..3),
    ]
}

proptest! {
    #[test]
    fn any_edit_of_a_line_gives_what_parsing_gives(
        line in line(),
        edits in vec((any::<prop::sample::Index>(), 0..3_usize, piece()), 1..6),
    ) {
        let mut lines = vec![line.clone()];
        let mut edited = line.clone();
        for (at, removed, piece) in edits {
            let at = at.index(edited.len() + 1);
            let end = (at + removed).min(edited.len());
            edited.splice(at..end, piece);
            lines.push(edited.clone());
            lines.push(line.clone());
        }
        remembered(&lines);
    }

    #[test]
    fn common_prefixes(one in vec(0..2_u8, 0..100), at in 0..100_usize) {
        let mut other = one.clone();
        prop_assert_eq!(common_prefix(&one, &other), one.len());
        if let Some(byte) = other.get_mut(at) {
            *byte = 9;
            prop_assert_eq!(common_prefix(&one, &other), at);
        }
        prop_assert_eq!(common_prefix(&one, &one[..at.min(one.len())]), at.min(one.len()));
    }
}
