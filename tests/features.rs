//! Tools, resources and prompts in the modern era.
//!
//! Specification: 2026-07-28, `server/tools`, `server/resources`, `server/prompts`,
//! `server/utilities/caching`, `server/utilities/pagination`.

use serde_json::json;
use tightwire_tests::{Pair, call, modern, modern_meta, modern_result, refusal, server, text};

#[test]
fn lists_hold_all_there_is_on_one_page() {
    let schema = json!({
        "type": "object",
        "properties": { "message": { "type": "string" } },
        "required": ["message"]
    });
    let cases = [
        (
            "tools/list",
            json!({ "tools": [
                { "name": "echo", "inputSchema": schema },
                { "name": "boom", "inputSchema": { "type": "object" } },
            ] }),
        ),
        (
            "resources/list",
            json!({ "resources": [
                { "uri": "pair://hello", "name": "hello", "mimeType": "text/plain" },
            ] }),
        ),
        (
            "resources/templates/list",
            json!({ "resourceTemplates": [
                { "uriTemplate": "pair://hello/{name}", "name": "hello-to" },
            ] }),
        ),
        (
            "prompts/list",
            json!({ "prompts": [{
                "name": "review",
                "description": "Review some code",
                "arguments": [
                    { "name": "code", "description": "The code", "required": true },
                    { "name": "style", "description": "How strict to be", "required": false },
                ],
            }] }),
        ),
    ];
    let mut pair = Pair::new(server());
    for (method, mut members) in cases {
        members["ttlMs"] = json!(300_000);
        members["cacheScope"] = json!("public");
        assert_eq!(
            pair.ask(&modern(1, method, json!({}))),
            modern_result(1, members)
        );
    }
}

#[test]
fn a_cursor_that_was_never_given_out_is_refused() {
    let lists = [
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
    ];
    let mut pair = Pair::new(server());
    for method in lists {
        for cursor in [json!("2"), json!(""), json!(null), json!(1), json!({})] {
            let line = modern(1, method, json!({ "cursor": cursor }));
            let refusal = refusal(&pair.ask(&line));
            assert_eq!(refusal.head(), (Some(json!(1)), -32602), "{line}");
            assert!(refusal.message.contains("params.cursor"), "{line}");
        }
    }
}

#[test]
fn a_call_is_answered() {
    let mut pair = Pair::new(server());
    let answer = pair.ask(&call(1, "echo", &json!({ "message": "hi" })));
    assert_eq!(
        answer,
        json!({
            "jsonrpc": "2.0",
            "id": 1,
            "result": {
                "resultType": "complete",
                "content": [{ "type": "text", "text": "hi" }],
                "_meta": {
                    "io.modelcontextprotocol/serverInfo": { "name": "pair", "version": "1.2.3" }
                }
            }
        })
    );
}

#[test]
fn a_tool_that_fails_is_a_result_and_the_server_lives() {
    let mut failed = text("no such city");
    failed["isError"] = json!(true);
    let mut pair = Pair::new(server());
    for line in [
        call(1, "boom", &json!({})),
        modern(1, "tools/call", json!({ "name": "boom" })),
    ] {
        assert_eq!(pair.ask(&line), modern_result(1, failed.clone()));
    }
}

#[test]
fn a_call_that_is_no_call_is_a_protocol_error() {
    let long = "x".repeat(5_000);
    let cases = [
        (json!({ "name": "nope" }), "Unknown tool: `nope`"),
        (json!({ "name": "Echo" }), "Unknown tool: `Echo`"),
        (json!({ "name": "" }), "Unknown tool: ``"),
        (json!({ "name": long }), "Unknown tool: `xxx"),
        (json!({}), "params.name is missing"),
        (json!({ "arguments": {} }), "params.name is missing"),
        (
            json!({ "name": null }),
            "params.name must be a string, not null",
        ),
        (json!({ "name": 1 }), "params.name must be a string"),
        (json!({ "name": ["echo"] }), "params.name must be a string"),
        (
            json!({ "name": "echo", "arguments": [] }),
            "params.arguments must be an object",
        ),
        (
            json!({ "name": "echo", "arguments": "x" }),
            "params.arguments must be an object",
        ),
        (
            json!({ "name": "echo", "arguments": null }),
            "params.arguments must be an object",
        ),
        (
            json!({ "name": "echo", "arguments": 1 }),
            "params.arguments must be an object",
        ),
    ];
    let mut pair = Pair::new(server());
    for (params, words) in cases {
        let line = modern(1, "tools/call", params);
        let refusal = refusal(&pair.ask(&line));
        assert_eq!(refusal.head(), (Some(json!(1)), -32602), "{line}");
        assert!(refusal.message.starts_with(words), "{}", refusal.message);
        assert!(refusal.message.len() < 500, "{line}");
    }
}

