//! Having the client's model write something.
//!
//! ```text
//! cargo run -p how-to --bin sampling
//! ```
//!
//! Sampling is deprecated in 2026-07-28, and still there.

use tightwire::{Ask, Context, Inputs, Sampling, Server, tool};

/// Summarize a text in one sentence
#[tool]
fn summarize(context: &Context<'_>, text: &str) -> Result<String, Ask> {
    let message = Sampling::new(200)
        .system("You summarize in one sentence.")
        .user(text)
        .temperature(0.2)
        .hint("claude");
    let answers = context.ask(Inputs::new().sample("summary", message))?;
    let sampled = answers.sampled("summary");
    let summary = sampled.text().unwrap_or("The model had nothing to say.");
    Ok(format!("{summary} ({})", sampled.model()))
}

fn main() -> tightwire::Result<()> {
    Server::new("sampling", "1.0.0")
        .tool(summarize)
        .serve_stdio()
}
