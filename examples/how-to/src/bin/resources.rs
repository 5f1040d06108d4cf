//! Resources to read: texts and bytes under a URI, and templates of URIs.
//!
//! ```text
//! cargo run -p how-to --bin resources
//! ```

use tightwire::{Complete, Completion, ResourceContents, Server, resource};

/// A text
#[resource(
    uri = "library://rules",
    mime_type = "text/plain",
    ttl_ms = 60_000,
    cache_scope = "public"
)]
fn rules() -> &'static str {
    "Be quiet."
}

/// Bytes
#[resource(
    uri = "library://stamp",
    mime_type = "application/octet-stream",
    size = 4
)]
fn stamp() -> Vec<u8> {
    vec![0xf0, 0x9f, 0x93, 0x9a]
}

/// A book, by its shelf and title; `None` is "not found"
#[resource(uri = "library://{shelf}/{title}", mime_type = "text/plain")]
fn book(
    #[arg(complete = shelves)] shelf: &str,
    #[arg(complete = titles)] title: &str,
) -> Option<String> {
    let known = on_shelf(shelf).contains(&title);
    known.then(|| format!("The text of {title}"))
}

/// Several contents at once, each under its own URI
#[resource(uri = "library://shelves{/shelf}")]
fn shelf(shelf: &str) -> Vec<ResourceContents> {
    let titles = on_shelf(shelf).iter();
    titles
        .map(|title| {
            let uri = format!("library://{shelf}/{title}");
            ResourceContents::text(uri, format!("The text of {title}"))
        })
        .collect()
}

fn shelves(typed: Complete<'_>) -> Completion {
    typed.among(["poems", "plays"])
}

/// Of the shelf, if that is known already.
fn titles(typed: Complete<'_>) -> Completion {
    typed.among(on_shelf(typed.argument("shelf").unwrap_or_default()))
}

fn on_shelf(name: &str) -> &'static [&'static str] {
    match name {
        "poems" => &["Odes", "Sonnets"],
        "plays" => &["Hamlet", "Othello"],
        _ => &[],
    }
}

fn main() -> tightwire::Result<()> {
    Server::new("resources", "1.0.0")
        .resource(rules)
        .resource(stamp)
        .resource(shelf)
        .resource(book)
        .serve_stdio()
}
