//! The legacy era, 2024-11-05 to 2025-11-25: one handshake, then a session.
//!
//! Specification: `basic/lifecycle` of each revision for the handshake; `basic/index` for error
//! responses; `server/resources`, Error Handling, for the code of what is not found;
//! 2026-07-28, `basic/versioning`, for both eras on one connection.

use serde_json::{Value, json};
use tightwire::{Call, Prompt, Reply, Resource, ResourceTemplate, Server, Tool};
use tightwire_tests::{
    Pair, call, initialize, legacy, legacy_result, modern, modern_result, refusal, server, text,
};

const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A server with a title wherever there can be one.
fn titled() -> Server {
    Server::new("pair", "1.2.3")
        .title("The pair")
        .instructions("Say \"hi\".")
        .tool(
            Tool::new("t", |_: Call<'_>, reply: Reply<'_>| reply.text("x"))
                .title("T")
                .description("d"),
        )
        .resource(
            Resource::new("a://r", "r", |_, reply| reply.text("x"))
                .title("R")
                .description("d"),
        )
        .resource_template(
            ResourceTemplate::new("a://{x}/t", "m", |_, reply| reply.text("x"))
                .title("M")
                .description("d")
                .mime_type("text/plain"),
        )
        .prompt(
            Prompt::new("p", |_, reply| reply.user_text("x"))
                .title("P")
                .description("d"),
        )
}

#[test]
fn the_handshake_agrees_on_a_revision() {
    let with_title = json!({ "name": "pair", "title": "The pair", "version": "1.2.3" });
    let without = json!({ "name": "pair", "version": "1.2.3" });
    let cases = [
        ("2024-11-05", "2024-11-05", &without),
        ("2025-03-26", "2025-03-26", &without),
        ("2025-06-18", "2025-06-18", &with_title),
        ("2025-11-25", "2025-11-25", &with_title),
        // What is not served after a handshake is answered with the newest that is.
        ("2026-07-28", "2025-11-25", &with_title),
        ("2099-01-01", "2025-11-25", &with_title),
        ("2024-10-07", "2025-11-25", &with_title),
        ("2025-03-26 ", "2025-11-25", &with_title),
        ("", "2025-11-25", &with_title),
    ];
    for (asked, agreed, server_info) in cases {
        let mut pair = Pair::new(titled());
        let expected = json!({
            "protocolVersion": agreed,
            "capabilities": { "prompts": {}, "resources": {}, "tools": {} },
            "serverInfo": server_info,
            "instructions": "Say \"hi\".",
        });
        assert_eq!(
            pair.ask(&initialize(asked)),
            legacy_result("init", &expected),
            "{asked}"
        );
        assert_eq!(
            pair.ask(&legacy(1, "ping", &json!({}))),
            legacy_result(1, &json!({}))
        );
    }
}

#[test]
fn capabilities_are_those_of_what_there_is() {
    let mut pair = Pair::session(Server::new("pair", "1.2.3"), "2025-11-25");
    for method in [
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
        "prompts/get",
    ] {
        let refusal = refusal(&pair.ask(&legacy(1, method, &json!({}))));
        assert_eq!(refusal.code, -32601, "{method}");
    }
    let mut pair = Pair::new(Server::new("pair", "1.2.3"));
    let result = &pair.ask(&initialize("2025-11-25"))["result"];
    assert_eq!(result["capabilities"], json!({}));
    assert_eq!(result.get("instructions"), None);
}

