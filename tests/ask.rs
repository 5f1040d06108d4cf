//! Asking the client back: one handler, in every revision.
//!
//! Specification: 2026-07-28, `basic/patterns/mrtr`, `client/elicitation`, `client/sampling`,
//! `client/roots`; 2025-11-25, the same pages of `client`.

use std::time::Duration;

use serde_json::{Value, json};
use tightwire::{
    Ask, Call, ClientCapabilities, Context, Elicitation, Elicited, Field, Inputs, IntoReply,
    Limits, Prompt, Reply, Resource, RpcError, Sampling, Server, Tool,
};
use tightwire_tests::{
    Pair, Stepped, cancelled, legacy, legacy_result, modern, modern_meta, modern_result, refusal,
    server, text,
};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

const META: &str = "io.modelcontextprotocol/clientCapabilities";

/// Asks for a name, and then for a color, keeping a count of the rounds.
fn greet(context: &Context<'_>) -> Result<String, Ask> {
    let name = Elicitation::form("Who are you?").field("name", Field::text().required());
    let answers = context.ask(Inputs::new().elicit("name", name))?;
    Ok(match answers.elicited("name") {
        Elicited::Accepted(form) => {
            let name = form.find("name").and_then(|name| name.as_str());
            format!("Hello, {}!", name.unwrap_or_default())
        }
        other => format!("No name: {}", other.action()),
    })
}

fn paint(context: &Context<'_>) -> Result<String, Ask> {
    let rounds = context.state().map_or(0, str::len);
    context.keep("x".repeat(rounds + 1));
    let what = Elicitation::form("What?").field("thing", Field::text().required());
    let first = context.ask(Inputs::new().elicit("what", what))?;
    let color = Elicitation::form("Which color?").field("color", Field::choice(["red", "blue"]));
    let second = context.ask(Inputs::new().elicit("color", color))?;
    let read = |answer: Elicited<'_>, name: &str| {
        let value = answer
            .content()
            .and_then(|content| content.find(name)?.as_str());
        value.unwrap_or("nothing").to_owned()
    };
    let thing = read(first.elicited("what"), "thing");
    let color = read(second.elicited("color"), "color");
    Ok(format!("{color} {thing} after {rounds} rounds"))
}

fn everything(context: &Context<'_>) -> Result<String, Ask> {
    let form = Elicitation::form("Sure?").field("sure", Field::boolean().required());
    let answers = context.ask(
        Inputs::new()
            .elicit("sure", form)
            .sample("poem", Sampling::new(100).user("A poem, please."))
            .roots("roots"),
    )?;
    let roots: Vec<&str> = answers.roots("roots").map(|(uri, _)| uri).collect();
    let poem = answers.sampled("poem");
    Ok(format!(
        "{} {} by {} in {roots:?}",
        answers.elicited("sure").action(),
        poem.text().unwrap_or_default(),
        poem.model(),
    ))
}

fn tool(name: &str, function: fn(&Context<'_>) -> Result<String, Ask>) -> Tool {
    Tool::new(name, move |call: Call<'_>, reply: Reply<'_>| {
        function(call.context()).reply(reply);
    })
}

fn asking() -> Server {
    server()
        .tool(tool("greet", greet))
        .tool(tool("paint", paint))
        .tool(tool("everything", everything))
        .tool(tool("greet-blocking", greet).blocking())
        .prompt(Prompt::new("greeting", |prompt, reply| {
            match greet(prompt.context()) {
                Ok(text) => reply.user_text(text),
                Err(ask) => reply.protocol_error(&ask.into()),
            }
        }))
        .resource(Resource::new(
            "pair://asked",
            "asked",
            |read, reply| match greet(read.context()) {
                Ok(text) => reply.text(text),
                Err(ask) => reply.protocol_error(&RpcError::from(ask)),
            },
        ))
        .state_key([7; 32])
}

/// A modern request of a client that can do all of it.
fn request(id: u64, method: &str, params: &Value, more: &Value) -> String {
    let mut meta = modern_meta();
    meta[META] = json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} });
    let mut params = params.clone();
    params["_meta"] = meta;
    for (key, value) in more.as_object().into_iter().flatten() {
        params[key] = value.clone();
    }
    modern(id, method, params)
}

