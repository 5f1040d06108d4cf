//! A crate that documents all it has, and warns of nothing.

#![deny(warnings, missing_docs, missing_debug_implementations)]
#![forbid(unsafe_code)]

use tightwire::{Server, prompt, resource, tool, tools};

/// Add two numbers
#[tool(title = "Add")]
pub fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// Ask for a review
#[prompt]
pub fn review(
    /// The code
    code: &str,
) -> String {
    format!("Please review this:\n\n{code}")
}

/// A note
#[resource(uri = "notes://{id}", mime_type = "text/plain")]
pub fn note(id: u32) -> Option<String> {
    (id < 3).then(|| format!("The note {id}"))
}

/// A state
#[derive(Debug)]
pub struct Greeter;

#[tools]
impl Greeter {
    /// Greet someone
    #[tool]
    pub fn greet(&self, name: &str) -> String {
        format!("Hello, {name}!")
    }
}

fn main() {
    let server = Server::new("demo", "1.0.0")
        .tool(add)
        .prompt(review)
        .resource(note)
        .tools(Greeter);
    assert!(server.freeze().is_ok());
    assert_eq!(note(2).as_deref(), Some("The note 2"));
    assert_eq!(review("x"), "Please review this:\n\nx");
    assert!((add(1.0, 2.0) - 3.0).abs() < f64::EPSILON);
    assert_eq!(Greeter.greet("you"), "Hello, you!");
}
