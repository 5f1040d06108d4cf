//! URLs for the user to open: their ids, that they are complete, and calls that fail until they
//! were opened.
//!
//! Specification: 2025-11-25, `client/elicitation`; 2026-07-28, the same page.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};
use tightwire::{
    Ask, Call, Context, Elicitation, Handle, Inputs, IntoReply, Limits, Prompt, Reply, Resource,
    Server, TaskSupport, Tool, UrlElicitation,
};
use tightwire_tests::{
    Pair, Revision, legacy, legacy_result, modern, modern_meta, refusal, server, text,
};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn page(id: &str) -> UrlElicitation {
    UrlElicitation::new("Sign in", "https://example.com/connect").id(id)
}

/// Asks the user to open the page, and then has it be complete.
fn open(context: &Context<'_>) -> Result<String, Ask> {
    let inputs = Inputs::new().elicit_url_with("page", page("p-1"));
    let action = context.ask(inputs)?.elicited("page").action();
    context.elicitation_complete("p-2");
    context.elicitation_complete("p-1");
    context.elicitation_complete("p-1");
    Ok(action.to_owned())
}

/// Fails until the user has been at the page.
fn invoices(context: &Context<'_>, is_signed_in: &AtomicBool) -> Result<String, Ask> {
    if !is_signed_in.load(Ordering::Relaxed) {
        let other = UrlElicitation::new("Pay", "https://example.com/pay");
        let pages = [("page", page("p-1")), ("other", other)];
        let answers = context.require_urls(pages)?;
        return Ok(answers.elicited("page").action().to_owned());
    }
    Ok("two invoices".to_owned())
}

fn signing_in(is_signed_in: &Arc<AtomicBool>) -> Server {
    let tool = |name: &str| {
        let is_signed_in = Arc::clone(is_signed_in);
        Tool::new(name, move |call: Call<'_>, reply: Reply<'_>| {
            invoices(call.context(), &is_signed_in).reply(reply);
        })
        .task(TaskSupport::Optional)
    };
    let (in_prompt, in_resource) = (Arc::clone(is_signed_in), Arc::clone(is_signed_in));
    server()
        .tool(tool("invoices"))
        .tool(tool("invoices-blocking").blocking())
        .prompt(Prompt::new(
            "invoices",
            move |prompt, reply| match invoices(prompt.context(), &in_prompt) {
                Ok(text) => reply.user_text(text),
                Err(ask) => reply.protocol_error(&ask.into()),
            },
        ))
        .resource(Resource::new(
            "x://invoices",
            "invoices",
            move |read, reply| match invoices(read.context(), &in_resource) {
                Ok(text) => reply.text(text),
                Err(ask) => reply.protocol_error(&ask.into()),
            },
        ))
}

fn opening() -> Server {
    let tool = Tool::new("open", |call: Call<'_>, reply: Reply<'_>| {
        open(call.context()).reply(reply);
    })
    .task(TaskSupport::Optional);
    let blocking = Tool::new("open-blocking", |call: Call<'_>, reply: Reply<'_>| {
        open(call.context()).reply(reply);
    })
    .task(TaskSupport::Optional);
    server().tool(tool).tool(blocking.blocking())
}

/// Opens a session of a client that can be asked in these ways.
fn opened(mut pair: Pair, version: &str, elicitation: &Value) -> Pair {
    let client = json!({ "name": "tests", "version": "1" });
    let params = json!({
        "protocolVersion": version,
        "capabilities": { "elicitation": elicitation },
        "clientInfo": client,
    });
    pair.ask(&legacy("init", "initialize", &params));
    pair.send(INITIALIZED);
    pair
}

fn session(server: Server) -> Pair {
    opened(Pair::new(server), "2025-11-25", &json!({ "url": {} }))
}

fn call(id: u64, name: &str) -> String {
    legacy(id, "tools/call", &json!({ "name": name }))
}

fn modern_call(id: u64, name: &str, responses: &Value) -> String {
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": { "url": {} } });
    let params = json!({ "name": name, "_meta": meta, "inputResponses": responses });
    modern(id, "tools/call", params)
}

fn accept(asked: &Value) -> String {
    let accepted = json!({ "action": "accept" });
    json!({ "jsonrpc": "2.0", "id": asked["id"], "result": accepted }).to_string()
}

fn complete(id: &str) -> Value {
    let method = "notifications/elicitation/complete";
    json!({ "jsonrpc": "2.0", "method": method, "params": { "elicitationId": id } })
}

/// Makes a task of a call, and waits for its result under the id 2: what comes of that.
fn wait_for_task(pair: &mut Pair, name: &str) -> Vec<Value> {
    let params = json!({ "name": name, "task": {} });
    let mut lines = pair.send(&legacy(1, "tools/call", &params));
    let task = &lines.remove(0)["result"]["task"]["taskId"];
    lines.extend(pair.send(&legacy(2, "tasks/result", &json!({ "taskId": task }))));
    lines
}

