//! Subscriptions and unsolicited notifications before 2026-07-28, and of both eras at once.

use serde_json::{Value, json};
use tightwire::{Call, Handle, Prompt, Reply, Tool};
use tightwire_tests::{
    Held, Pair, Stepped, batch, changed, initialize, legacy, legacy_result, listen, modern,
    refusal, server, updated,
};

const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";
const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// `Limits::changes_ms_min`, by default.
const PAUSE_MS: u64 = 20;

#[test]
fn a_legacy_session_is_told_of_lists_once_it_is_initialized() {
    for version in HANDSHAKES {
        let (mut stepped, handle) = changing();
        // Before there is a session, there is nobody to tell.
        handle.add_tool(tool("before")).unwrap();
        assert_eq!(stepped.completed(), [] as [Value; 0]);
        stepped.pass_ms(PAUSE_MS);
        let result = &stepped.send(&initialize(version))[0]["result"];
        assert_eq!(result["capabilities"], capabilities(), "{version}");
        handle.add_tool(tool("new")).unwrap();
        handle.remove_tool("new").unwrap();
        assert_eq!(stepped.completed(), [] as [Value; 0]);
        stepped.send(INITIALIZED);
        assert_eq!(stepped.due_in_ms(), Some(u128::from(PAUSE_MS)));
        assert_eq!(stepped.pass_ms(PAUSE_MS), [unsolicited(TOOLS)]);
        stepped.pass_ms(PAUSE_MS);
        let prompt = Prompt::new("new", |_, reply| reply.user_text("x"));
        handle.add_prompt(prompt).unwrap();
        handle.remove_resource("pair://hello").unwrap();
        assert_eq!(
            stepped.completed(),
            [unsolicited(PROMPTS), unsolicited(RESOURCES)]
        );
    }
}

#[test]
fn a_legacy_session_subscribes_to_resources() {
    for version in HANDSHAKES {
        let (mut stepped, handle) = changing();
        stepped.send(&initialize(version));
        stepped.send(INITIALIZED);
        let subscribe =
            |id: i32, uri: &str| legacy(id, "resources/subscribe", &json!({ "uri": uri }));
        let unsubscribe = |uri: &str| legacy(9, "resources/unsubscribe", &json!({ "uri": uri }));
        let done = |id| [legacy_result(id, &json!({}))];
        assert_eq!(stepped.send(&subscribe(1, "pair://hello")), done(1));
        assert_eq!(stepped.send(&subscribe(2, "pair://hello")), done(2));
        assert_eq!(stepped.send(&subscribe(3, "pair://hello/you")), done(3));

        let unknown = refusal(&stepped.send(&subscribe(4, "pair://nope"))[0]);
        assert_eq!(unknown.head(), (Some(json!(4)), -32002));
        assert_eq!(unknown.data, Some(json!({ "uri": "pair://nope" })));
        for method in ["resources/subscribe", "resources/unsubscribe"] {
            for params in [json!({}), json!({ "uri": 1 })] {
                let refusal = refusal(&stepped.send(&legacy(5, method, &params))[0]);
                assert_eq!(refusal.code, -32602, "{method} {params}");
                assert!(
                    refusal.message.contains("params.uri"),
                    "{}",
                    refusal.message
                );
            }
        }
        let mut after = |uri: &str| {
            handle.resource_updated(uri);
            let told = stepped.completed();
            stepped.pass_ms(PAUSE_MS);
            told
        };
        let note = |uri: &str| {
            json!({
                "jsonrpc": "2.0", "method": "notifications/resources/updated",
                "params": { "uri": uri },
            })
        };
        assert_eq!(after("pair://hello"), [note("pair://hello")]);
        assert_eq!(after("pair://hello/you"), [note("pair://hello/you")]);
        assert_eq!(after("pair://hello/me"), [] as [Value; 0]);
        // Twice subscribed is subscribed; and not to be subscribed is no error.
        for _ in 0..2 {
            assert_eq!(stepped.send(&unsubscribe("pair://hello")), done(9));
        }
        assert_eq!(stepped.send(&unsubscribe("pair://nope")), done(9));
        handle.resource_updated("pair://hello");
        assert_eq!(stepped.completed(), [] as [Value; 0]);
    }
}

