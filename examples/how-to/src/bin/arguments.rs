//! Arguments of any type: what serde reads and schemars describes becomes the input schema.
//!
//! ```text
//! cargo run -p how-to --bin arguments
//! ```

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tightwire::{Server, tool};

// It is `Serialize` so that the schema can tell the default.
/// How fast it has to be
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Speed {
    Standard,
    Express,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Address {
    street: String,
    city: String,
    /// Two letters, as ISO 3166-1 has them
    #[schemars(length(equal = 2))]
    country: Option<String>,
}

/// Ship some items
#[tool]
fn ship(
    /// Where to
    to: Address,
    /// What, and how many of each
    items: BTreeMap<String, u32>,
    #[default(Vec::new())] notes: Vec<String>,
    #[default(Speed::Standard)] speed: Speed,
    /// At most this much, in euros
    #[schemars(range(min = 0.0))]
    budget: Option<f64>,
) -> String {
    let Address {
        street,
        city,
        country,
    } = to;
    let country = country.unwrap_or_else(|| "CH".to_owned());
    let count: u32 = items.values().sum();
    let budget = budget.map_or("any price".to_owned(), |budget| {
        format!("up to {budget} EUR")
    });
    let notes = notes.len();
    format!("{count} items to {street}, {city}, {country}: {speed:?}, {budget}, {notes} notes")
}

/// Say a text several times
#[tool] // A `&str` borrows from the request: nothing is copied.
fn repeat(text: &str, #[schemars(range(max = 100))] times: usize) -> String {
    text.repeat(times)
}

fn main() -> tightwire::Result<()> {
    Server::new("arguments", "1.0.0")
        .tool(ship)
        .tool(repeat)
        .serve_stdio()
}