fn call(id: u64, name: &str, more: &Value) -> String {
    request(id, "tools/call", &json!({ "name": name }), more)
}

fn accept(content: &Value) -> Value {
    json!({ "action": "accept", "content": content })
}

/// A session whose client can do all of it.
fn session(server: Server, version: &str) -> Pair {
    let mut pair = Pair::new(server);
    let capabilities = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
    let client = json!({ "name": "tests", "version": "1" });
    let params = json!({
        "protocolVersion": version, "capabilities": capabilities, "clientInfo": client
    });
    pair.ask(&legacy("init", "initialize", &params));
    pair.send(INITIALIZED);
    pair
}

fn answer(id: &Value, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

#[test]
fn the_first_round_asks_and_the_second_answers_without_any_state() {
    let mut pair = Pair::new(asking());
    let form = json!({
        "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"]
    });
    let asked = json!({ "name": {
        "method": "elicitation/create",
        "params": { "mode": "form", "message": "Who are you?", "requestedSchema": form }
    }});
    let mut expected = modern_result(1, json!({ "inputRequests": asked }));
    expected["result"]["resultType"] = json!("input_required");
    assert_eq!(pair.ask(&call(1, "greet", &json!({}))), expected);

    for (answer, said) in [
        (accept(&json!({ "name": "Ada" })), "Hello, Ada!"),
        (json!({ "action": "decline" }), "No name: decline"),
        (json!({ "action": "cancel" }), "No name: cancel"),
    ] {
        // What is not known here is ignored.
        let responses = json!({ "inputResponses": { "name": answer, "other": 5 } });
        let answer = pair.ask(&call(2, "greet", &responses));
        assert_eq!(answer, modern_result(2, text(said)));
    }
}

#[test]
fn prompts_resources_and_blocking_tools_ask_as_well() {
    let mut pair = Pair::new(asking());
    let given = json!({ "inputResponses": { "name": accept(&json!({ "name": "Ada" })) } });
    // At once, or from a thread.
    let ask = |pair: &mut Pair, line: &str| pair.send(line).pop().unwrap_or_else(|| pair.wait());
    for (method, params) in [
        ("tools/call", json!({ "name": "greet-blocking" })),
        ("prompts/get", json!({ "name": "greeting" })),
        ("resources/read", json!({ "uri": "pair://asked" })),
    ] {
        let asked = ask(&mut pair, &request(1, method, &params, &json!({})));
        let result = &asked["result"];
        assert_eq!(asked["id"], 1, "{method}");
        assert_eq!(result["resultType"], "input_required", "{method}");
        let requests = result["inputRequests"].as_object().unwrap();
        let methods: Vec<_> = requests
            .iter()
            .map(|(key, asked)| (&**key, &asked["method"]))
            .collect();
        assert_eq!(
            methods,
            [("name", &json!("elicitation/create"))],
            "{method}"
        );
        let told = ask(&mut pair, &request(2, method, &params, &given));
        assert_eq!(told["id"], 2, "{method}");
        assert!(told.to_string().contains("Hello, Ada!"), "{told:?}");
    }
    for (method, params) in [
        ("prompts/get", json!({ "name": "greeting" })),
        ("resources/read", json!({ "uri": "pair://asked" })),
    ] {
        let asked = pair.ask(&request(1, method, &params, &json!({})));
        assert_eq!(asked["result"]["resultType"], "input_required");
        assert!(asked["result"].get("ttlMs").is_none(), "not cacheable");
    }
}

