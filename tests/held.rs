//! What requests in flight may keep, and who pays for it.

use std::time::Duration;

use serde_json::{Value, json};
use tightwire::{Call, Job, Limits, Now, Reply, Resource, Server, Tool};
use tightwire_tests::{
    Pair, Script, Stepped, batch, call, cancelled, legacy, modern, refusal, server,
};

const FAULTY: &str = env!("CARGO_BIN_EXE_faulty");
const MIB: usize = 1 << 20;

fn with_blocking(limits: Limits) -> Server {
    let work = Tool::new("work", |_: Call<'_>, reply: Reply<'_>| reply.text("done")).blocking();
    server().tool(work).limits(limits)
}

fn work(id: u64, bytes: usize) -> String {
    call(id, "work", &json!({ "data": "x".repeat(bytes) }))
}

#[test]
fn arguments_of_blocking_calls_count_until_they_are_done() {
    let limits = Limits {
        held_bytes_max: MIB,
        ..Limits::default()
    };
    let mut stepped = Stepped::new(with_blocking(limits));
    assert_eq!(stepped.send(&work(1, 2 * MIB)), Vec::<Value>::new());
    let refused = stepped.send(&work(2, 1));
    assert_eq!(refusal(&refused[0]).head(), (Some(json!(2)), -32603));
    // Whoever keeps nothing is served, and cancellations arrive.
    let answers = stepped.send(&call(3, "echo", &json!({ "message": "hi" })));
    assert_eq!(answers[0]["id"], 3);
    assert_eq!(stepped.send(&cancelled(1)), Vec::<Value>::new());
    assert!(stepped.connection().take_cancelled());
    let job = stepped.connection().poll_job().expect("a job");
    assert!(job.is_cancelled());
    drop(job);
    assert_eq!(stepped.send(&work(4, 1)), Vec::<Value>::new());
    stepped
        .connection()
        .poll_job()
        .map(Job::run)
        .expect("a job");
    assert_eq!(stepped.completed()[0]["id"], 4);
}

#[test]
fn long_ids_count_while_they_wait() {
    let limits = Limits {
        held_bytes_max: MIB,
        ..Limits::default()
    };
    let wait = Tool::new("wait", |_: Call<'_>, reply: Reply<'_>| {
        reply.after(Duration::from_secs(60), |reply| reply.text("waited"));
    });
    let mut stepped = Stepped::new(server().tool(wait).limits(limits));
    let long = |letter: &str| letter.repeat(2 * MIB);
    let wait = |id: &str| modern(id, "tools/call", json!({ "name": "wait" }));
    assert_eq!(stepped.send(&wait(&long("a"))), Vec::<Value>::new());
    assert_eq!(refusal(&stepped.send(&wait(&long("b")))[0]).code, -32603);
    assert_eq!(stepped.send(&wait("short")), Vec::<Value>::new());
}

#[test]
fn a_batch_has_only_so_much_output() {
    let limits = Limits {
        output_bytes_max: 10_000,
        ..Limits::default()
    };
    let big = Resource::new("pair://big", "big", |_, reply| {
        reply.text("x".repeat(4_000));
    });
    let mut pair = Pair::session(server().resource(big).limits(limits), "2025-03-26");
    let read = |id: u64| legacy(id, "resources/read", &json!({ "uri": "pair://big" }));
    let lines: Vec<String> = (0..10).map(read).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let answers = pair.ask(&batch(&lines));
    let answers = answers.as_array().expect("an array");
    assert_eq!(answers.len(), 10);
    let read = answers
        .iter()
        .filter(|answer| answer["result"].is_object())
        .count();
    assert_eq!(read, 3);
    assert_eq!(refusal(&answers[9]).head(), (Some(json!(9)), -32603));
}

