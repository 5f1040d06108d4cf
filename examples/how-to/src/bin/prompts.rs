//! Prompts, with arguments that are completed while the user types.
//!
//! ```text
//! cargo run -p how-to --bin prompts
//! ```

use tightwire::{Complete, Completion, PromptMessage, Server, prompt};

const LANGUAGES: [&str; 4] = ["Python", "PHP", "Ruby", "Rust"];

/// Ask for a review of some code
#[prompt(title = "Review")]
fn review(
    /// The code
    code: &str,
    /// The language it is written in
    #[arg(complete = languages)]
    language: Option<&str>,
    /// What to look for
    #[default("mistakes")]
    focus: &str,
) -> String {
    let language = language.unwrap_or("some language");
    format!("Look for {focus} in this {language}:\n\n{code}")
}

/// A conversation that is begun already
#[prompt]
fn riddle() -> [PromptMessage; 2] {
    [
        PromptMessage::user("What has keys and opens no lock?"),
        PromptMessage::assistant("Let me think. It makes sounds, does it?"),
    ]
}

fn languages(typed: Complete<'_>) -> Completion {
    typed.among(LANGUAGES)
}

fn main() -> tightwire::Result<()> {
    Server::new("prompts", "1.0.0")
        .prompt(review)
        .prompt(riddle)
        .serve_stdio()
}
