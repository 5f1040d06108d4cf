//! Tasks of sessions of 2025-11-25: how a client makes one, and asks what has become of it.
//!
//! Specification: 2025-11-25, `basic/utilities/tasks`.

use std::time::Duration;

use serde_json::{Value, json};
use tightwire::{Call, Limits, Reply, RpcError, Server, TaskOptions, TaskSupport, Tool};
use tightwire_tests::{
    Held, Pair, REVISIONS, Revision, Stepped, call, initialize, legacy, legacy_result, modern,
    refusal, server, text,
};

use crate::tasks::{nap, tool};

pub(crate) const NOTHING: [Value; 0] = [];
pub(crate) const RELATED: &str = "io.modelcontextprotocol/related-task";

/// A session in a server, whose client can be asked for forms, URLs, messages and roots.
pub(crate) fn session(server: Server) -> Stepped {
    let mut stepped = Stepped::new(server);
    open(&mut stepped);
    stepped
}

pub(crate) fn open(stepped: &mut Stepped) {
    let capabilities =
        json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} });
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": { "name": "tests", "version": "1" },
    });
    let answer = stepped.ask(&legacy("init", "initialize", &params));
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    let opened = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(stepped.send(opened), NOTHING);
}

/// A call of a tool that is to become a task.
pub(crate) fn start(tool: &str) -> String {
    legacy(1, "tools/call", &json!({ "name": tool, "task": {} }))
}

/// Calls a tool as a task, and gives the id of the task.
#[track_caller]
pub(crate) fn task(server: &mut Stepped, tool: &str) -> Value {
    let answer = server.ask(&start(tool));
    assert_eq!(answer["result"]["task"]["status"], "working", "{answer}");
    answer["result"]["task"]["taskId"].clone()
}

/// A request about a task, under its method as its id.
pub(crate) fn about(method: &str, task: &Value) -> String {
    legacy(method, method, &json!({ "taskId": task }))
}

/// What has become of a task.
#[track_caller]
pub(crate) fn get(server: &mut Stepped, task: &Value) -> Value {
    let answer = server.ask(&about("tasks/get", task));
    assert_eq!(answer["result"]["taskId"], *task, "{answer}");
    answer["result"].clone()
}

/// What a session is told of a task that is as it is now.
#[track_caller]
pub(crate) fn told(server: &mut Stepped, task: &Value) -> Value {
    let task = get(server, task);
    json!({ "jsonrpc": "2.0", "method": "notifications/tasks/status", "params": task })
}

/// The answer to `tasks/result` where the call would have been answered so.
pub(crate) fn result(task: &Value, mut result: Value) -> Value {
    result["_meta"] = json!({ RELATED: { "taskId": task } });
    legacy_result("tasks/result", &result)
}

fn optional(tool: Tool) -> Tool {
    tool.task(TaskSupport::Optional)
}

#[test]
fn tasks_are_declared_in_their_revision_where_calls_may_become_some() {
    for version in REVISIONS.into_iter().take(4) {
        let declared = |server: Server| {
            let answer = Pair::new(server).ask(&initialize(version));
            answer["result"]["capabilities"].get("tasks").cloned()
        };
        assert_eq!(declared(server()), None, "{version}");
        let tasks = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
        let expected = (version == "2025-11-25").then_some(tasks);
        assert_eq!(
            declared(server().tool(nap("nap", 1))),
            expected,
            "{version}"
        );
    }
}

#[test]
fn tools_are_listed_with_whether_they_run_as_tasks() {
    let building = || {
        let must = nap("must", 1).task(TaskSupport::Required);
        server().tool(nap("may", 1)).tool(must)
    };
    for mut revision in Revision::each(building) {
        let tools = revision.list("tools/list", "tools");
        let execution = |name: &str| {
            let mut tools = tools.as_array().unwrap().iter();
            let tool = tools.find(|tool| tool["name"] == name).unwrap();
            tool.get("execution").cloned()
        };
        let has = revision.version == "2025-11-25";
        let support = |support: &str| has.then(|| json!({ "taskSupport": support }));
        assert_eq!(
            execution("may"),
            support("optional"),
            "{}",
            revision.version
        );
        assert_eq!(
            execution("must"),
            support("required"),
            "{}",
            revision.version
        );
        assert_eq!(execution("echo"), None);
    }
}