#[test]
fn what_was_answered_before_is_known_in_later_rounds() {
    let mut pair = Pair::new(asking());
    let first = pair.ask(&call(1, "paint", &json!({})))["result"].clone();
    let keys = |asked: &Value| -> Vec<String> {
        let requests = asked["inputRequests"].as_object().unwrap();
        requests.keys().cloned().collect()
    };
    assert_eq!(keys(&first), ["what"]);
    let second = pair.ask(&call(
        2,
        "paint",
        &json!({
            "inputResponses": { "what": accept(&json!({ "thing": "door" })) },
            "requestState": first["requestState"],
        }),
    ))["result"]
        .clone();
    assert_eq!(keys(&second), ["color"]);
    assert_ne!(first["requestState"], second["requestState"]);
    let third = call(
        3,
        "paint",
        &json!({
            "inputResponses": { "color": accept(&json!({ "color": "red" })) },
            "requestState": second["requestState"],
        }),
    );
    let done = modern_result(3, text("red door after 2 rounds"));
    assert_eq!(pair.ask(&third), done);
    // Another process with the same key knows it too.
    assert_eq!(Pair::new(asking()).ask(&third), done);
    // One with another key does not.
    let other = Pair::new(asking().state_key([8; 32])).ask(&third);
    assert_eq!(refusal(&other).head(), (Some(json!(3)), -32602));
}

#[test]
fn a_state_outlives_a_change_of_the_server() {
    let mut server = asking();
    let handle = server.handle();
    let mut pair = Pair::new(server);
    let first = pair.ask(&call(1, "paint", &json!({})))["result"].clone();
    assert!(handle.remove_tool("greet").unwrap());
    let more = json!({
        "inputResponses": { "what": accept(&json!({ "thing": "door" })) },
        "requestState": first["requestState"],
    });
    let second = pair.ask(&call(2, "paint", &more));
    assert_eq!(second["result"]["resultType"], "input_required", "{second}");
}

#[test]
fn a_state_is_good_for_its_own_request_alone_and_for_a_time() {
    let limits = Limits {
        state_ms_max: 1000,
        ..Limits::default()
    };
    let mut stepped = Stepped::new(asking().limits(limits));
    let given = |id: u64, name: &str, arguments: &Value, state: &Value| {
        let params = json!({ "name": name, "arguments": arguments });
        let responses = json!({ "what": accept(&json!({ "thing": "door" })) });
        let more = json!({ "inputResponses": responses, "requestState": state });
        request(id, "tools/call", &params, &more)
    };
    let params = json!({ "name": "paint", "arguments": { "a": 1, "b": [2.0] } });
    let asked = stepped
        .send(&request(1, "tools/call", &params, &json!({})))
        .remove(0);
    let state = &asked["result"]["requestState"];
    let same = json!({ "b": [2], "a": 1.0 });
    let text = state.as_str().unwrap();
    for (name, arguments, state, right) in [
        ("paint", same.clone(), json!(text), true),
        ("paint", json!({ "a": 2, "b": [2.0] }), json!(text), false),
        ("paint", json!({}), json!(text), false),
        ("greet", same.clone(), json!(text), false),
        (
            "paint",
            same.clone(),
            json!(format!("{text}-TAMPERED")),
            false,
        ),
        ("paint", same.clone(), json!(text[1..]), false),
        ("paint", same.clone(), json!(""), false),
        ("paint", same.clone(), json!(5), false),
        ("paint", same.clone(), json!(null), false),
    ] {
        let answer = stepped.send(&given(2, name, &arguments, &state)).remove(0);
        if right {
            assert_eq!(answer["result"]["resultType"], "input_required");
        } else {
            let refusal = refusal(&answer);
            assert_eq!(refusal.code, -32602, "{name} {arguments} {state}");
            assert!(refusal.message.contains("requestState"), "{refusal:?}");
        }
    }
    stepped.pass_ms(999);
    let answer = stepped.send(&given(3, "paint", &same, state)).remove(0);
    assert_eq!(answer["result"]["resultType"], "input_required");
    stepped.pass_ms(1);
    let answer = stepped.send(&given(4, "paint", &same, state)).remove(0);
    assert!(refusal(&answer).message.contains("expired"));
}

