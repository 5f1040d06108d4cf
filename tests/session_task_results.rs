//! Tasks of sessions of 2025-11-25: who waits for their results, their list, what is told while they
//! work, and how they end with their session.
//!
//! Specification: 2025-11-25, `basic/utilities/tasks`.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tightwire::{
    AsyncAnswer, BoxFuture, Call, Context, Finished, Hook, Limits, LogLevel, Now, Reply, RpcError,
    TaskSupport, Tool,
};
use tightwire_tests::{Held, Stepped, cancelled, legacy, refusal, server, text};

use crate::{
    session_tasks::{NOTHING, RELATED, about, get, open, result, session, start, task, told},
    tasks::{nap, tool},
};

/// A session with the tool `hold`.
fn holding(limits: Limits) -> (Stepped, Held) {
    let held = Held::default();
    let hold = held.tool().task(TaskSupport::Optional);
    (session(server().limits(limits).tool(hold)), held)
}

fn wait(id: impl Into<Value>, task: &Value) -> String {
    legacy(id, "tasks/result", &json!({ "taskId": task }))
}

/// The ids and codes of errors, and the ids and texts of results.
fn said(lines: &[Value]) -> Vec<(Value, Value)> {
    let said = |line: &Value| {
        let code = &line["error"]["code"];
        let said = if code.is_null() {
            &line["result"]["content"][0]["text"]
        } else {
            code
        };
        (line["id"].clone(), said.clone())
    };
    lines
        .iter()
        .filter(|line| line.get("id").is_some())
        .map(said)
        .collect()
}

#[test]
fn who_asks_for_the_result_waits_for_the_end() {
    let (mut server, held) = holding(Limits::default());
    let [id, other] = [(); 2].map(|()| task(&mut server, "hold"));
    for line in [wait("a", &id), wait("b", &id), wait("c", &other)] {
        assert_eq!(server.send(&line), NOTHING);
    }
    assert_eq!(server.connection().in_flight(), 3);
    // Meanwhile everything else is served.
    assert_eq!(get(&mut server, &id)["status"], "working");
    held.answer("done");
    let lines = server.completed();
    assert_eq!(lines[0], told(&mut server, &id));
    let mut expected = result(&id, text("done"));
    expected["id"] = json!("a");
    assert_eq!(lines[1], expected);
    let done = |id: &str| (json!(id), json!("done"));
    assert_eq!(said(&lines), [done("a"), done("b")]);
    assert_eq!(server.connection().in_flight(), 1);
    let ticket = held.next();
    server.ask(&about("tasks/cancel", &other));
    assert_eq!(said(&server.completed()), [(json!("c"), json!(-32603))]);
    assert_eq!(server.connection().in_flight(), 0);
    assert!(ticket.is_cancelled());
}

#[test]
fn what_came_in_before_is_told_before_the_result() {
    let (mut server, held) = holding(Limits::default());
    let id = task(&mut server, "hold");
    held.answer("done");
    // The task has ended, and the session was not told yet.
    assert_eq!(server.send(&wait("a", &id)), NOTHING);
    let lines = server.completed();
    assert_eq!(lines[0], told(&mut server, &id));
    assert_eq!(said(&lines), [(json!("a"), json!("done"))]);
}

#[test]
fn who_waits_has_the_result_even_if_it_made_room_for_another_task() {
    let held = Held::default();
    let limits = Limits {
        tasks_max: 1,
        ..Limits::default()
    };
    let hold = held.tool().task(TaskSupport::Optional);
    let server = server().limits(limits).tool(hold).freeze().unwrap();
    let [mut first, mut second] = [(); 2].map(|()| {
        let mut stepped = Stepped::connect(&server);
        open(&mut stepped);
        stepped
    });
    let id = task(&mut first, "hold");
    for waiting in ["a", "b"] {
        first.send(&wait(waiting, &id));
    }
    held.answer("done");
    // The other one has its turn first, and there is one place.
    task(&mut second, "hold");
    let lines = first.completed();
    assert_eq!(lines[0]["params"]["status"], "completed");
    let done = |id: &str| (json!(id), json!("done"));
    assert_eq!(said(&lines), [done("a"), done("b")]);
    // From then on it is forgotten.
    assert_eq!(refusal(&first.ask(&wait("c", &id))).code, -32602);
}

