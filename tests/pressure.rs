//! Back-pressure: a client that writes for ever and reads nothing.

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    process::{ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::ioctl_fionbio,
    process::Signal,
};
use serde_json::{Value, json};
use tightwire_tests::{Process, Script, call, modern_meta};

const DEMO: &str = env!("CARGO_BIN_EXE_demo_under_test");
const FAULTY: &str = env!("CARGO_BIN_EXE_faulty");
const MIB: usize = 1 << 20;
/// The bytes of a message.
const MESSAGE: usize = 64 * 1024;

#[test]
fn a_client_that_reads_nothing_is_held_back_and_loses_nothing() {
    let (mut process, stdin, stdout) = start();
    let mut flood = Flood::new(stdin);
    flood.write(300 * MIB);
    assert!(
        flood.accepted < 100 * MIB,
        "{} bytes were accepted",
        flood.accepted
    );
    let memory = process.memory_max();
    assert!(memory < 100 * MIB, "{memory} bytes of memory");

    // The reader comes back; the line that was cut short is sent to its end.
    let reader = thread::spawn(move || ids(stdout));
    let sent = flood.finish();
    let ids = reader.join().expect("all answers are read");
    assert!(process.wait().0.success());
    assert_eq!(ids, (0..sent).collect::<Vec<_>>());
}

#[test]
fn lines_held_back_by_the_output_limit_are_answered_when_there_is_room() {
    let mut script = with_little_output();
    script.send(&echoes(1..=20).join("\n"));
    for id in 1..=20 {
        assert_eq!(script.receive()["id"], id);
    }
}

#[test]
fn lines_held_back_by_the_output_limit_are_answered_after_a_signal() {
    let mut script = with_little_output();
    let mut lines = vec![call(0, "hold", &json!({ "ms": 300 }))];
    lines.extend(echoes(1..=10));
    script.send(&lines.join("\n"));
    assert_eq!(script.next_error(), "holding");
    script.signal(Signal::TERM);
    assert_eq!(script.wait().answers.len(), lines.len());
}

/// A server that holds back less than one answer.
fn with_little_output() -> Script {
    let mut command = Command::new(FAULTY);
    command
        .arg("100")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    Script::over_pipes(Process::spawn(command.stderr(Stdio::piped())))
}

fn echoes(ids: std::ops::RangeInclusive<u64>) -> Vec<String> {
    let echo = |id| call(id, "echo", &json!({ "message": "hi" }));
    ids.map(echo).collect()
}

/// Requests of 64 KiB, as fast as they are taken.
struct Flood {
    stdin: ChildStdin,
    /// A request from after its id on, since writing JSON takes its time in a debug build.
    rest: String,
    line: Vec<u8>,
    /// How much of the line is written.
    written: usize,
    next_id: u64,
    accepted: usize,
}

impl Flood {
    fn new(stdin: ChildStdin) -> Self {
        ioctl_fionbio(&stdin, true).expect("a pipe can be non-blocking");
        let request = json!({
            "jsonrpc": "2.0",
            "method": "tools/call",
            "params": {
                "name": "echo",
                "arguments": { "message": "x".repeat(MESSAGE) },
                "_meta": modern_meta(),
            }
        });
        Self {
            stdin,
            rest: format!("{}\n", &request.to_string()[1..]),
            line: Vec::new(),
            written: 0,
            next_id: 0,
            accepted: 0,
        }
    }

    /// Writes so many bytes, or until nothing is taken for a while.
    fn write(&mut self, bytes_max: usize) {
        while self.accepted < bytes_max {
            if self.written == self.line.len() {
                self.next_line();
            }
            match self.stdin.write(&self.line[self.written..]) {
                Ok(count) => {
                    self.written += count;
                    self.accepted += count;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if !self.is_taken_within(Duration::from_millis(700)) {
                        return;
                    }
                }
                Err(error) => panic!("the server reads: {error}"),
            }
        }
    }

    /// Writes the line to its end and closes. How many lines there were.
    fn finish(mut self) -> u64 {
        ioctl_fionbio(&self.stdin, false).expect("a pipe can be blocking");
        let rest = &self.line[self.written..];
        self.stdin.write_all(rest).expect("the server reads");
        self.next_id
    }

    fn next_line(&mut self) {
        self.line = format!("{{\"id\":{},{}", self.next_id, self.rest).into_bytes();
        self.written = 0;
        self.next_id += 1;
    }

    fn is_taken_within(&self, time: Duration) -> bool {
        let mut fds = [PollFd::new(&self.stdin, PollFlags::OUT)];
        let time = Timespec::try_from(time).expect("a short time");
        poll(&mut fds, Some(&time)).expect("a pipe can be polled") > 0
    }
}

fn start() -> (Process, ChildStdin, ChildStdout) {
    let mut process = Process::start(DEMO, Stdio::piped(), Stdio::piped(), Stdio::inherit());
    let child = process.child();
    let stdin = child.stdin.take().expect("stdin is piped");
    let stdout = child.stdout.take().expect("stdout is piped");
    (process, stdin, stdout)
}

/// The ids of all answers, which are alike but for them.
fn ids(stdout: impl Read) -> Vec<u64> {
    let mut ids = Vec::new();
    let mut first = String::new();
    for line in BufReader::new(stdout).lines() {
        let line = line.expect("output is UTF-8");
        let (id, rest) = line
            .strip_prefix("{\"jsonrpc\":\"2.0\",\"id\":")
            .and_then(|line| line.split_once(','))
            .expect("an answer with an id");
        ids.push(id.parse().expect("a number"));
        if first.is_empty() {
            let answer: Value = serde_json::from_str(&line).expect("a line is JSON");
            assert_eq!(answer["result"]["content"][0]["text"], "x".repeat(MESSAGE));
            first = rest.to_owned();
        }
        assert!(rest == first, "the answer to {id} is like the first");
    }
    ids
}