#[test]
fn arguments_that_are_left_out_are_none_to_a_state() {
    let mut pair = Pair::new(asking());
    let given = json!({ "what": accept(&json!({ "thing": "door" })) });
    for [first, second] in [
        [json!({}), json!({ "arguments": {} })],
        [json!({ "arguments": {} }), json!({})],
    ] {
        let asked = pair.ask(&call(1, "paint", &first));
        let mut more = second;
        more["requestState"] = asked["result"]["requestState"].clone();
        more["inputResponses"] = given.clone();
        let answer = pair.ask(&call(2, "paint", &more));
        assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    }
}

#[test]
fn several_things_are_asked_for_at_once_and_what_is_missing_again() {
    let mut pair = Pair::new(asking());
    let asked = pair.ask(&call(1, "everything", &json!({})))["result"].clone();
    let requests = &asked["inputRequests"];
    assert_eq!(requests["sure"]["method"], "elicitation/create");
    assert_eq!(
        requests["roots"],
        json!({ "method": "roots/list", "params": {} })
    );
    let message =
        json!({ "role": "user", "content": { "type": "text", "text": "A poem, please." } });
    assert_eq!(
        requests["poem"],
        json!({
            "method": "sampling/createMessage",
            "params": { "messages": [message], "maxTokens": 100 }
        })
    );
    let poem = json!({
        "role": "assistant", "model": "m", "content": [{ "type": "text", "text": "Ha." }]
    });
    let sure = accept(&json!({ "sure": true }));
    let some = json!({ "inputResponses": { "poem": poem, "sure": sure } });
    let asked = pair.ask(&call(2, "everything", &some))["result"].clone();
    let left = asked["inputRequests"].as_object().unwrap();
    assert_eq!(left.keys().collect::<Vec<_>>(), ["roots"]);
    let rest = json!({
        "inputResponses": { "roots": { "roots": [{ "uri": "file:///a" }] } },
        "requestState": asked["requestState"],
    });
    let done = pair.ask(&call(3, "everything", &rest));
    assert_eq!(
        done,
        modern_result(3, text(r#"accept Ha. by m in ["file:///a"]"#))
    );
}

#[test]
fn an_answer_that_is_none_is_refused_and_says_what_to_mend() {
    let mut pair = Pair::new(asking());
    for (given, told) in [
        (json!(null), "inputResponses must be an object"),
        (json!([]), "inputResponses must be an object"),
        (json!("x"), "inputResponses must be an object"),
        (
            json!({ "name": 12345 }),
            "inputResponses[`name`] must be an object",
        ),
        (
            json!({ "name": {} }),
            ".action must be one of accept, decline, cancel",
        ),
        (
            json!({ "name": { "action": "yes" } }),
            ".action must be one of",
        ),
        (
            json!({ "name": { "action": "accept" } }),
            ".content does not fit",
        ),
        (
            json!({ "name": accept(&json!({ "name": 5 })) }),
            ".content does not fit",
        ),
        (
            json!({ "name": accept(&json!([])) }),
            ".content must be an object",
        ),
    ] {
        let answer = pair.ask(&call(1, "greet", &json!({ "inputResponses": given })));
        let refusal = refusal(&answer);
        assert_eq!(refusal.code, -32602, "{given}");
        assert!(refusal.message.contains(told), "{given}: {refusal:?}");
    }
    // Under another name it is no answer to what was asked.
    let given = json!({ "inputResponses": { "nom": accept(&json!({ "name": "Ada" })) } });
    let answer = pair.ask(&call(2, "greet", &given));
    assert_eq!(answer["result"]["resultType"], "input_required");
    // Other requests do not look at it.
    let given = json!({ "inputResponses": { "name": accept(&json!({ "name": "Ada" })) } });
    let answer = pair.ask(&request(3, "tools/list", &json!({}), &given));
    assert!(answer["result"]["tools"].is_array());
}

#[test]
fn a_client_is_not_asked_for_what_it_cannot_do() {
    let mut pair = Pair::new(asking());
    for (capabilities, tool, missing) in [
        (json!({}), "greet", json!({ "elicitation": { "form": {} } })),
        (
            json!({ "elicitation": { "url": {} } }),
            "greet",
            json!({ "elicitation": { "form": {} } }),
        ),
        (
            json!({ "elicitation": {} }),
            "everything",
            json!({ "sampling": {}, "roots": {} }),
        ),
    ] {
        let mut meta = modern_meta();
        meta[META] = capabilities;
        let params = json!({ "name": tool, "_meta": meta });
        let refusal = refusal(&pair.ask(&modern(1, "tools/call", params)));
        assert_eq!(refusal.code, -32021);
        assert_eq!(
            refusal.data,
            Some(json!({ "requiredCapabilities": missing }))
        );
    }
    // In a session it is an error of the tool.
    let mut pair = Pair::session(asking(), "2025-11-25");
    let answer = pair.ask(&legacy(1, "tools/call", &json!({ "name": "greet" })));
    assert_eq!(answer["result"]["isError"], true);
    let said = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("does not support elicitation"), "{said}");
    for version in ["2025-03-26", "2024-11-05"] {
        let mut pair = session(asking(), version);
        let answer = pair.ask(&legacy(1, "tools/call", &json!({ "name": "greet" })));
        let said = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(said.contains("has no elicitation"), "{said}");
    }
}

#[test]
fn a_handler_may_require_capabilities_without_asking() {
    let needy = Tool::new("needy", |call: Call<'_>, reply: Reply<'_>| {
        let mut needed = ClientCapabilities::default();
        needed.sampling = true;
        let done = call.context().require(needed).map(|()| "done");
        done.reply(reply);
    });
    let mut pair = Pair::new(server().tool(needy));
    let missing = refusal(&pair.ask(&modern(1, "tools/call", json!({ "name": "needy" }))));
    assert_eq!(missing.code, -32021);
    assert_eq!(
        pair.ask(&call(2, "needy", &json!({}))),
        modern_result(2, text("done"))
    );
}

#[test]
fn in_a_session_the_client_gets_requests_and_the_call_is_served_again() {
    for version in ["2025-11-25", "2025-06-18"] {
        let mut pair = session(asking(), version);
        let mut asked = pair.send(&legacy("c", "tools/call", &json!({ "name": "everything" })));
        assert_eq!(asked.len(), 3);
        let modes: Vec<bool> = asked
            .iter()
            .map(|a| a["params"]["mode"].is_string())
            .collect();
        assert_eq!(modes, [version == "2025-11-25", false, false]);
        asked.sort_by_key(|asked| asked["method"].to_string());
        let [sure, roots, poem] = [0, 1, 2].map(|at| asked[at].clone());
        let given = json!({ "roots": [{ "uri": "file:///a", "name": "A" }] });
        assert!(pair.send(&answer(&roots["id"], &given)).is_empty());
        // Twice, and to nothing that was asked: both are ignored.
        assert!(
            pair.send(&answer(&roots["id"], &json!({ "roots": 5 })))
                .is_empty()
        );
        assert!(pair.send(&answer(&json!(99), &json!({}))).is_empty());
        assert!(pair.send(&answer(&json!("1"), &json!({}))).is_empty());
        let given = json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "Ha." } });
        assert!(pair.send(&answer(&poem["id"], &given)).is_empty());
        let done = pair.ask(&answer(&sure["id"], &accept(&json!({ "sure": true }))));
        let said = text(r#"accept Ha. by m in ["file:///a"]"#);
        assert_eq!(done, legacy_result("c", &said));
        assert_eq!(pair.memory().in_flight(), 0);
    }
}

