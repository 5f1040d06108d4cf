//! The floor of a line protocol: splits lines, finds the id, copies a canned answer. Parses nothing.
//!
//! ```text
//! read(2) ─▶ buffer ─▶ memchr ─▶ line ─▶ memmem: id, method, tool ─▶ canned answer ─▶ one write(2) per read
//! ```
//!
//! It sees only compact JSON, as clients write it: `"id":7`, not `"id" : 7`. A key inside a string cannot
//! be mistaken for one of the message, since its quotes are escaped there. Whatever numbers `add` is given, it
//! answers `5`, with the bytes of Tightwire's demo; `echo` gets its message back as it stands on the line.

use std::io;

use floors::{DISCOVER, LIST, TEXT, TEXT_END, UNKNOWN, serve};
use memchr::{memchr2, memmem::Finder};

fn main() -> io::Result<()> {
    let canned = Canned::new();
    serve(|line, length, answers| canned.answer(&line[..length], answers))
}

/// What is looked for in a line, prepared once.
struct Canned {
    id: Finder<'static>,
    call: Finder<'static>,
    echo: Finder<'static>,
    message: Finder<'static>,
    discover: Finder<'static>,
    list: Finder<'static>,
}

impl Canned {
    fn new() -> Self {
        Self {
            id: Finder::new(r#""id":"#),
            call: Finder::new(r#""method":"tools/call""#),
            echo: Finder::new(r#""name":"echo""#),
            message: Finder::new(r#""message":""#),
            discover: Finder::new(r#""method":"server/discover""#),
            list: Finder::new(r#""method":"tools/list""#),
        }
    }

    fn answer(&self, line: &[u8], answers: &mut Vec<u8>) {
        // A notification has no id, and no answer.
        let Some(id) = after(&self.id, line).map(id) else {
            return;
        };
        answers.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        answers.extend_from_slice(id);
        if self.call.find(line).is_some() {
            let echo = self.echo.find(line);
            let text = match echo.and_then(|_| after(&self.message, line)) {
                Some(rest) => &rest[..string_length(rest)],
                None => b"5",
            };
            answers.extend_from_slice(TEXT.as_bytes());
            answers.push(b'"');
            answers.extend_from_slice(text);
            answers.push(b'"');
            answers.extend_from_slice(TEXT_END.as_bytes());
        } else if self.discover.find(line).is_some() {
            answers.extend_from_slice(DISCOVER.as_bytes());
        } else if self.list.find(line).is_some() {
            answers.extend_from_slice(LIST.as_bytes());
        } else {
            answers.extend_from_slice(UNKNOWN.as_bytes());
        }
    }
}

fn after<'a>(key: &Finder<'_>, line: &'a [u8]) -> Option<&'a [u8]> {
    key.find(line).map(|at| &line[at + key.needle().len()..])
}

/// The id at the start of `rest`: a string with its quotes, or whatever ends at a comma or a brace.
fn id(rest: &[u8]) -> &[u8] {
    let length = match rest.first() {
        Some(b'"') => 2 + string_length(&rest[1..]),
        _ => memchr2(b',', b'}', rest).unwrap_or(rest.len()),
    };
    &rest[..length.min(rest.len())]
}

/// How many bytes stand before the quote that ends the string.
fn string_length(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(length) = rest.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += length;
        if rest[at] == b'"' {
            return at;
        }
        at += 2;
    }
    rest.len()
}