#[test]
fn a_request_that_waits_can_be_cancelled_and_the_task_goes_on() {
    let (mut server, held) = holding(Limits::default());
    let id = task(&mut server, "hold");
    server.send(&wait("a", &id));
    server.send(&wait("b", &id));
    assert_eq!(server.send(&cancelled("a")), NOTHING);
    assert_eq!(server.connection().in_flight(), 1);
    let ticket = held.next();
    assert!(!ticket.is_cancelled());
    assert_eq!(get(&mut server, &id)["status"], "working");
    ticket.answer(|reply| reply.text("done"));
    assert_eq!(said(&server.completed()), [(json!("b"), json!("done"))]);
}

#[test]
fn requests_that_wait_are_in_flight() {
    let (mut server, held) = holding(Limits {
        in_flight_max: 2,
        ..Limits::default()
    });
    let id = task(&mut server, "hold");
    server.send(&wait("a", &id));
    let refused = refusal(&server.ask(&wait("a", &id)));
    assert_eq!(refused.code, -32600, "its id is in flight");
    server.send(&wait("b", &id));
    let refused = refusal(&server.ask(&wait("c", &id)));
    assert_eq!(refused.code, -32603);
    held.answer("done");
    assert_eq!(said(&server.completed()).len(), 2);
}

#[test]
fn results_go_out_as_there_is_room_for_them() {
    let (mut server, held) = holding(Limits {
        output_bytes_max: 5_000,
        ..Limits::default()
    });
    let id = task(&mut server, "hold");
    for waiting in 0..4 {
        server.send(&wait(waiting, &id));
    }
    held.answer(&"x".repeat(4_000));
    assert_eq!(said(&server.completed()).len(), 2);
    assert!(server.connection().has_completions());
    assert_eq!(said(&server.completed()).len(), 2);
    assert!(!server.connection().has_completions());
    // No memory is kept for them any more, so that a long id has room.
    let next = task(&mut server, "hold");
    assert_eq!(server.send(&wait("n".repeat(4_500), &next)), NOTHING);
}

#[test]
fn who_waits_learns_that_a_task_has_expired() {
    let (mut server, held) = holding(Limits {
        task_ms_max: 2_000,
        ..Limits::default()
    });
    let id = task(&mut server, "hold");
    let ticket = held.next();
    server.pass_ms(500);
    server.send(&wait("a", &id));
    assert_eq!(server.due_in_ms(), Some(1_500));
    assert_eq!(server.pass_ms(1_499), NOTHING);
    let lines = [server.pass_ms(1), server.completed()].concat();
    assert_eq!(said(&lines), [(json!("a"), json!(-32602))]);
    assert!(ticket.is_cancelled());
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(refusal(&server.ask(&about(method, &id))).code, -32602);
    }
    let answer = server.ask(&legacy(1, "tasks/list", &json!({})));
    assert_eq!(answer["result"], json!({ "tasks": [] }));
    assert!(!server.connection().may_change());
}

#[test]
fn a_function_that_takes_too_long_fails_its_task() {
    let held = Held::default();
    let hold = held.tool().timeout(Duration::from_millis(300));
    let mut server = session(server().tool(hold.task(TaskSupport::Optional)));
    let id = task(&mut server, "hold");
    server.send(&wait("a", &id));
    server.pass_ms(300);
    let lines = server.completed();
    assert_eq!(said(&lines), [(json!("a"), json!(-32603))]);
    assert_eq!(lines[0]["params"]["status"], "failed");
    assert_eq!(
        lines[0]["params"]["statusMessage"],
        "no answer within 300 ms"
    );
}

