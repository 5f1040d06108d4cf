//! Any schema and any value: compiling and checking never panic and come to an end, and what is
//! not valid has a problem that is told.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tightwire::{Call, Memory, Reply, Server, Tool};

// The schema as JSON, a zero, the value as JSON.
fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(2, |byte| *byte == 0);
    let (Some(schema), Some(value)) = (parts.next(), parts.next()) else {
        return;
    };
    let Ok(value) = serde_json::from_slice::<Value>(value) else {
        return;
    };
    let schema = match serde_json::from_slice::<Value>(schema) {
        // A resource of its own, so that its references point into it.
        Ok(Value::Object(mut members)) => {
            members.insert("$id".to_owned(), json!("a"));
            Value::Object(members)
        }
        Ok(schema) => schema,
        Err(_) => return,
    };
    let schema = json!({ "type": "object", "properties": { "value": schema } });
    let ok = |_: Call<'_>, reply: Reply<'_>| reply.text("ok");
    let tool = Tool::new("tool", ok).input_schema(schema.to_string());
    let Ok(server) = Server::new("fuzz", "1.0.0").tool(tool).freeze() else {
        return;
    };
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
        "name": "tool", "arguments": { "value": value },
    } });
    let mut memory = Memory::new(&server);
    memory.feed(request.to_string().as_bytes());
    memory.feed(b"\n");
    memory.poll();
    let answer: Value = serde_json::from_slice(memory.output()).expect("the answer is JSON");
    if let Some(result) = answer.get("result") {
        let text = result["content"][0]["text"].as_str().expect("a text");
        // A value that is not valid has at least one problem.
        assert!(text == "ok" || text.contains("\n- "), "{text}");
    }
});
