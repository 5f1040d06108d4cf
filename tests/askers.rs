//! Several who ask the client in one request: a hook before the handler, what decides whether a call
//! becomes a task, and the handler. Each finds the answers to what it asked in every later round.
//!
//! Specification: 2026-07-28, `basic/patterns/mrtr`.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tightwire::{
    Ask, AsyncAnswer, Call, Context, Elicitation, Field, Hook, Inputs, IntoReply, Prompt, Reply,
    Resource, RpcError, Server, TaskOptions, TaskSupport, Tool,
};
use tightwire_tests::{
    Stepped, legacy, legacy_result, modern, modern_meta, modern_result, refusal, server, text,
};

use crate::session_tasks::open;

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// How many rounds are enough for all that is asked here.
const ROUNDS_MAX: usize = 6;

/// Asks for one text, under a key.
fn one(context: &Context<'_>, key: &str) -> Result<String, Ask> {
    let form = Elicitation::form(key).field("value", Field::text().required());
    let answers = context.ask(Inputs::new().elicit(key, form))?;
    let form = answers.elicited(key).content();
    let value = form.and_then(|form| form.find("value")?.as_str());
    Ok(value.unwrap_or("nothing").to_owned())
}

fn name_and_age(context: &Context<'_>) -> Result<String, Ask> {
    let name = one(context, "name")?;
    let age = one(context, "age")?;
    let state = context.state().unwrap_or("no state");
    Ok(format!("{name} {age} {state}"))
}

/// Asks before every handler, and keeps a state.
struct Consent;

impl Hook for Consent {
    fn before(&self, context: &Context<'_>) -> Result<(), RpcError> {
        context.keep("kept");
        one(context, "consent")?;
        one(context, "again")?;
        Ok(())
    }
}

fn handler(call: Call<'_>, reply: Reply<'_>) {
    name_and_age(call.context()).reply(reply);
}

fn tools() -> Server {
    let asynchronous = Tool::asynchronous("async", |call: Call<'_>| {
        Box::pin(async move {
            let said = name_and_age(call.context());
            let answer: AsyncAnswer = Box::new(move |reply: Reply<'_>| said.reply(reply));
            answer
        })
    });
    let decided = |is_task: bool| {
        let options = TaskOptions::new(TaskSupport::Optional).when(move |call| {
            one(call.context(), "when")?;
            Ok(is_task)
        });
        let name = if is_task { "task" } else { "no-task" };
        Tool::new(name, handler).task(options)
    };
    server()
        .tool(Tool::new("inline", handler))
        .tool(Tool::new("blocking", handler).blocking())
        .tool(asynchronous)
        .tool(decided(false))
        .tool(decided(true))
        .prompt(Prompt::new("prompt", |prompt, reply| {
            match name_and_age(prompt.context()) {
                Ok(text) => reply.user_text(text),
                Err(ask) => reply.protocol_error(&ask.into()),
            }
        }))
        .prompt(
            Prompt::new("prompt-blocking", |prompt, reply| {
                match name_and_age(prompt.context()) {
                    Ok(text) => reply.user_text(text),
                    Err(ask) => reply.protocol_error(&ask.into()),
                }
            })
            .blocking(),
        )
        .resource(
            Resource::new(
                "asked://blocking",
                "asked",
                |read, reply| match name_and_age(read.context()) {
                    Ok(text) => reply.text(text),
                    Err(ask) => reply.protocol_error(&ask.into()),
                },
            )
            .blocking(),
        )
        .executor(|future| {
            let mut future = future;
            let waker = std::task::Waker::noop();
            let mut task = std::task::Context::from_waker(waker);
            assert!(future.as_mut().poll(&mut task).is_ready());
        })
}

/// Sends a line, has what it started elsewhere run, and gives what came of it.
fn send(server: &mut Stepped, line: &str) -> Vec<Value> {
    let mut received = server.send(line);
    while let Some(job) = server.connection().poll_job() {
        job.run();
    }
    received.extend(server.completed());
    received
}

fn accepted(key: &str) -> Value {
    json!({ "action": "accept", "content": { "value": format!("my-{key}") } })
}

/// Makes a modern request again and again, with the answers to what was asked last and nothing
/// else. What was asked, in this order, and the end of it.
fn rounds(server: &mut Stepped, method: &str, params: &Value) -> (Vec<String>, Value) {
    let mut meta = modern_meta();
    meta[CAPABILITIES] = json!({
        "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} }
    });
    let mut params = params.clone();
    params["_meta"] = meta;
    let (mut keys, mut request) = (Vec::new(), params.clone());
    for _ in 0..ROUNDS_MAX {
        let mut received = send(server, &modern(1, method, request));
        let answer = received.pop().expect("an answer");
        assert_eq!(received, Vec::<Value>::new());
        if answer["result"]["resultType"] != "input_required" {
            return (keys, answer);
        }
        request = params.clone();
        let asked = answer["result"]["inputRequests"].as_object().unwrap();
        for key in asked.keys() {
            keys.push(key.clone());
            request["inputResponses"][key] = accepted(key);
        }
        if let Some(state) = answer["result"].get("requestState") {
            request["requestState"] = state.clone();
        }
    }
    panic!("it asks for ever: {keys:?}");
}