#[test]
fn a_call_is_answered_with_a_task_that_can_be_asked_for() {
    let mut server = session(server().tool(nap("nap", 500)));
    server.pass_ms(1_764_028_800_000);
    let answer = server.ask(&start("nap"));
    let moment = "2025-11-25T00:00:00.000Z";
    let id = answer["result"]["task"]["taskId"].clone();
    assert_eq!(id.as_str().unwrap().len(), 32, "192 bits");
    let mut expected = json!({
        "taskId": id, "status": "working", "createdAt": moment, "lastUpdatedAt": moment,
        "ttl": 3_600_000, "pollInterval": 1_000,
    });
    assert_eq!(answer, legacy_result(1, &json!({ "task": expected })));
    assert_eq!(get(&mut server, &id), expected);
    assert_eq!(server.pass_ms(500), NOTHING);
    expected["status"] = json!("completed");
    expected["lastUpdatedAt"] = json!("2025-11-25T00:00:00.500Z");
    assert_eq!(get(&mut server, &id), expected);
    let notice = json!({
        "jsonrpc": "2.0", "method": "notifications/tasks/status", "params": expected,
    });
    assert_eq!(server.completed(), [notice]);
    assert_eq!(server.completed(), NOTHING);
    let answer = server.ask(&about("tasks/result", &id));
    assert_eq!(answer, result(&id, text("slept")));
    // It stays, and does not change.
    server.pass_ms(1_000);
    assert_eq!(get(&mut server, &id), expected);
    assert_eq!(server.ask(&about("tasks/result", &id)), answer);
}

#[test]
fn a_task_begins_at_work_even_if_its_function_is_done_at_once() {
    let mut server = session(server().tool(tool("now", |_, reply| reply.text("done"))));
    let id = task(&mut server, "now");
    assert_eq!(get(&mut server, &id)["status"], "completed");
    let notice = told(&mut server, &id);
    assert_eq!(server.completed(), [notice]);
}

#[test]
fn the_client_says_how_long_a_task_is_kept_within_limits() {
    let limits = Limits {
        task_ms_max: 10_000,
        ..Limits::default()
    };
    let short = TaskOptions::new(TaskSupport::Optional)
        .ttl(Duration::from_secs(5))
        .poll_interval(Duration::from_millis(50));
    let server = server().limits(limits).tool(nap("nap", 1));
    let mut server = session(server.tool(nap("short", 1).task(short)));
    let mut made = |tool: &str, wanted: Value| {
        let params = json!({ "name": tool, "task": wanted });
        let answer = server.ask(&legacy(1, "tools/call", &params));
        let task = &answer["result"]["task"];
        (
            task["ttl"].as_u64().unwrap(),
            task["pollInterval"].as_u64().unwrap(),
        )
    };
    assert_eq!(made("nap", json!({})), (10_000, 1_000));
    assert_eq!(made("nap", json!({ "ttl": null })), (10_000, 1_000));
    assert_eq!(made("nap", json!({ "ttl": 60 })), (60, 1_000));
    assert_eq!(made("nap", json!({ "ttl": u64::MAX })), (10_000, 1_000));
    assert_eq!(made("nap", json!({ "ttl": 1e30 })), (10_000, 1_000));
    assert_eq!(made("nap", json!({ "ttl": 60.0 })), (60, 1_000));
    assert_eq!(made("nap", json!({ "ttl": 0 })), (1, 1_000));
    assert_eq!(made("short", json!({})), (5_000, 50));
    assert_eq!(made("short", json!({ "ttl": 9_000 })), (5_000, 50));
    assert_eq!(made("short", json!({ "ttl": 4_000 })), (4_000, 50));
    for wrong in [
        json!(1),
        json!(null),
        json!({ "ttl": -1 }),
        json!({ "ttl": -1e30 }),
        json!({ "ttl": 1.5 }),
        json!({ "ttl": "1" }),
    ] {
        let params = json!({ "name": "nap", "task": wrong });
        let answer = server.ask(&legacy(1, "tools/call", &params));
        let refused = refusal(&answer);
        assert_eq!(refused.code, -32602, "{wrong}");
        assert!(refused.message.starts_with("params.task"), "{refused:?}");
    }
    for (member, twice, name) in [
        ("\"task\":{}", "\"task\":{},\"task\":{}", "params.task"),
        ("{}", "{\"ttl\":1,\"ttl\":1}", "params.task.ttl"),
    ] {
        let twice = start("nap").replacen(member, twice, 1);
        let refused = refusal(&server.ask(&twice));
        assert_eq!(refused.message, format!("{name} is there twice"));
    }
}

