//! Who is told what has become of a task: `notifications/tasks` on `subscriptions/listen`.
//!
//! Specification: extension `io.modelcontextprotocol/tasks`, Task Status Notifications.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tightwire::{
    Call, Elicitation, Field, Inputs, IntoReply, Limits, MemoryTaskStore, Reply, TaskOptions,
    TaskRecord, TaskState, TaskStore, TaskSupport, Tool,
};
use tightwire_tests::{
    Held, Pair, SUBSCRIPTION_ID, Stepped, acknowledged, cancelled, listen, modern, refusal, server,
    updated,
};

use crate::tasks::{about, get, meta, nap, task, tool};

const NOTHING: [Value; 0] = [];
/// `Limits::changes_ms_min`, by default.
const PAUSE_MS: u64 = 20;

#[test]
fn a_subscription_is_acknowledged_with_the_tasks_that_there_are() {
    let (mut server, held) = holding();
    let [first, second] = [(); 2].map(|()| task(&mut server, "hold"));
    let mut known = [first.as_str().unwrap(), second.as_str().unwrap()];
    known.sort_unstable();
    let filter = json!({ "taskIds": [second, "none", first, second, ""] });
    assert_eq!(
        server.send(&listen_to(1, &filter)),
        [acknowledged(1, &json!({ "taskIds": known }))]
    );
    for filter in [json!({ "taskIds": ["none"] }), json!({ "taskIds": [] })] {
        assert_eq!(
            server.send(&listen_to("a", &filter)),
            [acknowledged("a", &json!({}))]
        );
        server.send(&cancelled("a"));
    }
    drop(held);
}

#[test]
fn tasks_and_resources_are_listened_to_in_one_subscription() {
    let held = Held::default();
    let mut server = server().tool(held.tool().task(TaskSupport::Optional));
    let handle = server.handle();
    let mut server = Stepped::new(server);
    let id = task(&mut server, "hold");
    // A resource of this name is not the task.
    let name = id.as_str().unwrap();
    let filter =
        json!({ "taskIds": [id], "resourceSubscriptions": [name], "toolsListChanged": true });
    assert_eq!(
        server.send(&listen_to(1, &filter)),
        [acknowledged(1, &filter)]
    );
    handle.resource_updated(name);
    assert_eq!(server.completed(), [updated(1, name)]);
    server.pass_ms(PAUSE_MS);
    held.answer("done");
    let expected = told(&mut server, 1, &id);
    assert_eq!(server.completed(), [expected]);
}

#[test]
fn a_client_that_does_not_know_tasks_is_refused() {
    let (mut server, _held) = holding();
    for ids in [json!(["a"]), json!([])] {
        let answer = server.ask(&listen(1, &json!({ "taskIds": ids })));
        let refused = refusal(&answer);
        assert_eq!(refused.head(), (Some(json!(1)), -32021));
        let required = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        assert_eq!(
            refused.data,
            Some(json!({ "requiredCapabilities": required }))
        );
    }
    let answer = server.ask(&listen(1, &json!({ "toolsListChanged": true })));
    assert_eq!(answer, acknowledged(1, &json!({})));
    // A server that has no tasks does not know the member.
    let mut without = Pair::new(tightwire_tests::server());
    let line = listen(1, &json!({ "taskIds": ["a"] }));
    assert_eq!(without.ask(&line), acknowledged(1, &json!({})));
}

#[test]
fn ids_that_cannot_be_understood_are_refused_by_name() {
    let (mut server, _held) = holding();
    for (ids, message) in [
        (
            json!("a"),
            "params.notifications.taskIds must be an array of strings, not string",
        ),
        (
            json!(null),
            "params.notifications.taskIds must be an array of strings, not null",
        ),
        (
            json!(["a", 1]),
            "params.notifications.taskIds[1] must be a string, the id of a task",
        ),
    ] {
        let refused = refusal(&server.ask(&listen_to(1, &json!({ "taskIds": ids }))));
        assert_eq!(refused.head(), (Some(json!(1)), -32602));
        assert!(refused.message.contains(message), "{}", refused.message);
    }
    let twice = listen_to(1, &json!({ "taskIds": [] }))
        .replace("\"taskIds\":[]", "\"taskIds\":[],\"taskIds\":[]");
    let refused = refusal(&server.ask(&twice));
    assert_eq!(refused.code, -32602);
    assert!(refused.message.contains("taskIds is there twice"));
}