#[test]
fn a_hook_and_a_handler_ask_one_after_the_other_wherever_the_handler_runs() {
    let mut server = Stepped::new(tools().hook(Consent));
    for tool in ["inline", "blocking", "async"] {
        let (keys, answer) = rounds(&mut server, "tools/call", &json!({ "name": tool }));
        assert_eq!(keys, ["consent", "again", "name", "age"], "{tool}");
        let done = modern_result(1, text("my-name my-age kept"));
        assert_eq!(answer, done, "{tool}");
    }
    for (method, params) in [
        ("prompts/get", json!({ "name": "prompt" })),
        ("prompts/get", json!({ "name": "prompt-blocking" })),
        ("resources/read", json!({ "uri": "asked://blocking" })),
    ] {
        let (keys, answer) = rounds(&mut server, method, &params);
        assert_eq!(keys, ["consent", "again", "name", "age"], "{method}");
        let said = answer["result"].to_string();
        assert!(said.contains("my-name my-age kept"), "{said}");
    }
}

#[test]
fn in_a_session_they_do_as_well() {
    let mut server = Stepped::new(tools().hook(Consent));
    let client = json!({ "name": "tests", "version": "1" });
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": client
    });
    server.ask(&legacy("init", "initialize", &params));
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    for tool in ["inline", "blocking", "async"] {
        let mut keys = Vec::new();
        let call = legacy(tool, "tools/call", &json!({ "name": tool }));
        let mut message = send(&mut server, &call).remove(0);
        while message["method"] == "elicitation/create" {
            let key = message["params"]["message"].as_str().unwrap().to_owned();
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": accepted(&key) });
            keys.push(key);
            assert!(keys.len() < ROUNDS_MAX, "it asks for ever: {keys:?}");
            message = send(&mut server, &answer.to_string()).remove(0);
        }
        assert_eq!(keys, ["consent", "again", "name", "age"], "{tool}");
        assert_eq!(message, legacy_result(tool, &text("my-name my-age kept")));
    }
}

#[test]
fn what_decides_against_a_task_and_the_function_ask_one_after_the_other() {
    let mut server = Stepped::new(tools());
    let (keys, answer) = rounds(&mut server, "tools/call", &json!({ "name": "no-task" }));
    assert_eq!(keys, ["when", "name", "age"]);
    assert_eq!(answer, modern_result(1, text("my-name my-age no state")));
    let mut server = Stepped::new(tools().hook(Consent));
    let (keys, answer) = rounds(&mut server, "tools/call", &json!({ "name": "no-task" }));
    assert_eq!(keys, ["consent", "again", "when", "name", "age"]);
    assert_eq!(answer, modern_result(1, text("my-name my-age kept")));
}

#[test]
fn what_decides_for_a_task_and_a_hook_ask_one_after_the_other() {
    let mut server = Stepped::new(tools().hook(Consent));
    let (keys, answer) = rounds(&mut server, "tools/call", &json!({ "name": "task" }));
    assert_eq!(keys, ["consent", "again", "when"]);
    assert_eq!(answer["result"]["resultType"], "task", "{answer}");
}

/// Keeps a state before the first round.
struct Keeping;

impl Hook for Keeping {
    fn before(&self, context: &Context<'_>) -> Result<(), RpcError> {
        if context.state().is_none() {
            context.keep("hook's");
        }
        Ok(())
    }
}

/// Does nothing.
struct Silent;

impl Hook for Silent {}

/// The states that a function finds in its rounds, one after the other.
fn states_found(options: TaskOptions, hook: impl Hook, call: impl FnOnce(&mut Stepped)) -> Value {
    let found = Arc::<Mutex<Vec<Option<String>>>>::default();
    let finding = Arc::clone(&found);
    let tool = Tool::new("find", move |call: Call<'_>, reply: Reply<'_>| {
        let state = call.context().state().map(str::to_owned);
        finding.lock().unwrap().push(state);
        one(call.context(), "name").reply(reply);
    });
    call(&mut Stepped::new(
        server().tool(tool.task(options)).hook(hook),
    ));
    let found = found.lock().unwrap();
    json!(*found)
}

