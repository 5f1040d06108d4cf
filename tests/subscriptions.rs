//! Subscriptions of 2026-07-28: `subscriptions/listen`, and who is told what.

use serde_json::{Value, json};
use tightwire::{Call, Handle, Memory, Prompt, Reply, Resource, ResourceTemplate, Server, Tool};
use tightwire_tests::{
    Held, Pair, SUBSCRIPTION_ID, Stepped, acknowledged, call, cancelled, changed, listen, modern,
    modern_result, refusal, server, text, updated,
};

const ID: &str = SUBSCRIPTION_ID;
const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";
/// `Limits::changes_ms_min`, by default.
const PAUSE_MS: u64 = 20;

#[test]
fn a_subscription_is_acknowledged_with_what_the_server_can_send() {
    let filters = [
        (json!({}), json!({})),
        (
            json!({ "toolsListChanged": true }),
            json!({ "toolsListChanged": true }),
        ),
        (
            json!({ "toolsListChanged": false, "promptsListChanged": true, "later": 1 }),
            json!({ "promptsListChanged": true }),
        ),
        (
            json!({
                "resourceSubscriptions": ["b:2", "a:1", "b:2"], "resourcesListChanged": true,
                "promptsListChanged": true, "toolsListChanged": true,
            }),
            json!({
                "resourceSubscriptions": ["a:1", "b:2"], "resourcesListChanged": true,
                "promptsListChanged": true, "toolsListChanged": true,
            }),
        ),
        (json!({ "resourceSubscriptions": [] }), json!({})),
    ];
    let (mut with, _handle) = changing();
    let mut without = Pair::new(server());
    for (index, (filter, honoured)) in filters.iter().enumerate() {
        let line = listen(index, filter);
        assert_eq!(with.send(&line), [acknowledged(index, honoured)]);
        assert_eq!(without.send(&line), vec![acknowledged(index, &json!({}))]);
        assert_eq!(without.memory().in_flight(), 0);
    }
}

