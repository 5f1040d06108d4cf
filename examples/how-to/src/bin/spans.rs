//! A `tracing` span around each handler, within the trace that the client names in `_meta`.
//!
//! ```text
//! cargo run -p how-to --bin spans
//! ```

use std::io;

use tightwire::{Context, Hook, Server, tool};
use tracing::{info, info_span};

struct Spans;

impl Hook for Spans {
    /// On the thread that the handler runs on, be it the loop or one of the pool.
    fn around(&self, context: &Context<'_>, handler: &mut dyn FnMut()) {
        let trace = context.trace_context();
        // With `tracing-opentelemetry`, `traceparent` is where the parent of the span is read
        // from: `span.set_parent(propagator.extract(…))`.
        let span = info_span!(
            "request",
            traceparent = trace.traceparent,
            client = context.client_info().name,
        );
        span.in_scope(handler);
    }
}

/// Look something up
#[tool(blocking)]
fn lookup(key: &str) -> String {
    info!(key, "asking the database");
    format!("the value of {key}")
}

fn main() -> tightwire::Result<()> {
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .without_time()
        .with_ansi(false)
        .init();
    Server::new("spans", "1.0.0")
        .hook(Spans)
        .tool(lookup)
        .serve_stdio()
}
