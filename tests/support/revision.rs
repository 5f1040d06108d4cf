//! [`Revision`]: one server, spoken to in any revision.

use serde_json::{Value, json};
use tightwire::Server;

use crate::{Pair, legacy, modern};

/// Every revision, oldest first.
pub const REVISIONS: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];

/// A server in memory, spoken to in one revision.
#[derive(Debug)]
pub struct Revision {
    /// The revision.
    pub version: &'static str,
    pair: Pair,
    id: u64,
}

impl Revision {
    /// Freezes a server and speaks this revision with it.
    ///
    /// # Panics
    ///
    /// If it cannot be frozen or does not serve the revision.
    #[must_use]
    pub fn new(server: Server, version: &'static str) -> Self {
        let pair = if version == "2026-07-28" {
            Pair::new(server)
        } else {
            Pair::session(server, version)
        };
        Self {
            version,
            pair,
            id: 0,
        }
    }

    /// The server in each revision.
    pub fn each(server: impl Fn() -> Server) -> impl Iterator<Item = Self> {
        REVISIONS
            .into_iter()
            .map(move |version| Self::new(server(), version))
    }

    /// Whether the revision is this one or a later one.
    #[must_use]
    pub fn is_since(&self, version: &str) -> bool {
        self.version >= version
    }

    /// Sends a request and gives the whole answer to it.
    ///
    /// # Panics
    ///
    /// If there is not exactly one, at once or from the pool.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        let line = if self.is_since("2026-07-28") {
            modern(self.id, method, params)
        } else {
            legacy(self.id, method, &params)
        };
        let mut answers = self.pair.send(&line);
        match answers.len() {
            0 => self.pair.wait(),
            1 => answers.remove(0),
            _ => panic!("one answer to {line}, not {answers:?}"),
        }
    }

    /// Sends a request and gives its result, without what every modern result has: `resultType`
    /// and the server's name.
    ///
    /// # Panics
    ///
    /// If the answer is an error, or a modern result lacks one of these.
    #[track_caller]
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.ask(method, params);
        let mut result = answer["result"].take();
        let members = result.as_object_mut();
        let members = members.unwrap_or_else(|| panic!("{}: no result: {answer}", self.version));
        if self.version == "2026-07-28" {
            assert_eq!(members.remove("resultType"), Some(json!("complete")));
            assert!(members.remove("_meta").is_some());
        }
        result
    }

    /// Sends a request for a list, and gives its items.
    ///
    /// # Panics
    ///
    /// If the answer is an error.
    #[track_caller]
    pub fn list(&mut self, method: &str, key: &str) -> Value {
        self.result(method, json!({}))[key].take()
    }

    /// Calls a tool and gives its result.
    ///
    /// # Panics
    ///
    /// If the answer is an error.
    #[track_caller]
    pub fn call(&mut self, tool: &str) -> Value {
        self.result("tools/call", json!({ "name": tool, "arguments": {} }))
    }
}
