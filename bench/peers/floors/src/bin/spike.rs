//! The least that parses: simd-json's tape of each line, a walk by hand to what an answer needs, and the answer.
//!
//! ```text
//! read(2) ─▶ buffer ─▶ memchr ─▶ line ─▶ tape ─▶ id, method, params ─▶ sum or text, formatted ─▶ one write(2) per read
//! ```
//!
//! It checks nothing: no `_meta`, no schema, no name given twice, no method but three. What it leaves out is what a
//! server is for; what it does, every server that parses must do.

use std::io::{self, Write};

use floors::{DISCOVER, LIST, TEXT, TEXT_END, UNKNOWN, serve};
use simd_json::{Buffers, Node, StaticNode, Tape};

fn main() -> io::Result<()> {
    let mut buffers = Buffers::default();
    let mut spare = Tape(Vec::new());
    serve(|line, length, answers| {
        let mut tape = std::mem::replace(&mut spare, Tape(Vec::new())).reset();
        if simd_json::fill_tape_padded(line, length, &mut buffers, &mut tape).is_ok() {
            answer(&tape.0, answers);
        }
        spare = tape.reset();
    })
}

fn answer(message: &[Node<'_>], answers: &mut Vec<u8>) {
    // A notification has no id, and no answer.
    let Some(id) = member(message, "id") else {
        return;
    };
    answers.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    match id.first() {
        Some(Node::String(id)) => string(id, answers),
        Some(Node::Static(StaticNode::U64(id))) => integer(*id, answers),
        Some(Node::Static(StaticNode::I64(id))) => integer(*id, answers),
        _ => answers.extend_from_slice(b"null"),
    }
    let rest = match text(member(message, "method").unwrap_or_default()) {
        "tools/call" => return call(member(message, "params").unwrap_or_default(), answers),
        "tools/list" => LIST,
        "server/discover" => DISCOVER,
        _ => UNKNOWN,
    };
    answers.extend_from_slice(rest.as_bytes());
}

fn call(params: &[Node<'_>], answers: &mut Vec<u8>) {
    let arguments = member(params, "arguments").unwrap_or_default();
    answers.extend_from_slice(TEXT.as_bytes());
    if text(member(params, "name").unwrap_or_default()) == "echo" {
        string(
            text(member(arguments, "message").unwrap_or_default()),
            answers,
        );
    } else {
        let sum = number(member(arguments, "a")) + number(member(arguments, "b"));
        answers.push(b'"');
        if sum.fract() == 0.0 && sum.abs() < 1e15 {
            integer(sum as i64, answers);
        } else {
            // Writing to a buffer does not fail.
            let _ = write!(answers, "{sum}");
        }
        answers.push(b'"');
    }
    answers.extend_from_slice(TEXT_END.as_bytes());
}

/// The value of a member of an object, and all that follows it on the tape.
fn member<'a, 'b>(nodes: &'a [Node<'b>], name: &str) -> Option<&'a [Node<'b>]> {
    let (Node::Object { len, .. }, mut rest) = nodes.split_first()? else {
        return None;
    };
    for _ in 0..*len {
        let (key, value) = rest.split_first()?;
        if matches!(key, Node::String(key) if *key == name) {
            return Some(value);
        }
        let extent = match value.first()? {
            Node::Object { count, .. } | Node::Array { count, .. } => 1 + count,
            _ => 1,
        };
        rest = &value[extent..];
    }
    None
}

fn text<'a>(nodes: &[Node<'a>]) -> &'a str {
    match nodes.first() {
        Some(Node::String(text)) => text,
        _ => "",
    }
}

fn number(nodes: Option<&[Node<'_>]>) -> f64 {
    match nodes.and_then(<[_]>::first) {
        Some(Node::Static(StaticNode::U64(number))) => *number as f64,
        Some(Node::Static(StaticNode::I64(number))) => *number as f64,
        Some(Node::Static(StaticNode::F64(number))) => *number,
        _ => f64::NAN,
    }
}

fn integer(value: impl itoa::Integer, answers: &mut Vec<u8>) {
    answers.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn string(text: &str, answers: &mut Vec<u8>) {
    // Writing to a buffer does not fail.
    let _ = simd_json::to_writer(answers, text);
}
