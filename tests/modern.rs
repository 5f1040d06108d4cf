//! The modern era, 2026-07-28: every request brings its own metadata.
//!
//! What is admitted is here, what is answered in `features`.
//!
//! Specification: 2026-07-28, `basic/index` (Statelessness, General fields), `basic/versioning`,
//! `server/discover`.

use serde_json::{Value, json};
use tightwire::{Resource, RpcError, Server};
use tightwire_tests::{
    Pair, call, initialize, legacy, modern, modern_meta, modern_result, refusal, server, text,
};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const PROGRESS_TOKEN: &str = "progressToken";

/// Requests that are served, one per method.
fn requests() -> [(&'static str, Value); 8] {
    [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        (
            "tools/call",
            json!({ "name": "echo", "arguments": { "message": "hi" } }),
        ),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "pair://hello" })),
        ("prompts/list", json!({})),
        (
            "prompts/get",
            json!({ "name": "review", "arguments": { "code": "x" } }),
        ),
    ]
}

/// A request with this `_meta`.
fn with_meta(method: &str, mut params: Value, meta: Value) -> String {
    params["_meta"] = meta;
    modern(1, method, params)
}

/// Good metadata but for one key.
fn meta_but(key: &str, value: Option<Value>) -> Value {
    let mut meta = modern_meta();
    match value {
        Some(value) => meta[key] = value,
        None => drop(meta.as_object_mut().and_then(|members| members.remove(key))),
    }
    meta
}

#[test]
fn every_method_is_served_with_good_metadata() {
    let mut pair = Pair::new(server());
    for (method, params) in requests() {
        let answer = pair.ask(&modern(1, method, params));
        assert_eq!(answer["result"]["resultType"], "complete", "{method}");
    }
}

#[test]
fn metadata_that_is_missing_or_ill_typed_is_refused_by_its_full_key() {
    let cases = [
        (VERSION, None),
        (VERSION, Some(json!(20_260_728))),
        (VERSION, Some(json!(null))),
        (VERSION, Some(json!(["2026-07-28"]))),
        (CAPABILITIES, None),
        (CAPABILITIES, Some(json!("none"))),
        (CAPABILITIES, Some(json!(null))),
        (CAPABILITIES, Some(json!([]))),
        (CAPABILITIES, Some(json!(true))),
        (CLIENT_INFO, Some(json!("tests"))),
        (CLIENT_INFO, Some(json!(null))),
        (CLIENT_INFO, Some(json!([]))),
        (CLIENT_INFO, Some(json!({ "name": 1, "version": "1" }))),
        (CLIENT_INFO, Some(json!({ "name": "tests", "version": 1 }))),
        (LOG_LEVEL, Some(json!("loud"))),
        (LOG_LEVEL, Some(json!("INFO"))),
        (LOG_LEVEL, Some(json!(3))),
        (LOG_LEVEL, Some(json!(null))),
        (PROGRESS_TOKEN, Some(json!({}))),
        (PROGRESS_TOKEN, Some(json!([]))),
        (PROGRESS_TOKEN, Some(json!(null))),
        (PROGRESS_TOKEN, Some(json!(true))),
        (PROGRESS_TOKEN, Some(json!(1.5))),
        (PROGRESS_TOKEN, Some(json!(1.0))),
        (PROGRESS_TOKEN, Some(json!(1e30))),
    ];
    let mut pair = Pair::new(server());
    for (key, value) in cases {
        for (method, params) in requests() {
            let line = with_meta(method, params, meta_but(key, value.clone()));
            let refusal = refusal(&pair.ask(&line));
            assert_eq!(refusal.head(), (Some(json!(1)), -32602), "{line}");
            assert!(refusal.message.contains(key), "{line}: {}", refusal.message);
        }
    }
}

#[test]
fn optional_metadata_may_be_left_out_or_given() {
    let levels = [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ];
    let mut cases: Vec<(&str, Option<Value>)> = levels
        .iter()
        .map(|level| (LOG_LEVEL, Some(json!(level))))
        .collect();
    cases.extend([
        (CLIENT_INFO, None),
        (
            CLIENT_INFO,
            Some(json!({ "name": "tests", "version": "1", "title": "Tests" })),
        ),
        (CAPABILITIES, Some(json!({ "sampling": {}, "x": 1 }))),
        (PROGRESS_TOKEN, Some(json!("token"))),
        (PROGRESS_TOKEN, Some(json!(0))),
        (PROGRESS_TOKEN, Some(json!(-1))),
        (
            "traceparent",
            Some(json!(
                "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
            )),
        ),
        ("com.example/anything", Some(json!([1]))),
        ("io.modelcontextprotocol/later", Some(json!(null))),
    ]);
    let mut pair = Pair::new(server());
    for (key, value) in cases {
        let line = with_meta("tools/list", json!({}), meta_but(key, value));
        assert!(pair.ask(&line)["result"].is_object(), "{line}");
    }
}