#[test]
fn tasks_are_listed_in_pages_in_the_order_they_were_made() {
    for (page_size, pages) in [(0, &[100, 100, 50][..]), (120, &[120, 120, 10])] {
        let (held, limits) = (Held::default(), Limits::default());
        let hold = held.tool().task(TaskSupport::Optional);
        let server = server().limits(limits).page_size(page_size).tool(hold);
        let mut server = session(server);
        let made: Vec<Value> = (0..250).map(|_| task(&mut server, "hold")).collect();
        let (mut cursor, mut listed) = (None, Vec::new());
        for (at, size) in pages.iter().enumerate() {
            let params = cursor.map_or(json!({}), |cursor: Value| json!({ "cursor": cursor }));
            let mut answer = server.ask(&legacy(1, "tasks/list", &params));
            let tasks = answer["result"]["tasks"].as_array_mut().unwrap();
            assert_eq!(tasks.len(), *size);
            listed.append(tasks);
            cursor = answer["result"].get("nextCursor").cloned();
            assert_eq!(cursor.is_some(), at + 1 < pages.len());
        }
        let ids: Vec<&Value> = listed.iter().map(|task| &task["taskId"]).collect();
        assert_eq!(ids, made.iter().collect::<Vec<_>>());
        assert_eq!(listed[7], get(&mut server, &made[7]));
    }
}

