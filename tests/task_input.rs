//! Tasks that ask their client: before there is a task, and while it works.
//!
//! Specification: extension `io.modelcontextprotocol/tasks`, Task Creation, Task Update Requests.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use tightwire::{
    Answers, Ask, Call, Context, Elicitation, Elicited, Field, Hook, Inputs, IntoReply, Limits,
    MemoryTaskStore, Reply, RpcError, Server, TaskOptions, TaskRecord, TaskState, TaskSupport,
    Tool,
};
use tightwire_tests::{
    Pair, Stepped, call, modern, modern_meta, modern_result, refusal, server, text,
};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The `_meta` of a client that knows tasks, and has somebody to ask.
fn meta() -> Value {
    let mut meta = modern_meta();
    meta[CAPABILITIES] = json!({ "elicitation": {}, "extensions": { EXTENSION: {} } });
    meta
}

fn start(tool: &str) -> String {
    modern(1, "tools/call", json!({ "name": tool, "_meta": meta() }))
}

fn form(message: &str) -> Elicitation {
    Elicitation::form(message).field("value", Field::text().required())
}

fn accepted(value: &str) -> Value {
    json!({ "action": "accept", "content": { "value": value } })
}

fn value(answers: &Answers<'_>, key: &str) -> String {
    match answers.elicited(key) {
        Elicited::Accepted(form) => {
            let value = form.find("value").and_then(|value| value.as_str());
            value.unwrap_or_default().to_owned()
        }
        other => other.action().to_owned(),
    }
}

/// Asks for two things at once, then for a third.
fn three(context: &Context<'_>) -> Result<String, Ask> {
    let rounds = context.state().map_or(0, str::len);
    context.keep("x".repeat(rounds + 1));
    let both = Inputs::new()
        .elicit("first", form("The first?"))
        .elicit("second", form("The second?"));
    let both = context.ask(both)?;
    let third = context.ask(Inputs::new().elicit("third", form("The third?")))?;
    let (first, second) = (value(&both, "first"), value(&both, "second"));
    let third = value(&third, "third");
    Ok(format!("{first} {second} {third} after {rounds} rounds"))
}

fn three_tool() -> Tool {
    let handler = |call: Call<'_>, reply: Reply<'_>| three(call.context()).reply(reply);
    Tool::new("three", handler).task(TaskSupport::Optional)
}

fn get(server: &mut Stepped, task: &Value) -> Value {
    let params = json!({ "taskId": task, "_meta": meta() });
    let answer = server.ask(&modern(2, "tasks/get", params));
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    answer["result"].clone()
}

fn update(server: &mut Stepped, task: &Value, responses: &Value) -> Value {
    let params = json!({ "taskId": task, "inputResponses": responses, "_meta": meta() });
    server.ask(&modern(3, "tasks/update", params))
}

#[track_caller]
fn updated(server: &mut Stepped, task: &Value, responses: &Value) {
    let answer = update(server, task, responses);
    assert_eq!(answer, modern_result(3, json!({})));
}

/// The keys of what a task asks.
fn asked(server: &mut Stepped, task: &Value) -> Vec<String> {
    let got = get(server, task);
    assert_eq!(got["status"], "input_required", "{got}");
    let requests = got["inputRequests"].as_object().unwrap();
    requests.keys().cloned().collect()
}

/// Starts a task that asks at once.
fn parked(server: &mut Stepped, tool: &str) -> Value {
    let answer = server.ask(&start(tool));
    assert_eq!(answer["result"]["status"], "input_required", "{answer}");
    assert_eq!(answer["result"].get("inputRequests"), None);
    assert_eq!(answer["result"].get("requestState"), None);
    answer["result"]["taskId"].clone()
}

