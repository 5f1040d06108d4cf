//! What clients are told of a server and of what it serves: titles, instructions, icons, hints,
//! metadata.
//!
//! ```text
//! cargo run -p how-to --bin described
//! ```

use tightwire::{Icon, Server, Theme, resource, tool};

/// Delete a file
#[tool(
    title = "Delete",
    destructive,
    idempotent,
    open_world = false,
    icon(
        src = "https://files.example/bin.svg",
        mime_type = "image/svg+xml",
        size = "any"
    ),
    meta = r#"{"com.example/confirm":true}"#
)]
fn delete(
    /// The path, from the root of the project
    path: &str,
) -> String {
    format!("{path} is deleted")
}

/// What was deleted last
#[resource(
    uri = "files://deleted",
    title = "Deleted",
    mime_type = "text/plain",
    audience(user),
    priority = 0.3
)]
fn deleted() -> &'static str {
    "nothing yet"
}

fn main() -> tightwire::Result<()> {
    let icon = Icon::new("https://files.example/dark.png");
    Server::new("described", "1.0.0")
        .title("Files")
        .description("The files of a project")
        .website_url("https://files.example")
        .icon(icon.mime_type("image/png").size("48x48").theme(Theme::Dark))
        .instructions("Ask the user before you delete a file.")
        .tool(delete)
        .resource(deleted)
        .serve_stdio()
}