#[test]
fn tools_are_called_as_they_are_listed() {
    let must = tool("must", |_, reply| reply.text("done")).task(TaskSupport::Required);
    let may = tool("may", |_, reply| reply.text("done"));
    let mut server = session(server().tool(must).tool(may));
    let mut ask = |tool: &str, task: Option<Value>| {
        let mut params = json!({ "name": tool, "arguments": { "message": "hello" } });
        if let Some(task) = task {
            params["task"] = task;
        }
        let answer = server.ask(&legacy(1, "tools/call", &params));
        server.completed();
        answer
    };
    assert_eq!(ask("may", None), legacy_result(1, &text("done")));
    assert_eq!(ask("echo", None), legacy_result(1, &text("hello")));
    let task = json!({ "ttl": 1_000 });
    for tool in ["may", "must"] {
        assert_eq!(
            ask(tool, Some(task.clone()))["result"]["task"]["status"],
            "working"
        );
    }
    let refused = refusal(&ask("must", None));
    assert_eq!(refused.head(), (Some(json!(1)), -32601));
    assert!(
        refused.message.contains("runs as a task alone"),
        "{refused:?}"
    );
    let refused = refusal(&ask("echo", Some(task)));
    assert_eq!(refused.head(), (Some(json!(1)), -32601));
    assert!(
        refused.message.contains("does not run as a task"),
        "{refused:?}"
    );
}

#[test]
fn a_server_that_declares_no_tasks_ignores_that_one_is_wanted() {
    let mut building = server();
    let handle = building.handle();
    let mut server = session(building);
    let ignored = |server: &mut Stepped| {
        let arguments = json!({ "message": "hello" });
        let params = json!({ "name": "echo", "arguments": arguments, "task": 1 });
        let answer = server.ask(&legacy(1, "tools/call", &params));
        assert_eq!(answer, legacy_result(1, &text("hello")));
        for method in ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"] {
            let answer = server.ask(&about(method, &json!("a")));
            assert_eq!(refusal(&answer).code, -32601, "{method}");
        }
    };
    ignored(&mut server);
    // Nor does it know them later than the handshake.
    let now = |name| tool(name, |_, reply| reply.text("now"));
    handle.add_tool(now("now")).unwrap();
    handle
        .add_tool(now("must").task(TaskSupport::Required))
        .unwrap();
    server.completed();
    ignored(&mut server);
    assert_eq!(server.ask(&start("now")), legacy_result(1, &text("now")));
    let answer = server.ask(&start("must"));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

