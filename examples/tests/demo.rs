//! `examples/requests.jsonl`, as README has people run it.

use std::{
    collections::HashMap,
    fs::File,
    process::{Command, Output},
};

use serde_json::{Value, json};

#[test]
fn the_demo_answers_the_requests() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/requests.jsonl");
    let requests = File::open(path).expect("the requests are there");
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_demo"))
        .stdin(requests)
        .output()
        .expect("the demo starts");
    assert_eq!(status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&stderr), "");

    let mut answers = HashMap::new();
    for line in String::from_utf8(stdout).expect("stdout is UTF-8").lines() {
        let answer: Value = serde_json::from_str(line).expect("a line of stdout is JSON");
        let id = answer.get("id").map(Value::to_string);
        let twice = answers.insert(id.unwrap_or_else(|| "none".to_owned()), answer);
        assert_eq!(twice, None);
    }
    for (id, expected) in expected() {
        let answer = answers.remove(id).unwrap_or_default();
        let outcome = answer.get("result").or(answer.get("error"));
        assert_eq!(outcome, Some(&expected), "the answer to {id}");
    }
    assert_eq!(answers, HashMap::new());
}

/// The result or the error, by the id of the request as JSON.
fn expected() -> Vec<(&'static str, Value)> {
    let capabilities = json!({ "tools": {}, "resources": {}, "prompts": {} });
    let refused = "Invalid arguments for forecast:\n\
        - location: is required\n\
        - days: must be integer, not string\n\
        - units: must be one of \"c\", \"f\"\n\
        - wind: is not expected";
    let review = "Please review this code:\n\nfn main() {}";
    vec![
        (
            "1",
            lasting(json!({
                "supportedVersions": ["2026-07-28"],
                "capabilities": capabilities,
            })),
        ),
        ("2", lasting(json!({ "tools": tools() }))),
        ("3", text("slept")),
        ("4", text("5")),
        ("5", text("\"quoted\"\tC:\\temp\nZürich, 東京 🙂")),
        ("\"six\"", error("city not found")),
        ("7", text("Bern in 3 days: 68 °F, sunny")),
        ("8", error(refused)),
        (
            "9",
            lasting(json!({ "resources": [{
                "uri": "demo://greeting",
                "name": "greeting",
                "description": "A greeting to everyone",
                "mimeType": "text/plain",
            }] })),
        ),
        (
            "10",
            lasting(json!({ "resourceTemplates": [{
                "uriTemplate": "greeting://{name}",
                "name": "greeting by name",
                "description": "A greeting to someone",
                "mimeType": "text/plain",
            }] })),
        ),
        ("11", contents("demo://greeting", "Hello, world!")),
        ("12", contents("greeting://Ada", "Hello, Ada!")),
        (
            "13",
            modern(json!({
                "description": "Ask for a review of some code",
                "messages": [{ "role": "user", "content": { "type": "text", "text": review } }],
            })),
        ),
        (
            "14",
            json!({ "code": -32602, "message": "Unknown tool: `teleport`" }),
        ),
        (
            "15",
            json!({
                "code": -32022,
                "message": "Unsupported protocol version `2099-01-01`: requests are served in \
                    2026-07-28; 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 are served after \
                    an `initialize` handshake",
                "data": { "supported": ["2026-07-28"], "requested": "2099-01-01" },
            }),
        ),
        (
            "none",
            json!({
                "code": -32700,
                "message": "Parse error: the line is not one complete JSON value",
            }),
        ),
        (
            "16",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities,
                "serverInfo": { "name": "demo", "version": "1.0.0" },
            }),
        ),
        ("17", json!({})),
        (
            "18",
            json!({ "content": [{ "type": "text", "text": "0.30000000000000004" }] }),
        ),
    ]
}

fn tools() -> Value {
    let number = |text| json!({ "type": "number", "format": "double", "description": text });
    json!([
        {
            "name": "add",
            "description": "Add two numbers",
            "inputSchema": {
                "type": "object",
                "properties": { "a": number("The first number."), "b": number("The second number.") },
                "required": ["a", "b"],
            },
        },
        {
            "name": "echo",
            "description": "Say it back",
            "inputSchema": {
                "type": "object",
                "properties": { "message": { "type": "string" } },
                "required": ["message"],
            },
        },
        {
            "name": "boom",
            "description": "Always fail",
            "inputSchema": { "type": "object" },
        },
        {
            "name": "forecast",
            "description": "Foretell the weather",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "location": { "type": "string", "description": "The city" },
                    "days": { "type": "integer", "description": "How many days ahead" },
                    "units": { "type": "string", "enum": ["c", "f"] },
                },
                "required": ["location"],
                "additionalProperties": false,
            },
        },
        {
            "name": "sleep",
            "description": "Answer after some milliseconds",
            "inputSchema": {
                "type": "object",
                "properties": { "ms": { "type": "integer" } },
                "required": ["ms"],
            },
        },
    ])
}

/// A modern result: these members, and what every one has.
fn modern(mut result: Value) -> Value {
    let server = json!({ "name": "demo", "version": "1.0.0" });
    result["resultType"] = json!("complete");
    result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": server });
    result
}

/// A modern result that is the same for everyone, for a while.
fn lasting(mut result: Value) -> Value {
    result["ttlMs"] = json!(300_000);
    result["cacheScope"] = json!("public");
    modern(result)
}

fn contents(uri: &str, text: &str) -> Value {
    modern(json!({
        "contents": [{ "uri": uri, "mimeType": "text/plain", "text": text }],
        "ttlMs": 0,
        "cacheScope": "private",
    }))
}

fn text(text: &str) -> Value {
    modern(json!({ "content": [{ "type": "text", "text": text }] }))
}

fn error(text: &str) -> Value {
    modern(json!({ "content": [{ "type": "text", "text": text }], "isError": true }))
}
