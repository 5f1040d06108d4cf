//! One case so many times in process: what `bench/instructions` has valgrind count.
//!
//!     instructions              the names of the cases
//!     instructions CASE TIMES   runs one
//!
//! A case is a line that a connection answers, but for `tape`, the baseline: simd-json's tape of
//! the line of `add`, and nothing else. Parsing changes a line, so each time begins by copying it
//! into its buffer, in `tape` too: `copy` is that alone. Each line has another id than the one before;
//! in `add-varied` the arguments are others, too. In `add-parsed` the connection remembers no lines,
//! so that each is parsed in full; in `add-metrics` a hook counts and times the calls.

use std::{env, hint::black_box, process::ExitCode, time::Duration};

use simd_json::{Buffers, Tape};
use tightwire::{Limits, Metrics, Now, Server, codec::LINE_PADDING};
use tightwire_bench::{LineBuffer, connection, corpus, modern, server};

fn main() -> ExitCode {
    let cases = cases();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, times] = arguments.as_slice() else {
        for case in cases {
            println!("{}", case.name);
        }
        return ExitCode::SUCCESS;
    };
    let case = cases.iter().find(|case| case.name == name);
    let (Some(case), Ok(times)) = (case, times.parse()) else {
        eprintln!("usage: instructions [CASE TIMES]");
        return ExitCode::FAILURE;
    };
    match &case.run {
        Run::Copy => copy(&case.line, times),
        Run::Tape => tape(&case.line, times),
        Run::Calls {
            other,
            answer,
            server,
        } => call([&case.line, other], answer, server(), times),
    }
    ExitCode::SUCCESS
}

struct Case {
    name: &'static str,
    line: String,
    run: Run,
}

enum Run {
    Copy,
    Tape,
    /// Two requests by turns: the line, and one with other scalars.
    Calls {
        other: String,
        /// What the answers to the second have somewhere.
        answer: &'static str,
        server: fn() -> Server,
    },
}

fn cases() -> Vec<Case> {
    let messages = corpus();
    let message = |name: &str| {
        let message = messages.iter().find(|message| message.name == name);
        message.expect("the corpus has it").line.clone()
    };
    let case = |name, line, run| Case { name, line, run };
    let calls = |name, line: String, other: &[(&str, &str)], answer, server| {
        let other = [&[(r#""id":1"#, r#""id":27"#)], other].concat();
        let other = other.iter().fold(line.clone(), |line, (from, to)| {
            assert!(line.contains(from), "{line} has no {from}");
            line.replacen(from, to, 1)
        });
        case(
            name,
            line,
            Run::Calls {
                other,
                answer,
                server,
            },
        )
    };
    let call = |name, line, answer| calls(name, line, &[], answer, server);
    let complete = r#""resultType":"complete""#;
    let add = message("add");
    let varied = [(r#""a":2"#, r#""a":-1"#), (r#""b":3"#, r#""b":6.5"#)];
    // Complete, with an id to answer, and no JSON: a comma too many.
    let refused = format!("{},}}", &add[..add.len() - 1]);
    vec![
        case("copy", add.clone(), Run::Copy),
        case("tape", add.clone(), Run::Tape),
        call("add", add.clone(), r#""text":"5""#),
        calls(
            "add-varied",
            add.clone(),
            &varied,
            r#""text":"5.5""#,
            server,
        ),
        calls("add-parsed", add.clone(), &[], r#""text":"5""#, || {
            server().limits(Limits {
                lines_remembered_max: 0,
                ..Limits::default()
            })
        }),
        calls("add-metrics", add, &[], r#""text":"5""#, || {
            server().hook(Metrics::new())
        }),
        call("echo-4k-ascii", message("echo-4k-ascii"), "Sphinx"),
        call("echo-4k-escapes", message("echo-4k-escapes"), r#"\""#),
        call("echo-4k-unicode", message("echo-4k-unicode"), "東"),
        call("echo-64k-ascii", message("echo-64k-ascii"), "Sphinx"),
        call("tools-list", message("tools-list"), complete),
        call("discover", message("discover"), complete),
        call(
            "boom",
            modern("tools/call", r#""name":"boom","arguments":{},"#),
            r#""isError":true"#,
        ),
        call("refused", refused, r#""id":27,"error":{"code":-32700"#),
        call(
            "unknown-tool",
            modern("tools/call", r#""name":"none","arguments":{},"#),
            r#""id":27,"error":{"code":-32602"#,
        ),
    ]
}

fn copy(line: &str, times: usize) {
    let mut buffer = LineBuffer::new(line);
    for _ in 0..times {
        black_box(buffer.restore().as_bytes());
    }
}

fn tape(line: &str, times: usize) {
    let len = line.len();
    let mut bytes = vec![0; len + LINE_PADDING];
    let mut buffers = Buffers::new(len);
    let mut spare = Tape(Vec::new());
    for _ in 0..times {
        bytes[..len].copy_from_slice(line.as_bytes());
        let mut tape = spare.reset();
        simd_json::fill_tape_padded(&mut bytes, len, &mut buffers, &mut tape)
            .expect("the line is JSON");
        black_box(&tape);
        spare = tape.reset();
    }
}

fn call(lines: [&str; 2], answer: &str, server: Server, times: usize) {
    let server = server.freeze().expect("the server can be frozen");
    let mut connection = connection(&server);
    let mut buffers = lines.map(LineBuffer::new);
    let mut out = Vec::new();
    for turn in 0..times {
        out.clear();
        let line = buffers[turn % 2].restore();
        connection.handle_line(black_box(Now::default()), line, &mut out);
        connection.line_took(Duration::ZERO);
        black_box(&out);
    }
    let out = String::from_utf8_lossy(&out);
    assert!(out.contains(answer), "not the answer to expect: {out}");
}
