//! Tasks: calls that are answered with a handle, and what becomes of them.
//!
//! Specification: extension `io.modelcontextprotocol/tasks`.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tightwire::{
    AsyncAnswer, BoxFuture, Call, Context, LogLevel, Now, Reply, RpcError, Server, TaskSupport,
    Tool,
};
use tightwire_tests::{
    Held, Pair, Stepped, call, cancelled, legacy, modern, modern_meta, modern_result, refusal,
    server, text,
};

const NOTHING: Vec<Value> = Vec::new();
const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The `_meta` of a client that knows tasks.
pub(crate) fn meta() -> Value {
    let mut meta = modern_meta();
    meta[CAPABILITIES] = json!({ "extensions": { EXTENSION: {} } });
    meta
}

pub(crate) fn start(id: impl Into<Value>, tool: &str) -> String {
    let params = json!({ "name": tool, "_meta": meta() });
    modern(id, "tools/call", params)
}

pub(crate) fn about(method: &str, task: &Value) -> String {
    let mut params = json!({ "taskId": task, "_meta": meta() });
    if method == "tasks/update" {
        params["inputResponses"] = json!({});
    }
    modern(9, method, params)
}

pub(crate) fn tool(
    name: &str,
    handler: impl Fn(Call<'_>, Reply<'_>) + Send + Sync + 'static,
) -> Tool {
    Tool::new(name, handler).task(TaskSupport::Optional)
}

/// A tool that answers after so many milliseconds.
pub(crate) fn nap(name: &str, ms: u64) -> Tool {
    tool(name, move |_, reply| {
        reply.after(Duration::from_millis(ms), |reply| reply.text("slept"));
    })
}

/// Calls a tool and gives the id of the task that comes of it.
#[track_caller]
pub(crate) fn task(server: &mut Stepped, tool: &str) -> Value {
    let answer = server.ask(&start(1, tool));
    assert_eq!(answer["result"]["resultType"], "task", "{answer}");
    answer["result"]["taskId"].clone()
}

/// What has become of a task.
#[track_caller]
pub(crate) fn get(server: &mut Stepped, task: &Value) -> Value {
    let answer = server.ask(&about("tasks/get", task));
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    answer["result"].clone()
}

#[track_caller]
pub(crate) fn status(server: &mut Stepped, task: &Value) -> String {
    get(server, task)["status"].as_str().unwrap().to_owned()
}

