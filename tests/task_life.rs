//! How long tasks live, how many there may be, where they are kept, and who is told of them.
//!
//! Specification: extension `io.modelcontextprotocol/tasks`.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tightwire::{
    Context, Finished, FrozenServer, Hook, Limits, MemoryTaskStore, RpcError, Server, TaskOptions,
    TaskRecord, TaskState, TaskStore, TaskStoreFull, TaskSupport, Tool,
};
use tightwire_tests::{Held, Stepped, modern, modern_result, refusal, server, text};

use crate::tasks::{about, get, meta, nap, start, status, task, tool};

#[test]
fn a_function_that_takes_too_long_fails_its_task() {
    let held = Held::default();
    let hold = held.tool().timeout(Duration::from_millis(300));
    let mut server = Stepped::new(server().tool(hold.task(TaskSupport::Optional)));
    let id = task(&mut server, "hold");
    let ticket = held.next();
    assert_eq!(server.due_in_ms(), Some(300));
    server.pass_ms(299);
    assert_eq!(status(&mut server, &id), "working");
    server.pass_ms(1);
    let got = get(&mut server, &id);
    assert_eq!(got["status"], "failed");
    let message = "no answer within 300 ms";
    assert_eq!(got["error"], json!({ "code": -32603, "message": message }));
    assert!(ticket.is_cancelled());
}

#[test]
fn a_task_is_forgotten_when_its_life_is_over() {
    let held = Held::default();
    let options = TaskOptions::new(TaskSupport::Optional)
        .ttl(Duration::from_secs(2))
        .poll_interval(Duration::from_millis(50));
    let hold = held.tool().task(options.clone());
    let long = nap("long", 0).task(options.ttl(Duration::from_secs(1_000_000)));
    let limits = Limits {
        task_ms_max: 10_000,
        ..Limits::default()
    };
    let mut server = Stepped::new(server().limits(limits).tool(hold).tool(long));
    let id = task(&mut server, "hold");
    let got = get(&mut server, &id);
    assert_eq!(
        (&got["ttlMs"], &got["pollIntervalMs"]),
        (&json!(2_000), &json!(50))
    );
    let ticket = held.next();
    assert_eq!(server.due_in_ms(), Some(2_000));
    server.pass_ms(1_999);
    assert_eq!(status(&mut server, &id), "working");
    server.pass_ms(1);
    let answer = server.ask(&about("tasks/get", &id));
    assert_eq!(refusal(&answer).code, -32602);
    assert!(ticket.is_cancelled());
    ticket.answer(|reply| reply.text("too late"));
    server.completed();
    let answer = server.ask(&about("tasks/get", &id));
    assert_eq!(refusal(&answer).code, -32602);
    assert_eq!(server.due_in_ms(), None);
    // No tool may have it longer than the limit.
    let id = task(&mut server, "long");
    assert_eq!(get(&mut server, &id)["ttlMs"], 10_000);
}

#[test]
fn tasks_and_their_bytes_are_limited() {
    let limits = Limits {
        tasks_max: 4,
        task_bytes_max: 4_000,
        task_ms_max: 1_000,
        ..Limits::default()
    };
    let held = Held::default();
    let hold = held.tool().task(TaskSupport::Required);
    let mut server = Stepped::new(server().limits(limits).tool(hold));
    let first = task(&mut server, "hold");
    let arguments = json!({ "long": "x".repeat(4_000) });
    let params = json!({ "name": "hold", "arguments": arguments, "_meta": meta() });
    let answer = server.ask(&modern(2, "tools/call", params));
    assert_eq!(refusal(&answer).head(), (Some(json!(2)), -32603));
    task(&mut server, "hold");
    let answer = server.ask(&start(3, "hold"));
    assert_eq!(refusal(&answer).head(), (Some(json!(3)), -32603));
    held.next().answer(|reply| reply.text(&"x".repeat(4_000)));
    let got = get(&mut server, &first);
    assert_eq!(got["status"], "failed");
    assert_eq!(got["error"]["message"], "there is no room for the result");
    server.pass_ms(1_000);
    task(&mut server, "hold");
}

/// A server with so many places for tasks, and the tools `hold` and `nap`.
fn with_places(tasks_max: usize, hold: Tool) -> Server {
    let limits = Limits {
        tasks_max,
        ..Limits::default()
    };
    server().limits(limits).tool(hold).tool(nap("nap", 0))
}

