//! The files of a folder as resources. Nothing outside of the folder is reached.
//!
//! ```text
//! cargo run -p how-to --bin files -- FOLDER
//! ```

use std::env;

use tightwire::{Files, Server};

fn main() -> tightwire::Result<()> {
    let folder = env::args_os().nth(1).unwrap_or_else(|| ".".into());
    // Listed are the files that are there now; those that come later can be read all the same.
    let files = Files::new("file:///documents", folder)?
        .list(1_000)
        .file_bytes_max(1 << 20);
    Server::new("files", "1.0.0").files(files).serve_stdio()
}