/// Asks until a task is no longer at work.
fn ended(pair: &mut Pair, task: &Value) -> Value {
    for _ in 0..2_000 {
        pair.poll();
        let answer = pair.ask(&about("tasks/get", task));
        if answer["result"]["status"] != "working" {
            return answer["result"].clone();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the task does not end");
}

#[test]
fn the_extension_is_declared_where_calls_may_become_tasks() {
    let discover = modern(1, "server/discover", json!({}));
    let capabilities = |server: Server| {
        let answer = Pair::new(server).ask(&discover);
        answer["result"]["capabilities"].clone()
    };
    assert_eq!(capabilities(server()).get("extensions"), None);
    let with = capabilities(server().tool(nap("nap", 1)));
    assert_eq!(with["extensions"], json!({ EXTENSION: {} }));
    assert_eq!(with.get("tasks"), None);
    // Sessions have no such extension.
    let mut pair = Pair::new(server().tool(nap("nap", 1)));
    let answer = pair.ask(&tightwire_tests::initialize("2025-11-25"));
    let declared = &answer["result"]["capabilities"];
    assert_eq!(declared.get("extensions"), None);
    assert_eq!(declared.get("experimental"), None);
}

#[test]
fn a_call_is_answered_with_a_handle_that_can_be_asked_for_at_once() {
    let mut server = Stepped::new(server().tool(nap("nap", 500)));
    server.pass_ms(1_785_196_800_000);
    let answer = server.ask(&start("a", "nap"));
    let mut result = answer["result"].clone();
    let id = result.as_object_mut().unwrap().remove("taskId").unwrap();
    assert_eq!(answer["id"], "a");
    let moment = "2026-07-28T00:00:00.000Z";
    let expected = modern_result(
        "a",
        json!({
            "status": "working", "createdAt": moment, "lastUpdatedAt": moment,
            "ttlMs": 3_600_000, "pollIntervalMs": 1_000,
        }),
    );
    let mut expected = expected["result"].clone();
    expected["resultType"] = json!("task");
    assert_eq!(result, expected);
    let mut got = get(&mut server, &id);
    assert_eq!(got.as_object_mut().unwrap().remove("taskId").unwrap(), id);
    expected["resultType"] = json!("complete");
    assert_eq!(got, expected);

    assert_eq!(server.pass_ms(500), NOTHING);
    let got = get(&mut server, &id);
    assert_eq!(got["status"], "completed");
    assert_eq!(got["result"], modern_result(0, text("slept"))["result"]);
    assert_eq!(got["createdAt"], moment);
    assert_eq!(got["lastUpdatedAt"], "2026-07-28T00:00:00.500Z");
    // It stays, and does not change.
    server.pass_ms(1_000);
    assert_eq!(get(&mut server, &id), got);
}

#[test]
fn a_client_that_does_not_know_tasks_gets_the_answer_itself() {
    let mut server = Stepped::new(server().tool(nap("nap", 500)));
    for capabilities in [
        json!({}),
        json!({ "extensions": {} }),
        json!({ "extensions": { EXTENSION: true } }),
        json!({ "extensions": { "com.example/tasks": {} } }),
        json!({ "tasks": { "requests": { "tools": { "call": {} } } } }),
    ] {
        let mut meta = modern_meta();
        meta[CAPABILITIES] = capabilities;
        let params = json!({ "name": "nap", "task": { "ttl": 1 }, "_meta": meta });
        assert_eq!(server.send(&modern(1, "tools/call", params)), NOTHING);
        assert_eq!(server.pass_ms(500), [modern_result(1, text("slept"))]);
    }
    // The extension is not remembered from one request to the next.
    task(&mut server, "nap");
    assert_eq!(server.send(&call(2, "nap", &json!({}))), NOTHING);
}

#[test]
fn where_a_task_is_required_a_client_must_know_them() {
    let job = Tool::new("job", |_: Call<'_>, reply: Reply<'_>| {
        reply.error("it failed");
    });
    let job = || server().tool(job.clone().task(TaskSupport::Required));
    let mut pair = Pair::new(job());
    let refused = refusal(&pair.ask(&call(1, "job", &json!({}))));
    assert_eq!(refused.head(), (Some(json!(1)), -32021));
    let required = json!({ "requiredCapabilities": { "extensions": { EXTENSION: {} } } });
    assert_eq!(refused.data, Some(required));
    let answer = pair.ask(&start(2, "job"));
    assert_eq!(answer["result"]["resultType"], "task");

    let mut pair = Pair::session(job(), "2025-06-18");
    let params = json!({ "name": "job", "task": { "ttl": 60_000 } });
    let answer = pair.ask(&legacy(1, "tools/call", &params));
    assert_eq!(answer["result"]["isError"], true);
    let said = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("runs as a task"), "{said}");
}

#[test]
fn a_session_of_a_revision_without_tasks_has_none() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let now = tool("now", |_, reply| reply.text("now"));
        let mut pair = Pair::session(server().tool(now), version);
        let params = json!({ "name": "now", "task": { "ttl": 60_000 } });
        let answer = pair.ask(&legacy(1, "tools/call", &params));
        assert_eq!(answer["result"], text("now"));
        for method in ["get", "list", "result", "cancel", "update"] {
            let method = format!("tasks/{method}");
            let answer = pair.ask(&legacy(2, &method, &json!({ "taskId": "a" })));
            assert_eq!(refusal(&answer).code, -32601, "{method}");
        }
    }
}

