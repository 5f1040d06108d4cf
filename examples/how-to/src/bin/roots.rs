//! Asking for the roots: the folders that the client lets the server work in.
//!
//! ```text
//! cargo run -p how-to --bin roots
//! ```
//!
//! Roots are deprecated in 2026-07-28, and still there.

use tightwire::{Ask, Context, Inputs, Server, tool};

/// Tell which folders there are to work in
#[tool(read_only)]
fn folders(context: &Context<'_>) -> Result<String, Ask> {
    // Several things may be asked for at once, each under a key of its own.
    let answers = context.ask(Inputs::new().roots("folders"))?;
    let folders = answers.roots("folders");
    let lines: Vec<String> = folders
        .map(|(uri, name)| format!("{}: {uri}", name.unwrap_or("unnamed")))
        .collect();
    Ok(lines.join("\n"))
}

fn main() -> tightwire::Result<()> {
    Server::new("roots", "1.0.0").tool(folders).serve_stdio()
}