/// Whether it has to ask is what a handler finds out before it hands the call over.
#[test]
fn what_was_asked_before_an_answer_was_put_off_is_asked_with_it() {
    let late = || {
        let deferred = Tool::new("deferred", |call: Call<'_>, reply: Reply<'_>| {
            let greeting = greet(call.context());
            let ticket = reply.defer();
            // Put off once more.
            ticket.answer(|reply| reply.defer().answer(|reply| greeting.reply(reply)));
        });
        // The question may also turn up when the call is handed over already.
        let handed_over = Tool::new("handed over", |call: Call<'_>, reply: Reply<'_>| {
            let ticket = reply.defer();
            let greeting = greet(call.context());
            ticket.answer(|reply| greeting.reply(reply));
        });
        // A ticket that is dropped answers as a reply does.
        let dropped = Tool::new("dropped", |call: Call<'_>, reply: Reply<'_>| {
            let ticket = reply.defer();
            if let Ok(greeting) = greet(call.context()) {
                ticket.answer(|reply| reply.text(&greeting));
            }
        });
        let blocking = Tool::new("blocking", |call: Call<'_>, reply: Reply<'_>| {
            let ticket = reply.defer();
            let greeting = greet(call.context());
            ticket.answer(|reply| greeting.reply(reply));
        })
        .blocking();
        let delayed = Tool::new("delayed", |call: Call<'_>, reply: Reply<'_>| {
            let greeting = greet(call.context());
            reply.after(Duration::from_millis(1), |reply| greeting.reply(reply));
        });
        let server = server().tool(deferred).tool(handed_over).tool(dropped);
        server.tool(blocking).tool(delayed)
    };
    // Now, or in a moment.
    let tell = |pair: &mut Pair, line: &str| pair.send(line).pop().unwrap_or_else(|| pair.wait());
    let given = accept(&json!({ "name": "Ada" }));
    for name in ["deferred", "handed over", "dropped", "blocking", "delayed"] {
        let mut pair = Pair::new(late());
        let asked = tell(&mut pair, &call(1, name, &json!({})));
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        let more = json!({ "inputResponses": { "name": given } });
        let done = tell(&mut pair, &call(2, name, &more));
        assert_eq!(done, modern_result(2, text("Hello, Ada!")));
        let mut pair = session(late(), "2025-11-25");
        let params = json!({ "name": name });
        let asked = tell(&mut pair, &legacy(1, "tools/call", &params));
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let done = tell(&mut pair, &answer(&asked["id"], &given));
        assert_eq!(done, legacy_result(1, &text("Hello, Ada!")));
    }
}

