//! Answers that come later: every request is answered once, or not at all if it was cancelled.
//!
//! Specification: 2026-07-28, `basic/patterns/cancellation`; before,
//! `basic/utilities/cancellation`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tightwire::{Call, Now, Reply, RpcError, Ticket, Tool};
use tightwire_tests::{
    Held, Pair, Stepped, call, cancelled, legacy, legacy_result, modern, modern_result, refusal,
    server, text,
};

const NOTHING: Vec<Value> = Vec::new();

fn ask(id: impl Into<Value>, tool: &str) -> String {
    modern(id, "tools/call", json!({ "name": tool }))
}

fn tool(name: &str, handler: impl Fn(Call<'_>, Reply<'_>) + Send + Sync + 'static) -> Tool {
    Tool::new(name, handler)
}

/// A pair whose server has this tool as well.
fn with(tool: Tool) -> Pair {
    Pair::new(server().tool(tool))
}

/// The server lives: it answers the next call.
fn lives(pair: &mut Pair) {
    let answer = pair.ask(&call("next", "echo", &json!({ "message": "hi" })));
    assert_eq!(answer, modern_result("next", text("hi")));
}

#[test]
fn after_answers_when_the_time_has_come() {
    let nap = tool("nap", |call, reply| {
        let ms = call
            .arguments()
            .find("ms")
            .and_then(|ms| ms.as_u64())
            .unwrap_or_default();
        reply.after(Duration::from_millis(ms), move |reply| reply.display(ms));
    });
    let mut server = Stepped::new(server().tool(nap));
    for ms in [300, 100, 200, 0] {
        assert_eq!(server.send(&call(ms, "nap", &json!({ "ms": ms }))), NOTHING);
    }
    assert_eq!(server.due_in_ms(), Some(0));
    assert_eq!(server.pass_ms(0), [modern_result(0, text("0"))]);
    assert_eq!(server.due_in_ms(), Some(100));
    assert_eq!(server.pass_ms(99), NOTHING);
    assert_eq!(server.pass_ms(1), [modern_result(100, text("100"))]);
    // What is overdue comes in the order it was due.
    let expected = [200, 300].map(|ms| modern_result(ms, text(&ms.to_string())));
    assert_eq!(server.pass_ms(1_000), expected);
    assert_eq!(server.due_in_ms(), None);
}

#[test]
fn a_delay_of_nothing_gives_way_to_other_lines() {
    fn again(reply: Reply<'_>, called: Arc<AtomicUsize>) {
        // Bounded, so that the test ends in any case.
        if called.fetch_add(1, Ordering::Relaxed) < 1_000 {
            reply.after(Duration::ZERO, |reply| again(reply, called));
        }
    }
    let called = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&called);
    let spin = tool("spin", move |_, reply| again(reply, Arc::clone(&count)));
    let mut server = Stepped::new(server().tool(spin));
    assert_eq!(server.send(&ask(1, "spin")), NOTHING);
    for calls in 1..4 {
        assert_eq!(called.load(Ordering::Relaxed), calls);
        assert_eq!(server.due_in_ms(), Some(0));
        assert_eq!(server.pass_ms(0), NOTHING);
    }
}

#[test]
fn after_a_cancellation_nothing_is_called_and_nothing_is_sent() {
    let called = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&called);
    let nap = tool("nap", move |_, reply| {
        let count = Arc::clone(&count);
        reply.after(Duration::from_millis(100), move |reply| {
            count.fetch_add(1, Ordering::Relaxed);
            reply.text("slept");
        });
    });
    let mut server = Stepped::new(server().tool(nap));
    server.send(&ask(1, "nap"));
    server.send(&ask(2, "nap"));
    assert_eq!(server.send(&cancelled(1)), NOTHING);
    assert_eq!(server.pass_ms(1_000), [modern_result(2, text("slept"))]);
    assert_eq!(called.load(Ordering::Relaxed), 1);
}

