//! The demo server: the one that README runs.
//!
//! ```text
//! cargo run --release --bin demo < examples/requests.jsonl
//! ```

use std::time::Duration;

use tightwire::{Call, Reply, Server, Tool, prompt, resource, tool};

/// Add two numbers
#[tool]
fn add(
    /// The first number.
    a: f64,
    /// The second number.
    b: f64,
) -> f64 {
    a + b
}

/// Say it back
#[tool] // The text is borrowed from the receive buffer, and nothing is allocated.
fn echo(message: &str) -> &str {
    message
}

/// Always fail
#[tool] // A tool execution error: something for the model to act on.
fn boom() -> Result<(), &'static str> {
    Err("city not found")
}

/// A greeting to everyone
#[resource(uri = "demo://greeting", mime_type = "text/plain")]
fn greeting() -> &'static str {
    "Hello, world!"
}

/// A greeting to someone
#[resource(
    uri = "greeting://{name}",
    name = "greeting by name",
    mime_type = "text/plain"
)]
fn greeting_by_name(name: &str) -> String {
    format!("Hello, {name}!")
}

/// Ask for a review of some code
#[prompt]
fn review(
    /// The code to review
    code: &str,
) -> String {
    format!("Please review this code:\n\n{code}")
}

fn main() -> tightwire::Result<()> {
    Server::new("demo", "1.0.0")
        .tool(add)
        .tool(echo)
        .tool(boom)
        .tool(forecast())
        .tool(sleep())
        .resource(greeting)
        .resource(greeting_by_name)
        .prompt(review)
        .serve_stdio()
}

/// The raw form, which the others are built on: a schema written by hand, and arguments as they
/// came.
fn forecast() -> Tool {
    Tool::new("forecast", |call: Call<'_>, reply: Reply<'_>| {
        let arguments = call.arguments();
        let text = |name| arguments.find(name).and_then(|value| value.as_str());
        let days = arguments.find("days").and_then(|days| days.as_f64());
        let temperature = if text("units") == Some("f") {
            "68 °F"
        } else {
            "20 °C"
        };
        reply.display(format_args!(
            "{} in {} days: {temperature}, sunny",
            text("location").unwrap_or_default(),
            days.unwrap_or(1.0),
        ));
    })
    .description("Foretell the weather")
    .input_schema(
        r#"{
            "type": "object",
            "properties": {
                "location": { "type": "string", "description": "The city" },
                "days": { "type": "integer", "description": "How many days ahead" },
                "units": { "type": "string", "enum": ["c", "f"] }
            },
            "required": ["location"],
            "additionalProperties": false
        }"#,
    )
}

/// It waits in no thread: the reply continues when the time has come, unless it was cancelled.
fn sleep() -> Tool {
    Tool::new("sleep", |call: Call<'_>, reply: Reply<'_>| {
        let ms = call.arguments().find("ms").and_then(|ms| ms.as_f64());
        let seconds = ms.unwrap_or_default().max(0.0) / 1000.0;
        let delay = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        reply.after(delay, |reply| reply.text("slept"));
    })
    .description("Answer after some milliseconds")
    .input_schema(r#"{"type":"object","properties":{"ms":{"type":"integer"}},"required":["ms"]}"#)
}