#[test]
fn in_a_session_several_rounds_keep_what_is_known() {
    let mut pair = session(asking(), "2025-11-25");
    let first = pair.ask(&legacy(1, "tools/call", &json!({ "name": "paint" })));
    let given = accept(&json!({ "thing": "door" }));
    let second = pair.ask(&answer(&first["id"], &given));
    assert_ne!(first["id"], second["id"]);
    assert_eq!(second["params"]["message"], "Which color?");
    let done = pair.ask(&answer(&second["id"], &accept(&json!({ "color": "blue" }))));
    assert_eq!(done, legacy_result(1, &text("blue door after 2 rounds")));
}

#[test]
fn in_a_session_blocking_tools_prompts_and_resources_ask_too() {
    let mut pair = session(asking(), "2025-11-25");
    for (method, params) in [
        ("tools/call", json!({ "name": "greet-blocking" })),
        ("prompts/get", json!({ "name": "greeting" })),
        ("resources/read", json!({ "uri": "pair://asked" })),
    ] {
        let mut lines = pair.send(&legacy(1, method, &params));
        lines.extend(pair.poll());
        let given = accept(&json!({ "name": "Ada" }));
        let mut told = pair.send(&answer(&lines[0]["id"], &given));
        told.extend(pair.poll());
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0]["result"].to_string().contains("Hello, Ada!"),
            "{told:?}"
        );
    }
}

