//! Handlers that misbehave: what gives no answer is answered for, and a panic costs its own call.
//!
//! Specification: <https://www.jsonrpc.org/specification#response_object>: every request is
//! answered; -32603 is an internal error.

use std::{thread, time::Duration};

use serde_json::{Value, json};
use tightwire::{Call, Prompt, Reply, Resource, ResourceTemplate, Server, Tool};
use tightwire_tests::{Held, Pair, call, modern, modern_result, refusal, server, text};

const NOTHING: Vec<Value> = Vec::new();

fn ask(id: impl Into<Value>, tool: &str) -> String {
    modern(id, "tools/call", json!({ "name": tool }))
}

fn tool(name: &str, handler: impl Fn(Call<'_>, Reply<'_>) + Send + Sync + 'static) -> Tool {
    Tool::new(name, handler)
}

/// The server lives: it answers the next call.
fn lives(pair: &mut Pair) {
    let answer = pair.ask(&call("next", "echo", &json!({ "message": "hi" })));
    assert_eq!(answer, modern_result("next", text("hi")));
}

/// Tools that give no answer, one for each way not to.
fn silent() -> Server {
    server()
        .tool(tool("drop", |_, reply| drop(reply)))
        .tool(tool("forget", |_, reply| std::mem::forget(reply)))
        .tool(tool("drop-ticket", |_, reply| drop(reply.defer())))
        .tool(tool("drop-in-answer", |_, reply| {
            reply.defer().answer(|reply| drop(reply));
        }))
        .tool(tool("drop-in-after", |_, reply| {
            reply.after(Duration::ZERO, |reply| drop(reply));
        }))
        .tool(tool("forget-in-after", |_, reply| {
            reply.after(Duration::ZERO, |reply| std::mem::forget(reply));
        }))
        .tool(tool("drop-on-a-thread", |_, reply| drop(reply)).blocking())
        .resource(Resource::new("silent://", "silent", |_, reply| drop(reply)))
        .resource(Resource::new("forgetful://", "forgetful", |_, reply| {
            std::mem::forget(reply);
        }))
        .prompt(Prompt::new("silent", |_, reply| drop(reply)))
}

#[test]
fn a_handler_that_gives_no_answer_is_answered_for() {
    let mut pair = Pair::new(silent());
    let mut lines: Vec<String> = [
        "drop",
        "forget",
        "drop-ticket",
        "drop-in-answer",
        "drop-in-after",
        "forget-in-after",
        "drop-on-a-thread",
    ]
    .map(|name| ask(1, name))
    .into();
    lines.push(modern(1, "resources/read", json!({ "uri": "silent://" })));
    lines.push(modern(
        1,
        "resources/read",
        json!({ "uri": "forgetful://" }),
    ));
    lines.push(modern(1, "prompts/get", json!({ "name": "silent" })));
    for line in lines {
        let mut answers = pair.send(&line);
        answers.extend(pair.poll());
        assert_eq!(answers.len(), 1, "{line}: {answers:?}");
        let refusal = refusal(&answers[0]);
        assert_eq!(refusal.head(), (Some(json!(1)), -32603), "{line}");
        assert!(
            refusal.message.contains("gave no answer"),
            "{}",
            refusal.message
        );
        assert_eq!(pair.memory().in_flight(), 0);
        lives(&mut pair);
    }
}

#[test]
fn a_forgotten_reply_is_answered_for_off_the_loop_too() {
    let forgetful = server()
        .tool(tool("blocking", |_, reply| std::mem::forget(reply)).blocking())
        .tool(tool("ticket", |_, reply| {
            reply.defer().answer(|reply| std::mem::forget(reply));
        }));
    let mut pair = Pair::new(forgetful);
    for name in ["blocking", "ticket"] {
        let mut answers = pair.send(&ask(1, name));
        answers.extend(pair.poll());
        assert_eq!(answers.len(), 1, "{name}: {answers:?}");
        assert_eq!(refusal(&answers[0]).head(), (Some(json!(1)), -32603));
        lives(&mut pair);
    }
}

/// What is told before the answer is not taken for one.
#[test]
fn a_forgotten_reply_is_answered_for_after_what_was_told() {
    let chatty = tool("chatty", |call, reply| {
        call.context().progress(1.0, None, None);
        std::mem::forget(reply);
    });
    let mut pair = Pair::new(server().tool(chatty));
    let mut meta = tightwire_tests::modern_meta();
    meta["progressToken"] = json!("t");
    let params = json!({ "name": "chatty", "_meta": meta });
    let answers = pair.send(&modern(1, "tools/call", params));
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert_eq!(answers[0]["method"], "notifications/progress");
    assert_eq!(refusal(&answers[1]).head(), (Some(json!(1)), -32603));
    lives(&mut pair);
}

/// What panics while it is displayed, after it wrote something.
struct Bomb;

impl std::fmt::Display for Bomb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("half of \"it\"")?;
        panic!("bang")
    }
}

