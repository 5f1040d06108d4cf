//! rmcp as fast as it goes: its non-blocking pipes, on one thread.

use rmcp::{ServiceExt, transport::stdio_pipes};
use rmcp_peers::Demo;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = Demo.serve(stdio_pipes()).await?;
    service.waiting().await?;
    Ok(())
}
