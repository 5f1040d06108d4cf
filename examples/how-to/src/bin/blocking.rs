//! A tool that takes its time, on a thread of the pool: it reports progress, and ends early when
//! it is cancelled. Other calls are served meanwhile.
//!
//! ```text
//! cargo run -p how-to --bin blocking
//! ```

use std::time::Duration;

use tightwire::{Context, Server, tool};

/// Index some documents, each for some milliseconds
#[tool(blocking, timeout = "1m")]
fn index(context: &Context<'_>, documents: u32, #[default(10)] ms: u64) -> Result<String, String> {
    for done in 0..documents {
        // This is the work. Work that cannot be woken asks `context.is_cancelled()` now and then.
        if context.wait_cancelled(Duration::from_millis(ms)) {
            eprintln!("cancelled after {done} documents");
            return Err("cancelled".to_owned());
        }
        let total = Some(f64::from(documents));
        context.progress(f64::from(done + 1), total, Some("indexed"));
    }
    Ok(format!("{documents} documents are indexed"))
}

/// Answer at once: this one runs in the loop, and waits for nobody
#[tool]
fn ping() -> &'static str {
    "pong"
}

fn main() -> tightwire::Result<()> {
    Server::new("blocking", "1.0.0")
        .tool(index)
        .tool(ping)
        .serve_stdio()
}
