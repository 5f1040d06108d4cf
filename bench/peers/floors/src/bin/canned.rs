//! The floor of a line protocol: splits lines, finds the id, copies a canned answer. Parses nothing.
//!
//! ```text
//! read(2) ─▶ buffer ─▶ memchr ─▶ line ─▶ memmem: id, method, tool ─▶ canned answer ─▶ one write(2) per read
//! ```
//!
//! It sees only compact JSON, as clients write it: `"id":7`, not `"id" : 7`. A key inside a string cannot
//! be mistaken for one of the message, since its quotes are escaped there. Whatever numbers `add` is given, it
//! answers `5`, with the bytes of Tightwire's demo; `echo` gets its message back as it stands on the line.

use std::{
    fs::File,
    io::{self, Read, Write, stdin, stdout},
    os::fd::AsFd,
};

use memchr::{memchr, memchr2, memmem::Finder};

fn main() -> io::Result<()> {
    // The descriptors themselves: std's own buffers would copy once more.
    let mut input = File::from(stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(stdout().as_fd().try_clone_to_owned()?);
    let canned = Canned::new();
    let mut buffer = vec![0; 4 * READ_BYTES];
    let mut answers = Vec::with_capacity(READ_BYTES);
    // What is read and not yet answered is `buffer[start..end]`.
    let (mut start, mut end) = (0, 0);
    loop {
        if buffer.len() - end < READ_BYTES {
            buffer.copy_within(start..end, 0);
            (start, end) = (0, end - start);
            if buffer.len() - end < READ_BYTES {
                buffer.resize(2 * buffer.len(), 0);
            }
        }
        let count = input.read(&mut buffer[end..end + READ_BYTES])?;
        if count == 0 {
            return Ok(());
        }
        let mut unscanned = end;
        end += count;
        while let Some(length) = memchr(b'\n', &buffer[unscanned..end]) {
            let newline = unscanned + length;
            canned.answer(&buffer[start..newline], &mut answers);
            start = newline + 1;
            unscanned = start;
        }
        if start == end {
            (start, end) = (0, 0);
        }
        output.write_all(&answers)?;
        answers.clear();
    }
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
            match echo.and_then(|_| after(&self.message, line)) {
                Some(rest) => {
                    answers.extend_from_slice(ECHO.as_bytes());
                    answers.extend_from_slice(&rest[..string_length(rest)]);
                    answers.extend_from_slice(ECHO_END.as_bytes());
                }
                None => answers.extend_from_slice(ADD.as_bytes()),
            }
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

macro_rules! server_info {
    () => {
        r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"demo","version":"1.0.0"}}}}"#
    };
}

const READ_BYTES: usize = 64 * 1024;

/// From behind the id to the newline; of an echo, up to its text and from behind it.
const ADD: &str = concat!(
    r#","result":{"resultType":"complete","content":[{"type":"text","text":"5"}],"#,
    server_info!(),
    "\n",
);
const ECHO: &str = r#","result":{"resultType":"complete","content":[{"type":"text","text":""#;
const ECHO_END: &str = concat!(r#""}],"#, server_info!(), "\n");
const DISCOVER: &str = concat!(
    r#","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"#,
    r#""ttlMs":300000,"cacheScope":"public","#,
    server_info!(),
    "\n",
);
const LIST: &str = concat!(
    r#","result":{"resultType":"complete","tools":["#,
    r#"{"name":"add","description":"Add two numbers","inputSchema":{"type":"object","#,
    r#""properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}},"#,
    r#"{"name":"echo","description":"Say it back","inputSchema":{"type":"object","#,
    r#""properties":{"message":{"type":"string"}},"required":["message"]}}],"#,
    r#""ttlMs":300000,"cacheScope":"public","#,
    server_info!(),
    "\n",
);
const UNKNOWN: &str = concat!(
    r#","error":{"code":-32601,"message":"Method not found"}}"#,
    "\n"
);
