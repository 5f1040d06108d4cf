//! Hooks around all handlers: a limit of calls, and a record of who called what.
//!
//! ```text
//! cargo run -p how-to --bin hooks
//! ```

use std::sync::atomic::{AtomicU32, Ordering};

use tightwire::{Context, Finished, Hook, RpcError, Server, tool};

/// Serves so many requests, and refuses the others.
struct Quota(AtomicU32);

impl Hook for Quota {
    fn before(&self, _: &Context<'_>) -> Result<(), RpcError> {
        let take = |left: u32| left.checked_sub(1);
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken
            .map(drop)
            .map_err(|_| RpcError::new(-31_000, "The quota is used up"))
    }
}

/// Writes a line for each request, on stderr.
struct Audit;

impl Hook for Audit {
    fn before(&self, context: &Context<'_>) -> Result<(), RpcError> {
        let client = context.client_info().name.unwrap_or("somebody");
        eprintln!("asked by {client} in {}", context.version());
        Ok(())
    }

    fn after(&self, finished: &Finished<'_>) {
        let (method, name, ending) = (finished.method(), finished.name(), finished.ending());
        eprintln!("{method} {name} ended with {ending:?}");
    }
}

/// Add two numbers
#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

fn main() -> tightwire::Result<()> {
    // The first hook is the outermost: what the quota refuses was asked for all the same.
    Server::new("hooks", "1.0.0")
        .hook(Audit)
        .hook(Quota(AtomicU32::new(2)))
        .tool(add)
        .serve_stdio()
}
