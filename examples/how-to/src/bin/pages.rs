//! Long lists in pages, and for how long clients may keep them.
//!
//! ```text
//! cargo run -p how-to --bin pages
//! ```

use tightwire::{CacheScope, Resource, Server};

fn main() -> tightwire::Result<()> {
    let mut server = Server::new("pages", "1.0.0")
        .page_size(10)
        .cache_lists(60_000, CacheScope::Public);
    for year in 2001..=2025 {
        let chronicle = Resource::new(
            format!("chronicle://{year}"),
            format!("The year {year}"),
            move |_, reply| reply.text(format_args!("What happened in {year}")),
        );
        server = server.resource(chronicle);
    }
    server.serve_stdio()
}