#[test]
fn tasks_that_have_ended_make_room() {
    let held = Held::default();
    let hold = held.tool().task(TaskSupport::Required);
    let mut server = Stepped::new(with_places(8, hold));
    let held_task = task(&mut server, "hold");
    let mut tasks = Vec::new();
    for _ in 0..100 {
        tasks.push(task(&mut server, "nap"));
        server.pass_ms(1);
    }
    let answer = server.ask(&about("tasks/get", &tasks[0]));
    assert_eq!(refusal(&answer).code, -32602);
    for kept in &tasks[93..] {
        assert_eq!(status(&mut server, kept), "completed");
    }
    assert_eq!(status(&mut server, &held_task), "working");
}

#[test]
fn a_call_that_has_no_room_for_a_task_is_answered_itself() {
    let held = Held::default();
    let noting = Noting::default();
    let hold = held.tool().task(TaskSupport::Optional);
    let mut server = Stepped::new(with_places(1, hold).hook(noting.clone()));
    task(&mut server, "hold");
    server.connection().line_took(Duration::ZERO);
    assert_eq!(server.send(&start(2, "nap")), Vec::<Value>::new());
    let answers = server.pass_ms(0);
    assert_eq!(answers, [modern_result(2, text("slept"))]);
    // The hooks were asked once, and are told once.
    let told = || std::mem::take(&mut *noting.0.lock().unwrap());
    assert_eq!(told(), ["nap Result 0ns"]);
    assert_eq!(noting.1.load(Ordering::Relaxed), 2);
    held.answer("done");
    server.completed();
    task(&mut server, "nap");
}

#[test]
fn a_connection_leaves_places_for_tasks_to_the_others() {
    let held = Held::default();
    let hold = held.tool().task(TaskSupport::Required);
    let server = with_places(4, hold).freeze().unwrap();
    let mut greedy = Stepped::connect(&server);
    task(&mut greedy, "hold");
    task(&mut greedy, "hold");
    let answer = greedy.ask(&start(1, "hold"));
    assert_eq!(refusal(&answer).head(), (Some(json!(1)), -32603));
    let mut other = Stepped::connect(&server);
    let quiet = task(&mut other, "nap");
    other.pass_ms(0);
    assert_eq!(status(&mut other, &quiet), "completed");
    // What the first one ends makes room for what it begins, and the other's is kept.
    for _ in 0..10 {
        held.answer("done");
        greedy.completed();
        task(&mut greedy, "hold");
    }
    assert_eq!(status(&mut other, &quiet), "completed");
}

/// A store that notes what it is given to keep.
struct NotingStore {
    inner: MemoryTaskStore,
    inserted: Arc<Mutex<Vec<(String, TaskRecord)>>>,
}

impl TaskStore for NotingStore {
    fn insert(&self, id: &str, task: TaskRecord) -> Result<(), TaskStoreFull> {
        let mut inserted = self.inserted.lock().unwrap();
        inserted.push((id.to_owned(), task.clone()));
        self.inner.insert(id, task)
    }

    fn load(&self, id: &str) -> Option<TaskRecord> {
        self.inner.load(id)
    }

    fn store(&self, id: &str, task: TaskRecord) -> Result<(), TaskStoreFull> {
        self.inner.store(id, task)
    }

    fn sweep(&self, now_unix_ms: u64) -> Vec<String> {
        self.inner.sweep(now_unix_ms)
    }

    fn next_expiry_unix_ms(&self) -> Option<u64> {
        self.inner.next_expiry_unix_ms()
    }
}

#[test]
fn a_store_of_ones_own_keeps_the_tasks_of_each_principal_apart() {
    let inserted = Arc::default();
    let store = NotingStore {
        inner: MemoryTaskStore::new(10, 1 << 20),
        inserted: Arc::clone(&inserted),
    };
    let mut server = Stepped::new(server().task_store(store).tool(nap("nap", 0)));
    let id = task(&mut server, "nap");
    let (kept, record) = inserted.lock().unwrap()[0].clone();
    assert_eq!(id, kept);
    assert_eq!(record.tool, "nap");
    let request: Value = serde_json::from_str(&record.request).unwrap();
    assert_eq!(request, json!({ "name": "nap", "_meta": meta() }));
    // A task of somebody else is as good as none.
    let foreign = TaskRecord {
        principal: "somebody".to_owned(),
        ..record
    };
    let store = NotingStore {
        inner: MemoryTaskStore::new(10, 1 << 20),
        inserted: Arc::default(),
    };
    store.inner.insert("foreign", foreign).unwrap();
    let mut server = Stepped::new(
        tightwire_tests::server()
            .task_store(store)
            .tool(nap("nap", 0)),
    );
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let answer = server.ask(&about(method, &json!("foreign")));
        assert_eq!(refusal(&answer).code, -32602, "{method}");
    }
}

/// A store that keeps each task as a text, as a file or a database would.
#[derive(Default)]
struct TextStore(Mutex<HashMap<String, String>>);

