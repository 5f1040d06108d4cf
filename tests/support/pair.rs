//! [`Pair`]: a server in memory.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tightwire::{FrozenServer, Memory, Server};

use crate::{Tap, initialize};

/// A server in memory and its one client, the test.
#[derive(Debug)]
pub struct Pair {
    memory: Memory,
    tap: Tap,
}

impl Pair {
    /// The longest a test waits for another thread.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// Freezes a server and connects to it.
    ///
    /// # Panics
    ///
    /// If it cannot be frozen.
    #[must_use]
    pub fn new(server: Server) -> Self {
        Self::connect(&server.freeze().expect("the server can be frozen"))
    }

    /// Connects to a server.
    #[must_use]
    pub fn connect(server: &FrozenServer) -> Self {
        Self {
            memory: Memory::new(server),
            tap: Tap::default(),
        }
    }

    /// Connects to a server and opens a legacy session in this revision.
    ///
    /// # Panics
    ///
    /// If the server answers with another revision.
    #[must_use]
    pub fn session(server: Server, version: &str) -> Self {
        let mut pair = Self::new(server);
        let answer = pair.ask(&initialize(version));
        assert_eq!(answer["result"]["protocolVersion"], version);
        let opened = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(pair.send(opened), Vec::<Value>::new());
        pair
    }

    /// Sends a line and gives what came back at once, a value per line.
    pub fn send(&mut self, line: &str) -> Vec<Value> {
        self.tap.sent(line.as_bytes());
        self.memory.feed(line.as_bytes());
        self.memory.feed(b"\n");
        self.take()
    }

    /// Sends bytes as they are, and gives what came back at once.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> Vec<Value> {
        self.tap.sent_bytes(bytes);
        self.memory.feed(bytes);
        self.take()
    }

    /// Sends a line and gives the text that came back: for what a [`Value`] does not keep.
    ///
    /// # Panics
    ///
    /// If it is not UTF-8.
    pub fn ask_text(&mut self, line: &str) -> String {
        self.tap.sent(line.as_bytes());
        self.memory.feed(line.as_bytes());
        self.memory.feed(b"\n");
        let text = String::from_utf8(self.memory.output().to_vec()).expect("output is UTF-8");
        self.memory.consume(usize::MAX);
        text
    }

    /// Does what is due and gives what came of it: deferred answers among it.
    pub fn poll(&mut self) -> Vec<Value> {
        let _ = self.memory.poll();
        self.take()
    }

    /// Polls until there is an answer.
    ///
    /// # Panics
    ///
    /// If none comes, or more than one.
    pub fn wait(&mut self) -> Value {
        let start = Instant::now();
        loop {
            let mut answers = self.poll();
            if let Some(answer) = answers.pop() {
                assert!(answers.is_empty(), "one answer, not {answers:?} too");
                return answer;
            }
            assert!(start.elapsed() < Self::PATIENCE, "no answer");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The lines for the log so far.
    pub fn log(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.memory.connection().poll_log()).collect()
    }

    /// Sends a line and gives the one answer to it.
    ///
    /// # Panics
    ///
    /// If there is not exactly one.
    pub fn ask(&mut self, line: &str) -> Value {
        let mut answers = self.send(line);
        assert_eq!(answers.len(), 1, "one answer to {line}, not {answers:?}");
        answers.remove(0)
    }

    /// What there is of output, a value per line.
    ///
    /// # Panics
    ///
    /// If a line is not JSON or not valid in its revision, or the last one has no end.
    pub fn take(&mut self) -> Vec<Value> {
        let answers = values(self.memory.output());
        self.memory.consume(usize::MAX);
        answers.iter().for_each(|answer| self.tap.received(answer));
        answers
    }

    /// The connection in memory, for what is not offered here.
    pub fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }
}

/// Complete lines as values.
pub(crate) fn values(output: &[u8]) -> Vec<Value> {
    let output = std::str::from_utf8(output).expect("output is UTF-8");
    assert!(output.is_empty() || output.ends_with('\n'));
    output
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect()
}