#[test]
fn the_subscription_id_is_the_id_of_the_request_to_the_byte() {
    let (mut connection, handle) = changing_memory();
    let ids = [
        "1",
        "-1",
        "-0",
        "123456789012345678901234567890",
        "-98765432109876543210",
        r#""""#,
        r#""1""#,
        r#""a\n\"é""#,
    ];
    let mut expected: Vec<String> = ids
        .iter()
        .map(|id| format!(r#"{{"_meta":{{"{ID}":{id}}}"#))
        .collect();
    for (id, expected) in ids.iter().zip(&expected) {
        let line = listen("ID", &json!({ "toolsListChanged": true })).replace("\"ID\"", id);
        connection.feed(format!("{line}\n").as_bytes());
        let output = take_text(&mut connection);
        assert!(output.contains(expected), "{output}");
    }
    handle.add_tool(tool("new")).unwrap();
    connection.poll();
    let told = take_text(&mut connection);
    connection.finish();
    let ended = take_text(&mut connection);
    for (index, id) in ids.iter().enumerate() {
        let expected = expected[index].as_mut_str();
        assert!(
            told.lines().nth(index).unwrap().contains(&*expected),
            "{told}"
        );
        let mut lines = ended.lines().skip(index * 2);
        let cancelled = lines.next().unwrap();
        assert!(
            cancelled.contains(&format!(r#""requestId":{id},"#)),
            "{cancelled}"
        );
        assert!(cancelled.contains(&*expected), "{cancelled}");
        let result = lines.next().unwrap();
        assert!(
            result.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result""#)),
            "{result}"
        );
        assert!(
            result.contains(&format!(r#""_meta":{{"{ID}":{id},"#)),
            "{result}"
        );
    }
}

#[test]
fn each_subscription_is_told_what_it_asked_for_once_and_nothing_else() {
    let (mut stepped, handle) = changing();
    let all = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
    });
    stepped.send(&listen("all", &all));
    stepped.send(&listen("prompts", &json!({ "promptsListChanged": true })));
    stepped.send(&listen(
        "uris",
        &json!({ "resourceSubscriptions": ["pair://hello", "b:"] }),
    ));
    stepped.send(&listen("none", &json!({})));
    assert_eq!(stepped.completed(), [] as [Value; 0]);
    let mut after = |change: Change<'_>| {
        stepped.pass_ms(PAUSE_MS);
        change(&handle);
        stepped.completed()
    };
    let cases: [(Change<'_>, Vec<Value>); 9] = [
        (
            &|handle| handle.add_tool(tool("new")).unwrap(),
            vec![changed("all", TOOLS)],
        ),
        (
            &|handle| assert!(handle.remove_tool("new").unwrap()),
            vec![changed("all", TOOLS)],
        ),
        (
            &|handle| {
                handle
                    .add_prompt(Prompt::new("new", |_, reply| reply.user_text("x")))
                    .unwrap();
            },
            vec![changed("all", PROMPTS), changed("prompts", PROMPTS)],
        ),
        (
            &|handle| assert!(handle.remove_prompt("new").unwrap()),
            vec![changed("all", PROMPTS), changed("prompts", PROMPTS)],
        ),
        (
            &|handle| {
                handle
                    .add_resource(Resource::new("b:", "b", |_, reply| reply.text("b")))
                    .unwrap();
            },
            vec![changed("all", RESOURCES)],
        ),
        (
            &|handle| {
                handle
                    .add_resource_template(ResourceTemplate::new("c:{x}", "c", |_, reply| {
                        reply.text("c");
                    }))
                    .unwrap();
            },
            vec![changed("all", RESOURCES)],
        ),
        (
            &|handle| handle.resource_updated("b:"),
            vec![updated("uris", "b:")],
        ),
        // Exactly this URI, and nothing that changed not.
        (&|handle| handle.resource_updated("pair://hello/"), vec![]),
        (
            &|handle| {
                assert!(!handle.remove_tool("no such").unwrap());
                assert!(!handle.remove_prompt("no such").unwrap());
                assert!(!handle.remove_resource("no:such").unwrap());
                assert!(!handle.remove_resource_template("no:{such}").unwrap());
                handle.add_tool(tool("echo")).unwrap_err();
            },
            vec![],
        ),
    ];
    for (change, told) in cases {
        assert_eq!(after(change), told);
    }
}

#[test]
fn several_subscriptions_to_one_resource_are_each_told() {
    let (mut stepped, handle) = changing();
    for id in 0..3 {
        stepped.send(&listen(id, &json!({ "resourceSubscriptions": ["a:"] })));
    }
    assert_eq!(stepped.send(&cancelled(1)), [] as [Value; 0]);
    handle.resource_updated("a:");
    assert_eq!(stepped.completed(), [updated(0, "a:"), updated(2, "a:")]);
}

#[test]
fn a_filter_that_cannot_be_understood_is_refused_by_name() {
    let cases = [
        (json!({}), "params.notifications is missing"),
        (
            json!({ "notifications": null }),
            "params.notifications must be an object, not null",
        ),
        (
            json!({ "notifications": true }),
            "params.notifications must be an object",
        ),
        (
            json!({ "notifications": [] }),
            "params.notifications must be an object",
        ),
        (
            json!({ "notifications": { "toolsListChanged": "yes" } }),
            "params.notifications.toolsListChanged must be a boolean, not string",
        ),
        (
            json!({ "notifications": { "promptsListChanged": 1 } }),
            "params.notifications.promptsListChanged must be a boolean",
        ),
        (
            json!({ "notifications": { "resourcesListChanged": null } }),
            "params.notifications.resourcesListChanged must be a boolean",
        ),
        (
            json!({ "notifications": { "resourceSubscriptions": "a:" } }),
            "params.notifications.resourceSubscriptions must be an array of strings",
        ),
        (
            json!({ "notifications": { "resourceSubscriptions": ["a:", {}] } }),
            "params.notifications.resourceSubscriptions[1] must be a string",
        ),
    ];
    let (mut stepped, _handle) = changing();
    let mut without = Pair::new(server());
    for (params, message) in cases {
        let line = modern(1, "subscriptions/listen", params);
        for answers in [stepped.send(&line), without.send(&line)] {
            let refusal = refusal(&answers[0]);
            assert_eq!(refusal.head(), (Some(json!(1)), -32602), "{line}");
            assert!(refusal.message.contains(message), "{}", refusal.message);
        }
    }
    let line = listen(1, &json!({ "toolsListChanged": true })).replace(
        "\"toolsListChanged\":true",
        "\"toolsListChanged\":true,\"toolsListChanged\":false",
    );
    let refusal = refusal(&stepped.send(&line)[0]);
    assert_eq!(refusal.code, -32602);
    assert!(refusal.message.contains("toolsListChanged is there twice"));
}

#[test]
fn a_subscription_is_in_flight_until_it_is_cancelled() {
    let held = Held::default();
    let mut server = server().tool(held.tool());
    let handle = server.handle();
    let mut stepped = Stepped::new(server);
    for id in [json!(1), json!("1")] {
        stepped.send(&listen(id, &json!({ "toolsListChanged": true })));
    }
    stepped.send(&call("held", "hold", &json!({})));
    for line in [
        listen(1, &json!({})),
        call(1, "echo", &json!({ "message": "x" })),
        listen("1", &json!({})),
        listen("held", &json!({})),
    ] {
        let refusal = refusal(&stepped.send(&line)[0]);
        assert_eq!(refusal.code, -32600, "{line}");
        assert!(refusal.message.contains("in flight"), "{}", refusal.message);
    }
    assert_eq!(stepped.connection().in_flight(), 1);

    assert_eq!(stepped.send(&cancelled(1)), [] as [Value; 0]);
    assert_eq!(stepped.send(&cancelled(1)), [] as [Value; 0]);
    handle.add_tool(tool("new")).unwrap();
    assert_eq!(stepped.completed(), [changed("1", TOOLS)]);
    // Its id is free again, for a call and for a subscription.
    let answer = stepped.send(&call(1, "echo", &json!({ "message": "x" })));
    assert_eq!(answer, [modern_result(1, text("x"))]);
    let honoured = json!({ "promptsListChanged": true });
    assert_eq!(
        stepped.send(&listen(1, &honoured)),
        [acknowledged(1, &honoured)]
    );
}

#[test]
fn what_is_cancelled_before_it_was_told_is_not_told() {
    let (mut stepped, handle) = changing();
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["a:"] });
    stepped.send(&listen(1, &filter));
    handle.resource_updated("a:");
    handle.add_tool(tool("new")).unwrap();
    stepped.send(&cancelled(1));
    assert_eq!(stepped.completed(), [] as [Value; 0]);
}

#[test]
fn the_end_closes_every_subscription_and_tells_what_changed_last() {
    let held = Held::default();
    let mut server = server().tool(held.tool());
    let handle = server.handle();
    let mut pair = Pair::new(server);
    pair.send(&listen(7, &json!({ "toolsListChanged": true })));
    pair.send(&listen("b", &json!({})));
    pair.send(&call(8, "hold", &json!({})));
    handle.add_tool(tool("new")).unwrap();
    pair.memory().finish();
    let end = |id: Value| {
        let mut result = modern_result(id.clone(), json!({}));
        result["result"]["_meta"][ID] = id.clone();
        let cancelled = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "_meta": { ID: id }, "requestId": id, "reason": "The connection ends" },
        });
        [cancelled, result]
    };
    let expected = [
        vec![changed(7, TOOLS)],
        end(json!(7)).into(),
        end(json!("b")).into(),
    ]
    .concat();
    assert_eq!(pair.take(), expected);
    // Once; and nothing is told any more, while calls go on.
    pair.memory().finish();
    handle.remove_tool("new").unwrap();
    assert_eq!(pair.poll(), [] as [Value; 0]);
    assert_eq!(refusal(&pair.ask(&listen(9, &json!({})))).code, -32603);
    held.answer("held");
    assert_eq!(pair.poll(), [modern_result(8, text("held"))]);
}