#[test]
fn a_deferred_answer_may_be_any_answer() {
    let held = Held::default();
    let mut pair = with(held.tool());
    let mut failed = text("no such city");
    failed["isError"] = json!(true);
    let mut answer = |answer: fn(Ticket)| {
        assert_eq!(pair.send(&ask("\"é\n", "hold")), NOTHING);
        answer(held.next());
        let mut answers = pair.poll();
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers.remove(0)
    };
    let id = "\"é\n";
    assert_eq!(
        answer(|ticket| ticket.answer(|reply| reply.number(5.0))),
        modern_result(id, text("5"))
    );
    assert_eq!(
        answer(|ticket| ticket.answer(|reply| reply.error("no such city"))),
        modern_result(id, failed)
    );
    let refused = answer(|ticket| {
        ticket
            .answer(|reply| reply.protocol_error(&RpcError::invalid_params("no").with_data("[1]")));
    });
    let refused = refusal(&refused);
    assert_eq!(refused.head(), (Some(json!(id)), -32602));
    assert_eq!(refused.data, Some(json!([1])));
    let later =
        answer(|ticket| ticket.answer(|reply| reply.defer().answer(|reply| reply.text("twice"))));
    assert_eq!(later, modern_result(id, text("twice")));
}

#[test]
fn a_deferred_answer_is_in_the_era_of_its_request() {
    let held = Held::default();
    let mut pair = Pair::session(server().tool(held.tool()), "2025-11-25");
    assert_eq!(
        pair.send(&legacy(1, "tools/call", &json!({ "name": "hold" }))),
        NOTHING
    );
    assert_eq!(pair.send(&ask(2, "hold")), NOTHING);
    held.answer("x");
    held.answer("x");
    assert_eq!(
        pair.poll(),
        [legacy_result(1, &text("x")), modern_result(2, text("x"))]
    );
}

