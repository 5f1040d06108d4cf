//! Framing: lines are the same however their bytes arrive.

use std::time::Duration;

use proptest::{collection::vec, prelude::*};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tightwire::{FrozenServer, Limits, Memory};
use tightwire_tests::{call, initialize, legacy, modern, server};

const MIB: usize = 1 << 20;
/// The limit of a line in most of these tests: just above the requests in them.
const LINE_BYTES_MAX: usize = 400;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

proptest! {
    #[test]
    fn any_split_gives_the_output_of_one_read(
        stream in stream(),
        pieces in vec(1_usize..200, 1..20),
    ) {
        let server = small_server();
        let whole = serve(&server, [&stream[..]]);
        prop_assert_eq!(serve(&server, cut(&stream, &pieces)), whole);
    }

    #[test]
    fn every_line_gets_one_answer_unless_it_is_blank(stream in stream()) {
        let output = answers(&serve(&small_server(), [&stream[..]]));
        for answer in &output {
            prop_assert_eq!(&answer["jsonrpc"], "2.0");
        }
        let text = stream.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&stream);
        let blank = |byte: &u8| b" \t\r\n".contains(byte);
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let lines = lines.filter(|line| line.len() > LINE_BYTES_MAX + 1 || !line.iter().all(blank));
        prop_assert_eq!(output.len(), lines.count());
    }
}

#[test]
fn single_bytes_give_the_output_of_one_read() {
    let server = small_server();
    let stream = valid_stream();
    let whole = serve(&server, [stream.as_bytes()]);
    for size in 1..100 {
        assert_eq!(
            serve(&server, stream.as_bytes().chunks(size)),
            whole,
            "in pieces of {size}"
        );
    }
}

#[test]
fn every_prefix_of_a_valid_stream_ends_cleanly() {
    let server = small_server();
    let stream = valid_stream();
    let whole = answers(&serve(&server, [stream.as_bytes()]));
    for end in 0..=stream.len() {
        let prefix = &stream.as_bytes()[..end];
        let output = answers(&serve(&server, [prefix]));
        let complete = prefix.split_inclusive(|byte| *byte == b'\n');
        let complete = complete.filter(|line| line.ends_with(b"\n")).count();
        assert_eq!(output[..complete], whole[..complete], "of {end} bytes");
        match &output[complete..] {
            [] => {}
            [rest] if *rest == whole[complete] => {}
            [rest] => {
                let id = rest.get("id").filter(|id| !id.is_null());
                assert!(id.is_none_or(|id| *id == whole[complete]["id"]), "{rest}");
                assert_eq!(rest["error"]["code"], -32700, "of {end} bytes");
            }
            more => panic!("of {end} bytes: {more:?}"),
        }
    }
}

#[test]
fn a_long_line_in_small_pieces_arrives_in_linear_time() {
    let server = server().freeze().expect("the server can be frozen");
    assert_linear(64 * MIB, |bytes| {
        let mut memory = Memory::new(&server);
        let start = thread_time();
        feed_in_pieces(&mut memory, &vec![b'x'; bytes]);
        thread_time() - start
    });
}

#[test]
fn a_long_line_in_small_pieces_is_served_in_linear_time() {
    let server = server().freeze().expect("the server can be frozen");
    // A debug build is slow, and as linear.
    let longest = if cfg!(debug_assertions) {
        8 * MIB
    } else {
        64 * MIB
    };
    assert_linear(longest, |bytes| {
        let message = "x".repeat(bytes - 1024);
        let line = call(1, "echo", &json!({ "message": message })) + "\n";
        let mut memory = Memory::new(&server);
        let start = thread_time();
        feed_in_pieces(&mut memory, line.as_bytes());
        let took = thread_time() - start;
        assert!(memory.output().len() > bytes - 1024);
        took
    });
}

/// Four times as much must not take much more than four times as long; 16 times would be
/// quadratic.
fn assert_linear(bytes: usize, run: impl Fn(usize) -> Duration) {
    let quarter = (0..3).map(|_| run(bytes / 4)).min().expect("it ran");
    let mut tries = (0..3).map(|_| run(bytes));
    assert!(
        tries.any(|all| all < quarter * 8),
        "{quarter:?} for a quarter of {bytes} bytes"
    );
}