/// Tools, a resource and a prompt that panic.
fn panicking() -> Server {
    server()
        .tool(tool("inline", |_, _| panic!("bang")))
        .tool(tool("half-written", |_, reply| reply.display(Bomb)))
        .tool(tool("blocking", |_, _| panic!("bang")).blocking())
        .tool(tool("blocking-half-written", |_, reply| reply.error(Bomb)).blocking())
        .tool(tool("after", |_, reply| {
            reply.after(Duration::ZERO, |_| panic!("bang"));
        }))
        .tool(tool("ticket", |_, reply| {
            reply.defer().answer(|_| panic!("bang"));
        }))
        .tool(tool("with-ticket", |_, reply| {
            let _ticket = reply.defer();
            panic!("bang")
        }))
        .resource(Resource::new("panic://", "panic", |_, _| panic!("bang")))
        .prompt(Prompt::new("panic", |_, _| panic!("bang")))
}

#[test]
fn a_panic_costs_its_own_call_and_is_logged() {
    let mut pair = Pair::new(panicking());
    let cases = [
        (ask(1, "inline"), "tool `inline` panicked: bang"),
        (ask(1, "half-written"), "tool `half-written` panicked: bang"),
        (ask(1, "blocking"), "tool `blocking` panicked: bang"),
        (
            ask(1, "blocking-half-written"),
            "tool `blocking-half-written` panicked: bang",
        ),
        (ask(1, "after"), "a delayed answer panicked: bang"),
        (ask(1, "ticket"), "tool `ticket` panicked: bang"),
        (ask(1, "with-ticket"), "tool `with-ticket` panicked: bang"),
        (
            modern(1, "resources/read", json!({ "uri": "panic://" })),
            "resource `panic://` panicked: bang",
        ),
        (
            modern(1, "prompts/get", json!({ "name": "panic" })),
            "prompt `panic` panicked: bang",
        ),
    ];
    for (line, logged) in cases {
        let mut answers = pair.send(&line);
        answers.extend(pair.poll());
        assert_eq!(answers.len(), 1, "{line}: {answers:?}");
        let refusal = refusal(&answers[0]);
        assert_eq!(refusal.head(), (Some(json!(1)), -32603), "{line}");
        assert_eq!(refusal.message, "the handler panicked");
        let log = pair.log();
        assert_eq!(log.len(), 1, "{line}: {log:?}");
        assert!(log[0].starts_with(logged), "{line}: {log:?}");
        assert_eq!(pair.memory().in_flight(), 0);
        lives(&mut pair);
    }
}

#[test]
fn a_panic_after_the_answer_leaves_the_answer() {
    let late = tool("late", |_, reply| {
        reply.text("done");
        panic!("bang")
    });
    let mut pair = Pair::new(server().tool(late));
    assert_eq!(pair.ask(&ask(1, "late")), modern_result(1, text("done")));
    assert_eq!(pair.log().len(), 1);
}

#[test]
fn a_panic_touches_no_other_call() {
    let held = Held::default();
    let mut pair = Pair::new(panicking().tool(held.tool()));
    assert_eq!(pair.send(&ask("held", "hold")), NOTHING);
    let line = format!(
        "{}\n{}\n{}\n",
        call(1, "echo", &json!({ "message": "a" })),
        ask(2, "half-written"),
        call(3, "echo", &json!({ "message": "b" }))
    );
    let answers = pair.send_bytes(line.as_bytes());
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[0], modern_result(1, text("a")));
    assert_eq!(refusal(&answers[1]).head(), (Some(json!(2)), -32603));
    assert_eq!(answers[2], modern_result(3, text("b")));
    held.answer("c");
    assert_eq!(pair.poll(), [modern_result("held", text("c"))]);
}

#[test]
fn a_panic_while_a_ticket_is_answered_on_another_thread_is_an_internal_error() {
    let held = Held::default();
    let mut pair = Pair::new(server().tool(held.tool()));
    pair.send(&ask(1, "hold"));
    let ticket = held.next();
    let thread = thread::spawn(move || ticket.answer(|_| panic!("bang")));
    assert!(thread.join().is_err(), "the panic is the thread's own");
    let answers = pair.poll();
    assert_eq!(answers.len(), 1);
    assert_eq!(refusal(&answers[0]).head(), (Some(json!(1)), -32603));
    lives(&mut pair);
}

#[test]
fn the_log_is_bounded_and_counts_what_it_dropped() {
    let mut pair = Pair::new(panicking());
    for id in 0..100 {
        pair.ask(&ask(id, "inline"));
    }
    let log = pair.log();
    assert_eq!(log.len(), 65);
    assert!(log[..64].iter().all(|line| line.contains("panicked")));
    assert_eq!(log[64], "36 more lines were dropped");
    assert_eq!(pair.log(), Vec::<String>::new());
}

#[test]
fn a_line_of_the_log_is_one_line_whatever_the_peer_sent() {
    let template = ResourceTemplate::new("panic://{x}", "panic", |_, _| panic!("a\nb"));
    let mut pair = Pair::new(server().resource_template(template));
    let line = modern(1, "resources/read", json!({ "uri": "panic://x\nforged" }));
    assert_eq!(refusal(&pair.ask(&line)).code, -32603);
    let log = pair.log();
    assert_eq!(log.len(), 1);
    assert!(!log[0].contains('\n'), "{log:?}");
}
