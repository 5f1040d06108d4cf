//! The same things without macros: functions over types, and handlers that are closures.
//!
//! ```text
//! cargo run -p how-to --bin without_macros
//! ```

use schemars::JsonSchema;
use serde::Deserialize;
use tightwire::{Call, Prompt, Reply, Resource, ResourceTemplate, Server, Tool};

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The first number
    a: f64,
    b: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Echo<'a> {
    message: &'a str,
}

fn main() -> tightwire::Result<()> {
    Server::new("without_macros", "1.0.0")
        // A function over a type, whose schema is that of the type.
        .tool_fn("add", "Add two numbers", |args: Add| args.a + args.b)
        .tool(echo())
        .tool(from_configuration("greet", "Say hello"))
        .resource(
            Resource::new("demo://greeting", "greeting", |_, reply| {
                reply.text("Hello!");
            })
            .mime_type("text/plain"),
        )
        .resource_template(
            ResourceTemplate::new("greeting://{name}", "greeting-to", |read, reply| {
                reply.text(format_args!("Hello, {}!", read.variable("name")));
            })
            .complete("name", |typed| typed.among(["Ada", "Alan"])),
        )
        .prompt(
            Prompt::new("review", |prompt, reply| {
                let code = prompt.argument("code").unwrap_or_default();
                reply.user_text(format_args!("Please review:\n\n{code}"));
            })
            .required("code", "The code to review"),
        )
        .serve_stdio()
}

/// The raw form, which the others are built on. Its arguments may borrow from the request.
fn echo() -> Tool {
    Tool::new("echo", |call: Call<'_>, reply: Reply<'_>| {
        match call.parse::<Echo<'_>>() {
            Ok(echo) => reply.text(echo.message),
            Err(error) => reply.invalid_arguments(call.name(), &error),
        }
    })
    .description("Say it back")
    .takes::<Echo<'_>>()
}

/// A tool that is known only when the program runs, with a schema written by hand.
fn from_configuration(name: &str, description: &str) -> Tool {
    Tool::new(name, |call: Call<'_>, reply: Reply<'_>| {
        let names = call
            .arguments()
            .find("names")
            .and_then(|names| names.as_array());
        let names: Vec<&str> = names
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str())
            .collect();
        reply.display(format_args!("Hello, {}!", names.join(" and ")));
    })
    .description(description)
    .input_schema(
        r#"{
            "type": "object",
            "properties": { "names": { "type": "array", "items": { "type": "string" } } },
            "required": ["names"]
        }"#,
    )
}
