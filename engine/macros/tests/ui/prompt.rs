//! Prompts whose arguments or messages are no text.

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
fn answer() -> u32 {
    42
}

#[prompt]
async fn later() -> String {
    String::new()
}

fn main() {}
