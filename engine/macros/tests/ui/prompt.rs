//! Prompts whose arguments are no text, and one that is asynchronous.

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

fn main() {}
