//! Counts and latencies of all requests, without an allocation per call.
//!
//! ```text
//! cargo run -p how-to --bin metrics
//! ```

use tightwire::{Metrics, Server, tool};

/// Halve an even number
#[tool]
fn halve(number: i64) -> Result<i64, &'static str> {
    if number % 2 == 0 {
        Ok(number / 2)
    } else {
        Err("the number is odd")
    }
}

fn main() -> tightwire::Result<()> {
    let metrics = Metrics::new();
    Server::new("metrics", "1.0.0")
        .hook(metrics.clone())
        .tool(halve)
        .serve_stdio()?;
    // Here at the end; in a real server from a thread of its own, now and then.
    for series in metrics.snapshot() {
        eprintln!(
            "{} {}: {} calls, {} failed, median {:?}, p99 {:?}",
            series.method,
            series.name,
            series.calls,
            series.tool_errors + series.errors,
            series.quantile(0.5).unwrap_or_default(),
            series.quantile(0.99).unwrap_or_default(),
        );
    }
    Ok(())
}
