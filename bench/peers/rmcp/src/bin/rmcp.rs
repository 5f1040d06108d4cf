//! rmcp as its README says: `stdio()` on tokio's threads.

use rmcp::{ServiceExt, transport::stdio};
use rmcp_peers::Demo;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = Demo.serve(stdio()).await?;
    service.waiting().await?;
    Ok(())
}
