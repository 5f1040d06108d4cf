//! [`Stepped`]: a server whose clock the test moves.

use std::time::Duration;

use serde_json::Value;
use tightwire::{
    FrozenServer, Now, Server, ServerConnection,
    codec::{LINE_PADDING, Line},
};

use crate::{Tap, pair::values};

/// A connection driven by hand: time passes when the test says so.
#[derive(Debug)]
pub struct Stepped {
    connection: ServerConnection,
    now: Now,
    out: Vec<u8>,
    tap: Tap,
}

impl Stepped {
    /// Freezes a server and connects to it, at the time 0.
    ///
    /// # Panics
    ///
    /// If it cannot be frozen.
    #[must_use]
    pub fn new(server: Server) -> Self {
        Self::connect(&server.freeze().expect("the server can be frozen"))
    }

    /// Connects to a server, at the time 0.
    #[must_use]
    pub fn connect(server: &FrozenServer) -> Self {
        Self {
            connection: server.connect(),
            now: Now::default(),
            out: Vec::new(),
            tap: Tap::default(),
        }
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

    /// Sends a line and gives what came back at once.
    ///
    /// # Panics
    ///
    /// If an answer is not JSON.
    pub fn send(&mut self, line: &str) -> Vec<Value> {
        self.tap.sent(line.as_bytes());
        let mut bytes = line.as_bytes().to_vec();
        bytes.resize(line.len() + LINE_PADDING, 0);
        let line = Line::padded(&mut bytes, line.len()).expect("the padding is there");
        self.connection.handle_line(self.now, line, &mut self.out);
        self.take()
    }

    /// Lets time pass, does what is due by then, and gives what came of it.
    pub fn pass_ms(&mut self, ms: u64) -> Vec<Value> {
        self.sleep_ms(ms);
        self.connection.handle_timeout(self.now, &mut self.out);
        self.take()
    }

    /// Lets time pass, and does nothing.
    pub fn sleep_ms(&mut self, ms: u64) {
        self.now.monotonic += Duration::from_millis(ms);
        self.now.unix_ms += ms;
    }

    /// What deferred answers have come in.
    pub fn completed(&mut self) -> Vec<Value> {
        self.connection.handle_completions(self.now, &mut self.out);
        self.take()
    }

    /// How long until something is due, in milliseconds.
    #[must_use]
    pub fn due_in_ms(&self) -> Option<u128> {
        let due = self.connection.poll_timeout()?;
        Some(due.saturating_sub(self.now.monotonic).as_millis())
    }

    /// The connection, for what is not offered here.
    pub fn connection(&mut self) -> &mut ServerConnection {
        &mut self.connection
    }

    fn take(&mut self) -> Vec<Value> {
        let answers = values(&std::mem::take(&mut self.out));
        answers.iter().for_each(|answer| self.tap.received(answer));
        answers
    }
}