/// The next that is not told of a task's status.
fn after_status(pair: &mut Pair, lines: &mut Vec<Value>) -> Value {
    loop {
        if lines.is_empty() {
            lines.push(pair.wait());
        }
        let line = lines.remove(0);
        if line["method"] != "notifications/tasks/status" {
            return line;
        }
    }
}

/// All that comes within a while.
fn all(pair: &mut Pair, mut lines: Vec<Value>, count: usize) -> Vec<Value> {
    while lines.len() < count {
        lines.push(pair.wait());
    }
    lines.extend(pair.poll());
    assert_eq!(lines.len(), count, "{lines:?}");
    lines
}

#[test]
fn an_author_gives_a_page_an_id_and_tells_that_it_is_complete_once() {
    for name in ["open", "open-blocking"] {
        let mut pair = session(opening());
        let lines = pair.send(&call(1, name));
        let asked = all(&mut pair, lines, 1).remove(0);
        assert_eq!(
            asked["params"],
            json!({
                "mode": "url",
                "message": "Sign in",
                "url": "https://example.com/connect",
                "elicitationId": "p-1",
            })
        );
        let lines = pair.send(&accept(&asked));
        let mut lines = all(&mut pair, lines, 2);
        lines.sort_by_key(|line| line["id"].is_null());
        assert_eq!(lines, [legacy_result(1, &text("accept")), complete("p-1")]);
    }
}

#[test]
fn other_revisions_have_neither_the_id_nor_the_notification() {
    let mut pair = Pair::new(opening());
    let asked = pair.ask(&modern_call(1, "open", &json!({})));
    let params = &asked["result"]["inputRequests"]["page"]["params"];
    assert_eq!(
        *params,
        json!({ "mode": "url", "message": "Sign in", "url": "https://example.com/connect" })
    );
    let responses = json!({ "page": { "action": "accept" } });
    let answer = pair.ask(&modern_call(2, "open", &responses));
    assert_eq!(answer["result"]["content"][0]["text"], "accept");
    assert_eq!(pair.poll(), Vec::<Value>::new());
}

#[test]
fn a_handle_tells_the_session_that_was_asked_and_no_other() {
    let mut server = opening();
    let handle = server.handle();
    let frozen = server.freeze().unwrap();
    let by_url = json!({ "url": {} });
    let connect = |version: &str| opened(Pair::connect(&frozen), version, &by_url);
    let mut asked = connect("2025-11-25");
    let mut others = [
        connect("2025-11-25"),
        connect("2025-06-18"),
        Pair::connect(&frozen),
    ];
    for pair in &mut others[1..] {
        let line = pair.ask(&modern_call(1, "open", &json!({})));
        assert_eq!(line["result"]["resultType"], "input_required");
    }
    handle.elicitation_complete("p-1");
    assert_eq!(asked.poll(), Vec::<Value>::new(), "nobody was asked yet");
    asked.ask(&call(1, "open"));
    handle.elicitation_complete("p-1");
    handle.elicitation_complete("p-2");
    assert_eq!(asked.wait(), complete("p-1"));
    handle.elicitation_complete("p-1");
    assert_eq!(asked.poll(), Vec::<Value>::new(), "it was told");
    for pair in &mut others {
        assert_eq!(pair.poll(), Vec::<Value>::new());
    }
    drop((frozen, asked, others));
    handle.elicitation_complete("p-1");
}

#[test]
fn a_call_fails_until_its_pages_were_opened() {
    let is_signed_in = Arc::default();
    let mut server = signing_in(&is_signed_in);
    let handle = server.handle();
    let mut pair = session(server);
    for (method, params) in [
        ("tools/call", json!({ "name": "invoices" })),
        ("tools/call", json!({ "name": "invoices-blocking" })),
        ("prompts/get", json!({ "name": "invoices" })),
        ("resources/read", json!({ "uri": "x://invoices" })),
    ] {
        let lines = pair.send(&legacy(1, method, &params));
        let refused = all(&mut pair, lines, 1).remove(0);
        assert_eq!(refused["error"]["code"], -32042, "{refused}");
        let pages = &refused["error"]["data"]["elicitations"];
        assert_eq!(
            pages[0],
            json!({
                "mode": "url",
                "message": "Sign in",
                "url": "https://example.com/connect",
                "elicitationId": "p-1",
            })
        );
        assert_eq!(pages[1]["message"], "Pay");
        assert!(pages[1]["elicitationId"].is_string());
        assert_eq!(pages.as_array().map(Vec::len), Some(2));
        handle.elicitation_complete("p-1");
        assert_eq!(pair.wait(), complete("p-1"));
    }
    is_signed_in.store(true, Ordering::Relaxed);
    let answer = pair.ask(&call(2, "invoices"));
    assert_eq!(answer, legacy_result(2, &text("two invoices")));
}

#[test]
fn what_a_task_asks_is_told_to_be_complete_by_a_handle() {
    for name in ["open", "open-blocking"] {
        let mut server = opening();
        let handle = server.handle();
        let mut pair = session(server);
        let mut lines = wait_for_task(&mut pair, name);
        let asked = after_status(&mut pair, &mut lines);
        assert_eq!(asked["params"]["elicitationId"], "p-1", "{asked}");
        handle.elicitation_complete("p-1");
        assert_eq!(after_status(&mut pair, &mut lines), complete("p-1"));
        handle.elicitation_complete("p-1");
        assert_eq!(pair.poll(), Vec::<Value>::new(), "it was told");
    }
}