/// The time that this thread was given so far, whatever else runs on the machine.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("time does not run backwards")
}

fn feed_in_pieces(memory: &mut Memory, bytes: &[u8]) {
    for piece in bytes.chunks(4096) {
        memory.feed(piece);
    }
}

/// The output of a new connection, its end included.
fn serve<'a>(server: &FrozenServer, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut memory = Memory::new(server);
    for piece in pieces {
        memory.feed(piece);
    }
    memory.finish();
    memory.output().to_vec()
}

fn answers(output: &[u8]) -> Vec<Value> {
    let output = std::str::from_utf8(output).expect("output is UTF-8");
    let lines = output.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect()
}

/// Cuts a stream into pieces of these sizes, over and over.
fn cut<'a>(mut stream: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for size in sizes.iter().cycle() {
        let (piece, rest) = stream.split_at(stream.len().min(*size));
        pieces.push(piece);
        stream = rest;
        if stream.is_empty() {
            break;
        }
    }
    pieces
}

fn small_server() -> FrozenServer {
    let limits = Limits {
        line_bytes_max: LINE_BYTES_MAX,
        ..Limits::default()
    };
    server()
        .limits(limits)
        .freeze()
        .expect("the server can be frozen")
}

/// Requests of all kinds, each on a line, each answered at once.
fn valid_requests() -> Vec<String> {
    vec![
        modern(1, "server/discover", json!({})),
        call(
            "two",
            "echo",
            &json!({ "message": "gr\u{fc}\u{df}e \u{1f600} \"\\\n" }),
        ),
        call(3, "boom", &json!({})),
        call(4, "nothing", &json!({})),
        modern(5, "tools/list", json!({})),
        modern(6, "resources/read", json!({ "uri": "pair://hello/you" })),
        initialize("2025-06-18"),
        legacy(8, "ping", &json!({})),
        legacy(
            9,
            "tools/call",
            &json!({ "name": "echo", "arguments": { "message": "hi" } }),
        ),
        legacy(10, "prompts/get", &json!({ "name": "review" })),
    ]
}

fn valid_stream() -> String {
    valid_requests().join("\n") + "\n"
}

/// A stream of lines of all kinds, the last of them perhaps without its newline.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let lines = vec((line(), prop_oneof![Just("\n"), Just("\r\n")]), 0..12);
    (any::<bool>(), lines, any::<bool>()).prop_map(|(mark, lines, newline)| {
        let mut stream = if mark {
            BYTE_ORDER_MARK.to_vec()
        } else {
            Vec::new()
        };
        for (line, end) in lines {
            stream.extend_from_slice(&line);
            stream.extend_from_slice(end.as_bytes());
        }
        if !newline {
            stream.pop();
        }
        stream
    })
}

/// A line: a request, rubbish, nothing, a request with a byte that is not UTF-8 or cut short,
/// too long or nearly so.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let request = || prop::sample::select(valid_requests()).prop_map(String::into_bytes);
    prop_oneof![
        4 => request(),
        1 => vec(any::<u8>(), 0..60),
        1 => "[{}\\[\\]\",:0-9a-z ]{0,40}".prop_map(String::into_bytes),
        1 => "[ \t\r]{0,3}".prop_map(String::into_bytes),
        1 => (request(), any::<prop::sample::Index>()).prop_map(|(mut line, place)| {
            let place = place.index(line.len());
            line[place] = 0xFF;
            line
        }),
        1 => (request(), any::<prop::sample::Index>()).prop_map(|(mut line, end)| {
            line.truncate(end.index(line.len()));
            line
        }),
        1 => (LINE_BYTES_MAX - 3..LINE_BYTES_MAX * 3).prop_map(|bytes| vec![b'x'; bytes]),
        1 => (request(), LINE_BYTES_MAX - 2..LINE_BYTES_MAX + 3).prop_map(|(mut line, bytes)| {
            line.resize(bytes.max(line.len()), b' ');
            line
        }),
    ]
}
