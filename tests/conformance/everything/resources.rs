//! Resources.

use serde_json::json;
use tightwire::{Server, resource};

use crate::contents::IMAGE;

pub(crate) fn add_to(server: Server) -> Server {
    server
        .resource(static_text)
        .resource(static_binary)
        .resource(watched_resource)
        .resource(template_data)
}

/// A text
#[resource(
    uri = "test://static-text",
    name = "static-text",
    mime_type = "text/plain"
)]
fn static_text() -> &'static str {
    "This is the content of the static text resource."
}

/// An image
#[resource(
    uri = "test://static-binary",
    name = "static-binary",
    mime_type = "image/png"
)]
fn static_binary() -> &'static [u8] {
    IMAGE
}

/// A text that clients subscribe to
#[resource(
    uri = "test://watched-resource",
    name = "watched-resource",
    mime_type = "text/plain"
)]
fn watched_resource() -> &'static str {
    "This is the content of the watched resource."
}

/// The data of an id
#[resource(
    uri = "test://template/{id}/data",
    name = "template-data",
    mime_type = "application/json"
)]
fn template_data(id: &str) -> String {
    json!({ "id": id, "templateTest": true, "data": format!("Data for {id}") }).to_string()
}