#[test]
fn arguments_that_do_not_fit_the_schema_are_a_tool_error() {
    let cases = [
        (json!({}), "message: is required"),
        (json!({ "Message": "hi" }), "message: is required"),
        (json!({ "message": 5 }), "message: must be string"),
        (json!({ "message": null }), "message: must be string"),
        (json!({ "message": ["hi"] }), "message: must be string"),
    ];
    let mut pair = Pair::new(server());
    for (arguments, words) in cases {
        let answer = pair.ask(&call(1, "echo", &arguments));
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{arguments}: {answer}");
        assert_eq!(result["resultType"], "complete");
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(
            text.contains("echo") && text.contains(words),
            "{arguments}: {text}"
        );
    }
    let answer = pair.ask(&modern(1, "tools/call", json!({ "name": "echo" })));
    assert_eq!(answer["result"]["isError"], true);
}

#[test]
fn a_resource_is_read_by_its_uri_or_through_a_template() {
    let hello = json!({ "uri": "pair://hello", "mimeType": "text/plain", "text": "Hello!" });
    let cases = [
        ("pair://hello", hello),
        (
            "pair://hello/Ada",
            json!({ "uri": "pair://hello/Ada", "text": "Hello, Ada!" }),
        ),
        (
            "pair://hello/J%C3%BCrgen%20%22",
            json!({ "uri": "pair://hello/J%C3%BCrgen%20%22", "text": "Hello, Jürgen \"!" }),
        ),
    ];
    let mut pair = Pair::new(server());
    for (uri, content) in cases {
        let answer = pair.ask(&modern(1, "resources/read", json!({ "uri": uri })));
        let members = json!({ "contents": [content], "ttlMs": 0, "cacheScope": "private" });
        assert_eq!(answer, modern_result(1, members));
    }
}

#[test]
fn a_resource_that_does_not_exist_is_invalid_params_with_its_uri() {
    let mut pair = Pair::new(server());
    for uri in [
        "pair://nope",
        "",
        "pair://hello/",
        "pair://hello/a/b",
        "PAIR://hello",
        "\"\\\n",
    ] {
        let answer = pair.ask(&modern(1, "resources/read", json!({ "uri": uri })));
        let refusal = refusal(&answer);
        assert_eq!(refusal.head(), (Some(json!(1)), -32602), "{uri}");
        assert_eq!(refusal.data, Some(json!({ "uri": uri })));
    }
    for params in [
        json!({}),
        json!({ "uri": null }),
        json!({ "uri": ["pair://hello"] }),
    ] {
        let refusal = refusal(&pair.ask(&modern(1, "resources/read", params)));
        assert_eq!((refusal.code, refusal.data), (-32602, None));
        assert!(
            refusal.message.starts_with("params.uri"),
            "{}",
            refusal.message
        );
    }
}

#[test]
fn a_prompt_is_made_of_its_arguments() {
    let mut pair = Pair::new(server());
    for arguments in [
        json!({ "code": "x\n\"y\"" }),
        json!({ "style": "strict", "code": "x\n\"y\"", "other": "ignored" }),
    ] {
        let params = json!({ "name": "review", "arguments": arguments });
        let content = json!({ "type": "text", "text": "x\n\"y\"" });
        let members = json!({
            "description": "Review some code",
            "messages": [{ "role": "user", "content": content }],
        });
        let answer = pair.ask(&modern(1, "prompts/get", params));
        assert_eq!(answer, modern_result(1, members));
    }
}

#[test]
fn prompt_arguments_that_do_not_fit_are_invalid_params() {
    let cases = [
        (r#"{"name":"nope"}"#, "Unknown prompt: `nope`"),
        (r#"{"arguments":{"code":"x"}}"#, "params.name is missing"),
        (
            r#"{"name":5,"arguments":{"code":"x"}}"#,
            "params.name must be a string",
        ),
        (r#"{"name":"review"}"#, "params.arguments.code is missing"),
        (
            r#"{"name":"review","arguments":{}}"#,
            "params.arguments.code is missing",
        ),
        (
            r#"{"name":"review","arguments":{"style":"x"}}"#,
            "params.arguments.code is missing",
        ),
        (
            r#"{"name":"review","arguments":[]}"#,
            "params.arguments must be an object",
        ),
        (
            r#"{"name":"review","arguments":null}"#,
            "params.arguments must be an object",
        ),
        (
            r#"{"name":"review","arguments":{"code":5}}"#,
            "params.arguments.`code` must be a string",
        ),
        (
            r#"{"name":"review","arguments":{"code":null}}"#,
            "params.arguments.`code` must be a",
        ),
        (
            r#"{"name":"review","arguments":{"code":"x","style":{}}}"#,
            "params.arguments.`style` must be a string",
        ),
        (
            r#"{"name":"review","arguments":{"code":"x","code":"y"}}"#,
            "params.arguments.code is there twice",
        ),
    ];
    let mut pair = Pair::new(server());
    let meta = modern_meta();
    for (params, words) in cases {
        let members = params.strip_suffix('}').unwrap_or_default();
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{members},"_meta":{meta}}}}}"#
        );
        let refusal = refusal(&pair.ask(&line));
        assert_eq!(refusal.head(), (Some(json!(1)), -32602), "{line}");
        assert!(refusal.message.starts_with(words), "{}", refusal.message);
    }
}