#[test]
fn a_task_of_somebody_else_is_as_good_as_none() {
    let store = MemoryTaskStore::new(10, 1 << 20);
    let foreign = TaskRecord {
        principal: "somebody".to_owned(),
        tool: "nap".to_owned(),
        state: TaskState::Cancelled,
        status_message: None,
        created_unix_ms: 0,
        updated_unix_ms: 0,
        ttl_ms: 1_000,
        poll_interval_ms: 1,
        request: Arc::from(""),
        answers: Vec::new(),
        kept: None,
        connection: 0,
    };
    let own = TaskRecord {
        principal: String::new(),
        ..foreign.clone()
    };
    store.insert("foreign", foreign).unwrap();
    store.insert("own", own).unwrap();
    let mut server = Stepped::new(server().task_store(store).tool(nap("nap", 0)));
    let filter = json!({ "taskIds": ["foreign", "own"] });
    let answer = server.ask(&listen_to(1, &filter));
    assert_eq!(answer, acknowledged(1, &json!({ "taskIds": ["own"] })));
    let expected = told(&mut server, 1, &json!("own"));
    assert_eq!(server.pass_ms(0), [expected]);
}

#[test]
fn each_change_is_told_as_the_task_is_asked_for() {
    let asks = tool("asks", |call: Call<'_>, reply: Reply<'_>| {
        let name = Elicitation::form("Who?").field("name", Field::text().required());
        let inputs = Inputs::new().elicit("who", name);
        let context = call.context();
        context.ask(inputs).map(|_| "thanks").reply(reply);
    });
    let fails = Tool::new("fails", |_: Call<'_>, _: Reply<'_>| {});
    let fails = fails.blocking().task(TaskSupport::Optional);
    let (held, hold) = hold();
    let server = server().tool(asks.blocking()).tool(fails).tool(hold);
    let mut server = Stepped::new(server);
    let start = |server: &mut Stepped, tool: &str| {
        let params = json!({ "name": tool, "_meta": knowing() });
        let answer = server.ask(&modern(0, "tools/call", params));
        assert_eq!(answer["result"]["status"], "working", "{answer}");
        let id = answer["result"]["taskId"].clone();
        server.send(&listen_to(tool, &json!({ "taskIds": [id] })));
        assert_eq!(server.pass_ms(PAUSE_MS), NOTHING, "it is at work");
        id
    };
    let expect = |server: &mut Stepped, subscription: &str, id: &Value, status: &str| {
        let expected = told(server, subscription, id);
        assert_eq!(expected["params"]["status"], status);
        assert_eq!(server.completed(), [expected]);
        assert_eq!(server.pass_ms(PAUSE_MS), NOTHING);
        assert_eq!(server.completed(), NOTHING);
    };
    let run = |server: &mut Stepped| server.connection().poll_job().unwrap().run();

    let id = start(&mut server, "asks");
    run(&mut server);
    expect(&mut server, "asks", &id, "input_required");
    let response = json!({ "who": { "action": "accept", "content": { "name": "me" } } });
    let params = json!({ "taskId": id, "inputResponses": response, "_meta": knowing() });
    let answer = server.ask(&modern(0, "tasks/update", params));
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    expect(&mut server, "asks", &id, "working");
    run(&mut server);
    expect(&mut server, "asks", &id, "completed");

    let id = start(&mut server, "fails");
    run(&mut server);
    expect(&mut server, "fails", &id, "failed");

    let id = start(&mut server, "hold");
    server.ask(&about("tasks/cancel", &id));
    expect(&mut server, "hold", &id, "cancelled");
    // It has ended: neither is told.
    server.ask(&about("tasks/cancel", &id));
    held.answer("too late");
    assert_eq!(server.completed(), NOTHING);
}

#[test]
fn what_changes_often_is_told_once_with_what_it_has_become() {
    let reports = Tool::new("reports", |call: Call<'_>, reply: Reply<'_>| {
        for step in 1..=3 {
            call.context().progress(step.into(), None, Some("a step"));
        }
        reply.text("done");
    });
    let reports = reports.blocking().task(TaskSupport::Optional);
    let mut server = Stepped::new(server().tool(reports));
    let mut meta = meta();
    meta["progressToken"] = json!("p");
    let params = json!({ "name": "reports", "_meta": meta });
    let answer = server.ask(&modern(0, "tools/call", params));
    let id = answer["result"]["taskId"].clone();
    server.send(&listen_to(1, &json!({ "taskIds": [id] })));
    server.connection().poll_job().unwrap().run();
    let expected = told(&mut server, 1, &id);
    assert_eq!(expected["params"]["status"], "completed");
    // No `notifications/progress` either.
    assert_eq!(server.completed(), [expected]);
    assert_eq!(server.pass_ms(PAUSE_MS), NOTHING);
}

