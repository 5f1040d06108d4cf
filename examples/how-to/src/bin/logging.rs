//! Log messages for the client, of the levels that it wants.
//!
//! ```text
//! cargo run -p how-to --bin logging
//! ```
//!
//! Logging to clients is deprecated in 2026-07-28, in favour of stderr, and still there. What a
//! tool prints goes to stderr too, and never into the conversation.

use serde::Serialize;
use tightwire::{Context, LogLevel, Server, tool};

#[derive(Serialize)]
struct Attempt<'a> {
    host: &'a str,
    attempt: u32,
}

/// Connect to a host
#[tool]
fn connect(context: &Context<'_>, host: &str) -> String {
    for attempt in 1..=2 {
        // Data of any type that serde writes.
        context.log(LogLevel::Debug, Some("network"), Attempt { host, attempt });
    }
    context.log(LogLevel::Warning, None, format!("{host} is slow"));
    println!("connected to {host}");
    format!("connected to {host}")
}

fn main() -> tightwire::Result<()> {
    Server::new("logging", "1.0.0")
        .logging()
        .tool(connect)
        .serve_stdio()
}
