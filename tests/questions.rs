//! The requests that the client of a legacy session is sent: in batches, and by their ids.
//!
//! Specification: 2025-03-26, `basic/index`, Batching; 2025-11-25, `client/elicitation`.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tightwire::{Ask, Call, Context, Inputs, IntoReply, Limits, Reply, Sampling, Server, Tool};
use tightwire_tests::{
    Pair, Stepped, batch, cancelled, legacy, legacy_result, modern, modern_meta, server, text,
};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The `initialize` request of a client that can do this.
fn opening(version: &str, capabilities: &Value) -> String {
    let client = json!({ "name": "tests", "version": "1" });
    let params = json!({
        "protocolVersion": version, "capabilities": capabilities, "clientInfo": client
    });
    legacy("init", "initialize", &params)
}

fn answer(id: &Value, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

#[test]
fn in_a_batch_questions_go_out_at_once_and_the_answer_with_the_rest() {
    let sampling = Tool::new("sample", |call: Call<'_>, reply: Reply<'_>| {
        let inputs = Inputs::new().sample("poem", Sampling::new(5).user("A poem."));
        let poem = call.context().ask(inputs).map(|answers| {
            let poem = answers.sampled("poem");
            poem.text().unwrap_or_default().to_owned()
        });
        poem.reply(reply);
    });
    let mut pair = Pair::new(server().tool(sampling));
    pair.ask(&opening("2025-03-26", &json!({ "sampling": {} })));
    pair.send(INITIALIZED);
    let lines = [
        legacy(1, "tools/call", &json!({ "name": "sample" })),
        legacy(2, "ping", &json!({})),
    ];
    let asked = pair.ask(&batch(&[&lines[0], &lines[1]]));
    assert_eq!(asked["method"], "sampling/createMessage");
    let given =
        json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "Ha." } });
    let done = pair.ask(&answer(&asked["id"], &given));
    let mut answers = done.as_array().expect("a batch").clone();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers[0], legacy_result(1, &text("Ha.")));
    assert_eq!(answers[1], legacy_result(2, &json!({})));
}

/// Specification: 2025-11-25, `client/elicitation`, URL Mode Elicitation Requests: unique ids, which
/// neither the revision before nor the one after has.
#[test]
fn in_a_session_an_elicitation_by_url_has_an_id_of_its_own() {
    let open = Tool::new("open", |call: Call<'_>, reply: Reply<'_>| {
        let inputs = Inputs::new()
            .elicit_url("one", "Sign in", "https://example.com/one")
            .elicit_url("two", "Pay", "https://example.com/two");
        let opened = call.context().ask(inputs);
        let opened = opened.map(|answers| answers.elicited("two").action());
        opened.reply(reply);
    });
    let frozen = server().tool(open).freeze().unwrap();
    let mut ids = BTreeSet::new();
    for _ in 0..2 {
        let mut pair = Pair::connect(&frozen);
        let by_url = json!({ "elicitation": { "url": {} } });
        pair.ask(&opening("2025-11-25", &by_url));
        pair.send(INITIALIZED);
        let asked = pair.send(&legacy(1, "tools/call", &json!({ "name": "open" })));
        for (asked, message) in asked.iter().zip(["Sign in", "Pay"]) {
            assert_eq!(asked["params"]["mode"], "url");
            assert_eq!(asked["params"]["message"], message);
            let id = asked["params"]["elicitationId"].as_str().expect("an id");
            assert!(ids.insert(id.to_owned()), "{id}");
        }
        let accepted = json!({ "action": "accept" });
        assert!(pair.send(&answer(&asked[0]["id"], &accepted)).is_empty());
        let done = pair.ask(&answer(&asked[1]["id"], &accepted));
        assert_eq!(done, legacy_result(1, &text("accept")));
    }
    let mut pair = Pair::connect(&frozen);
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": { "url": {} } });
    let params = json!({ "name": "open", "_meta": meta });
    let asked = pair.ask(&modern(1, "tools/call", params));
    assert_eq!(
        asked["result"]["inputRequests"]["two"]["params"],
        json!({ "mode": "url", "message": "Pay", "url": "https://example.com/two" })
    );
}

/// All rounds are one request, with one progress token.
///
/// Specification: 2025-11-25, `basic/utilities/progress`: the progress value must increase with
/// each notification.
#[test]
fn in_a_session_progress_goes_on_growing_after_a_question() {
    fn steps(context: &Context<'_>) -> Result<&'static str, Ask> {
        context.progress(1.0, None, None);
        context.ask(Inputs::new().roots("first"))?;
        context.progress(2.0, None, None);
        context.ask(Inputs::new().roots("second"))?;
        context.progress(2.5, None, None);
        Ok("done")
    }
    let handler = |call: Call<'_>, reply: Reply<'_>| steps(call.context()).reply(reply);
    let tools = server()
        .tool(Tool::new("steps", handler))
        .tool(Tool::new("steps-blocking", handler).blocking());
    let mut stepped = Stepped::new(tools);
    stepped.send(&opening("2025-11-25", &json!({ "roots": {} })));
    stepped.send(INITIALIZED);
    for tool in ["steps", "steps-blocking"] {
        let params = json!({ "name": tool, "_meta": { "progressToken": 7 } });
        let mut lines = vec![legacy(tool, "tools/call", &params)];
        let mut told = Vec::new();
        while let Some(line) = lines.pop() {
            let mut received = stepped.send(&line);
            if let Some(job) = stepped.connection().poll_job() {
                job.run();
                received.extend(stepped.completed());
            }
            for message in received {
                if message["method"] == "roots/list" {
                    lines.push(answer(&message["id"], &json!({ "roots": [] })));
                } else if message["method"] == "notifications/progress" {
                    told.push(message["params"]["progress"].clone());
                } else {
                    assert_eq!(message, legacy_result(tool, &text("done")));
                    told.push(json!("done"));
                }
            }
        }
        assert_eq!(
            told,
            [json!(1), json!(2), json!(2.5), json!("done")],
            "{tool}"
        );
    }
}

/// A tool that asks for the roots, and counts them.
fn count() -> Tool {
    let count = |context: &Context<'_>| {
        let answers = context.ask(Inputs::new().roots("roots"))?;
        Ok::<_, Ask>(answers.roots("roots").count().to_string())
    };
    Tool::new("count", move |call: Call<'_>, reply: Reply<'_>| {
        count(call.context()).reply(reply);
    })
}