#[test]
fn each_key_alone_makes_a_request_modern_whatever_came_before() {
    let cases = [
        (VERSION, json!("2026-07-28"), CAPABILITIES),
        (CAPABILITIES, json!({}), VERSION),
        (
            CLIENT_INFO,
            json!({ "name": "tests", "version": "1" }),
            VERSION,
        ),
        (LOG_LEVEL, json!("info"), VERSION),
    ];
    let pairs = [
        Pair::new(server()),
        Pair::session(server(), "2025-11-25"),
        Pair::session(server(), "2024-11-05"),
    ];
    for mut pair in pairs {
        for (key, value, missing) in &cases {
            let line = with_meta("tools/list", json!({}), json!({ *key: value }));
            let refusal = refusal(&pair.ask(&line));
            assert_eq!(refusal.code, -32602, "{line}");
            assert!(
                refusal.message.contains(missing),
                "{line}: {}",
                refusal.message
            );
        }
        let answer = pair.ask(&call(1, "echo", &json!({ "message": "hi" })));
        assert_eq!(answer, modern_result(1, text("hi")));
    }
}

#[test]
fn an_unknown_version_is_told_what_is_served() {
    let long = "2".repeat(5_000);
    let versions = [
        "2099-01-01",
        "",
        "2026-07-28 ",
        "2026-07-2",
        "draft",
        "a\"b\\c\u{1}",
        &long,
        // Known, and served, but after a handshake alone.
        "2025-11-25",
        "2025-06-18",
        "2025-03-26",
        "2024-11-05",
    ];
    let mut pair = Pair::new(server());
    for version in versions {
        for (method, params) in requests() {
            let line = with_meta(method, params, meta_but(VERSION, Some(json!(version))));
            let refusal = refusal(&pair.ask(&line));
            assert_eq!(refusal.head(), (Some(json!(1)), -32022), "{line}");
            let data = json!({ "supported": ["2026-07-28"], "requested": version });
            assert_eq!(refusal.data, Some(data), "{line}");
            assert!(refusal.message.len() < 500, "{line}");
            for known in [
                "2026-07-28",
                "2025-11-25",
                "2025-06-18",
                "2025-03-26",
                "2024-11-05",
            ] {
                assert!(refusal.message.contains(known), "{line}");
            }
        }
    }
}

#[test]
fn what_an_unknown_version_must_carry_is_not_for_this_one_to_say() {
    let mut pair = Pair::new(server());
    let line = with_meta(
        "no/such",
        json!({}),
        json!({ VERSION: "2099-01-01", LOG_LEVEL: 3 }),
    );
    assert_eq!(refusal(&pair.ask(&line)).code, -32022);
}

#[test]
fn one_request_lends_nothing_to_the_next() {
    let mut pair = Pair::new(server());
    let good = modern(1, "tools/list", json!({}));
    let cases = [
        (legacy(2, "tools/list", &json!({})), VERSION),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#.to_owned(),
            VERSION,
        ),
        (legacy(2, "server/discover", &json!({})), VERSION),
        (
            with_meta("tools/list", json!({}), meta_but(VERSION, None)),
            VERSION,
        ),
        (
            with_meta("tools/list", json!({}), meta_but(CAPABILITIES, None)),
            CAPABILITIES,
        ),
    ];
    for (line, missing) in cases {
        assert!(pair.ask(&good)["result"].is_object());
        let refusal = refusal(&pair.ask(&line));
        assert_eq!(refusal.code, -32602, "{line}");
        assert!(
            refusal.message.contains(missing),
            "{line}: {}",
            refusal.message
        );
    }
}

#[test]
fn discover_tells_versions_capabilities_and_who_it_is() {
    let server_info = json!({ "name": "pair", "title": "The pair", "version": "1.2.3" });
    let mut pair = Pair::new(server().title("The pair").instructions("Say \"hi\".\n"));
    let answer = pair.ask(&modern("d", "server/discover", json!({})));
    let expected = json!({
        "jsonrpc": "2.0",
        "id": "d",
        "result": {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": { "prompts": {}, "resources": {}, "tools": {} },
            "instructions": "Say \"hi\".\n",
            "ttlMs": 300_000,
            "cacheScope": "public",
            "_meta": { "io.modelcontextprotocol/serverInfo": server_info }
        }
    });
    assert_eq!(answer, expected);
}