#[test]
fn what_is_ready_of_a_batch_is_sent_when_the_rest_is_given_up() {
    let wait = Tool::new("wait", |_: Call<'_>, reply: Reply<'_>| {
        reply.after(Duration::from_secs(60), |reply| reply.text("waited"));
    });
    let mut pair = Pair::session(server().tool(wait), "2025-03-26");
    let wait = legacy(1, "tools/call", &json!({ "name": "wait" }));
    let lines = batch(&[&wait, &legacy(2, "ping", &json!({}))]);
    assert_eq!(pair.send(&lines), Vec::<Value>::new());
    let mut out = Vec::new();
    pair.memory().connection().abort(Now::default(), &mut out);
    let answers: Value = serde_json::from_slice(&out).expect("an array");
    assert_eq!(
        answers,
        json!([{ "jsonrpc": "2.0", "id": 2, "result": {} }])
    );
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn a_continuation_that_panics_when_it_is_dropped_harms_nothing() {
    let mine = Tool::new("mine", |_: Call<'_>, reply: Reply<'_>| {
        let bomb = Bomb;
        reply.after(Duration::from_secs(900), move |reply| {
            std::mem::forget(bomb);
            reply.text("defused");
        });
    });
    let mut stepped = Stepped::new(server().tool(mine));
    let lay = |id: u64| modern(id, "tools/call", json!({ "name": "mine" }));
    stepped.send(&lay(1));
    assert_eq!(stepped.send(&cancelled(1)), Vec::<Value>::new());
    stepped.send(&lay(2));
    // Its time is up before its delay is.
    assert_eq!(stepped.pass_ms(600_000)[0]["id"], 2);
    stepped.send(&lay(3));
    stepped.connection().abort(Now::default(), &mut Vec::new());
}

/// In the mailbox, taken out of it, or with a cancellation that never came.
#[test]
fn what_a_handler_leaves_elsewhere_may_panic_when_it_is_dropped() {
    let lay = |reply: Reply<'_>| {
        let bomb = Bomb;
        reply.after(Duration::from_secs(900), move |reply| {
            std::mem::forget(bomb);
            reply.text("defused");
        });
    };
    let mine = Tool::new("mine", move |_: Call<'_>, reply: Reply<'_>| {
        let ticket = reply.defer();
        let bomb = Bomb;
        ticket
            .cancellation()
            .on_cancel(move || std::mem::forget(bomb));
        ticket.answer(lay);
    });
    let quick = Tool::new("quick", |_: Call<'_>, reply: Reply<'_>| {
        let ticket = reply.defer();
        let bomb = Bomb;
        ticket
            .cancellation()
            .on_cancel(move || std::mem::forget(bomb));
        ticket.answer(|reply| reply.text("done"));
    });
    let limits = Limits {
        output_bytes_max: 0,
        ..Limits::default()
    };
    let frozen = server()
        .tool(mine)
        .tool(quick)
        .limits(limits)
        .freeze()
        .unwrap();
    let call = |id: u64, tool: &str| modern(id, "tools/call", json!({ "name": tool }));
    // Not taken out of the mailbox, and cancelled.
    let mut stepped = Stepped::connect(&frozen);
    stepped.send(&call(1, "mine"));
    drop(stepped);
    let mut stepped = Stepped::connect(&frozen);
    stepped.send(&call(1, "mine"));
    stepped.send(&cancelled(1));
    assert_eq!(stepped.completed(), Vec::<Value>::new());
    // Taken out of it, with no room for the answer before it.
    stepped.send(&call(2, "quick"));
    stepped.send(&call(3, "mine"));
    assert_eq!(stepped.completed()[0]["id"], 2);
    drop(stepped);
}

#[test]
fn whatever_held_the_loop_is_named() {
    let limits = Limits {
        inline_ms_warn: 50,
        ..Limits::default()
    };
    let later = Tool::new("later", |_: Call<'_>, reply: Reply<'_>| {
        reply.after(Duration::from_millis(1), |reply| reply.text("done"));
    });
    let mut stepped = Stepped::new(server().tool(later).limits(limits));
    let took = |stepped: &mut Stepped| {
        stepped.connection().line_took(Duration::from_millis(60));
        stepped.connection().poll_log()
    };
    stepped.send(&modern(
        1,
        "resources/read",
        json!({ "uri": "pair://hello" }),
    ));
    assert_eq!(
        took(&mut stepped).as_deref(),
        Some("resource held the loop for 60 ms")
    );
    stepped.send(&modern(2, "tools/call", json!({ "name": "later" })));
    stepped.pass_ms(2);
    assert_eq!(
        took(&mut stepped).as_deref(),
        Some("a delayed answer held the loop for 60 ms")
    );
}

#[test]
fn blocking_calls_have_so_many_threads_and_places_to_wait() {
    let mut script = Script::start(FAULTY);
    let limits = Limits::default();
    let room = limits.pool_threads_max + limits.pool_queue_max;
    for id in 0..=room {
        script.send(&call(id, "wait", &json!({})));
    }
    let refused = script.receive();
    assert_eq!(refusal(&refused).code, -32603);
    assert!(refusal(&refused).message.contains("blocking"), "{refused}");
    for id in 0..=room {
        script.send(&cancelled(id));
    }
    // The threads are free again, and so are the places.
    let answer = script.ask(&call("last", "hold_blocking", &json!({ "ms": 1 })));
    assert_eq!(answer["id"], "last");
    assert_eq!(script.finish().status.code(), Some(0));
}

#[test]
fn a_call_takes_the_place_of_one_that_was_cancelled_in_the_same_read() {
    let mut script = Script::start(FAULTY);
    let limits = Limits::default();
    let room = limits.pool_threads_max + limits.pool_queue_max;
    for id in 0..room {
        script.send(&call(id, "wait", &json!({})));
    }
    // All of them on one line's way: the call comes before anybody looks for what was cancelled.
    let mut lines = String::new();
    for id in limits.pool_threads_max..room {
        lines += &format!("{}\n", cancelled(id));
    }
    lines += &format!("{}\n", call("next", "hold_blocking", &json!({ "ms": 1 })));
    script.send_bytes(lines.as_bytes());
    for id in 0..limits.pool_threads_max {
        script.send(&cancelled(id));
    }
    let answer = script.receive();
    assert_eq!(answer["id"], "next");
    assert_eq!(answer.get("error"), None, "{answer}");
    assert_eq!(script.finish().status.code(), Some(0));
}