#[test]
fn a_task_has_failed_where_the_call_would_have() {
    let server = server()
        .tool(tool("bad", |_, reply| reply.error("no such \"city\"")))
        .tool(tool("long", |_, reply| reply.error("é".repeat(1_000))))
        .tool(tool("wrong", |_, reply| {
            let error = RpcError::new(-5, "API rate limit exceeded").with_data("{\"a\":1}");
            reply.protocol_error(&error);
        }))
        .tool(tool("panics", |_, _| panic!("oh no")))
        .tool(tool("strict", |_, _| {}).input_schema(r#"{"type":"object","required":["a"]}"#));
    let mut server = session(server);
    let mut end = |tool: &str| {
        let id = task(&mut server, tool);
        let got = get(&mut server, &id);
        assert_eq!(got["status"], "failed", "{tool}");
        let notice = told(&mut server, &id);
        assert_eq!(server.completed(), [notice]);
        let message = got["statusMessage"].as_str().unwrap().to_owned();
        (message, server.ask(&about("tasks/result", &id)), id)
    };
    let (message, answer, id) = end("bad");
    assert_eq!(message, "no such \"city\"");
    let mut expected = text("no such \"city\"");
    expected["isError"] = json!(true);
    assert_eq!(answer, result(&id, expected));
    assert_eq!(end("long").0, "é".repeat(512));
    let (message, answer, _) = end("wrong");
    let refused = refusal(&answer);
    assert_eq!(refused.head(), (Some(json!("tasks/result")), -5));
    assert_eq!(refused.data, Some(json!({ "a": 1 })));
    assert_eq!(message, refused.message);
    assert_eq!(refusal(&end("panics").1).code, -32603);
    // Arguments that do not fit are what a model can mend.
    let (message, answer, _) = end("strict");
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"]["content"][0]["text"], message);
}

#[test]
fn a_result_is_as_the_revision_has_it() {
    let look = tool("look", |call: Call<'_>, reply: Reply<'_>| {
        let context = call.context();
        let name = context.client_info().name.unwrap_or_default();
        let roots = context.capabilities().roots;
        let task = context.is_task();
        reply.structured(&[
            json!(context.version().as_str()),
            json!([name, roots, task]),
        ]);
    });
    for look in [look.clone(), look.blocking()] {
        let mut server = session(server().tool(look));
        let id = task(&mut server, "look");
        while let Some(job) = server.connection().poll_job() {
            job.run();
        }
        server.completed();
        let answer = server.ask(&about("tasks/result", &id));
        // An array is no structured content there.
        let said = text(r#"["2025-11-25",["tests",true,true]]"#);
        assert_eq!(answer, result(&id, said));
    }
}

#[test]
fn a_cancelled_task_stays_cancelled() {
    let held = Held::default();
    let server = server().tool(optional(held.tool())).tool(nap("nap", 0));
    let mut server = session(server);
    let id = task(&mut server, "hold");
    let ticket = held.next();
    server.pass_ms(5);
    let answer = server.ask(&about("tasks/cancel", &id));
    let got = get(&mut server, &id);
    assert_eq!(answer, legacy_result("tasks/cancel", &got));
    assert_eq!(got["status"], "cancelled");
    assert_eq!(got["lastUpdatedAt"], "1970-01-01T00:00:00.005Z");
    assert!(ticket.is_cancelled());
    let notice = told(&mut server, &id);
    assert_eq!(server.completed(), [notice]);
    ticket.answer(|reply| reply.text("too late"));
    assert_eq!(server.completed(), NOTHING);
    assert_eq!(get(&mut server, &id), got);
    let refused = refusal(&server.ask(&about("tasks/result", &id)));
    assert_eq!(refused.code, -32603);
    let done = task(&mut server, "nap");
    server.pass_ms(0);
    for (id, status) in [(id, "cancelled"), (done, "completed")] {
        let refused = refusal(&server.ask(&about("tasks/cancel", &id)));
        assert_eq!(refused.code, -32602);
        let message = format!("Cannot cancel task: already in terminal status '{status}'");
        assert_eq!(refused.message, message);
        assert_eq!(get(&mut server, &id)["status"], status);
    }
}

#[test]
fn what_does_not_exist_is_told() {
    let mut server = session(server().tool(nap("nap", 0)));
    for has_tasks in [false, true] {
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            for task in [json!("a"), json!(""), json!(1), Value::Null] {
                let answer = server.ask(&about(method, &task));
                assert_eq!(refusal(&answer).code, -32602, "{method} {task}");
            }
            let answer = server.ask(&legacy(1, method, &json!({})));
            assert_eq!(refusal(&answer).message, "params.taskId is missing");
            let twice =
                about(method, &json!("a")).replacen("\"taskId\"", "\"taskId\":\"b\",\"taskId\"", 1);
            let answer = server.ask(&twice);
            assert_eq!(refusal(&answer).message, "params.taskId is there twice");
        }
        let answer = server.ask(&about("tasks/update", &json!("a")));
        assert_eq!(refusal(&answer).code, -32601);
        if !has_tasks {
            task(&mut server, "nap");
        }
    }
}

#[test]
fn the_parameter_names_the_task_and_no_metadata_does() {
    let mut server = session(server().tool(nap("nap", 100)));
    let [id, other] = [(); 2].map(|()| task(&mut server, "nap"));
    let meta = json!({ RELATED: { "taskId": other } });
    for method in ["tasks/get", "tasks/cancel"] {
        let params = json!({ "taskId": id, "_meta": meta });
        let answer = server.ask(&legacy(1, method, &params));
        assert_eq!(answer["result"]["taskId"], id);
        assert_eq!(answer["result"].get("_meta"), None);
    }
    assert_eq!(get(&mut server, &other)["status"], "working");
}

#[test]
fn each_session_has_its_own_tasks() {
    let server = server().tool(nap("nap", 0)).freeze().unwrap();
    let [mut first, mut second] = [(); 2].map(|()| {
        let mut stepped = Stepped::connect(&server);
        open(&mut stepped);
        stepped
    });
    let id = task(&mut first, "nap");
    let modern_id = first.ask(&crate::tasks::start(1, "nap"))["result"]["taskId"].clone();
    let other = task(&mut second, "nap");
    let refused = |server: &mut Stepped, line: &str| {
        let answer = server.ask(line);
        assert_eq!(refusal(&answer).code, -32602, "{line}");
    };
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        refused(&mut second, &about(method, &id));
        refused(&mut first, &about(method, &modern_id));
        refused(&mut first, &about(method, &other));
    }
    // Nor do requests of the other era know a session's, on whichever connection.
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        refused(&mut first, &crate::tasks::about(method, &id));
        refused(&mut second, &crate::tasks::about(method, &id));
    }
    for (server, id) in [(&mut first, &id), (&mut second, &other)] {
        let answer = server.ask(&legacy(1, "tasks/list", &json!({})));
        let tasks = answer["result"]["tasks"].as_array().unwrap();
        assert_eq!(tasks.len(), 1, "{answer}");
        assert_eq!(tasks[0]["taskId"], *id);
    }
    // A request of the other era has its own, and knows no `params.task`.
    let params = json!({ "name": "nap", "task": {} });
    assert_eq!(first.send(&modern(1, "tools/call", params)), NOTHING);
    assert_eq!(first.send(&call(2, "nap", &json!({}))), NOTHING);
}