#[test]
fn in_a_session_what_the_client_refuses_or_gets_wrong_is_an_error_of_the_tool() {
    let mut pair = session(asking(), "2025-11-25");
    let asked = pair.ask(&legacy(1, "tools/call", &json!({ "name": "greet" })));
    let error = json!({ "code": -1, "message": "User rejected it" });
    let refused = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }).to_string();
    let told = pair.ask(&refused);
    assert_eq!(told["result"]["isError"], true);
    let said = told["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        said.contains("elicitation/create") && said.contains("User rejected it"),
        "{said}"
    );

    let asked = pair.ask(&legacy(2, "tools/call", &json!({ "name": "greet" })));
    let told = pair.ask(&answer(&asked["id"], &accept(&json!({ "name": 5 }))));
    assert_eq!(told["result"]["isError"], true);

    let asked = pair.ask(&legacy(3, "prompts/get", &json!({ "name": "greeting" })));
    let refused = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }).to_string();
    assert_eq!(
        refusal(&pair.ask(&refused)).head(),
        (Some(json!(3)), -32603)
    );
}

#[test]
fn in_a_session_a_call_that_is_cancelled_takes_its_questions_back() {
    let mut pair = session(asking(), "2025-11-25");
    let asked = pair.ask(&legacy(1, "tools/call", &json!({ "name": "greet" })));
    let taken_back = pair.ask(&cancelled(1));
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], asked["id"]);
    assert_eq!(pair.memory().in_flight(), 0);
    let late = answer(&asked["id"], &accept(&json!({ "name": "Ada" })));
    assert!(pair.send(&late).is_empty());
}

#[test]
fn in_a_session_a_client_that_does_not_answer_is_waited_for_only_so_long() {
    let limits = Limits {
        ask_ms_max: 500,
        ..Limits::default()
    };
    let mut stepped = Stepped::new(asking().limits(limits));
    let capabilities = json!({ "elicitation": {} });
    let client = json!({ "name": "tests", "version": "1" });
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client
    });
    stepped.send(&legacy("init", "initialize", &params));
    stepped.send(INITIALIZED);
    stepped.send(&legacy(1, "tools/call", &json!({ "name": "greet" })));
    assert_eq!(stepped.due_in_ms(), Some(500));
    let told = stepped.pass_ms(500);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0]["method"], "notifications/cancelled");
    assert_eq!(told[1]["id"], 1);
    assert_eq!(told[1]["result"]["isError"], true);
    assert!(told[1].to_string().contains("500 ms"), "{told:?}");
}

#[test]
fn a_legacy_client_cannot_bring_answers_that_were_not_asked_for() {
    let mut pair = session(asking(), "2025-11-25");
    let given = json!({ "name": accept(&json!({ "name": "Ada" })) });
    let params = json!({ "name": "greet", "inputResponses": given, "requestState": 5 });
    let asked = pair.ask(&legacy(1, "tools/call", &params));
    assert_eq!(asked["method"], "elicitation/create");
}

#[test]
fn an_error_after_an_ask_that_was_answered_is_an_error_of_the_tool() {
    let failing = Tool::new("failing", |call: Call<'_>, reply: Reply<'_>| {
        let greeted = greet(call.context()).map_err(String::from);
        greeted
            .and_then(|_| Err::<(), _>("but no".to_owned()))
            .reply(reply);
    });
    let dropping = Tool::new("dropping", |call: Call<'_>, reply: Reply<'_>| {
        // It returns without a word: that it has asked is enough.
        if greet(call.context()).is_ok() {
            reply.text("greeted");
        }
    });
    let mut pair = Pair::new(server().tool(failing).tool(dropping));
    for name in ["failing", "dropping"] {
        let asked = pair.ask(&call(1, name, &json!({})));
        assert_eq!(asked["result"]["resultType"], "input_required");
    }
    let given = json!({ "inputResponses": { "name": accept(&json!({ "name": "Ada" })) } });
    let answer = pair.ask(&call(2, "failing", &given));
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"]["content"][0]["text"], "but no");
}
