//! What the integration tests share.
//!
//! - [`Pair`]: a server in memory; a test feeds lines and compares answers.
//! - [`Revision`]: the same server in any revision, and answers without what the eras add.
//! - [`Stepped`]: the same with a clock that the test moves.
//! - [`Held`]: a tool whose calls wait until the test answers them.
//! - [`Script`]: a server process; a test sends lines and waits for answers.
//! - [`Conversation`]: with a server process, in either era.
//! - [`Tap`]: what a server writes answers what it was asked, and is valid in its revision; all of
//!   these have one.
//! - [`Listening`]: a server process on a socket, and [`Client`]: one of those who connect to it.
//! - [`Process`]: the process alone, with the streams that a test gives it.

mod conversation;
mod held;
mod listening;
mod pair;
mod process;
mod revision;
mod schemas;
mod script;
mod stepped;
mod tap;
mod tap_tasks;
mod told;

pub use conversation::Conversation;
pub use held::Held;
pub use listening::{Client, Listening};
pub use pair::Pair;
pub use process::Process;
pub use revision::{REVISIONS, Revision};
pub use schemas::specification;
pub use script::{Exit, Script};
pub use stepped::Stepped;
pub use tap::Tap;
pub use told::{SUBSCRIPTION_ID, acknowledged, changed, listen, updated};

use std::io::{Write, stderr};

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

/// A batch of messages as one line.
#[must_use]
pub fn batch(lines: &[&str]) -> String {
    format!("[{}]", lines.join(","))
}

/// The cancellation of a request as one line.
#[must_use]
pub fn cancelled(id: impl Into<Value>) -> String {
    let params = json!({ "requestId": id.into(), "reason": "a test" });
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string()
}

/// A modern result: the envelope around its own members.
#[must_use]
pub fn modern_result(id: impl Into<Value>, mut members: Value) -> Value {
    members["resultType"] = json!("complete");
    members["_meta"] = json!({
        "io.modelcontextprotocol/serverInfo": { "name": "pair", "version": "1.2.3" }
    });
    json!({ "jsonrpc": "2.0", "id": id.into(), "result": members })
}

/// A legacy result.
#[must_use]
pub fn legacy_result(id: impl Into<Value>, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "result": result })
}

/// What a tool says, as the members of a result.
#[must_use]
pub fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// An error, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The id; `Some(Value::Null)` and `None` differ.
    pub id: Option<Value>,
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// The data.
    pub data: Option<Value>,
}

/// Takes an error apart.
///
/// # Panics
///
/// If it is none, or has members that an error does not have.
#[must_use]
#[track_caller]
pub fn refusal(answer: &Value) -> Refusal {
    let mut error = answer["error"].clone();
    let members = error.as_object_mut();
    let members = members.unwrap_or_else(|| panic!("an error, not {answer}"));
    let code = members.remove("code").and_then(|code| code.as_i64());
    let message = members.remove("message");
    let data = members.remove("data");
    assert!(members.is_empty(), "{answer}");
    let known = ["jsonrpc", "id", "error"];
    let mut keys = answer
        .as_object()
        .into_iter()
        .flat_map(|members| members.keys());
    assert!(keys.all(|key| known.contains(&key.as_str())), "{answer}");
    assert_eq!(answer["jsonrpc"], "2.0");
    Refusal {
        id: answer.get("id").cloned(),
        code: code.unwrap_or_else(|| panic!("no code in {answer}")),
        message: match message {
            Some(Value::String(message)) => message,
            _ => panic!("no message in {answer}"),
        },
        data,
    }
}

impl Refusal {
    /// The id and the code.
    #[must_use]
    pub fn head(&self) -> (Option<Value>, i64) {
        (self.id.clone(), self.code)
    }
}

/// Says on stderr what is not tested, past what the test harness holds back of tests that pass.
///
/// # Panics
///
/// If stderr is closed.
pub fn say_untested(what: &str) {
    writeln!(stderr(), "NOT TESTED: {what}").expect("stderr is open");
}