#[test]
fn a_cursor_is_what_this_session_was_given() {
    let server = server().page_size(1).tool(nap("nap", 5)).freeze().unwrap();
    let [mut first, mut second] = [(); 2].map(|()| {
        let mut stepped = Stepped::connect(&server);
        open(&mut stepped);
        stepped
    });
    let list = |server: &mut Stepped, cursor: &Value| {
        server.ask(&legacy(1, "tasks/list", &json!({ "cursor": cursor })))
    };
    // "AAAA…" would be the place 0, had there been one.
    let zeros = json!("A".repeat(22));
    for wrong in [&zeros, &json!("")] {
        assert_eq!(refusal(&list(&mut first, wrong)).code, -32602, "{wrong}");
    }
    for _ in 0..2 {
        task(&mut first, "nap");
        task(&mut second, "nap");
    }
    let answer = first.ask(&legacy(1, "tasks/list", &json!({})));
    let cursor = &answer["result"]["nextCursor"];
    assert_eq!(
        list(&mut first, cursor)["result"]["tasks"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(refusal(&list(&mut second, cursor)).code, -32602);
    let longer = json!(format!("{}A", cursor.as_str().unwrap()));
    for wrong in [
        &json!(""),
        &json!("a"),
        &json!(1),
        &json!(null),
        &zeros,
        &longer,
    ] {
        let refused = refusal(&list(&mut first, wrong));
        assert_eq!(refused.head(), (Some(json!(1)), -32602), "{wrong}");
        assert!(refused.message.contains("params.cursor"), "{refused:?}");
    }
}

/// A tool that reports, then holds its answer.
fn reporting(held: &Held) -> Tool {
    let held = held.clone();
    let report = move |call: Call<'_>, reply: Reply<'_>| {
        let context: &Context<'_> = call.context();
        context.progress(1.0, Some(2.0), Some("half way"));
        context.progress(1.0, None, Some("again"));
        context.progress(f64::NAN, None, None);
        context.log(LogLevel::Error, None, "a message");
        context.log(LogLevel::Debug, None, "a detail");
        held.keep(reply);
    };
    tool("report", report).blocking()
}

#[test]
fn progress_and_log_messages_name_the_task_they_are_of() {
    let held = Held::default();
    let mut server = session(server().logging().tool(reporting(&held)));
    let params = json!({ "name": "report", "task": {}, "_meta": { "progressToken": "token" } });
    let answer = server.ask(&legacy(1, "tools/call", &params));
    let id = &answer["result"]["task"]["taskId"];
    server.connection().poll_job().unwrap().run();
    let meta = json!({ RELATED: { "taskId": id } });
    let progress = json!({
        "progressToken": "token", "progress": 1, "total": 2, "message": "half way", "_meta": meta,
    });
    let message = json!({ "level": "error", "data": "a message", "_meta": meta });
    let notice = |method: &str, params: &Value| json!({ "jsonrpc": "2.0", "method": method, "params": params });
    let expected = [
        notice("notifications/progress", &progress),
        notice("notifications/message", &message),
    ];
    assert_eq!(server.completed(), expected);
    assert_eq!(get(&mut server, id)["statusMessage"], "again");
    // Without a token there is no progress, and without a task it is as ever.
    assert_eq!(server.send(&start("report")).len(), 1);
    server.connection().poll_job().unwrap().run();
    assert_eq!(server.completed().len(), 1);
    drop(held);
}

#[test]
fn nothing_is_told_of_a_task_that_has_ended() {
    let held = Held::default();
    let mut server = session(server().tool(reporting(&held)));
    let params = json!({ "name": "report", "task": {}, "_meta": { "progressToken": 1 } });
    let answer = server.ask(&legacy(1, "tools/call", &params));
    let id = &answer["result"]["task"]["taskId"];
    let job = server.connection().poll_job().unwrap();
    server.ask(&about("tasks/cancel", id));
    job.run();
    let notice = told(&mut server, id);
    assert_eq!(server.completed(), [notice]);
}

/// Specification: 2025-11-25, `basic/utilities/progress`, Behavior Requirements: progress stops after
/// a task has ended.
#[test]
fn no_progress_is_told_after_the_client_has_learnt_of_the_end() {
    let params = json!({ "name": "report", "task": {}, "_meta": { "progressToken": 1 } });
    let list = legacy("tasks/list", "tasks/list", &json!({}));
    let cancel = "tasks/cancel";
    for (method, is_late) in [
        ("tasks/get", true),
        ("tasks/list", true),
        (cancel, false),
        // Which is refused, since it has ended.
        (cancel, true),
    ] {
        let held = Held::default();
        let mut server = session(server().logging().tool(reporting(&held)));
        let answer = server.ask(&legacy(1, "tools/call", &params));
        let id = &answer["result"]["task"]["taskId"];
        server.connection().poll_job().unwrap().run();
        if is_late {
            held.answer("done");
        }
        server.ask(&if method == "tasks/list" {
            list.clone()
        } else {
            about(method, id)
        });
        let lines = server.completed();
        let methods: Vec<&str> = lines
            .iter()
            .filter_map(|line| line["method"].as_str())
            .collect();
        let status = "notifications/tasks/status";
        assert_eq!(methods, ["notifications/message", status], "{method}");
    }
}

#[test]
fn progress_of_a_task_is_limited() {
    let chatter = tool("chatter", |call, reply| {
        (1..=10).for_each(|step| call.context().progress(step.into(), None, None));
        reply.text("done");
    });
    let limits = Limits {
        progress_per_second_max: 3,
        ..Limits::default()
    };
    let mut server = session(server().limits(limits).tool(chatter));
    let params = json!({ "name": "chatter", "task": {}, "_meta": { "progressToken": 1 } });
    server.ask(&legacy(1, "tools/call", &params));
    let lines = server.completed();
    let methods: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["method"].as_str())
        .collect();
    let progress = "notifications/progress";
    assert_eq!(
        methods,
        [progress, progress, progress, "notifications/tasks/status"]
    );
}

#[test]
fn the_end_of_a_session_is_that_of_its_tasks() {
    let held = Held::default();
    let limits = Limits {
        tasks_max: 1,
        ..Limits::default()
    };
    let hold = held.tool().task(TaskSupport::Optional);
    let server = server().limits(limits).tool(hold).tool(nap("nap", 0));
    let server = server.freeze().unwrap();
    let mut first = Stepped::connect(&server);
    open(&mut first);
    let id = task(&mut first, "hold");
    first.send(&wait("a", &id));
    let ticket = held.next();
    let mut second = Stepped::connect(&server);
    open(&mut second);
    assert_eq!(refusal(&second.ask(&start("nap"))).code, -32603, "no room");
    // No more input: what is in flight goes on, and nothing is told that nobody asked for.
    let mut out = Vec::new();
    first.connection().handle_end(&mut out);
    assert_eq!(first.connection().in_flight(), 1);
    assert!(!ticket.is_cancelled());
    first.connection().abort(Now::default(), &mut out);
    assert!(out.is_empty());
    assert_eq!(first.connection().in_flight(), 0);
    assert!(ticket.is_cancelled());
    for name in ["nap", "nap", "hold"] {
        task(&mut second, name);
        second.pass_ms(0);
    }
    assert_eq!(first.completed(), NOTHING);
    // A connection that is just dropped is over as well.
    drop(second);
    let mut third = Stepped::connect(&server);
    open(&mut third);
    task(&mut third, "nap");
}

#[test]
fn a_session_ends_its_tasks_even_if_the_clock_went_back() {
    let held = Held::default();
    let hold = held.tool().task(TaskSupport::Optional);
    let server = server().tool(hold).freeze().unwrap();
    let mut session = Stepped::connect(&server);
    open(&mut session);
    session.sleep_ms(5_000);
    task(&mut session, "hold");
    let ticket = held.next();
    let mut out = Vec::new();
    session
        .connection()
        .handle_timeout(Now::default(), &mut out);
    session.connection().abort(Now::default(), &mut out);
    assert!(ticket.is_cancelled());
}

#[test]
fn after_the_last_line_results_come_and_no_notifications() {
    let (mut server, held) = holding(Limits::default());
    let id = task(&mut server, "hold");
    server.send(&wait("a", &id));
    server.connection().handle_end(&mut Vec::new());
    held.answer("done");
    let mut expected = result(&id, text("done"));
    expected["id"] = json!("a");
    assert_eq!(server.completed(), [expected]);
}

#[test]
fn a_session_is_woken_when_its_tasks_have_something_for_it() {
    fn bark(_: Call<'_>) -> BoxFuture<'_, AsyncAnswer> {
        Box::pin(async { Box::new(|reply: Reply<'_>| reply.text("wuff")) as AsyncAnswer })
    }
    let futures = Arc::new(Mutex::new(Vec::new()));
    let spawned = Arc::clone(&futures);
    let bark = Tool::asynchronous("bark", bark).task(TaskSupport::Optional);
    let server = server().executor(move |future| spawned.lock().unwrap().push(future));
    let mut server = session(server.tool(bark));
    let woken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&woken);
    server.connection().set_waker(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    assert!(!server.connection().may_change());
    let id = task(&mut server, "bark");
    assert!(
        server.connection().may_change(),
        "the loop must not block in its read"
    );
    let mut future = futures.lock().unwrap().pop().unwrap();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_ready());
    assert_eq!(woken.load(Ordering::Relaxed), 1);
    let lines = server.completed();
    assert_eq!(lines, [told(&mut server, &id)]);
    assert!(!server.connection().may_change());
}

/// A hook that notes what it is told, and refuses those who say so.
#[derive(Clone, Default)]
struct Noting(Arc<Mutex<Vec<String>>>);

impl Hook for Noting {
    fn before(&self, context: &Context<'_>) -> Result<(), RpcError> {
        match context.meta().and_then(|meta| meta.find("refuse")) {
            Some(_) => Err(RpcError::new(-7, "refused")),
            None => Ok(()),
        }
    }

    fn after(&self, finished: &Finished<'_>) {
        let (method, name) = (finished.method(), finished.name());
        let told = format!("{method} {name} {:?}", finished.ending());
        self.0.lock().unwrap().push(told);
    }
}

#[test]
fn hooks_learn_of_tasks_and_not_of_those_who_wait_for_them() {
    let noting = Noting::default();
    let limits = Limits {
        tasks_max: 1,
        ..Limits::default()
    };
    let server = server().limits(limits).hook(noting.clone());
    let mut server = session(server.tool(nap("nap", 100)));
    let params = json!({ "name": "nap", "task": {}, "_meta": { "refuse": true } });
    assert_eq!(
        refusal(&server.ask(&legacy(1, "tools/call", &params))).code,
        -7
    );
    server.connection().line_took(Duration::ZERO);
    let told = || std::mem::take(&mut *noting.0.lock().unwrap());
    assert_eq!(told(), ["tools/call nap Error(-7)"]);
    let id = task(&mut server, "nap");
    assert_eq!(refusal(&server.ask(&start("nap"))).code, -32603, "no room");
    server.connection().line_took(Duration::ZERO);
    assert_eq!(told(), ["tools/call nap Error(-32603)"]);
    server.send(&wait("a", &id));
    server.send(&cancelled("a"));
    server.send(&wait("b", &id));
    assert_eq!(told(), Vec::<String>::new());
    server.pass_ms(100);
    assert_eq!(server.completed().len(), 2);
    server.connection().line_took(Duration::ZERO);
    assert_eq!(told(), ["tools/call nap Result"]);
}