#[test]
fn what_does_not_exist_is_told() {
    let mut pair = Pair::new(server().tool(nap("nap", 0)));
    for method in ["tasks/list", "tasks/result", "tasks/status"] {
        let answer = pair.ask(&about(method, &json!("a")));
        assert_eq!(refusal(&answer).code, -32601, "{method}");
    }
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let answer = pair.ask(&modern(1, method, json!({ "taskId": "a" })));
        assert_eq!(refusal(&answer).code, -32021, "{method}");
        for task in [json!("a"), json!(""), json!(1), Value::Null] {
            let answer = pair.ask(&about(method, &task));
            assert_eq!(refusal(&answer).code, -32602, "{method} {task}");
        }
        let answer = pair.ask(&modern(1, method, json!({ "_meta": meta() })));
        assert_eq!(refusal(&answer).message, "params.taskId is missing");
        let twice =
            about(method, &json!("a")).replacen("\"taskId\"", "\"taskId\":\"b\",\"taskId\"", 1);
        let answer = pair.ask(&twice);
        assert_eq!(refusal(&answer).message, "params.taskId is there twice");
        // A server whose calls never become tasks.
        let answer =
            Pair::new(server().tool(Held::default().tool())).ask(&about(method, &json!("a")));
        assert_eq!(refusal(&answer).code, -32601, "{method}");
    }
}

#[test]
fn a_task_ends_as_the_call_would_have_been_answered() {
    let server = server()
        .tool(tool("good", |_, reply| reply.text("{\"é\":\"\n\"}}\n")))
        .tool(tool("bad", |_, reply| reply.error("no such city")))
        .tool(tool("wrong", |_, reply| {
            let error = RpcError::new(-5, "API rate limit \"exceeded\"").with_data("{\"a\":1}");
            reply.protocol_error(&error);
        }))
        .tool(tool("lazy", |_, _| {}))
        .tool(tool("panics", |_, _| panic!("oh no")));
    let mut server = Stepped::new(server);
    let mut end = |tool: &str| {
        let answer = server.ask(&start(1, tool));
        let status = answer["result"]["status"].clone();
        assert_eq!(
            answer["result"].get("result"),
            None,
            "only `tasks/get` tells it"
        );
        let got = get(&mut server, &answer["result"]["taskId"]);
        assert_eq!(got["status"], status, "an inline tool is done at once");
        got
    };
    let got = end("good");
    assert_eq!(got["status"], "completed");
    let said = text("{\"é\":\"\n\"}}\n");
    assert_eq!(got["result"], modern_result(0, said)["result"]);
    let got = end("bad");
    assert_eq!(got["status"], "completed");
    assert_eq!(got["result"]["isError"], true);
    assert_eq!(got.get("error"), None);
    let got = end("wrong");
    assert_eq!(got["status"], "failed");
    let message = "API rate limit \"exceeded\"";
    let error = json!({ "code": -5, "message": message, "data": { "a": 1 } });
    assert_eq!(got["error"], error);
    assert_eq!(got["statusMessage"], message);
    assert_eq!(got.get("result"), None);
    for tool in ["lazy", "panics"] {
        let got = end(tool);
        assert_eq!(got["status"], "failed", "{tool}");
        assert_eq!(got["error"]["code"], -32603, "{tool}");
    }
    let log: Vec<String> = std::iter::from_fn(|| server.connection().poll_log()).collect();
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(log[0].contains("oh no"), "{log:?}");
}

#[test]
fn arguments_that_do_not_fit_are_told_at_once() {
    let schema = r#"{"type":"object","required":["a"]}"#;
    let strict = nap("strict", 0).input_schema(schema);
    let mut pair = Pair::new(server().tool(strict));
    let answer = pair.ask(&start(1, "strict"));
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"]["resultType"], "complete");
}