#[test]
fn a_handshake_that_is_none_opens_nothing() {
    let cases = [
        (json!({}), "params.protocolVersion is missing"),
        (
            json!({ "capabilities": {} }),
            "params.protocolVersion is missing",
        ),
        (
            json!({ "protocolVersion": null }),
            "params.protocolVersion must be a string",
        ),
        (
            json!({ "protocolVersion": 20_251_125 }),
            "params.protocolVersion must be a string",
        ),
        (
            json!({ "protocolVersion": ["2025-11-25"] }),
            "params.protocolVersion must be a string",
        ),
        (
            json!({ "protocolVersion": "2025-11-25", "capabilities": [] }),
            "params.capabilities must be an object",
        ),
        (
            json!({ "protocolVersion": "2025-11-25", "clientInfo": "tests" }),
            "params.clientInfo must be an object",
        ),
    ];
    let mut pair = Pair::new(server());
    for (params, words) in cases {
        let bad = refusal(&pair.ask(&legacy(1, "initialize", &params)));
        assert_eq!(bad.head(), (Some(json!(1)), -32602), "{params}");
        assert!(bad.message.starts_with(words), "{}", bad.message);
        assert_eq!(
            refusal(&pair.ask(&legacy(2, "tools/list", &json!({})))).code,
            -32602
        );
    }
    let bare = pair.ask(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#);
    assert_eq!(refusal(&bare).code, -32602);
    let answer = pair.ask(&initialize("2025-06-18"));
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
}

#[test]
fn a_second_handshake_is_refused_and_the_session_lives_on() {
    for version in VERSIONS {
        let mut pair = Pair::session(server(), version);
        for again in [
            version,
            "2025-11-25",
            "2024-11-05",
            "2026-07-28",
            "2099-01-01",
        ] {
            let refusal = refusal(&pair.ask(&initialize(again)));
            assert_eq!(refusal.head(), (Some(json!("init")), -32600));
            assert!(refusal.message.contains(version), "{}", refusal.message);
        }
        let line = legacy(
            1,
            "tools/call",
            &json!({ "name": "echo", "arguments": { "message": "x" } }),
        );
        assert_eq!(pair.ask(&line), legacy_result(1, &text("x")));
    }
}

#[test]
fn before_the_handshake_ping_alone_is_served() {
    let mut pair = Pair::new(server());
    let methods = [
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "prompts/list",
        "prompts/get",
        "logging/setLevel",
        "completion/complete",
        "notifications/initialized",
        "no/such",
        "",
    ];
    for _ in 0..2 {
        for method in methods {
            for line in [
                legacy(1, method, &json!({})),
                legacy(1, method, &json!({ "_meta": { "progressToken": 1 } })),
                json!({ "jsonrpc": "2.0", "id": 1, "method": method }).to_string(),
            ] {
                let refusal = refusal(&pair.ask(&line));
                assert_eq!(refusal.head(), (Some(json!(1)), -32602), "{line}");
                let message = refusal.message;
                assert!(
                    message.contains("io.modelcontextprotocol/protocolVersion"),
                    "{message}"
                );
                assert!(message.contains("`initialize`"), "{message}");
            }
        }
        for line in [
            legacy(1, "ping", &json!({})),
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned(),
        ] {
            assert_eq!(pair.ask(&line), legacy_result(1, &json!({})));
        }
        // A notification is no handshake.
        let opened = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(pair.send(opened), Vec::<Value>::new());
    }
    // And all that spoils no handshake.
    assert_eq!(
        pair.ask(&initialize("2024-11-05"))["result"]["protocolVersion"],
        "2024-11-05"
    );
}

#[test]
fn results_have_no_member_of_the_modern_era() {
    let hello = json!({ "uri": "pair://hello", "mimeType": "text/plain", "text": "Hello!" });
    let mut failed = text("no such city");
    failed["isError"] = json!(true);
    let prompt = json!({
        "description": "Review some code",
        "messages": [{ "role": "user", "content": { "type": "text", "text": "x" } }],
    });
    let echo = json!({ "name": "echo", "arguments": { "message": "hi" } });
    let review = json!({ "name": "review", "arguments": { "code": "x" } });
    let schema = json!({
        "type": "object",
        "properties": { "message": { "type": "string" } },
        "required": ["message"]
    });
    let tools = json!([
        { "name": "echo", "inputSchema": schema },
        { "name": "boom", "inputSchema": { "type": "object" } },
    ]);
    let cases = [
        ("ping", json!({}), json!({})),
        ("tools/list", json!({}), json!({ "tools": tools })),
        ("tools/call", echo, text("hi")),
        ("tools/call", json!({ "name": "boom" }), failed),
        (
            "resources/read",
            json!({ "uri": "pair://hello" }),
            json!({ "contents": [hello] }),
        ),
        ("prompts/get", review, prompt),
    ];
    for version in VERSIONS {
        let mut pair = Pair::session(server(), version);
        for (method, params, result) in &cases {
            assert_eq!(
                pair.ask(&legacy(1, method, params)),
                legacy_result(1, result),
                "{version}"
            );
        }
    }
}

#[test]
fn a_session_reports_the_same_errors_as_the_modern_era_but_for_the_resource() {
    for version in VERSIONS {
        let mut pair = Pair::session(server(), version);
        let cases = [
            ("tools/call", json!({ "name": "nope" }), -32602),
            ("tools/call", json!({}), -32602),
            (
                "tools/call",
                json!({ "name": "echo", "arguments": [] }),
                -32602,
            ),
            ("prompts/get", json!({ "name": "review" }), -32602),
            ("resources/read", json!({}), -32602),
            ("resources/read", json!({ "uri": "pair://nope" }), -32002),
            ("resources/read", json!({ "uri": "pair://hello/" }), -32002),
            ("tools/list", json!({ "cursor": "x" }), -32602),
            (
                "tools/list",
                json!({ "_meta": { "progressToken": {} } }),
                -32602,
            ),
            ("tools/list", json!({ "_meta": [] }), -32602),
            ("no/such", json!({}), -32601),
            ("subscriptions/listen", json!({}), -32601),
            // Its name alone makes it modern, and so it lacks its metadata.
            ("server/discover", json!({}), -32602),
        ];
        for (method, params, code) in cases {
            let refusal = refusal(&pair.ask(&legacy(1, method, &params)));
            assert_eq!(
                refusal.head(),
                (Some(json!(1)), code),
                "{version} {method} {params}"
            );
            let uri = (code == -32002).then(|| json!({ "uri": params["uri"] }));
            assert_eq!(refusal.data, uri);
        }
    }
}

#[test]
fn titles_are_sent_from_2025_06_18_on() {
    let lists = [
        (
            "tools/list",
            "tools",
            json!({ "name": "t", "inputSchema": { "type": "object" } }),
            "T",
        ),
        (
            "resources/list",
            "resources",
            json!({ "uri": "a://r", "name": "r" }),
            "R",
        ),
        (
            "resources/templates/list",
            "resourceTemplates",
            json!({ "uriTemplate": "a://{x}/t", "name": "m", "mimeType": "text/plain" }),
            "M",
        ),
        ("prompts/list", "prompts", json!({ "name": "p" }), "P"),
    ];
    for version in VERSIONS {
        let mut pair = Pair::session(titled(), version);
        for (method, key, item, title) in &lists {
            let mut item = item.clone();
            item["description"] = json!("d");
            if version >= "2025-06-18" {
                item["title"] = json!(title);
            }
            let expected = json!({ *key: [item] });
            let answer = pair.ask(&legacy(1, method, &json!({})));
            assert_eq!(answer, legacy_result(1, &expected), "{version}");
        }
    }
}

#[test]
fn both_eras_are_served_on_one_connection() {
    let echo = json!({ "name": "echo", "arguments": { "message": "hi" } });
    let missing = json!({ "uri": "pair://nope" });
    for version in VERSIONS {
        let mut pair = Pair::new(server());
        let modern_first = pair.ask(&modern(1, "tools/call", echo.clone()));
        assert_eq!(modern_first, modern_result(1, text("hi")));
        assert_eq!(
            pair.ask(&initialize(version))["result"]["protocolVersion"],
            version
        );
        for _ in 0..3 {
            let answer = pair.ask(&legacy(2, "tools/call", &echo));
            assert_eq!(answer, legacy_result(2, &text("hi")));
            let answer = pair.ask(&call(2, "echo", &echo["arguments"]));
            assert_eq!(answer, modern_result(2, text("hi")));
            let codes = [
                legacy(3, "resources/read", &missing),
                modern(3, "resources/read", missing.clone()),
                modern(3, "ping", json!({})),
                modern(3, "initialize", json!({ "protocolVersion": version })),
            ]
            .map(|line| refusal(&pair.ask(&line)).code);
            assert_eq!(codes, [-32002, -32602, -32601, -32601]);
            assert_eq!(
                pair.ask(&legacy(4, "ping", &json!({}))),
                legacy_result(4, &json!({}))
            );
        }
    }
}

#[test]
fn an_error_without_an_id_says_so_as_its_revision_does() {
    let cases = [
        (None, None),
        (Some("2025-11-25"), None),
        (Some("2025-06-18"), Some(Value::Null)),
        (Some("2025-03-26"), Some(Value::Null)),
        (Some("2024-11-05"), Some(Value::Null)),
    ];
    let lines = [
        ("{", -32700),
        ("hello", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping""#, -32700),
        ("1", -32600),
        (r#""ping""#, -32600),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0"}"#, -32600),
    ];
    for (version, id) in cases {
        let mut pair = match version {
            Some(version) => Pair::session(server(), version),
            None => Pair::new(server()),
        };
        for (line, code) in lines {
            let refusal = refusal(&pair.ask(line));
            assert_eq!(refusal.head(), (id.clone(), code), "{version:?} {line}");
        }
        // A modern request changes nothing about it.
        pair.ask(&modern(1, "tools/list", json!({})));
        assert_eq!(refusal(&pair.ask("{")).head(), (id, -32700));
    }
}