#[test]
fn changes_wait_until_the_pause_is_over() {
    let (mut server, held) = holding();
    let ids = [(); 2].map(|()| task(&mut server, "hold"));
    server.send(&listen_to(1, &json!({ "taskIds": ids })));
    held.answer("first");
    let first = told(&mut server, 1, &ids[0]);
    assert_eq!(server.completed(), [first]);
    held.answer("second");
    assert_eq!(server.completed(), NOTHING);
    assert_eq!(server.due_in_ms(), Some(PAUSE_MS.into()));
    assert_eq!(server.pass_ms(PAUSE_MS - 1), NOTHING);
    let second = told(&mut server, 1, &ids[1]);
    assert_eq!(server.pass_ms(1), [second]);
}

#[test]
fn a_task_that_has_ended_before_is_told_once() {
    let (mut server, held) = holding();
    let id = task(&mut server, "hold");
    // Of this the connection has not heard yet.
    held.answer("done");
    let filter = json!({ "taskIds": [id] });
    let answer = server.ask(&listen_to(1, &filter));
    assert_eq!(answer, acknowledged(1, &filter));
    assert_eq!(server.due_in_ms(), Some(0));
    let expected = told(&mut server, 1, &id);
    assert_eq!(expected["params"]["status"], "completed");
    assert_eq!(server.pass_ms(0), [expected]);
    assert_eq!(server.completed(), NOTHING);
    assert_eq!(server.pass_ms(PAUSE_MS), NOTHING);
}

#[test]
fn nothing_is_told_to_those_who_did_not_ask_or_do_not_any_more() {
    let (mut server, held) = holding();
    let [id, other] = [(); 2].map(|()| task(&mut server, "hold"));
    for (subscription, id) in [(1, &id), (2, &id), (3, &other)] {
        server.send(&listen_to(subscription, &json!({ "taskIds": [id] })));
    }
    server.send(&listen_to(4, &json!({})));
    server.send(&cancelled(1));
    held.answer("done");
    let expected = told(&mut server, 2, &id);
    assert_eq!(server.completed(), [expected]);
    // It changes, and then nobody is left to be told.
    server.pass_ms(PAUSE_MS);
    held.answer("done");
    get(&mut server, &other);
    server.send(&cancelled(3));
    assert_eq!(server.completed(), NOTHING);
    assert_eq!(server.pass_ms(PAUSE_MS), NOTHING);
}

#[test]
fn the_end_tells_what_changed_last_and_nothing_after_it() {
    let (held, hold) = hold();
    let frozen = server().tool(hold).freeze().unwrap();
    let mut first = Stepped::connect(&frozen);
    let ids = [(); 2].map(|()| task(&mut first, "hold"));
    let mut second = Stepped::connect(&frozen);
    second.send(&listen_to(1, &json!({ "taskIds": ids })));
    held.answer("first");
    let expected = told(&mut first, 1, &ids[0]);
    let mut out = Vec::new();
    second.connection().handle_end(&mut out);
    let out = String::from_utf8(out).unwrap();
    let lines: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0], expected);
    assert_eq!(lines[1]["method"], "notifications/cancelled");
    assert_eq!(lines[2]["id"], 1);
    assert_eq!(lines.len(), 3);
    assert!(!second.connection().may_change());
    held.answer("second");
    get(&mut first, &ids[1]);
    assert_eq!(second.completed(), NOTHING);
    assert_eq!(second.pass_ms(PAUSE_MS), NOTHING);
}

#[test]
fn a_connection_learns_of_what_another_has_done_and_is_woken() {
    let (_held, hold) = hold();
    let frozen = server().tool(hold).freeze().unwrap();
    let (mut first, mut second) = (Stepped::connect(&frozen), Stepped::connect(&frozen));
    let woken = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&woken);
    second.connection().set_waker(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let id = task(&mut first, "hold");
    assert!(!second.connection().may_change());
    second.send(&listen_to(1, &json!({ "taskIds": [id] })));
    assert!(second.connection().may_change(), "it must not block");
    first.ask(&about("tasks/cancel", &id));
    assert_eq!(woken.load(Ordering::Relaxed), 1);
    let expected = told(&mut first, 1, &id);
    assert_eq!(second.completed(), [expected]);
    assert_eq!(first.completed(), NOTHING);
    second.send(&cancelled(1));
    assert!(!second.connection().may_change());
}

