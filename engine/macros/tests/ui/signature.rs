//! Functions that cannot be tools.

use tightwire::tool;

#[tool]
fn generic<T: Into<f64>>(value: T) -> f64 {
    value.into()
}

#[tool]
fn sized<const N: usize>(values: [f64; N]) -> f64 {
    values.iter().sum()
}

#[tool]
fn bounded<'a, 'b: 'a>(first: &'a str, _second: &'b str) -> &'a str {
    first
}

#[tool]
fn opaque(text: &str) -> impl std::fmt::Display {
    text.len()
}

#[tool]
const fn constant() {}

#[tool]
async fn borrowing(text: &str) -> &str {
    text
}

#[tool(blocking)]
async fn both() {}

fn main() {}
