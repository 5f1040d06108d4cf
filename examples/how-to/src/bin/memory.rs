//! A server in a program of one's own, without a process, a thread or a pipe: `Memory`.
//!
//! ```text
//! cargo run -p how-to --bin memory
//! ```

use std::{thread, time::Duration};

use tightwire::{Call, Memory, Reply, Server, Tool, tool};

/// Add two numbers
#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

fn main() -> tightwire::Result<()> {
    let slow = Tool::new("slow", |_: Call<'_>, reply: Reply<'_>| {
        reply.after(Duration::from_millis(20), |reply| reply.text("at last"));
    });
    let server = Server::new("memory", "1.0.0")
        .tool(add)
        .tool(slow)
        .freeze()?;
    let mut memory = Memory::new(&server);
    // Answers that other threads give wake this one.
    let this = thread::current();
    memory.connection().set_waker(move || this.unpark());

    memory.feed(request(1, r#""name":"slow""#).as_bytes());
    memory.feed(request(2, r#""name":"add","arguments":{"a":2,"b":3}"#).as_bytes());
    while memory.in_flight() > 0 {
        if let Some(wait) = memory.poll() {
            thread::park_timeout(wait);
        }
    }
    print!("{}", String::from_utf8_lossy(memory.output()));
    memory.consume(memory.output().len());
    Ok(())
}

fn request(id: u32, call: &str) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{{call},{meta}}}}}\n"
    )
}
