//! What the integration tests share.
//!
//! - [`Pair`]: a server in memory; a test feeds lines and compares answers.
//! - [`Script`]: a server process; a test sends lines and waits for answers.
//! - [`Process`]: the process alone, with the streams that a test gives it.

mod pair;
mod process;
mod script;

pub use pair::Pair;
pub use process::Process;
pub use script::{Exit, Script};

use serde_json::{Value, json};
use tightwire::{Call, Prompt, Reply, Resource, ResourceTemplate, Server, Tool};

/// A server with one of everything, small enough to know by heart.
#[must_use]
pub fn server() -> Server {
    Server::new("pair", "1.2.3")
        .tool(
            Tool::new("echo", |call: Call<'_>, reply: Reply<'_>| {
                let message = call.arguments().find("message");
                reply.text(message.and_then(|text| text.as_str()).unwrap_or_default());
            })
            .input_schema(
                r#"{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}"#,
            ),
        )
        .tool(Tool::new("boom", |_: Call<'_>, reply: Reply<'_>| reply.error("no such city")))
        .resource(
            Resource::new("pair://hello", "hello", |_, reply| reply.text("Hello!"))
                .mime_type("text/plain"),
        )
        .resource_template(ResourceTemplate::new("pair://hello/{name}", "hello-to", |read, reply| {
            reply.text(format_args!("Hello, {}!", read.variable("name")));
        }))
        .prompt(
            Prompt::new("review", |prompt, reply| {
                reply.user_text(prompt.argument("code").unwrap_or_default());
            })
            .description("Review some code")
            .required("code", "The code")
            .optional("style", "How strict to be"),
        )
}

/// The `_meta` that every modern request needs.
#[must_use]
pub fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A modern request as one line. `params` must be an object; `_meta` is added where it has none.
#[must_use]
pub fn modern(id: impl Into<Value>, method: &str, mut params: Value) -> String {
    if let Some(members) = params.as_object_mut() {
        members.entry("_meta").or_insert_with(modern_meta);
    }
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params }).to_string()
}

/// A modern call of a tool as one line.
#[must_use]
pub fn call(id: impl Into<Value>, tool: &str, arguments: &Value) -> String {
    modern(
        id,
        "tools/call",
        json!({ "name": tool, "arguments": arguments }),
    )
}

/// A legacy request as one line.
#[must_use]
pub fn legacy(id: impl Into<Value>, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params }).to_string()
}

/// The `initialize` request of a revision as one line, with the id `"init"`.
#[must_use]
pub fn initialize(version: &str) -> String {
    let client = json!({ "name": "tests", "version": "1" });
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
    legacy("init", "initialize", &params)
}
