//! A line, and edits of it: a parser that remembers lines takes each as one that does not, to the
//! same document, or refuses it with the same error and id.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tightwire::codec::{JsonWriter, LINE_PADDING, Line, Number, Parser, ParserLimits, Value};

/// Where the input has no line of its own.
const REQUEST: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2.5,"b":-3,"c":"\u00e9","d":[true,null]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
/// Ends the line in the input; what follows are edits.
const END: u8 = 0xFF;

fuzz_target!(|input: &[u8]| {
    let (line, mut edits) = match input.iter().position(|byte| *byte == END) {
        Some(at) => (&input[..at], &input[at + 1..]),
        None => (&[][..], input),
    };
    let original = if line.is_empty() { REQUEST } else { line };
    // Only lines without escapes are remembered.
    let original = String::from_utf8_lossy(original)
        .replace("\\u00e9", "é")
        .into_bytes();
    let mut parser = Parser::new(ParserLimits {
        lines_remembered: 3,
        ..ParserLimits::default()
    });
    let mut edited = original.clone();
    check(&mut parser, &edited);
    // Where the edit is, how much it takes away, and how many bytes it puts in.
    while let [at, counts, rest @ ..] = edits {
        let at = usize::from(*at) * (edited.len() + 1) / 256;
        let end = (at + usize::from(counts % 16)).min(edited.len());
        let (piece, rest) = rest.split_at(rest.len().min(usize::from(counts / 16)));
        edited.splice(at..end, piece.iter().copied());
        edits = rest;
        check(&mut parser, &edited);
        check(&mut parser, &original);
    }
});

fn check(parser: &mut Parser, text: &[u8]) {
    let expected = outcome(&mut Parser::default(), text);
    assert_eq!(outcome(parser, text), expected);
}

/// The document, or the error and the id that is found.
fn outcome(parser: &mut Parser, text: &[u8]) -> Result<Vec<String>, String> {
    let mut bytes = text.to_vec();
    bytes.extend_from_slice(&[b'"'; LINE_PADDING]);
    let mut line = Line::padded(&mut bytes, text.len()).expect("there is padding");
    let error = match parser.parse(&mut line) {
        Ok(document) => {
            let mut said = Vec::new();
            say(document.root(), &mut said);
            return Ok(said);
        }
        Err(error) => error,
    };
    let mut id = Vec::new();
    if let Some(found) = parser.recover_id(&mut line) {
        JsonWriter::new(&mut id).id(&found);
    }
    Err(format!("{error:?} {}", String::from_utf8_lossy(&id)))
}

/// Every value, with its kind, its extent and its bits.
fn say(value: Value<'_>, said: &mut Vec<String>) {
    let bits = match value.as_number() {
        Some(Number::Float(number)) => number.to_bits(),
        _ => 0,
    };
    let number = value.as_number();
    let count = value.node_count();
    said.push(format!(
        "{:?} {number:?} {bits} {count} {:?}",
        value.kind(),
        value.as_str()
    ));
    for (name, value) in value.as_object().into_iter().flatten() {
        said.push(name.to_owned());
        say(value, said);
    }
    for item in value.as_array().into_iter().flatten() {
        say(item, said);
    }
}
