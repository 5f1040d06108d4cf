//! Resources whose URI and arguments do not go together.

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

fn main() {}