#[test]
fn a_connection_of_both_eras_is_told_in_both() {
    let (mut stepped, handle) = changing();
    stepped.send(&initialize("2025-06-18"));
    stepped.send(INITIALIZED);
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["pair://hello"] });
    stepped.send(&listen(1, &filter));
    stepped.send(&legacy(
        2,
        "resources/subscribe",
        &json!({ "uri": "pair://hello" }),
    ));
    handle.add_tool(tool("new")).unwrap();
    handle.resource_updated("pair://hello");
    let updated_legacy = json!({
        "jsonrpc": "2.0", "method": "notifications/resources/updated",
        "params": { "uri": "pair://hello" },
    });
    let expected = [
        unsolicited(TOOLS),
        changed(1, TOOLS),
        updated_legacy,
        updated(1, "pair://hello"),
    ];
    assert_eq!(stepped.completed(), expected);
    // Taken back in one era, it is still there in the other.
    stepped.pass_ms(PAUSE_MS);
    stepped.send(&legacy(
        2,
        "resources/unsubscribe",
        &json!({ "uri": "pair://hello" }),
    ));
    handle.resource_updated("pair://hello");
    assert_eq!(stepped.completed(), [updated(1, "pair://hello")]);
}

#[test]
fn each_era_has_its_own_methods_alone_and_only_where_they_are_declared() {
    let (mut stepped, _handle) = changing();
    stepped.send(&initialize("2025-11-25"));
    let uri = json!({ "uri": "pair://hello" });
    for line in [
        modern(1, "resources/subscribe", uri.clone()),
        modern(1, "resources/unsubscribe", uri.clone()),
        modern(1, "logging/setLevel", json!({ "level": "info" })),
        legacy(1, "subscriptions/listen", &json!({ "notifications": {} })),
    ] {
        assert_eq!(refusal(&stepped.send(&line)[0]).code, -32601, "{line}");
    }
    for version in HANDSHAKES {
        let mut pair = Pair::session(server(), version);
        for method in ["resources/subscribe", "resources/unsubscribe"] {
            let refusal = refusal(&pair.ask(&legacy(1, method, &uri)));
            assert_eq!(refusal.code, -32601, "{method}");
            assert_eq!(refusal.message, format!("Method not found: `{method}`"));
        }
    }
}

#[test]
fn notifications_are_no_part_of_a_batch() {
    let held = Held::default();
    let mut server = server().tool(held.tool());
    let handle = server.handle();
    let mut pair = Pair::session(server, "2025-03-26");
    let hold = legacy(1, "tools/call", &json!({ "name": "hold" }));
    let subscribe = legacy(2, "resources/subscribe", &json!({ "uri": "pair://hello" }));
    assert_eq!(pair.send(&batch(&[&hold, &subscribe])), [] as [Value; 0]);
    handle.resource_updated("pair://hello");
    assert_eq!(pair.wait()["method"], "notifications/resources/updated");
    held.answer("held");
    let answers = pair.wait();
    let ids: Vec<&Value> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| &answer["id"])
        .collect();
    assert_eq!(ids, [&json!(2), &json!(1)]);
}

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn changing() -> (Stepped, Handle) {
    let mut server = server();
    let handle = server.handle();
    (Stepped::new(server), handle)
}

fn tool(name: &str) -> Tool {
    Tool::new(name, |_: Call<'_>, reply: Reply<'_>| reply.text("done"))
}

fn capabilities() -> Value {
    json!({
        "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
        "tools": { "listChanged": true },
    })
}

fn unsolicited(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": method })
}
