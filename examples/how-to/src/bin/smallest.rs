//! The smallest server: one function.
//!
//! ```text
//! cargo run -p how-to --bin smallest
//! ```

use tightwire::{Server, tool};

/// Add two numbers
#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

fn main() -> tightwire::Result<()> {
    Server::new("smallest", "1.0.0").tool(add).serve_stdio()
}