fn counting_inline() -> Server {
    server().tool(count())
}

/// The same on the pool.
fn counting() -> Server {
    server().tool(count().blocking())
}

fn counted_in_a_batch(stepped: &mut Stepped) -> Vec<Value> {
    stepped.send(&opening("2025-03-26", &json!({ "roots": {} })));
    stepped.send(INITIALIZED);
    let lines = [
        legacy(1, "tools/call", &json!({ "name": "count" })),
        legacy(2, "ping", &json!({})),
    ];
    assert!(stepped.send(&batch(&[&lines[0], &lines[1]])).is_empty());
    stepped.connection().poll_job().unwrap().run();
    stepped.completed()
}

#[test]
fn in_a_batch_the_questions_of_a_blocking_tool_go_out_too() {
    let mut stepped = Stepped::new(counting());
    let asked = counted_in_a_batch(&mut stepped);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["method"], "roots/list");
    let roots = json!({ "roots": [{ "uri": "file:///a" }] });
    assert!(stepped.send(&answer(&asked[0]["id"], &roots)).is_empty());
    stepped.connection().poll_job().unwrap().run();
    let done = json!([legacy_result(2, &json!({})), legacy_result(1, &text("1"))]);
    assert_eq!(stepped.completed(), [done]);
}

#[test]
fn in_a_batch_a_question_that_is_not_answered_is_taken_back_by_itself() {
    let limits = Limits {
        ask_ms_max: 500,
        ..Limits::default()
    };
    let mut stepped = Stepped::new(counting().limits(limits));
    let asked = counted_in_a_batch(&mut stepped);
    let told = stepped.pass_ms(500);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0]["method"], "notifications/cancelled");
    assert_eq!(told[0]["params"]["requestId"], asked[0]["id"]);
    assert_eq!(told[1][0], legacy_result(2, &json!({})));
    assert_eq!(told[1][1]["result"]["isError"], true);
}

#[test]
fn in_a_batch_a_question_for_which_there_is_no_room_fails_its_call_alone() {
    let limits = Limits {
        held_bytes_max: 0,
        ..Limits::default()
    };
    let mut stepped = Stepped::new(counting().limits(limits));
    let told = counted_in_a_batch(&mut stepped);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0][0], legacy_result(2, &json!({})));
    assert_eq!(told[0][1]["id"], 1);
    assert_eq!(told[0][1]["result"]["isError"], true);
}

/// The ids of questions can be guessed.
#[test]
fn in_a_batch_a_call_is_answered_whose_question_the_same_batch_answers() {
    let mut stepped = Stepped::new(counting_inline());
    stepped.send(&opening("2025-03-26", &json!({ "roots": {} })));
    stepped.send(INITIALIZED);
    let call = legacy(1, "tools/call", &json!({ "name": "count" }));
    for (id, guess_first) in [(1, false), (2, true)] {
        let guessed = answer(&json!(id), &json!({ "roots": [{ "uri": "file:///a" }] }));
        let lines = if guess_first {
            [&*guessed, &*call]
        } else {
            [&*call, &*guessed]
        };
        let told = stepped.send(&batch(&lines));
        let last = told.last().expect("an answer").clone();
        assert_eq!(last, json!([legacy_result(1, &text("1"))]));
        assert_eq!(stepped.connection().in_flight(), 0);
    }
}

#[test]
fn in_a_batch_what_is_taken_back_was_asked_before() {
    let mut stepped = Stepped::new(counting_inline());
    stepped.send(&opening("2025-03-26", &json!({ "roots": {} })));
    stepped.send(INITIALIZED);
    let call = legacy(1, "tools/call", &json!({ "name": "count" }));
    let told = stepped.send(&batch(&[&call, &cancelled(1)]));
    let methods: Vec<&Value> = told.iter().map(|told| &told["method"]).collect();
    assert_eq!(methods, ["roots/list", "notifications/cancelled"]);
    assert_eq!(told[1]["params"]["requestId"], told[0]["id"]);
}

/// Specification: 2025-11-25, `basic/lifecycle`, Initialization: no requests but pings before
/// `notifications/initialized`.
#[test]
fn a_client_that_is_not_initialized_is_not_asked() {
    let call = legacy(1, "tools/call", &json!({ "name": "count" }));
    let refused = "the client cannot be asked before it has sent `notifications/initialized`";
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut pair = Pair::new(counting_inline());
        // What comes before the handshake opens nothing.
        assert!(pair.send(INITIALIZED).is_empty());
        pair.ask(&opening(version, &json!({ "roots": {} })));
        let answer = pair.ask(&call);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert_eq!(answer["result"]["content"][0]["text"], refused);
        assert!(pair.send(INITIALIZED).is_empty());
        assert_eq!(pair.ask(&call)["method"], "roots/list");
    }
}