#[test]
fn what_a_task_asks_is_told_to_be_complete_by_the_task() {
    for name in ["open", "open-blocking"] {
        let mut pair = session(opening());
        let mut lines = wait_for_task(&mut pair, name);
        let asked = after_status(&mut pair, &mut lines);
        lines.extend(pair.send(&accept(&asked)));
        let mut told = [(); 2].map(|()| after_status(&mut pair, &mut lines));
        told.sort_by_key(|line| line["id"].is_null());
        assert_eq!(told[0]["result"]["content"][0]["text"], "accept");
        assert_eq!(told[1], complete("p-1"));
    }
}

#[test]
fn a_task_fails_on_pages_that_are_told_to_be_complete() {
    for name in ["invoices", "invoices-blocking"] {
        let mut server = signing_in(&Arc::default());
        let handle = server.handle();
        let mut pair = session(server);
        let mut lines = wait_for_task(&mut pair, name);
        let refused = after_status(&mut pair, &mut lines);
        assert_eq!(refused["error"]["code"], -32042, "{refused}");
        handle.elicitation_complete("p-1");
        assert_eq!(after_status(&mut pair, &mut lines), complete("p-1"));
    }
}

#[test]
fn from_2026_07_28_on_such_a_call_asks() {
    let mut pair = Pair::new(signing_in(&Arc::default()));
    let asked = pair.ask(&modern_call(1, "invoices", &json!({})));
    assert_eq!(asked["result"]["resultType"], "input_required");
    let inputs = &asked["result"]["inputRequests"];
    assert_eq!(inputs["page"]["method"], "elicitation/create");
    assert_eq!(inputs["page"]["params"].get("elicitationId"), None);
    assert_eq!(inputs["other"]["params"]["message"], "Pay");
    let declined = json!({ "action": "decline" });
    let responses = json!({ "page": declined, "other": declined });
    let answer = pair.ask(&modern_call(2, "invoices", &responses));
    assert_eq!(answer["result"]["content"][0]["text"], "decline");
    let params = json!({ "name": "invoices", "_meta": modern_meta() });
    let refused = refusal(&pair.ask(&modern(3, "tools/call", params)));
    assert_eq!(refused.code, -32021);
}

#[test]
fn where_no_page_can_be_opened_such_a_call_is_an_error_of_the_tool() {
    for (version, elicitation, lacking) in [
        (
            "2025-11-25",
            json!({}),
            "the client does not support elicitation by URL",
        ),
        (
            "2025-06-18",
            json!({ "url": {} }),
            "revision 2025-06-18 has no elicitation by URL",
        ),
        (
            "2024-11-05",
            json!({ "url": {} }),
            "revision 2024-11-05 has no elicitation by URL",
        ),
    ] {
        let pair = Pair::new(signing_in(&Arc::default()));
        let mut pair = opened(pair, version, &elicitation);
        let answer = pair.ask(&call(1, "invoices"));
        assert_eq!(answer["result"]["isError"], true);
        assert_eq!(answer["result"]["content"][0]["text"], lacking);
    }
}

#[test]
fn no_page_is_none_to_be_opened() {
    let tool = Tool::new("none", |call: Call<'_>, reply: Reply<'_>| {
        let pages: [(&str, UrlElicitation); 0] = [];
        let asked = call.context().require_urls(pages);
        asked.map(|_| "served").reply(reply);
    });
    for mut revision in Revision::each(|| server().tool(tool.clone())) {
        let result = revision.result("tools/call", json!({ "name": "none" }));
        assert_eq!(result["content"][0]["text"], "served");
    }
}

#[test]
fn so_many_pages_are_remembered_and_no_more() {
    let ask = Tool::new("ask", |call: Call<'_>, reply: Reply<'_>| {
        let inputs = ["a", "b", "c"]
            .into_iter()
            .fold(Inputs::new(), |inputs, id| {
                inputs.elicit_url_with(id, page(id))
            });
        let form = Elicitation::form("Sure?");
        let asked = call.context().ask(inputs.elicit("form", form));
        asked.map(|_| "asked").reply(reply);
    });
    let limits = Limits {
        elicitations_max: 2,
        ..Limits::default()
    };
    let mut server = server().limits(limits).tool(ask);
    let handle: Handle = server.handle();
    let both = json!({ "form": {}, "url": {} });
    let mut pair = opened(Pair::new(server), "2025-11-25", &both);
    assert_eq!(pair.send(&call(1, "ask")).len(), 4);
    for id in ["a", "b", "c"] {
        handle.elicitation_complete(id);
    }
    let mut told = Vec::new();
    while told.len() < 2 {
        told.extend(pair.poll());
    }
    assert_eq!(told, [complete("b"), complete("c")]);
    assert_eq!(pair.poll(), Vec::<Value>::new());
}