impl TextStore {
    fn write(&self, id: &str, task: &TaskRecord) {
        let text = serde_json::to_string(task).expect("it can be written");
        self.0.lock().unwrap().insert(id.to_owned(), text);
    }
}

impl TaskStore for TextStore {
    fn insert(&self, id: &str, task: TaskRecord) -> Result<(), TaskStoreFull> {
        self.write(id, &task);
        Ok(())
    }

    fn load(&self, id: &str) -> Option<TaskRecord> {
        let texts = self.0.lock().unwrap();
        serde_json::from_str(texts.get(id)?).expect("it can be read")
    }

    fn store(&self, id: &str, task: TaskRecord) -> Result<(), TaskStoreFull> {
        self.write(id, &task);
        Ok(())
    }

    fn sweep(&self, _: u64) -> Vec<String> {
        Vec::new()
    }

    fn next_expiry_unix_ms(&self) -> Option<u64> {
        None
    }
}

#[test]
fn a_store_may_keep_tasks_as_texts() {
    let held = Held::default();
    let hold = held.tool().task(TaskSupport::Optional);
    let tools = server().task_store(TextStore::default()).tool(hold);
    let mut server = Stepped::new(tools);
    let id = task(&mut server, "hold");
    assert_eq!(status(&mut server, &id), "working");
    held.next().answer(|reply| reply.text("done"));
    server.completed();
    let got = get(&mut server, &id);
    assert_eq!(got["status"], "completed");
    assert_eq!(got["result"]["content"][0]["text"], "done");

    let requests = vec![("key".to_owned(), Arc::from("{}"))];
    let state = TaskState::InputRequired(requests);
    let text = serde_json::to_value(&state).unwrap();
    assert_eq!(text, json!({ "input_required": [["key", "{}"]] }));
    assert_eq!(serde_json::from_value::<TaskState>(text).unwrap(), state);
}

/// A hook that notes what it is told, and how often it is asked.
#[derive(Clone, Default)]
struct Noting(Arc<Mutex<Vec<String>>>, Arc<AtomicUsize>);

impl Hook for Noting {
    fn before(&self, context: &Context<'_>) -> Result<(), RpcError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        let meta = context.meta().and_then(|meta| meta.find("refuse"));
        match meta {
            Some(_) => Err(RpcError::new(-7, "refused")),
            None => Ok(()),
        }
    }

    fn after(&self, finished: &Finished<'_>) {
        let (name, ending, took) = (finished.name(), finished.ending(), finished.took());
        self.0
            .lock()
            .unwrap()
            .push(format!("{name} {ending:?} {took:?}"));
    }
}

#[test]
fn hooks_may_refuse_a_task_and_are_told_when_it_has_ended() {
    let noting = Noting::default();
    let mut server = Stepped::new(server().hook(noting.clone()).tool(nap("nap", 100)));
    let mut meta = meta();
    meta["refuse"] = json!(true);
    let params = json!({ "name": "nap", "_meta": meta });
    let answer = server.ask(&modern(1, "tools/call", params));
    assert_eq!(refusal(&answer).code, -7);
    server.connection().line_took(Duration::ZERO);
    let told = || std::mem::take(&mut *noting.0.lock().unwrap());
    assert_eq!(told(), ["nap Error(-7) 0ns"]);
    task(&mut server, "nap");
    let other = task(&mut server, "nap");
    server.connection().line_took(Duration::ZERO);
    assert_eq!(told(), Vec::<String>::new());
    server.pass_ms(60);
    server.ask(&about("tasks/cancel", &other));
    assert_eq!(told(), ["nap Cancelled 60ms"]);
    server.pass_ms(40);
    assert_eq!(told(), ["nap Result 100ms"]);
}

#[test]
fn a_task_that_has_no_room_is_told_of_as_refused() {
    let noting = Noting::default();
    let limits = Limits {
        tasks_max: 1,
        ..Limits::default()
    };
    let tools = server().limits(limits).hook(noting.clone());
    let nap = nap("nap", 100).task(TaskSupport::Required);
    let mut server = Stepped::new(tools.tool(nap));
    task(&mut server, "nap");
    let answer = server.ask(&start(2, "nap"));
    assert_eq!(refusal(&answer).code, -32603);
    server.connection().line_took(Duration::from_millis(5));
    let told = || std::mem::take(&mut *noting.0.lock().unwrap());
    assert_eq!(told(), ["nap Error(-32603) 5ms"]);
    server.pass_ms(100);
    assert_eq!(told(), ["nap Result 100ms"]);
}