#[test]
fn methods_that_this_revision_does_not_have_are_not_found() {
    let methods = [
        // Of the era of the handshake.
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        // Of the other direction.
        "roots/list",
        "sampling/createMessage",
        "elicitation/create",
        // Of notifications.
        "notifications/initialized",
        "notifications/cancelled",
        // Of nobody.
        "no/such",
        "Tools/list",
        "tools/list ",
        "tools",
        "",
    ];
    let mut pair = Pair::new(server());
    for method in methods {
        let line = modern(1, method, json!({ "protocolVersion": "2025-11-25" }));
        let refusal = refusal(&pair.ask(&line));
        assert_eq!(refusal.head(), (Some(json!(1)), -32601), "{method}");
        assert!(
            refusal.message.contains(&format!("`{method}`")),
            "{}",
            refusal.message
        );
    }
    // None of them opened a session.
    let refusal = refusal(&pair.ask(&legacy(2, "tools/list", &json!({}))));
    assert_eq!(refusal.code, -32602);
}

#[test]
fn what_a_server_lacks_it_does_not_declare_and_does_not_have_methods_for() {
    let mut pair = Pair::new(Server::new("pair", "1.2.3"));
    let answer = pair.ask(&modern(1, "server/discover", json!({})));
    assert_eq!(answer["result"]["capabilities"], json!({}));
    for (method, params) in requests().into_iter().skip(1) {
        let refusal = refusal(&pair.ask(&modern(1, method, params)));
        assert_eq!(refusal.head(), (Some(json!(1)), -32601), "{method}");
    }
    // A template alone is resources enough.
    let template = tightwire::ResourceTemplate::new("a://{x}", "x", |_, reply| reply.text("y"));
    let mut pair = Pair::new(Server::new("pair", "1.2.3").resource_template(template));
    let answer = pair.ask(&modern(1, "server/discover", json!({})));
    assert_eq!(answer["result"]["capabilities"], json!({ "resources": {} }));
    let answer = pair.ask(&modern(1, "resources/list", json!({})));
    assert_eq!(answer["result"]["resources"], json!([]));
}

#[test]
fn params_and_meta_must_be_objects() {
    let mut pair = Pair::new(server());
    for value in [
        json!(null),
        json!([]),
        json!([{}]),
        json!("x"),
        json!(1),
        json!(true),
    ] {
        for method in ["tools/list", "server/discover", "no/such"] {
            let line = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": value });
            let params = refusal(&pair.ask(&line.to_string()));
            assert_eq!(params.head(), (Some(json!(1)), -32600), "{line}");
            assert!(
                params.message.contains("\"params\" must be an object"),
                "{line}"
            );

            let line = with_meta(method, json!({}), value.clone());
            let meta = refusal(&pair.ask(&line));
            assert_eq!(meta.head(), (Some(json!(1)), -32602), "{line}");
            assert!(meta.message.contains("_meta must be an object"), "{line}");
        }
    }
}

/// Specification: 2026-07-28, `basic/index`, Error Codes: implementations must not emit -32002 and
/// -32042, nor what is reserved and not defined.
#[test]
fn codes_that_are_forbidden_are_not_sent() {
    let codes = [
        (RpcError::RESOURCE_NOT_FOUND, -32602),
        (RpcError::URL_ELICITATION_REQUIRED, -32603),
        (-32020, -32020),
        (-32021, -32021),
        (-32022, -32022),
        (-32023, -32603),
        (-32099, -32603),
        (-32100, -32100),
        (-32019, -32019),
        (-32603, -32603),
        (7, 7),
    ];
    // All that the schema wants with one of them.
    let data = json!({
        "elicitations": [], "requiredCapabilities": {}, "supported": [], "requested": "x"
    });
    for (code, sent) in codes {
        let json = data.to_string();
        let resource = Resource::new("gone://", "gone", move |_, reply| {
            reply.protocol_error(&RpcError::new(code, "gone").with_data(&json));
        });
        let frozen = server().resource(resource).freeze().unwrap();
        let params = json!({ "uri": "gone://" });
        let answer = Pair::connect(&frozen).ask(&modern(1, "resources/read", params.clone()));
        let error = json!({ "code": sent, "message": "gone", "data": data });
        assert_eq!(answer["error"], error);
        // The names of the one that the older ones lack.
        if (-32022..=-32021).contains(&code) {
            continue;
        }
        let mut session = Pair::connect(&frozen);
        session.ask(&initialize("2025-11-25"));
        let answer = session.ask(&legacy(1, "resources/read", &params));
        assert_eq!(answer["error"]["code"], code);
    }
}