#[test]
fn tasks_count_as_what_is_subscribed_to() {
    let limits = Limits {
        subscribed_uris_max: 2,
        ..Limits::default()
    };
    let (held, hold) = hold();
    let mut server = Stepped::new(server().limits(limits).tool(hold));
    let ids = [(); 3].map(|()| task(&mut server, "hold"));
    let refused = refusal(&server.ask(&listen_to(1, &json!({ "taskIds": ids }))));
    assert_eq!(refused.head(), (Some(json!(1)), -32603));
    // What there is not takes no room.
    let filter = json!({ "taskIds": [ids[0], ids[1], "none"] });
    server.ask(&listen_to(1, &filter));
    let refused = refusal(&server.ask(&listen_to(2, &json!({ "taskIds": [ids[0]] }))));
    assert_eq!(refused.head(), (Some(json!(2)), -32603));
    server.send(&cancelled(1));
    let filter = json!({ "taskIds": [ids[2]] });
    assert_eq!(server.ask(&listen_to(2, &filter)), acknowledged(2, &filter));
    drop(held);
}

#[test]
fn ids_count_as_held() {
    let held_max = |held_bytes_max| {
        let limits = Limits {
            held_bytes_max,
            ..Limits::default()
        };
        let (held, hold) = hold();
        let mut server = Stepped::new(server().limits(limits).tool(hold));
        let id = task(&mut server, "hold");
        drop(held);
        server.ask(&listen_to(1, &json!({ "taskIds": [id] })))
    };
    // The id of the request, that of the task, and what goes with it.
    assert_eq!(refusal(&held_max(1 + 32 + 63)).code, -32603);
    assert!(held_max(1 + 32 + 64).get("error").is_none());
}

#[test]
fn long_results_are_told_one_at_a_time() {
    let (mut server, held) = holding();
    let id = task(&mut server, "hold");
    for subscription in 1..=3 {
        server.send(&listen_to(subscription, &json!({ "taskIds": [id] })));
    }
    held.answer(&"x".repeat(100_000));
    let expected = [1, 2, 3].map(|subscription| told(&mut server, subscription, &id));
    assert_eq!(server.completed(), expected[..1]);
    server.send(&cancelled(2));
    assert_eq!(server.completed(), NOTHING);
    assert_eq!(server.pass_ms(20), expected[2..]);
    assert_eq!(server.pass_ms(20), NOTHING);
    assert_eq!(server.pass_ms(20), NOTHING);
}

#[test]
fn a_task_that_has_expired_is_not_told() {
    let held = Held::default();
    let options = TaskOptions::new(TaskSupport::Optional).ttl(Duration::from_secs(2));
    let mut server = Stepped::new(server().tool(held.tool().task(options)));
    let id = task(&mut server, "hold");
    server.send(&listen_to(1, &json!({ "taskIds": [id] })));
    assert_eq!(server.pass_ms(1_000), NOTHING);
    held.answer("done");
    // It changes when its time is up.
    assert_eq!(server.pass_ms(1_000), NOTHING);
    assert_eq!(server.completed(), NOTHING);
    assert_eq!(server.pass_ms(PAUSE_MS), NOTHING);
}

/// A subscription of a client that knows tasks.
fn listen_to(id: impl Into<Value>, filter: &Value) -> String {
    let params = json!({ "notifications": filter, "_meta": meta() });
    modern(id, "subscriptions/listen", params)
}

/// What a subscription is told of a task: what `tasks/get` tells of it now.
fn told(server: &mut Stepped, subscription: impl Into<Value>, id: &Value) -> Value {
    let mut params = get(server, id);
    params.as_object_mut().unwrap().remove("resultType");
    params["_meta"] = json!({ SUBSCRIPTION_ID: subscription.into() });
    json!({ "jsonrpc": "2.0", "method": "notifications/tasks", "params": params })
}

/// The `_meta` of a client that knows tasks, and has somebody to ask.
fn knowing() -> Value {
    let mut meta = meta();
    meta["io.modelcontextprotocol/clientCapabilities"]["elicitation"] = json!({});
    meta
}

fn hold() -> (Held, Tool) {
    let held = Held::default();
    let tool = held.tool().task(TaskSupport::Optional);
    (held, tool)
}

fn holding() -> (Stepped, Held) {
    let (held, tool) = hold();
    (Stepped::new(server().tool(tool)), held)
}