#[test]
fn subscriptions_cost_a_call_nothing_and_calls_go_on() {
    let (mut stepped, _handle) = changing();
    stepped.send(&listen(1, &json!({ "toolsListChanged": true })));
    let answer = stepped.send(&call(2, "echo", &json!({ "message": "x" })));
    assert_eq!(answer, [modern_result(2, text("x"))]);
    assert_eq!(stepped.due_in_ms(), None);
}

#[test]
fn a_handle_makes_the_server_declare_and_serve_empty_lists() {
    let mut server = Server::new("pair", "1.2.3");
    let _handle = server.handle();
    let mut pair = Pair::new(server);
    let discovered = pair.ask(&modern(1, "server/discover", json!({})));
    assert_eq!(discovered["result"]["capabilities"], capabilities());
    for (method, list) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        assert_eq!(
            pair.ask(&modern(1, method, json!({})))["result"][list],
            json!([])
        );
    }
}

type Change<'a> = &'a dyn Fn(&Handle);

fn changing() -> (Stepped, Handle) {
    let mut server = server();
    let handle = server.handle();
    (Stepped::new(server), handle)
}

fn changing_memory() -> (Memory, Handle) {
    let mut server = server();
    let handle = server.handle();
    (Memory::new(&server.freeze().unwrap()), handle)
}

fn take_text(memory: &mut Memory) -> String {
    let text = String::from_utf8(memory.output().to_vec()).unwrap();
    memory.consume(usize::MAX);
    text
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
