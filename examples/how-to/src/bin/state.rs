//! A state that tools and resources share: the methods of a type.
//!
//! ```text
//! cargo run -p how-to --bin state
//! ```

use std::sync::{Mutex, MutexGuard, PoisonError};

use tightwire::{Server, tools};

#[derive(Default)]
struct Notes {
    texts: Mutex<Vec<String>>,
}

#[tools]
impl Notes {
    /// Write a note
    #[tool]
    fn write(&self, text: String) -> String {
        let mut texts = self.texts();
        texts.push(text);
        format!("note {}", texts.len())
    }

    /// How many notes there are
    #[tool(read_only)]
    fn count(&self) -> usize {
        self.texts().len()
    }

    /// One note
    #[resource(uri = "notes://{number}", mime_type = "text/plain")]
    fn note(&self, number: usize) -> Option<String> {
        self.texts().get(number.checked_sub(1)?).cloned()
    }

    /// A method of its own, which no client sees.
    fn texts(&self) -> MutexGuard<'_, Vec<String>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn main() -> tightwire::Result<()> {
    // An `Arc` of the state does too, where other parts of the program use it.
    Server::new("state", "1.0.0")
        .tools(Notes::default())
        .serve_stdio()
}
