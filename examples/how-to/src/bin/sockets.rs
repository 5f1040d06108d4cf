//! Many clients at once, each on a connection of its own: over a Unix socket that only its owner may
//! connect to, or over TCP on this machine.
//!
//! ```text
//! cargo run -p how-to --bin sockets -- unix sums.sock
//! cargo run -p how-to --bin sockets -- tcp 127.0.0.1:4711
//! ```

use std::env;

use tightwire::{Listener, Server, tool};

/// Add two numbers
#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

fn main() -> tightwire::Result<()> {
    let server = Server::new("sums", "1.0.0").tool(add);
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["unix", path] => server.serve_unix(path),
        ["tcp", address] => {
            // Port 0 lets the system choose one.
            let listener = Listener::tcp(address)?;
            if let Some(address) = listener.local_addr() {
                eprintln!("listening on {address}");
            }
            server.freeze()?.serve(listener)
        }
        _ => {
            eprintln!("usage: sockets unix PATH | sockets tcp ADDRESS");
            Ok(())
        }
    }
}
