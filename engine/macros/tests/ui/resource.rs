//! Resources whose URI and arguments do not go together, and one with an argument that is told
//! to serde.

use tightwire::resource;

#[resource]
fn nowhere() -> &'static str {
    ""
}

#[resource(uri = "notes://{id}/{page}")]
fn missing(id: &str) -> String {
    id.to_owned()
}

#[resource(uri = "notes://all")]
fn additional(id: &str) -> String {
    id.to_owned()
}

#[resource(uri = "notes://{id")]
fn open(id: &str) -> String {
    id.to_owned()
}

#[resource(uri = "notes://{in}")]
fn renamed(#[serde(rename = "in")] place: &str) -> String {
    place.to_owned()
}

fn main() {}