#[test]
fn a_task_tells_what_it_wants_to_know_and_goes_on_when_it_does() {
    let mut server = Stepped::new(server().tool(three_tool()));
    let id = parked(&mut server, "three");
    let got = get(&mut server, &id);
    let request = |message: &str| {
        json!({ "method": "elicitation/create", "params": {
            "message": message, "mode": "form",
            "requestedSchema": {
                "type": "object", "required": ["value"],
                "properties": { "value": { "type": "string" } },
            },
        } })
    };
    let requests = json!({ "first": request("The first?"), "second": request("The second?") });
    assert_eq!(got["inputRequests"], requests);
    assert_eq!(get(&mut server, &id), got, "asking for it changes nothing");

    server.pass_ms(5);
    updated(&mut server, &id, &json!({ "first": accepted("a") }));
    assert_eq!(asked(&mut server, &id), ["second"]);
    assert_eq!(
        get(&mut server, &id)["lastUpdatedAt"],
        "1970-01-01T00:00:00.005Z"
    );
    // What is not asked, or not any more, is ignored.
    server.pass_ms(5);
    let others = json!({ "first": accepted("z"), "third": accepted("z"), "x": 1 });
    updated(&mut server, &id, &others);
    assert_eq!(asked(&mut server, &id), ["second"]);
    assert_eq!(
        get(&mut server, &id)["lastUpdatedAt"],
        "1970-01-01T00:00:00.005Z"
    );
    updated(
        &mut server,
        &id,
        &json!({ "second": { "action": "decline" } }),
    );
    assert_eq!(asked(&mut server, &id), ["third"]);
    updated(
        &mut server,
        &id,
        &json!({ "third": accepted("c"), "second": accepted("z") }),
    );
    let got = get(&mut server, &id);
    assert_eq!(got["status"], "completed");
    assert_eq!(got.get("inputRequests"), None);
    let said = text("a decline c after 2 rounds");
    assert_eq!(got["result"], modern_result(0, said)["result"]);
    // One that has ended takes no more answers.
    updated(&mut server, &id, &json!({ "third": accepted("z") }));
    assert_eq!(get(&mut server, &id), got);
}

#[test]
fn an_answer_that_is_not_valid_is_refused_and_asked_for_still() {
    let mut server = Stepped::new(server().tool(three_tool()));
    let id = parked(&mut server, "three");
    for wrong in [
        json!(1),
        json!({}),
        json!({ "action": "accept", "content": { "value": 1 } }),
    ] {
        let answer = update(
            &mut server,
            &id,
            &json!({ "first": accepted("a"), "second": wrong }),
        );
        let refused = refusal(&answer);
        assert_eq!(refused.code, -32602);
        assert!(
            refused
                .message
                .starts_with("params.inputResponses[`second`]"),
            "{refused:?}"
        );
    }
    // None of them was taken.
    assert_eq!(asked(&mut server, &id), ["first", "second"]);
    for wrong in [json!([]), json!("a"), Value::Null] {
        assert_eq!(refusal(&update(&mut server, &id, &wrong)).code, -32602);
    }
    let params = json!({ "taskId": id, "_meta": meta() });
    let refused = refusal(&server.ask(&modern(3, "tasks/update", params)));
    assert_eq!(refused.message, "params.inputResponses is missing");
}

#[test]
fn a_client_that_cannot_be_asked_fails_the_task() {
    let mut server = Stepped::new(server().tool(three_tool()));
    let mut meta = meta();
    meta[CAPABILITIES] = json!({ "extensions": { EXTENSION: {} } });
    let params = json!({ "name": "three", "_meta": meta });
    let answer = server.ask(&modern(1, "tools/call", params));
    let got = get(&mut server, &answer["result"]["taskId"]);
    assert_eq!(got["status"], "failed");
    assert_eq!(got["error"]["code"], -32021);
    let required = json!({ "elicitation": { "form": {} } });
    assert_eq!(got["error"]["data"]["requiredCapabilities"], required);
}

#[test]
fn a_parked_task_can_be_cancelled_and_its_time_does_not_run() {
    let tool = three_tool().timeout(std::time::Duration::from_millis(100));
    let mut server = Stepped::new(server().tool(tool));
    let id = parked(&mut server, "three");
    server.pass_ms(1_000);
    assert_eq!(asked(&mut server, &id).len(), 2);
    let params = json!({ "taskId": id, "_meta": meta() });
    server.ask(&modern(3, "tasks/cancel", params));
    updated(
        &mut server,
        &id,
        &json!({ "first": accepted("a"), "second": accepted("b") }),
    );
    let got = get(&mut server, &id);
    assert_eq!(got["status"], "cancelled");
    assert_eq!(got.get("inputRequests"), None);
}

#[test]
fn blocking_functions_ask_too_and_any_connection_may_answer() {
    let frozen = server().tool(three_tool().blocking()).freeze().unwrap();
    let mut first = Stepped::connect(&frozen);
    let answer = first.ask(&start("three"));
    assert_eq!(answer["result"]["status"], "working");
    let id = answer["result"]["taskId"].clone();
    first.connection().poll_job().unwrap().run();
    assert_eq!(asked(&mut first, &id), ["first", "second"]);
    let mut second = Stepped::connect(&frozen);
    let both = json!({ "first": accepted("a"), "second": accepted("b") });
    updated(&mut second, &id, &both);
    assert!(first.connection().poll_job().is_none());
    assert_eq!(get(&mut first, &id)["status"], "working");
    second.connection().poll_job().unwrap().run();
    assert_eq!(asked(&mut first, &id), ["third"]);
    updated(&mut first, &id, &json!({ "third": accepted("c") }));
    first.connection().poll_job().unwrap().run();
    assert_eq!(get(&mut second, &id)["status"], "completed");
}

