//! [`Held`]: a tool whose calls wait for the test.

use std::sync::{Arc, Mutex, PoisonError};

use tightwire::{Call, Reply, Ticket, Tool};

/// The tickets of the tool `hold`, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Held(Arc<Mutex<Vec<Ticket>>>);

impl Held {
    /// The tool, which defers all its answers.
    #[must_use]
    pub fn tool(&self) -> Tool {
        let held = self.clone();
        Tool::new("hold", move |_: Call<'_>, reply: Reply<'_>| {
            held.keep(reply);
        })
    }

    /// Defers an answer.
    pub fn keep(&self, reply: Reply<'_>) {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.push(reply.defer());
    }

    /// How many calls wait.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Takes the oldest ticket.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    pub fn next(&self) -> Ticket {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(!tickets.is_empty(), "no call is held");
        tickets.remove(0)
    }

    /// Answers the oldest call with a text.
    pub fn answer(&self, text: &str) {
        self.next().answer(|reply| reply.text(text));
    }
}