#[test]
fn a_ticket_may_be_answered_from_another_thread() {
    let slow = tool("slow", |call, reply| {
        let said = call
            .arguments()
            .find("say")
            .and_then(|say| say.as_str())
            .unwrap_or_default();
        let (said, ticket) = (said.to_owned(), reply.defer());
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(2));
            ticket.answer(|reply| reply.text(&said));
        });
    });
    let mut pair = with(slow);
    let woken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&woken);
    pair.memory().connection().set_waker(move || {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let _ = pair.send(&call(1, "slow", &json!({ "say": "é\"\n" })));
    lives(&mut pair);
    assert_eq!(pair.wait(), modern_result(1, text("é\"\n")));
    assert_eq!(woken.load(Ordering::SeqCst), 1);
}

#[test]
fn a_ticket_may_be_answered_within_the_handler() {
    let mut pair = with(tool("now", |_, reply| {
        reply.defer().answer(|reply| reply.text("now"));
    }));
    assert_eq!(pair.ask(&ask(1, "now")), modern_result(1, text("now")));
    assert_eq!(pair.memory().in_flight(), 0);
}

#[test]
fn a_ticket_may_ask_for_a_delay() {
    let held = Held::default();
    let mut server = Stepped::new(server().tool(held.tool()));
    server.send(&ask(1, "hold"));
    server.send(&ask(2, "hold"));
    for _ in 0..2 {
        held.next().answer(|reply| {
            reply.after(Duration::from_millis(100), |reply| reply.text("later"));
        });
    }
    assert_eq!(server.completed(), NOTHING);
    assert_eq!(server.due_in_ms(), Some(100));
    assert_eq!(server.send(&cancelled(2)), NOTHING);
    assert_eq!(server.pass_ms(100), [modern_result(1, text("later"))]);
}

#[test]
fn a_ticket_that_is_dropped_answers_with_an_internal_error() {
    let held = Held::default();
    let mut pair = with(held.tool());
    pair.send(&ask(1, "hold"));
    drop(held.next());
    let answers = pair.poll();
    assert_eq!(answers.len(), 1);
    assert_eq!(refusal(&answers[0]).head(), (Some(json!(1)), -32603));
    lives(&mut pair);
}

#[test]
fn after_a_cancellation_the_answer_of_a_ticket_is_thrown_away() {
    let held = Held::default();
    let mut pair = with(held.tool());
    let ways: [fn(Ticket); 3] = [
        drop,
        |ticket| ticket.answer(|reply| reply.text("late")),
        |ticket| ticket.answer(|reply| reply.after(Duration::ZERO, |reply| reply.text("late"))),
    ];
    for way in ways {
        assert_eq!(pair.send(&ask(1, "hold")), NOTHING);
        let ticket = held.next();
        assert!(!ticket.is_cancelled());
        assert_eq!(pair.send(&cancelled(1)), NOTHING);
        assert!(ticket.is_cancelled());
        way(ticket);
        assert_eq!(pair.poll(), NOTHING);
        assert_eq!(pair.memory().in_flight(), 0);
        lives(&mut pair);
    }
    // A late answer is not taken for one to a later request with the same id.
    pair.send(&ask(1, "hold"));
    pair.send(&cancelled(1));
    pair.send(&ask(1, "hold"));
    held.answer("of the first");
    assert_eq!(pair.poll(), NOTHING);
    held.answer("of the second");
    assert_eq!(pair.poll(), [modern_result(1, text("of the second"))]);
}

#[test]
fn on_cancel_is_called_once_by_the_cancellation_or_at_once_after_it() {
    let held = Held::default();
    let mut pair = with(held.tool());
    pair.send(&ask(1, "hold"));
    pair.send(&ask(2, "hold"));
    let (ticket, other) = (held.next(), held.next());
    let called = Arc::new(AtomicUsize::new(0));
    let on_cancel = |ticket: &Ticket| {
        let called = Arc::clone(&called);
        ticket.cancellation().on_cancel(move || {
            called.fetch_add(1, Ordering::Relaxed);
        });
    };
    on_cancel(&ticket);
    on_cancel(&ticket);
    on_cancel(&other);
    assert_eq!(called.load(Ordering::Relaxed), 0);
    pair.send(&cancelled(1));
    pair.send(&cancelled(1));
    assert_eq!(called.load(Ordering::Relaxed), 2);
    on_cancel(&ticket);
    assert_eq!(called.load(Ordering::Relaxed), 3);
    // The other is answered: nothing was cancelled.
    other.answer(|reply| reply.text("x"));
    assert_eq!(pair.poll(), [modern_result(2, text("x"))]);
    assert_eq!(called.load(Ordering::Relaxed), 3);
}

#[test]
fn a_panic_in_on_cancel_costs_nobody_anything() {
    let held = Held::default();
    let mut pair = with(held.tool());
    pair.send(&ask(1, "hold"));
    let ticket = held.next();
    ticket.cancellation().on_cancel(|| panic!("bang"));
    assert_eq!(pair.send(&cancelled(1)), NOTHING);
    assert!(ticket.is_cancelled());
    lives(&mut pair);
}

#[test]
fn wait_returns_when_the_call_is_cancelled_or_the_time_is_up() {
    let held = Held::default();
    let mut pair = with(held.tool());
    pair.send(&ask(1, "hold"));
    let ticket = held.next();
    assert!(!ticket.cancellation().wait(Duration::from_millis(1)));
    let cancellation = ticket.cancellation().clone();
    let waiter = thread::spawn(move || {
        let start = Instant::now();
        (cancellation.wait(Duration::from_secs(20)), start.elapsed())
    });
    pair.send(&cancelled(1));
    let (was_cancelled, took) = waiter.join().expect("no panic");
    assert!(was_cancelled && took < Duration::from_secs(10));
    assert!(ticket.cancellation().wait(Duration::from_secs(20)));
}

#[test]
fn abort_cancels_all_that_is_unanswered() {
    let held = Held::default();
    let mut pair = with(held.tool());
    pair.send(&ask(1, "hold"));
    pair.send(&ask(2, "hold"));
    pair.memory()
        .connection()
        .abort(Now::default(), &mut Vec::new());
    assert_eq!(pair.memory().in_flight(), 0);
    for _ in 0..2 {
        let ticket = held.next();
        assert!(ticket.is_cancelled());
        ticket.answer(|reply| reply.text("late"));
    }
    assert_eq!(pair.poll(), NOTHING);
}

#[test]
fn a_connection_that_is_dropped_cancels_all_that_is_unanswered() {
    let held = Held::default();
    let mut pair = with(held.tool());
    pair.send(&ask(1, "hold"));
    drop(pair);
    assert!(held.next().is_cancelled());
}

/// Specification: `basic/patterns/cancellation`, Error Handling: reasons should be logged.
#[test]
fn the_reason_of_a_cancellation_is_logged() {
    let held = Held::default();
    let mut pair = with(held.tool());
    for (reason, log) in [
        (
            json!("too\nslow"),
            Some("request `7` was cancelled: `too slow`"),
        ),
        (json!(null), None),
        (json!(5), None),
    ] {
        pair.send(&ask(7, "hold"));
        let params = json!({ "requestId": 7, "reason": reason });
        let line = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params
        });
        pair.send(&line.to_string());
        assert!(held.next().is_cancelled());
        assert_eq!(pair.log(), Vec::from_iter(log));
        // Of what is not in flight nothing is told.
        pair.send(&line.to_string());
        assert_eq!(pair.log(), Vec::<String>::new());
    }
}

