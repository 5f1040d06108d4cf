//! Arguments that clients cannot give.

use tightwire::tool;

#[tool]
fn pattern((a, b): (f64, f64)) -> f64 {
    a + b
}

#[tool]
fn nameless(_: f64) {}

#[tool]
fn mutable(numbers: &mut Vec<f64>) {
    numbers.clear();
}

#[tool]
fn opaque(text: impl AsRef<str>) -> String {
    text.as_ref().to_owned()
}

#[tool]
fn lasting(text: &'static str) -> &'static str {
    text
}

#[tool]
fn sometimes(a: u8, #[cfg(unix)] b: u8) -> u8 {
    a + b
}

fn main() {}