#[test]
fn a_tool_that_comes_while_serving_may_have_tasks_and_they_outlive_it() {
    let mut building = server();
    let handle = building.handle();
    let mut server = Stepped::new(building);
    let answer = server.ask(&about("tasks/get", &json!("a")));
    assert_eq!(refusal(&answer).code, -32601);
    handle.add_tool(nap("nap", 100)).unwrap();
    server.completed();
    let answer = server.ask(&modern(1, "server/discover", json!({})));
    let extensions = &answer["result"]["capabilities"]["extensions"];
    assert_eq!(*extensions, json!({ "io.modelcontextprotocol/tasks": {} }));
    let id = task(&mut server, "nap");
    assert!(handle.remove_tool("nap").unwrap());
    server.completed();
    server.pass_ms(100);
    assert_eq!(status(&mut server, &id), "completed");
}

#[test]
fn a_task_that_is_to_live_for_no_time_lives_for_a_moment() {
    let options = TaskOptions::new(TaskSupport::Optional).ttl(Duration::ZERO);
    let mut server = Stepped::new(server().tool(nap("short", 0).task(options)));
    let id = task(&mut server, "short");
    assert_eq!(get(&mut server, &id)["ttlMs"], 1);
}

/// Time passes, and no connection is there to notice.
fn later(server: &FrozenServer, ms: u64) -> Stepped {
    let mut later = Stepped::connect(server);
    later.sleep_ms(ms);
    later
}

#[test]
fn a_delay_that_nobody_noticed_does_not_count_as_the_functions() {
    // Sleeps twice, for 300 ms.
    let twice = tool("twice", |_, reply| {
        reply.after(Duration::from_millis(300), |reply| {
            reply.after(Duration::from_millis(300), |reply| reply.text("slept"));
        });
    });
    let slow = nap("slow", 3_000).timeout(Duration::from_millis(2_500));
    let twice = twice.timeout(Duration::from_millis(2_500));
    let server = server().tool(twice).tool(slow).freeze().unwrap();
    let mut first = Stepped::connect(&server);
    let (twice, slow) = (task(&mut first, "twice"), task(&mut first, "slow"));
    drop(first);
    let mut second = later(&server, 4_000);
    assert_eq!(status(&mut second, &twice), "working");
    // What would have been too late in any case is, since then.
    let got = get(&mut second, &slow);
    assert_eq!(got["error"]["message"], "no answer within 2500 ms");
    assert_eq!(got["lastUpdatedAt"], "1970-01-01T00:00:02.500Z");
    drop(second);
    let mut third = later(&server, 8_000);
    let got = get(&mut third, &twice);
    assert_eq!(got["result"]["content"][0]["text"], "slept");
}

#[test]
fn an_answer_that_nobody_noticed_has_the_time_at_which_it_came() {
    static NOW: AtomicU64 = AtomicU64::new(0);
    let held = Held::default();
    let hold = held.tool().task(TaskSupport::Optional);
    let server = server().tool(hold).freeze().unwrap();
    let mut first = Stepped::connect(&server);
    first.connection().set_clock(|| NOW.load(Ordering::Relaxed));
    let tasks = [(); 3].map(|()| task(&mut first, "hold"));
    drop(first);
    NOW.store(200, Ordering::Relaxed);
    held.answer("done");
    held.next()
        .answer(|reply| reply.after(Duration::from_secs(1), |reply| reply.text("done")));
    // A clock that was set meanwhile does not lead to what is still to come.
    NOW.store(9_000, Ordering::Relaxed);
    held.answer("done");
    let mut second = later(&server, 2_000);
    for (task, moment) in tasks.iter().zip([".200Z", "02.000Z", "02.000Z"]) {
        let got = get(&mut second, task);
        assert_eq!(got["status"], "completed");
        let updated = got["lastUpdatedAt"].as_str().unwrap();
        assert!(updated.ends_with(moment), "{updated}");
    }
}

/// A hook that does not survive the end of a task.
struct Panicking;

impl Hook for Panicking {
    fn after(&self, finished: &Finished<'_>) {
        assert_eq!(finished.name(), "", "the hook fails");
    }
}

#[test]
fn a_hook_that_panics_after_a_task_is_in_the_log() {
    let held = Held::default();
    let hold = held.tool().task(TaskSupport::Optional);
    let mut server = Stepped::new(server().hook(Panicking).tool(hold).tool(nap("nap", 10)));
    let log = |server: &mut Stepped| {
        let lines = std::iter::from_fn(|| server.connection().poll_log());
        lines
            .filter(|line| line.contains("a hook panicked"))
            .count()
    };
    task(&mut server, "nap");
    server.pass_ms(10);
    assert_eq!(log(&mut server), 1);
    let held = task(&mut server, "hold");
    server.ask(&about("tasks/cancel", &held));
    assert_eq!(log(&mut server), 1);
}
