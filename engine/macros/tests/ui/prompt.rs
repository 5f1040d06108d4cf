//! Prompts whose arguments are no text, or are told to serde, and one that is asynchronous.

use tightwire::prompt;

#[prompt]
fn number(count: u32) -> String {
    count.to_string()
}

#[prompt]
fn numbers(text: &str, counts: Option<Vec<u32>>) -> String {
    format!("{text} {counts:?}")
}

#[prompt]
async fn later() -> String {
    String::new()
}

#[prompt]
fn renamed(
    #[serde(rename = "in")] place: &str,
    /// How long it may be
    #[schemars(length(max = 5))]
    text: Option<String>,
) -> String {
    format!("{place} {text:?}")
}

fn main() {}
