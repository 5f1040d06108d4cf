//! rmcp as fast as it goes: its non-blocking pipes, on one thread, with one write for all answers that are ready.

use rmcp::{ServiceExt, transport::stdio_pipes};
use rmcp_peers::Demo;
use tokio::io::{BufReader, copy_buf, duplex};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (stdin, mut stdout) = stdio_pipes();
    // rmcp flushes after each answer: into memory, from where a task of its own writes what has gathered.
    let (answers, ready) = duplex(BUFFER_BYTES);
    let mut ready = BufReader::with_capacity(BUFFER_BYTES, ready);
    let writing = tokio::spawn(async move { copy_buf(&mut ready, &mut stdout).await });
    let service = Demo.serve((stdin, answers)).await?;
    service.waiting().await?;
    writing.await??;
    Ok(())
}

const BUFFER_BYTES: usize = 64 * 1024;