/// Asks for a name before there is a task, and is sure of it within one.
fn register(decided: &Arc<AtomicUsize>) -> Tool {
    fn named(context: &Context<'_>) -> Result<String, Ask> {
        let answers = context.ask(Inputs::new().elicit("name", form("Who are you?")))?;
        Ok(value(&answers, "name"))
    }
    fn work(context: &Context<'_>) -> Result<String, Ask> {
        let name = named(context)?;
        let state = context.state().unwrap_or("nothing").to_owned();
        let sure = context.ask(Inputs::new().elicit("sure", form("Sure?")))?;
        Ok(format!("{name} {} {state}", value(&sure, "sure")))
    }
    let decided = Arc::clone(decided);
    let options = TaskOptions::new(TaskSupport::Required).when(move |call| {
        decided.fetch_add(1, Ordering::Relaxed);
        if call.arguments().find("now").is_some() {
            return Ok(false);
        }
        assert!(call.arguments().find("panic").is_none(), "asked to");
        call.context().keep("kept");
        named(call.context()).map(|_| true)
    });
    let handler = |call: Call<'_>, reply: Reply<'_>| work(call.context()).reply(reply);
    Tool::new("register", handler).task(options)
}

#[test]
fn a_client_may_be_asked_before_there_is_a_task() {
    let decided = Arc::default();
    let mut server = Stepped::new(server().tool(register(&decided)));
    let answer = server.ask(&start("register"));
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(result.get("taskId"), None);
    let keys: Vec<_> = result["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(keys, ["name"]);
    let params = json!({
        "name": "register", "requestState": result["requestState"],
        "inputResponses": { "name": accepted("Ada") }, "_meta": meta(),
    });
    let answer = server.ask(&modern(2, "tools/call", params));
    assert_eq!(answer["result"]["resultType"], "task", "{answer}");
    assert_eq!(answer["result"].get("requestState"), None);
    let id = answer["result"]["taskId"].clone();
    assert_eq!(asked(&mut server, &id), ["sure"]);
    updated(&mut server, &id, &json!({ "sure": accepted("yes") }));
    let got = get(&mut server, &id);
    assert_eq!(got["result"]["content"][0]["text"], "Ada yes kept");
    assert_eq!(
        decided.load(Ordering::Relaxed),
        2,
        "it decides before, not after"
    );
}

#[test]
fn a_tool_may_decide_against_a_task() {
    let decided = Arc::default();
    let mut server = Stepped::new(server().tool(register(&decided)));
    let arguments = json!({ "now": true });
    let params = json!({ "name": "register", "arguments": arguments, "_meta": meta() });
    let answer = server.ask(&modern(1, "tools/call", params));
    // The call asks as any call does.
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    // What only a client that knows tasks can be served is not decided.
    let answer = server.ask(&call(2, "register", &arguments));
    assert_eq!(refusal(&answer).code, -32021);
    assert_eq!(decided.load(Ordering::Relaxed), 1);
}

#[test]
fn what_a_decision_or_a_hook_leaves_is_not_told_with_the_next_call() {
    struct Chatty;
    impl Hook for Chatty {
        fn before(&self, context: &Context<'_>) -> Result<(), RpcError> {
            if context.state().is_none() {
                context.progress(1.0, None, None);
            }
            Ok(())
        }
    }
    let asking = |call: Call<'_>, reply: Reply<'_>| {
        let asked = call
            .context()
            .ask(Inputs::new().elicit("value", form("What?")));
        asked.map(|answers| value(&answers, "value")).reply(reply);
    };
    let options = TaskOptions::new(TaskSupport::Required).when(|call| {
        call.context().progress(2.0, None, None);
        call.context().keep("another's");
        Ok(true)
    });
    let task = Tool::new("task", |_: Call<'_>, reply: Reply<'_>| reply.text("done")).task(options);
    let server = server().tool(task).tool(Tool::new("asking", asking));
    let mut server = Stepped::new(server.hook(Chatty));
    let mut meta = meta();
    meta["progressToken"] = json!("of the task");
    let params = json!({ "name": "task", "_meta": meta });
    let answer = server.ask(&modern(1, "tools/call", params));
    assert_eq!(answer["result"]["resultType"], "task");
    let answer = server.ask(&start("asking"));
    assert_eq!(answer["result"]["resultType"], "input_required");
    assert_eq!(answer["result"].get("requestState"), None, "{answer}");
}

#[test]
fn a_decision_that_panics_is_answered() {
    let mut pair = Pair::new(server().tool(register(&Arc::default())));
    let arguments = json!({ "panic": true });
    let params = json!({ "name": "register", "arguments": arguments, "_meta": meta() });
    let answer = pair.ask(&modern(1, "tools/call", params));
    assert_eq!(refusal(&answer).head(), (Some(json!(1)), -32603));
    assert_eq!(pair.log().len(), 1);
}

#[test]
fn answers_that_have_no_room_are_refused() {
    let limits = Limits {
        task_bytes_max: 4_000,
        ..Limits::default()
    };
    let mut server = Stepped::new(server().limits(limits).tool(three_tool()));
    let id = parked(&mut server, "three");
    let long = accepted(&"x".repeat(4_000));
    let answer = update(&mut server, &id, &json!({ "first": long }));
    assert_eq!(refusal(&answer).code, -32603);
    assert_eq!(asked(&mut server, &id), ["first", "second"]);
    updated(&mut server, &id, &json!({ "first": accepted("a") }));
    assert_eq!(asked(&mut server, &id), ["second"]);
}

#[test]
fn a_question_that_has_no_room_fails_its_task() {
    let limits = Limits {
        task_bytes_max: 1_000,
        ..Limits::default()
    };
    let ask = |call: Call<'_>, reply: Reply<'_>| {
        let inputs = Inputs::new().elicit("long", form(&"x".repeat(1_000)));
        let asked = call.context().ask(inputs).map(|_| "never");
        asked.reply(reply);
    };
    let tool = Tool::new("ask", ask).task(TaskSupport::Optional);
    let mut server = Stepped::new(server().limits(limits).tool(tool));
    let answer = server.ask(&start("ask"));
    assert_eq!(answer["result"]["status"], "failed", "{answer}");
}

/// What a store has kept from an earlier run goes on, if it has its tool.
#[test]
fn a_task_that_was_parked_before_goes_on() {
    let record = |tool: &str| TaskRecord {
        principal: String::new(),
        tool: tool.to_owned(),
        state: TaskState::InputRequired(vec![("third".to_owned(), Arc::from("{}"))]),
        status_message: None,
        created_unix_ms: 0,
        updated_unix_ms: 0,
        ttl_ms: 1_000,
        poll_interval_ms: 1,
        request: Arc::from(r#"{"name":"three"}"#),
        answers: ["first", "second"]
            .map(|key| (key.to_owned(), Arc::from(accepted(key).to_string())))
            .into(),
        kept: Some("xx".to_owned()),
        connection: 0,
    };
    let store = MemoryTaskStore::new(10, 1 << 20);
    for tool in ["three", "gone"] {
        tightwire::TaskStore::insert(&store, tool, record(tool)).unwrap();
    }
    let server: Server = server().task_store(store).tool(three_tool());
    let mut server = Stepped::new(server);
    let answer = json!({ "third": accepted("c") });
    updated(&mut server, &json!("three"), &answer);
    let got = get(&mut server, &json!("three"));
    assert_eq!(
        got["result"]["content"][0]["text"],
        "first second c after 2 rounds"
    );
    updated(&mut server, &json!("gone"), &answer);
    let got = get(&mut server, &json!("gone"));
    assert_eq!(got["error"]["message"], "the tool is not there any more");
}

#[test]
fn a_hook_before_a_task_may_ask_and_panic() {
    struct Asks;
    impl Hook for Asks {
        fn before(&self, context: &Context<'_>) -> Result<(), RpcError> {
            assert!(context.client_info().version != Some("bad"), "on purpose");
            context.ask(Inputs::new().roots("r"))?;
            Ok(())
        }
    }
    let done = Tool::new("done", |_: Call<'_>, reply: Reply<'_>| reply.text("done"));
    let done = done.task(TaskSupport::Required);
    let mut pair = Pair::new(server().hook(Asks).tool(done));
    let mut meta = meta();
    meta[CAPABILITIES]["roots"] = json!({});
    let mut params = json!({ "name": "done", "_meta": meta });
    let asked = pair.ask(&modern(1, "tools/call", params.clone()));
    assert_eq!(asked["result"]["resultType"], "input_required");
    params["inputResponses"] = json!({ "r": { "roots": [] } });
    let made = pair.ask(&modern(2, "tools/call", params.clone()));
    assert_eq!(made["result"]["resultType"], "task");
    params["_meta"]["io.modelcontextprotocol/clientInfo"]["version"] = json!("bad");
    let refused = refusal(&pair.ask(&modern(3, "tools/call", params)));
    assert_eq!(refused.head(), (Some(json!(3)), -32603));
    assert_eq!(refused.message, "the handler panicked");
}