#[test]
fn a_cancelled_task_stays_cancelled_and_its_function_is_told() {
    let held = Held::default();
    let hold = held.tool().task(TaskSupport::Optional);
    let mut server = Stepped::new(server().tool(hold).tool(nap("nap", 0)));
    let id = task(&mut server, "hold");
    let ticket = held.next();
    assert!(!ticket.is_cancelled());
    let answer = server.ask(&about("tasks/cancel", &id));
    assert_eq!(answer, modern_result(9, json!({})));
    assert!(ticket.is_cancelled());
    assert_eq!(status(&mut server, &id), "cancelled");
    ticket.answer(|reply| reply.text("too late"));
    assert_eq!(server.completed(), NOTHING);
    let got = get(&mut server, &id);
    assert_eq!(got["status"], "cancelled");
    assert_eq!(got.get("result"), None);
    let answer = server.ask(&about("tasks/cancel", &id));
    assert_eq!(answer, modern_result(9, json!({})));
    // One that has ended is not changed by it.
    let id = task(&mut server, "nap");
    server.pass_ms(0);
    let answer = server.ask(&about("tasks/cancel", &id));
    assert_eq!(answer, modern_result(9, json!({})));
    assert_eq!(status(&mut server, &id), "completed");
}

#[test]
fn what_was_answered_before_a_cancellation_counts() {
    let held = Held::default();
    let hold = held.tool().task(TaskSupport::Optional);
    let mut server = Stepped::new(server().tool(hold));
    let id = task(&mut server, "hold");
    held.next().answer(|reply| reply.text("done"));
    server.ask(&about("tasks/cancel", &id));
    assert_eq!(status(&mut server, &id), "completed");
}

#[test]
fn a_delay_that_was_cancelled_is_not_continued() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let slow = tool("slow", move |_, reply| {
        let counted = Arc::clone(&counted);
        reply.after(Duration::from_millis(100), move |reply| {
            counted.fetch_add(1, Ordering::Relaxed);
            reply.text("done");
        });
    });
    let mut server = Stepped::new(server().tool(slow));
    let id = task(&mut server, "slow");
    server.ask(&about("tasks/cancel", &id));
    server.pass_ms(1_000);
    assert_eq!(count.load(Ordering::Relaxed), 0);
    assert_eq!(
        Arc::strong_count(&count),
        2,
        "what would continue it is dropped"
    );
}

#[test]
fn a_cancelled_request_is_not_a_cancelled_task() {
    let mut server = Stepped::new(server().tool(nap("nap", 100)));
    let id = task(&mut server, "nap");
    assert_eq!(server.send(&cancelled(1)), NOTHING);
    server.pass_ms(100);
    assert_eq!(status(&mut server, &id), "completed");
}

#[test]
fn tasks_belong_to_the_server_and_not_to_a_connection() {
    let held = Held::default();
    let server = server()
        .tool(nap("nap", 100))
        .tool(held.tool().task(TaskSupport::Optional))
        .tool(nap("block", 0).blocking())
        .freeze()
        .unwrap();
    let mut first = Stepped::connect(&server);
    let [nap, hold, block] = ["nap", "hold", "block"].map(|tool| task(&mut first, tool));
    let ticket = held.next();
    let job = first.connection().poll_job().unwrap();
    first.connection().abort(Now::default(), &mut Vec::new());
    drop(first);
    assert!(!ticket.is_cancelled() && !job.is_cancelled());
    ticket.answer(|reply| reply.text("held"));
    job.run();

    let mut second = Stepped::connect(&server);
    assert_eq!(
        second.due_in_ms(),
        None,
        "it has had nothing to do with tasks"
    );
    assert_eq!(
        get(&mut second, &hold)["result"]["content"][0]["text"],
        "held"
    );
    // Its function went on after no time, in the loop that looks after it.
    second.pass_ms(0);
    assert_eq!(status(&mut second, &block), "completed");
    assert_eq!(status(&mut second, &nap), "working");
    assert_eq!(second.due_in_ms(), Some(100));
    second.pass_ms(100);
    assert_eq!(status(&mut second, &nap), "completed");
    // Another server knows nothing of them.
    let mut other = Stepped::new(tightwire_tests::server().tool(self::nap("nap", 0)));
    let answer = other.ask(&about("tasks/get", &nap));
    assert_eq!(refusal(&answer).code, -32602);
}

