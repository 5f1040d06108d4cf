//! The demo server: the one that README runs.
//!
//! ```text
//! cargo run --release --bin demo < examples/requests.jsonl
//! ```

use std::time::Duration;

use tightwire::{
    Call, Prompt, Reply, Resource, ResourceTemplate, Server, Tool, schemars::JsonSchema,
    serde::Deserialize,
};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tightwire::serde")]
#[schemars(crate = "tightwire::schemars")]
struct Add {
    /// The first number.
    a: f64,
    /// The second number.
    b: f64,
}

fn main() -> tightwire::Result<()> {
    Server::new("demo", "1.0.0")
        .tool_fn("add", "Add two numbers", |args: Add| args.a + args.b)
        .tool(echo())
        .tool(boom())
        .tool(forecast())
        .tool(sleep())
        .resource(
            Resource::new("demo://greeting", "greeting", |_, reply| {
                reply.text("Hello, world!");
            })
            .description("A greeting to everyone")
            .mime_type("text/plain"),
        )
        .resource_template(
            ResourceTemplate::new("greeting://{name}", "greeting by name", |read, reply| {
                reply.text(format_args!("Hello, {}!", read.variable("name")));
            })
            .description("A greeting to someone")
            .mime_type("text/plain"),
        )
        .prompt(
            Prompt::new("review", |prompt, reply| {
                let code = prompt.argument("code").unwrap_or_default();
                reply.user_text(format_args!("Please review this code:\n\n{code}"));
            })
            .description("Ask for a review of some code")
            .required("code", "The code to review"),
        )
        .serve_stdio()
}

/// The raw form: the text is borrowed from the receive buffer, and nothing is allocated.
fn echo() -> Tool {
    Tool::new("echo", |call: Call<'_>, reply: Reply<'_>| {
        let message = call.arguments().find("message");
        reply.text(message.and_then(|text| text.as_str()).unwrap_or_default());
    })
    .description("Say it back")
    .input_schema(
        r#"{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}"#,
    )
}

/// A tool execution error: something for the model to act on.
fn boom() -> Tool {
    Tool::new("boom", |_: Call<'_>, reply: Reply<'_>| {
        reply.error("city not found");
    })
    .description("Always fail")
}

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
