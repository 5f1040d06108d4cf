//! [`Pair`]: a server in memory.

use serde_json::Value;
use tightwire::{FrozenServer, Memory, Server};

/// A server in memory and its one client, the test.
#[derive(Debug)]
pub struct Pair {
    memory: Memory,
}

impl Pair {
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
        }
    }

    /// Sends a line and gives what came back at once, a value per line.
    pub fn send(&mut self, line: &str) -> Vec<Value> {
        self.memory.feed(line.as_bytes());
        self.memory.feed(b"\n");
        self.take()
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
    /// If a line is not JSON, or the last one has no end.
    pub fn take(&mut self) -> Vec<Value> {
        let output = std::str::from_utf8(self.memory.output()).expect("output is UTF-8");
        assert!(output.is_empty() || output.ends_with('\n'));
        let lines = output
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line is JSON"))
            .collect();
        self.memory.consume(usize::MAX);
        lines
    }

    /// The connection in memory, for what is not offered here.
    pub fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }
}
