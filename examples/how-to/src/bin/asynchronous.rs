//! An `async fn`, on an executor of your choice: here that of tokio.
//!
//! ```text
//! cargo run -p how-to --bin asynchronous
//! ```

use std::{error::Error, time::Duration};

use tightwire::{Context, Server, tool};

/// Look something up in a slow database
#[tool(timeout = "5s")]
async fn lookup(context: &Context<'_>, key: String, #[default(20)] ms: u64) -> String {
    context.progress(0.5, Some(1.0), Some("asking"));
    // When the call is cancelled or its time is up, the future is dropped where it waits.
    tokio::time::sleep(Duration::from_millis(ms)).await;
    format!("the value of {key}")
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Runtime::new()?;
    let handle = runtime.handle().clone();
    Server::new("asynchronous", "1.0.0")
        .executor(move |future| drop(handle.spawn(future)))
        .tool(lookup)
        .serve_stdio()?;
    Ok(())
}