#[test]
fn a_blocking_tool_gets_a_copy_of_what_was_sent() {
    let show = tool("show", |call, reply| {
        let said = call
            .arguments()
            .find("say")
            .and_then(|say| say.as_str())
            .unwrap_or_default();
        let token = call.meta().and_then(|meta| meta.find("progressToken"));
        let token = token.and_then(|token| token.as_str()).unwrap_or_default();
        assert!(!call.is_cancelled() && !call.wait_cancelled(Duration::from_millis(1)));
        reply.text(&format!("{} {said} {token}", call.name()));
    });
    let mut pair = with(show.blocking());
    let mut meta = tightwire_tests::modern_meta();
    meta["progressToken"] = json!("t\"\\");
    let said = "\"\\\n\u{1}é😀\u{2028}";
    let params =
        json!({ "name": "show", "arguments": { "say": said, "x": [1.5, null] }, "_meta": meta });
    let expected = format!("show {said} t\"\\");
    assert_eq!(
        pair.ask(&modern(1, "tools/call", params)),
        modern_result(1, text(&expected))
    );
    // Without arguments, and in a session without metadata.
    assert_eq!(pair.ask(&ask(2, "show"))["id"], 2);
    pair.ask(&tightwire_tests::initialize("2025-06-18"));
    let answer = pair.ask(&legacy(3, "tools/call", &json!({ "name": "show" })));
    assert_eq!(answer, legacy_result(3, &text("show  ")));
}

#[test]
fn a_job_may_be_run_refused_or_dropped() {
    let block = tool("block", |_, reply| reply.text("done")).blocking();
    let mut server = Stepped::new(server().tool(block));
    for id in 1..=4 {
        assert_eq!(server.send(&ask(id, "block")), NOTHING);
    }
    assert_eq!(server.send(&cancelled(4)), NOTHING);
    let jobs: Vec<_> = std::iter::from_fn(|| server.connection().poll_job()).collect();
    let mut jobs = jobs.into_iter();
    let mut next = || jobs.next().expect("a job");
    next().run();
    next().refuse();
    drop(next());
    let last = next();
    assert!(last.is_cancelled());
    last.run();
    let answers = server.completed();
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[0], modern_result(1, text("done")));
    assert_eq!(refusal(&answers[1]).head(), (Some(json!(2)), -32603));
    assert_eq!(refusal(&answers[2]).head(), (Some(json!(3)), -32603));
}
