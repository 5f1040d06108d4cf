//! Structured output: `Json` of a type declares its schema, and gives programs the value and
//! models its text.
//!
//! ```text
//! cargo run -p how-to --bin structured
//! ```

use schemars::JsonSchema;
use serde::Serialize;
use tightwire::{Content, Json, Server, tool};

#[derive(Serialize, JsonSchema)]
struct Weather {
    /// In degrees Celsius
    temperature: f64,
    conditions: &'static str,
}

/// The weather of a city
#[tool(read_only)]
fn weather(city: &str) -> Result<Json<Weather>, String> {
    if city == "Atlantis" {
        return Err(format!("there is no {city}"));
    }
    Ok(Json(Weather {
        temperature: 22.5,
        conditions: "sunny",
    }))
}

/// The same, in words of one's own
#[tool(read_only)]
fn weather_in_words(city: &str) -> (Vec<Content>, Json<Weather>) {
    let today = Weather {
        temperature: 22.5,
        conditions: "sunny",
    };
    let words = format!("It is {} in {city}.", today.conditions);
    (vec![Content::text(words)], Json(today))
}

fn main() -> tightwire::Result<()> {
    // Debug builds check what tools return against the schema; `check_output` decides for others.
    Server::new("structured", "1.0.0")
        .tool(weather)
        .tool(weather_in_words)
        .check_output(true)
        .serve_stdio()
}
