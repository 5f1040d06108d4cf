//! Any line, in which a byte that UTF-8 does not have stands for a long text: the parser agrees with
//! serde_json on what is JSON and what it says, and never panics.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tightwire::codec::{
    Id, JsonWriter, LINE_PADDING, Line, Message, ParseErrorKind, Parser, ParserLimits,
};

/// Stands for a text that the parser leaves out.
const LONG: u8 = 0xFE;

fuzz_target!(|input: &[u8]| {
    let pieces = input.chunk_by(|byte, next| *byte != LONG && *next != LONG);
    let long = [b'x'; 600];
    let pieces: Vec<&[u8]> = pieces
        .map(|piece| if piece == [LONG] { &long } else { piece })
        .collect();
    let text = pieces.concat();
    let text = text.as_slice();
    let mut bytes = text.to_vec();
    // What stands after a line is not read as a part of it.
    bytes.extend_from_slice(&[b'"'; LINE_PADDING]);
    let mut line = Line::padded(&mut bytes, text.len()).unwrap();
    let mut parser = Parser::new(ParserLimits::default());
    let mut written = Vec::new();
    let mut copy = None;
    let parsed = match parser.parse(&mut line) {
        Ok(document) => {
            let root = document.root();
            // Whatever the message is, reading it does not fail otherwise than by an error.
            let _ = Message::read(root);
            JsonWriter::new(&mut written).value(root);
            copy = Some(document.to_line());
            None
        }
        Err(error) => Some(error.kind),
    };
    let recovered = parser.recover_id(&mut line).map(|id| write_id(&id));

    let expected = read(text);
    match (parsed, &expected) {
        (None, Some(expected)) => {
            let back = read(&written).expect("what is written is JSON");
            assert_eq!(back, *expected);
            // Negative zero is equal to zero, and is written otherwise.
            assert_eq!(back.to_string(), expected.to_string());
        }
        (None, None) => panic!("taken, and not JSON"),
        (Some(ParseErrorKind::TooDeep), Some(_)) => assert!(is_deep(text)),
        (Some(kind), Some(_)) => panic!("JSON, and refused: {kind:?}"),
        (Some(_), None) => {}
    }
    check_id(text, parsed, recovered.as_deref());
    if let Some((mut bytes, len, places)) = copy {
        // Each is an integer as it was written, or is not there.
        let wide = parser.wide_integers(&line, &places);
        let mut line = Line::padded(&mut bytes, len).expect("a copy has its padding");
        let document = parser.parse(&mut line).expect("a copy is JSON");
        let mut rewritten = Vec::new();
        JsonWriter::new(&mut rewritten).value(document.root());
        if let Some(digits) = wide.find(document.root()) {
            assert!(text.trim_ascii() == digits.as_bytes());
        }
        assert_eq!(rewritten, written);
    }
});

/// The one id of an envelope, with no look at the rest.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

/// The id that is recovered is that of the message; and there is one if the line is an object
/// but for a string or number that is not acceptable.
fn check_id(text: &[u8], parsed: Option<ParseErrorKind>, recovered: Option<&[u8]>) {
    if let Some(recovered) = recovered {
        let id = read(recovered).expect("an id is JSON");
        assert!(id.is_string() || id.is_number());
    }
    // A name with an escape is not looked for.
    if is_deep(text) || text.contains(&b'\\') && text.windows(2).any(|pair| pair == b"\\u") {
        return;
    }
    if text.trim_ascii_start().first() != Some(&b'{') {
        return;
    }
    let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(text) else {
        return;
    };
    let id = envelope.id.map(RawValue::get);
    let is_integer = |id: &str| {
        let digits = id.strip_prefix('-').unwrap_or(id);
        digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let wanted = match id {
        Some(id) if is_integer(id) => Some(id.as_bytes().to_vec()),
        // Strings are found when the line was refused; else the message has them.
        Some(id) if id.starts_with('"') && parsed.is_some() => {
            let id: Option<String> = serde_json::from_str(id).ok();
            id.map(|id| write_id(&Id::String(&id)))
        }
        Some(id) if id.starts_with('"') => return,
        _ => None,
    };
    assert_eq!(
        recovered.map(String::from_utf8_lossy),
        wanted.as_deref().map(String::from_utf8_lossy),
    );
}

fn write_id(id: &Id<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    JsonWriter::new(&mut out).id(id);
    out
}

fn read(text: &[u8]) -> Option<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    deserializer.disable_recursion_limit();
    let value = Value::deserialize(&mut deserializer).ok()?;
    deserializer.end().ok().map(|()| value)
}

/// Whether there are as many brackets as nesting is limited to.
fn is_deep(text: &[u8]) -> bool {
    let opening = text.iter().filter(|byte| matches!(byte, b'[' | b'{'));
    opening.count() > ParserLimits::default().nesting_max
}