#[test]
fn a_connection_is_woken_when_there_is_something_to_do() {
    let held = Held::default();
    let hold = held.tool().task(TaskSupport::Optional);
    let mut server = Stepped::new(server().tool(hold));
    let woken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&woken);
    server.connection().set_waker(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let id = task(&mut server, "hold");
    held.next().answer(|reply| {
        reply.after(Duration::from_millis(100), |reply| reply.text("done"));
    });
    assert_eq!(woken.load(Ordering::Relaxed), 1);
    assert!(server.connection().has_completions());
    assert_eq!(server.completed(), NOTHING);
    assert_eq!(server.due_in_ms(), Some(100));
    server.pass_ms(100);
    assert_eq!(status(&mut server, &id), "completed");
}

#[test]
fn blocking_and_asynchronous_functions_work_on_tasks() {
    fn bark(_: Call<'_>) -> BoxFuture<'_, AsyncAnswer> {
        Box::pin(async { Box::new(|reply: Reply<'_>| reply.text("wuff")) as AsyncAnswer })
    }
    let futures = Arc::new(Mutex::new(Vec::new()));
    let spawned = Arc::clone(&futures);
    let server = server()
        .executor(move |future| spawned.lock().unwrap().push(future))
        .tool(Tool::asynchronous("bark", bark).task(TaskSupport::Required))
        .tool(
            tool("wait", |call, reply| {
                reply.display(call.context().is_task());
            })
            .blocking(),
        );
    let mut pair = Pair::new(server);
    let start_one = |pair: &mut Pair, tool: &str| {
        let answer = pair.ask(&start(1, tool));
        assert_eq!(answer["result"]["status"], "working", "{answer}");
        answer["result"]["taskId"].clone()
    };
    let id = start_one(&mut pair, "wait");
    assert_eq!(
        ended(&mut pair, &id)["result"]["content"][0]["text"],
        "true"
    );
    let id = start_one(&mut pair, "bark");
    let mut future = futures.lock().unwrap().pop().unwrap();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_ready());
    assert_eq!(
        ended(&mut pair, &id)["result"]["content"][0]["text"],
        "wuff"
    );
}

#[test]
fn progress_is_told_with_the_status_and_nothing_is_sent() {
    let work = tool("work", move |call, reply| {
        let context: &Context<'_> = call.context();
        context.log(LogLevel::Error, None, "a message");
        context.progress(1.0, Some(2.0), Some(&"é".repeat(1_000)));
        context.progress(0.5, None, Some("half way"));
        context.progress(0.7, None, None);
        reply.after(Duration::from_millis(10), |reply| reply.text("done"));
    });
    let mut server = Stepped::new(server().logging().tool(work));
    let mut meta = meta();
    meta["progressToken"] = json!("token");
    meta["io.modelcontextprotocol/logLevel"] = json!("debug");
    let params = json!({ "name": "work", "_meta": meta });
    let answer = server.ask(&modern(1, "tools/call", params));
    assert_eq!(answer["result"]["statusMessage"], "half way");
    let id = &answer["result"]["taskId"];
    assert_eq!(server.completed(), NOTHING);
    assert_eq!(server.pass_ms(10), NOTHING);
    let got = get(&mut server, id);
    assert_eq!(got["status"], "completed");
    assert_eq!(got.get("statusMessage"), None);
}

#[test]
fn ids_cannot_be_guessed() {
    let ids = || {
        let mut server = Stepped::new(server().state_key([7; 32]).tool(nap("nap", 0)));
        [(); 3].map(|()| task(&mut server, "nap").as_str().unwrap().to_owned())
    };
    let mut all = [ids(), ids()].concat();
    assert!(all.iter().all(|id| id.len() == 32), "192 bits: {all:?}");
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6, "{all:?}");
}

#[test]
fn an_inline_function_must_not_wait_and_does_not() {
    let wait = tool("wait", |call, reply| {
        let cancelled = call.wait_cancelled(Duration::from_secs(3_600));
        reply.display(cancelled);
    });
    let mut server = Stepped::new(server().tool(wait));
    let id = task(&mut server, "wait");
    let got = get(&mut server, &id);
    assert_eq!(got["result"]["content"][0]["text"], "false");
}
