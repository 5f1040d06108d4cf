//! What a model of the client's is asked, in the revisions that have less than others.
//!
//! Specification: 2025-11-25, `client/sampling`, Message Content; 2025-06-18 and before, the same.

use serde_json::{Value, json};
use tightwire::{Call, Inputs, IntoReply, Reply, Sampling, Server, Tool};
use tightwire_tests::{Pair, legacy, modern, modern_meta, server};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A server with a tool that has a model go on from this message.
fn asking(message: &Value) -> Server {
    let message = message.to_string();
    let tool = Tool::new("ask", move |call: Call<'_>, reply: Reply<'_>| {
        let sampling = Sampling::new(9).user("First.").message_json(&message);
        let asked = call.context().ask(Inputs::new().sample("it", sampling));
        asked
            .map(|answers| answers.sampled("it").model().to_owned())
            .reply(reply);
    });
    server().tool(tool)
}

/// What a call in this revision is answered with, of a client that can do all of it.
fn asked(version: &str, message: &Value) -> Value {
    let mut pair = Pair::new(asking(message));
    let capabilities = json!({ "sampling": { "tools": {} } });
    let client = json!({ "name": "tests", "version": "1" });
    let params = json!({
        "protocolVersion": version, "capabilities": capabilities, "clientInfo": client
    });
    pair.ask(&legacy("init", "initialize", &params));
    pair.send(INITIALIZED);
    pair.ask(&legacy(1, "tools/call", &json!({ "name": "ask" })))
}

fn message(content: &Value) -> Value {
    json!({ "role": "assistant", "content": content })
}

#[test]
fn before_2025_11_25_a_message_of_several_contents_is_several_messages() {
    let text = json!({ "type": "text", "text": "Look:" });
    let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
    let first = json!({ "role": "user", "content": { "type": "text", "text": "First." } });
    let both = message(&json!([text, image]));
    let apart = [first.clone(), message(&text), message(&image)];
    for (version, expected) in [
        ("2024-11-05", json!(apart)),
        ("2025-03-26", json!(apart)),
        ("2025-06-18", json!(apart)),
        ("2025-11-25", json!([first, both])),
    ] {
        let asked = asked(version, &both);
        assert_eq!(asked["method"], "sampling/createMessage");
        assert_eq!(asked["params"]["messages"], expected, "{version}");
    }
}

#[test]
fn what_the_models_of_a_revision_cannot_be_given_is_an_error_of_the_tool() {
    let tool_use = json!({ "type": "tool_use", "id": "1", "name": "n", "input": {} });
    let result = json!({ "type": "tool_result", "toolUseId": "1", "content": [] });
    let audio = json!({ "type": "audio", "data": "AA==", "mimeType": "audio/wav" });
    let tools = "sampling with tools";
    for (content, lacking, since) in [
        (json!([tool_use]), tools, "2025-11-25"),
        (result, tools, "2025-11-25"),
        (json!([audio]), "sampling with audio", "2025-03-26"),
    ] {
        for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            let asked = asked(version, &message(&content));
            if version >= since {
                assert_eq!(asked["method"], "sampling/createMessage", "{version}");
                continue;
            }
            assert_eq!(asked["result"]["isError"], true);
            let said = format!("revision {version} has no {lacking}");
            assert_eq!(asked["result"]["content"][0]["text"], said);
        }
    }
}

#[test]
fn a_client_whose_models_have_no_tools_is_not_given_their_results() {
    let result = json!({ "type": "tool_result", "toolUseId": "1", "content": [] });
    let mut pair = Pair::new(asking(&message(&result)));
    let client = json!({ "name": "tests", "version": "1" });
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "sampling": {} }, "clientInfo": client
    });
    pair.ask(&legacy("init", "initialize", &params));
    pair.send(INITIALIZED);
    let answer = pair.ask(&legacy(1, "tools/call", &json!({ "name": "ask" })));
    let said = "the client does not support sampling with tools";
    assert_eq!(answer["result"]["content"][0]["text"], said);
}

/// What is written is JSON, whatever an author gave for it.
#[test]
fn what_is_no_json_object_is_not_sent() {
    type Set = fn(Sampling) -> Sampling;
    let setters: [(Set, &str); 3] = [
        (|it| it.message_json("{oops"), "a message"),
        (|it| it.metadata("oops"), "the metadata"),
        (|it| it.tool_json("1"), "a tool"),
    ];
    for (set, what) in setters {
        let tool = Tool::new("ask", move |call: Call<'_>, reply: Reply<'_>| {
            let sampling = set(Sampling::new(9).user("First."));
            let asked = call.context().ask(Inputs::new().sample("it", sampling));
            asked.map(|_| "answered").reply(reply);
        });
        let mut pair = Pair::new(server().tool(tool));
        let mut meta = modern_meta();
        let capabilities = json!({ "sampling": { "tools": {} } });
        meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        let params = json!({ "name": "ask", "_meta": meta });
        let answer = pair.ask(&modern(1, "tools/call", params));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let said = answer["result"]["content"][0]["text"].as_str().unwrap();
        let start = format!("the client cannot be asked for `it`: {what} is not a JSON object: ");
        assert!(said.starts_with(&start), "{said}");
    }
}