/// Has a task answered what it asks.
fn answer_task(server: &mut Stepped, task: &Value) {
    let mut meta = modern_meta();
    meta[CAPABILITIES] = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let responses = json!({ "name": accepted("name") });
    let params = json!({ "taskId": task, "inputResponses": responses, "_meta": meta });
    server.ask(&modern(2, "tasks/update", params));
}

#[test]
fn what_was_kept_before_a_call_became_a_task_is_found_as_without_one() {
    let two_rounds = |server: &mut Stepped| {
        let (_, answer) = rounds(server, "tools/call", &json!({ "name": "find" }));
        if answer["result"]["resultType"] == "task" {
            answer_task(server, &answer["result"]["taskId"]);
        }
    };
    for is_task in [false, true] {
        let support = TaskOptions::new(TaskSupport::Optional);
        let options = support.clone().when(move |_| Ok(is_task));
        let found = states_found(options, Keeping, two_rounds);
        assert_eq!(found, json!([null, "hook's"]), "{is_task}");
        let options = support.when(move |call| {
            if call.context().state().is_none() {
                call.context().keep("decider's");
            }
            Ok(is_task)
        });
        let found = states_found(options, Silent, two_rounds);
        assert_eq!(found, json!([null, "decider's"]), "{is_task}");
    }
}

#[test]
fn in_a_session_it_is_found_as_well() {
    for task in [None, Some(json!({}))] {
        let found = states_found(TaskSupport::Optional.into(), Keeping, |server| {
            open(server);
            let mut params = json!({ "name": "find" });
            if let Some(task) = &task {
                params["task"] = task.clone();
            }
            let mut lines = send(server, &legacy(1, "tools/call", &params));
            let id = lines[0]["result"]["task"]["taskId"].clone();
            if task.is_some() {
                lines = send(server, &legacy(2, "tasks/result", &json!({ "taskId": id })));
            }
            let asked = lines
                .iter()
                .find(|line| line["method"] == "elicitation/create");
            let id = &asked.unwrap()["id"];
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": accepted("name") });
            send(server, &answer.to_string());
        });
        assert_eq!(found, json!([null, "hook's"]), "{task:?}");
    }
}

/// Specification: 2026-07-28, `basic/patterns/mrtr`, Supported Requests.
#[test]
fn where_no_question_may_be_the_answer_a_hook_cannot_ask() {
    let prompt = Prompt::new("p", |_, reply| reply.user_text("p")).required("code", "Some");
    let prompt = prompt.complete("code", |complete| complete.among(["rust"]));
    let mut server = Stepped::new(server().prompt(prompt).hook(Consent));
    let mut meta = modern_meta();
    meta[CAPABILITIES] = json!({ "elicitation": {} });
    let params = json!({
        "ref": { "type": "ref/prompt", "name": "p" },
        "argument": { "name": "code", "value": "r" },
        "_meta": meta,
    });
    let refused = refusal(&server.ask(&modern(1, "completion/complete", params)));
    assert_eq!(refused.head(), (Some(json!(1)), -32603));
    let message = "only tools, prompts and resources can ask the client";
    assert_eq!(refused.message, message);
}

/// Where a state is bound to the arguments of a request, those of a resource are none.
#[test]
fn a_member_that_a_resource_has_no_use_for_changes_no_state() {
    let mut server = Stepped::new(tools());
    let params = json!({ "uri": "asked://blocking", "arguments": { "stray": 1 } });
    let (keys, answer) = rounds(&mut server, "resources/read", &params);
    assert_eq!(keys, ["name", "age"]);
    assert!(answer.to_string().contains("my-name my-age"), "{answer}");
}

/// All answers are kept for later rounds, so there may be only so many; and many rounds of many
/// answers take no longer than they are long.
#[test]
fn a_request_brings_so_many_answers_and_no_more() {
    let mut server = Stepped::new(server().tool(Tool::new("inline", handler)));
    let call = |round: usize, count: usize, state: &Value| {
        let mut params = json!({ "name": "inline", "arguments": {}, "_meta": modern_meta() });
        params["_meta"][CAPABILITIES] = json!({ "elicitation": {} });
        let responses: serde_json::Map<_, _> = (0..count)
            .map(|index| (format!("{round}-{index}"), accepted("x")))
            .collect();
        params["inputResponses"] = responses.into();
        if !state.is_null() {
            params["requestState"] = state.clone();
        }
        json!({ "jsonrpc": "2.0", "id": round, "method": "tools/call", "params": params })
    };
    let error = refusal(&server.ask(&call(0, 1025, &Value::Null).to_string()));
    assert_eq!(error.code, -32602);
    assert!(error.message.contains("1024"), "{}", error.message);
    let mut state = Value::Null;
    for round in 1..4 {
        let answer = server.ask(&call(round, 1024, &state).to_string());
        assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
        state = answer["result"]["requestState"].clone();
        assert!(state.is_string());
    }
}
