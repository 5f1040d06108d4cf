//! Errors: each where the engine has it, and each as a handler gives it.

use serde_json::{Value, json};
use tightwire::{
    Call, ClientCapabilities, GetPrompt, IntoReply, Prompt, PromptReply, Reply, RpcError, Server,
    Tool,
};
use tightwire_tests::{Pair, modern, modern_meta, refusal};

use super::{
    Example,
    build::{members, must},
};

pub(super) fn error(example: &Example) {
    let expected = example.value.get("error").unwrap_or(&example.value);
    given(example, expected);
    let mut pair = match example.file.as_str() {
        // Without prompts their method does not exist.
        "unknown-prompt.json" => Pair::new(with_prompt()),
        _ => Pair::new(server()),
    };
    let answer = pair.ask(&provocation(&example.file));
    let refusal = refusal(&answer);
    assert_eq!(json!(refusal.code), expected["code"], "{answer}");
    // Whose name is not known is told it.
    if let Some((what, name)) = must(&expected["message"]).split_once(": invalid_") {
        let message = &answer["error"]["message"];
        let ours = message.as_str().unwrap_or_default();
        assert!(ours.starts_with(what) && ours.contains(name), "{answer}");
    }
    // The examples of methods and arguments say what ours do not have to.
    let data = refusal.data.unwrap_or(Value::Null);
    for (name, value) in members(&expected["data"]) {
        match name.as_str() {
            // Ours says which part of it.
            "requiredCapabilities" => {
                let names = |value: &Value| {
                    members(value)
                        .map(|(name, _)| name.clone())
                        .collect::<Vec<_>>()
                };
                assert_eq!(names(&data[name]), names(value), "{answer}");
            }
            // What is served request by request: this one alone.
            "supported" => assert_eq!(data[name], json!(["2026-07-28"])),
            "requested" => example.shows(value, &data[name]),
            _ => {}
        }
    }
}

/// A handler can answer with just this error.
fn given(example: &Example, expected: &Value) {
    let code = expected["code"]
        .as_i64()
        .and_then(|code| i32::try_from(code).ok());
    let mut error = RpcError::new(
        code.expect("an error has a code"),
        must(&expected["message"]),
    );
    if let Some(data) = expected.get("data") {
        error = error.with_data(data.to_string());
    }
    let tool = Tool::new("it", move |_: Call<'_>, reply: Reply<'_>| {
        reply.protocol_error(&error);
    });
    let mut pair = Pair::new(Server::new("s", "1").tool(tool));
    let answer = pair.ask(&modern(1, "tools/call", json!({ "name": "it" })));
    example.shows(expected, &answer["error"]);
}

/// A server with a prompt.
fn with_prompt() -> Server {
    let prompt = Prompt::new("known", |_: GetPrompt<'_>, reply: PromptReply<'_>| {
        reply.user_text("");
    });
    Server::new("s", "1").prompt(prompt)
}

/// A server without prompts, whose tools are `needy`, which needs elicitation, and `broken`.
fn server() -> Server {
    let needy = |call: Call<'_>, reply: Reply<'_>| {
        let mut required = ClientCapabilities::default();
        required.elicitation_form = true;
        call.context().require(required).reply(reply);
    };
    // A handler that does not answer.
    let broken = |_: Call<'_>, _: Reply<'_>| {};
    Server::new("s", "1")
        .tool(Tool::new("needy", needy))
        .tool(Tool::new("broken", broken))
}

/// What the engine answers with such an error.
fn provocation(file: &str) -> String {
    let call = |name: &str| modern(1, "tools/call", json!({ "name": name }));
    match file {
        "unexpected-error.json" => call("broken"),
        "invalid-cursor.json" => modern(1, "tools/list", json!({ "cursor": "eyJwYWdlIjogMn0=" })),
        // An object that does not fit the schema is told of to the model, in a result: see the page of
        // tools.
        "invalid-tool-arguments.json" => {
            let params = json!({ "name": "needy", "arguments": "expression" });
            modern(1, "tools/call", params)
        }
        "unknown-prompt.json" => modern(1, "prompts/get", json!({ "name": "invalid_prompt_name" })),
        "prompts-not-supported.json" => modern(1, "prompts/list", json!({})),
        "unknown-tool.json" => call("invalid_tool_name"),
        "missing-elicitation-capability.json" => call("needy"),
        "invalid-json.json" => r#"{"jsonrpc":"2.0","id":1,"#.to_owned(),
        "unsupported-version.json" => {
            let mut meta = modern_meta();
            meta["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01");
            modern(1, "tools/list", json!({ "_meta": meta }))
        }
        other => panic!("{other} is provoked by nothing"),
    }
}
