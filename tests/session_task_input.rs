//! Tasks of sessions of 2025-11-25 that ask their client.
//!
//! Specification: 2025-11-25, `basic/utilities/tasks`, Input Required Status.

use serde_json::{Value, json};
use tightwire::{
    Ask, Call, Context, Elicitation, Field, Hook, Inputs, IntoReply, Limits, Reply, RpcError,
    Sampling, Tool,
};
use tightwire_tests::{Pair, Stepped, cancelled, legacy, legacy_result, server, text};

use crate::{
    session_tasks::{NOTHING, RELATED, about, get, result, session, start, task, told},
    tasks::tool,
};

fn form(message: &str) -> Elicitation {
    Elicitation::form(message).field("value", Field::text().required())
}

fn accepted(value: &str) -> Value {
    json!({ "action": "accept", "content": { "value": value } })
}

/// The client's answer to the request of this id.
fn answer(id: u64, result: &Value) -> String {
    legacy_result(id, result).to_string()
}

fn refused(id: u64) -> String {
    let error = json!({ "code": -1, "message": "no time" });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

fn tool_of(name: &str, ask: fn(&Context<'_>) -> Result<String, Ask>) -> Tool {
    tool(name, move |call: Call<'_>, reply: Reply<'_>| {
        ask(call.context()).reply(reply);
    })
}

/// Asks for two things at once, then for a third, and says how far it is.
fn three(context: &Context<'_>) -> Result<String, Ask> {
    let round = context.state().map_or(0, str::len);
    context.keep("x".repeat(round + 1));
    // The first is told in each round, and grows in the first alone.
    context.progress(1.0, None, None);
    context.progress(
        1.0 + f64::from(u32::try_from(round).unwrap_or_default()),
        None,
        None,
    );
    let both = Inputs::new()
        .elicit("first", form("The first?"))
        .elicit("second", form("The second?"));
    let both = context.ask(both)?;
    let third = context.ask(Inputs::new().elicit("third", form("The third?")))?;
    let said = [
        both.elicited("first"),
        both.elicited("second"),
        third.elicited("third"),
    ];
    let said = said.map(|elicited| match elicited.content() {
        Some(form) => form
            .find("value")
            .and_then(|value| value.as_str())
            .unwrap_or_default(),
        None => elicited.action(),
    });
    Ok(format!("{} after {round} rounds", said.join(" ")))
}

fn asking() -> Stepped {
    session(server().tool(tool_of("three", three)))
}

/// A task that asks.
#[track_caller]
fn parked(server: &mut Stepped) -> Value {
    let id = task(server, "three");
    let notice = told(server, &id);
    assert_eq!(notice["params"]["status"], "input_required");
    assert_eq!(server.completed(), [notice]);
    id
}

fn request(id: u64, message: &str, task: &Value) -> Value {
    let schema = json!({
        "type": "object", "required": ["value"],
        "properties": { "value": { "type": "string" } },
    });
    let params = json!({
        "mode": "form", "message": message, "requestedSchema": schema,
        "_meta": { RELATED: { "taskId": task } },
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params })
}

fn taken_back(id: u64, task: &Value) -> Value {
    let params = json!({ "requestId": id, "_meta": { RELATED: { "taskId": task } } });
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
}

#[test]
fn who_waits_for_the_result_is_asked_and_the_task_goes_on_with_the_answers() {
    let mut server = asking();
    let id = parked(&mut server);
    let both = server.send(&about("tasks/result", &id));
    let expected = [
        request(1, "The first?", &id),
        request(2, "The second?", &id),
    ];
    assert_eq!(both, expected);
    server.pass_ms(5);
    assert_eq!(server.send(&answer(2, &accepted("b"))), NOTHING);
    let got = get(&mut server, &id);
    assert_eq!(got["status"], "input_required");
    assert_eq!(got["lastUpdatedAt"], "1970-01-01T00:00:00.005Z");
    // It has an answer already, and the others were never asked.
    for other in [2, 3, 99] {
        assert_eq!(server.send(&answer(other, &accepted("z"))), NOTHING);
    }
    assert_eq!(
        server.send(&answer(1, &json!({ "action": "decline" }))),
        NOTHING
    );
    // It has asked once more, of one who waits already.
    let notice = told(&mut server, &id);
    assert_eq!(notice["params"]["status"], "input_required");
    assert_eq!(server.completed(), [notice, request(3, "The third?", &id)]);
    assert_eq!(server.send(&answer(3, &accepted("c"))), NOTHING);
    let notice = told(&mut server, &id);
    assert_eq!(notice["params"]["status"], "completed");
    let said = text("decline b c after 2 rounds");
    assert_eq!(server.completed(), [notice, result(&id, said)]);
}

#[test]
fn a_blocking_function_is_at_work_again_once_all_is_answered() {
    let slow = tool_of("three", three).blocking();
    let mut server = session(server().tool(slow));
    let id = task(&mut server, "three");
    server.send(&about("tasks/result", &id));
    server.connection().poll_job().unwrap().run();
    assert_eq!(server.completed().len(), 3);
    server.send(&answer(1, &accepted("a")));
    server.send(&answer(2, &accepted("b")));
    assert_eq!(get(&mut server, &id)["status"], "working");
    server.connection().poll_job().unwrap().run();
    let lines = server.completed();
    assert_eq!(lines[1], request(3, "The third?", &id));
}

#[test]
fn what_was_asked_is_not_asked_twice() {
    let mut server = asking();
    let id = parked(&mut server);
    assert_eq!(server.send(&about("tasks/result", &id)).len(), 2);
    assert_eq!(server.send(&cancelled("tasks/result")), NOTHING);
    assert_eq!(get(&mut server, &id)["status"], "input_required");
    assert_eq!(server.send(&about("tasks/result", &id)), NOTHING);
    server.send(&answer(1, &accepted("a")));
    let second = legacy("again", "tasks/result", &json!({ "taskId": id }));
    assert_eq!(server.send(&second), NOTHING);
    server.send(&answer(2, &accepted("b")));
    assert_eq!(server.completed()[1], request(3, "The third?", &id));
    // Of those who do not wait nothing is asked, but what was asked may be answered.
    for waiting in ["tasks/result", "again"] {
        server.send(&cancelled(waiting));
    }
    server.send(&answer(3, &accepted("c")));
    let notice = told(&mut server, &id);
    assert_eq!(server.completed(), [notice]);
}

#[test]
fn progress_grows_from_one_round_to_the_next() {
    let mut server = asking();
    let meta = json!({ "progressToken": "token" });
    let params = json!({ "name": "three", "task": {}, "_meta": meta });
    let made = server.ask(&legacy(1, "tools/call", &params));
    let mut lines = server.completed();
    lines.extend(server.send(&about("tasks/result", &made["result"]["task"]["taskId"])));
    for id in 1..=3 {
        lines.extend(server.send(&answer(id, &accepted("a"))));
        lines.extend(server.completed());
    }
    let progress = lines
        .iter()
        .filter_map(|line| line["params"]["progress"].as_u64());
    assert_eq!(progress.collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn what_the_client_refuses_fails_the_task() {
    let mut server = asking();
    let id = parked(&mut server);
    server.send(&about("tasks/result", &id));
    assert_eq!(server.send(&refused(2)), NOTHING);
    let notice = told(&mut server, &id);
    let message = "the client refused elicitation/create: `no time` (-1)";
    assert_eq!(notice["params"]["status"], "failed");
    assert_eq!(notice["params"]["statusMessage"], message);
    let mut failed = text(message);
    failed["isError"] = json!(true);
    // The other need not be answered any more.
    let expected = [notice, taken_back(1, &id), result(&id, failed)];
    assert_eq!(server.completed(), expected);
    assert_eq!(server.send(&answer(1, &accepted("a"))), NOTHING);
    assert_eq!(server.completed(), NOTHING);
}

#[test]
fn an_answer_that_is_not_valid_is_what_the_function_fails_on() {
    let mut server = asking();
    let id = parked(&mut server);
    server.send(&about("tasks/result", &id));
    server.send(&answer(1, &accepted("a")));
    server.send(&answer(
        2,
        &json!({ "action": "accept", "content": { "value": 1 } }),
    ));
    let lines = server.completed();
    let said = lines[1]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        said.starts_with("the client's answer to `second` is not valid"),
        "{said}"
    );
    assert_eq!(get(&mut server, &id)["status"], "failed");
}

#[test]
fn answers_without_room_fail_the_task() {
    let limits = Limits {
        task_bytes_max: 4_000,
        ..Limits::default()
    };
    let mut server = session(server().limits(limits).tool(tool_of("three", three)));
    let id = parked(&mut server);
    server.send(&about("tasks/result", &id));
    server.send(&answer(1, &accepted(&"a".repeat(4_000))));
    let lines = server.completed();
    let said = &lines[0]["params"]["statusMessage"];
    assert_eq!(said, "there is no room for the answers; try again later");
}

#[test]
fn a_task_that_ends_takes_back_what_it_asked() {
    for is_cancelled in [true, false] {
        let mut server = asking();
        let id = parked(&mut server);
        server.send(&about("tasks/result", &id));
        server.send(&answer(1, &accepted("a")));
        let mut lines = if is_cancelled {
            server.send(&about("tasks/cancel", &id));
            let notice = told(&mut server, &id);
            let mut lines = server.completed();
            assert_eq!(lines.remove(0), notice);
            lines
        } else {
            let mut lines = server.pass_ms(3_600_000);
            lines.extend(server.completed());
            lines
        };
        let answered = lines
            .iter()
            .position(|line| line["id"] == "tasks/result")
            .unwrap();
        let code = if is_cancelled { -32603 } else { -32602 };
        assert_eq!(lines.remove(answered)["error"]["code"], code);
        assert_eq!(lines, [taken_back(2, &id)]);
        assert_eq!(server.send(&answer(2, &accepted("b"))), NOTHING);
        assert_eq!(server.completed(), NOTHING);
    }
}

#[test]
fn all_that_a_client_may_be_asked_names_the_task() {
    fn ask(context: &Context<'_>) -> Result<String, Ask> {
        let inputs = Inputs::new()
            .elicit_url("page", "Look at it", "https://example.com/")
            .sample("poem", Sampling::new(10).user("A poem!"))
            .roots("roots");
        let answers = context.ask(inputs)?;
        let roots = answers.roots("roots").map(|(uri, _)| uri.to_owned());
        let poem = answers.sampled("poem");
        Ok([poem.text().unwrap_or_default().to_owned()]
            .into_iter()
            .chain(roots)
            .collect())
    }
    let mut server = session(server().tool(tool_of("all", ask)));
    let id = task(&mut server, "all");
    let asked = server.send(&about("tasks/result", &id));
    let method = |line: &Value| line["method"].as_str().unwrap().to_owned();
    assert_eq!(
        asked.iter().map(method).collect::<Vec<_>>(),
        ["elicitation/create", "sampling/createMessage", "roots/list"]
    );
    for line in &asked {
        assert_eq!(
            line["params"]["_meta"],
            json!({ RELATED: { "taskId": id } })
        );
    }
    assert!(asked[0]["params"]["elicitationId"].is_string());
    server.completed();
    server.send(&answer(1, &json!({ "action": "accept" })));
    let content = json!({ "type": "text", "text": "Roses " });
    server.send(&answer(
        2,
        &json!({ "role": "assistant", "model": "m", "content": content }),
    ));
    server.send(&answer(3, &json!({ "roots": [{ "uri": "file:///a" }] })));
    assert_eq!(server.completed()[1], result(&id, text("Roses file:///a")));
}

#[test]
fn a_client_that_cannot_be_asked_is_told_so() {
    // It has declared nothing.
    let mut pair = Pair::session(server().tool(tool_of("three", three)), "2025-11-25");
    let lines = pair.send(&start("three"));
    assert_eq!(lines[1]["params"]["status"], "failed");
    let message = lines[1]["params"]["statusMessage"].as_str().unwrap();
    assert!(
        message.contains("does not support elicitation"),
        "{message}"
    );
}

/// A hook that asks before a call may become a task.
struct AsksFirst;

impl Hook for AsksFirst {
    fn before(&self, context: &Context<'_>) -> Result<(), RpcError> {
        context.ask(Inputs::new().elicit("sure", form("Sure?")))?;
        Ok(())
    }
}

#[test]
fn a_hook_may_ask_before_there_is_a_task() {
    let now = tool("now", |call, reply| reply.display(call.context().is_task()));
    let mut server = session(server().hook(AsksFirst).tool(now));
    let params = json!({ "name": "now", "task": { "ttl": 1_234 } });
    let asked = server.ask(&legacy("call", "tools/call", &params));
    assert_eq!(asked["method"], "elicitation/create");
    assert_eq!(asked["params"].get("_meta"), None, "it is of no task");
    let made = server.ask(&answer(1, &accepted("yes")));
    assert_eq!(made["id"], "call");
    assert_eq!(made["result"]["task"]["ttl"], 1_234);
    server.completed();
    let id = &made["result"]["task"]["taskId"];
    let answer = server.ask(&about("tasks/result", id));
    assert_eq!(answer, result(id, text("true")));
}

#[test]
fn what_is_kept_of_a_wanted_task_is_held() {
    let limits = Limits {
        held_bytes_max: 4_000,
        ..Limits::default()
    };
    let block = tool("block", |_, reply| reply.text("done")).blocking();
    let mut server = session(server().limits(limits).hook(AsksFirst).tool(block));
    let params = json!({ "name": "block", "task": { "more": "x".repeat(5_000) } });
    let asked = server.ask(&legacy(1, "tools/call", &params));
    assert_eq!(asked["method"], "elicitation/create");
    let answer = server.ask(&legacy(2, "tools/call", &json!({ "name": "block" })));
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
}
