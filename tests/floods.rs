//! Changes without measure: limits, rounds, slow readers, and the loop that is woken by them.

use std::{io::Write, process::Stdio, thread, time::Duration};

use serde_json::{Value, json};
use tightwire::{Call, Handle, Limits, Memory, Reply, Resource, ResourceTemplate, Server, Tool};
use tightwire_tests::{
    Pair, Process, SUBSCRIPTION_ID, Script, Stepped, acknowledged, call, cancelled, changed,
    legacy, legacy_result, listen, refusal, server, updated,
};

const CHANGING: &str = env!("CARGO_BIN_EXE_changing");
const ID: &str = SUBSCRIPTION_ID;
const TOOLS: &str = "notifications/tools/list_changed";
/// `Limits::changes_ms_min`, by default.
const PAUSE_MS: u64 = 20;

#[test]
fn subscriptions_are_limited_in_number_and_in_memory() {
    let mut server = Server::new("pair", "1.2.3").limits(Limits {
        subscriptions_max: 2,
        subscribed_uris_max: 3,
        held_bytes_max: 10_000,
        ..Limits::default()
    });
    let _handle = server.handle();
    let mut server = server.resource(Resource::new("a:", "a", |_, reply| reply.text("a")));
    server = server.resource_template(ResourceTemplate::new("b:{x}", "b", |_, reply| {
        reply.text("b");
    }));
    let mut pair = Pair::session(server, "2025-11-25");
    let uris = |uris: &[&str]| json!({ "resourceSubscriptions": uris });
    let refused = |answer: &Value, why: &str| {
        let refusal = refusal(answer);
        assert_eq!(refusal.code, -32603, "{answer}");
        assert!(refusal.message.contains(why), "{}", refusal.message);
    };
    for _ in 0..100 {
        // What was closed makes room.
        pair.send(&listen(1, &uris(&["a:", "b:", "a:"])));
        pair.ask(&legacy(2, "resources/subscribe", &json!({ "uri": "a:" })));
        refused(
            &pair.ask(&legacy(2, "resources/subscribe", &json!({ "uri": "b:1" }))),
            "3 may be",
        );
        refused(&pair.ask(&listen(2, &uris(&["c:"]))), "3 may be");
        pair.send(&listen(2, &uris(&[])));
        refused(
            &pair.ask(&listen(3, &uris(&[]))),
            "Too many subscriptions: 2",
        );
        pair.send(&cancelled(1));
        pair.send(&cancelled(2));
        pair.ask(&legacy(2, "resources/unsubscribe", &json!({ "uri": "a:" })));

        let long = format!("a:{}", "x".repeat(6_000));
        assert_eq!(pair.send(&listen(1, &uris(&[&long]))).len(), 1);
        refused(&pair.ask(&listen(2, &uris(&[&long]))), "bytes");
        refused(&pair.ask(&listen(long.as_str(), &uris(&[]))), "bytes");
        pair.send(&cancelled(1));
        let long = format!("b:{}", "x".repeat(9_000));
        let subscribe = legacy(2, "resources/subscribe", &json!({ "uri": long }));
        let unsubscribe = legacy(2, "resources/unsubscribe", &json!({ "uri": long }));
        assert_eq!(pair.ask(&subscribe), legacy_result(2, &json!({})));
        refused(&pair.ask(&listen(1, &uris(&[&long]))), "bytes");
        assert_eq!(pair.ask(&unsubscribe), legacy_result(2, &json!({})));
    }
}

#[test]
fn a_flood_of_changes_is_told_in_rounds() {
    let (mut stepped, handle) = changing();
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["a:", "b:"] });
    stepped.send(&listen(1, &filter));
    let flood = |stepped: &mut Stepped| {
        let mut told = Vec::new();
        for _ in 0..50 {
            handle.add_tool(tool("new")).unwrap();
            handle.remove_tool("new").unwrap();
            handle.resource_updated("b:");
            handle.resource_updated("a:");
            told.extend(stepped.completed());
        }
        told
    };
    // The first change is told at once, the others together when the pause is over.
    assert_eq!(
        flood(&mut stepped),
        [changed(1, TOOLS), updated(1, "a:"), updated(1, "b:")]
    );
    assert_eq!(stepped.due_in_ms(), Some(u128::from(PAUSE_MS)));
    assert_eq!(stepped.pass_ms(PAUSE_MS - 1), [] as [Value; 0]);
    assert_eq!(
        stepped.pass_ms(1),
        [changed(1, TOOLS), updated(1, "a:"), updated(1, "b:")]
    );
    assert_eq!(stepped.due_in_ms(), None);
    stepped.pass_ms(PAUSE_MS);
    handle.resource_updated("b:");
    assert_eq!(stepped.completed(), [updated(1, "b:")]);
}

#[test]
fn changes_wait_for_a_slow_reader_and_need_no_more_room() {
    let mut server = Server::new("pair", "1.2.3").limits(Limits {
        changes_ms_min: 0,
        ..Limits::default()
    });
    let handle = server.handle();
    let mut memory = Memory::new(&server.freeze().unwrap());
    let uris: Vec<String> = (0..1_000).map(|index| format!("a:{index}")).collect();
    let filter = json!({ "resourceSubscriptions": uris });
    memory.feed(format!("{}\n", listen(1, &filter)).as_bytes());
    memory.consume(usize::MAX);
    for _ in 0..20 {
        for uri in &uris {
            handle.resource_updated(uri);
        }
        memory.poll();
        assert!(
            memory.output().len() < 70 * 1024,
            "{}",
            memory.output().len()
        );
    }
    assert!(
        memory.poll().is_some(),
        "it looks again whether there is room"
    );
    // Every resource is told, in the end, and each at most twice: what was told before it changed
    // for the last time may be.
    let mut told = 0;
    while let Some(wait) = memory.poll() {
        told += memory
            .output()
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        memory.consume(usize::MAX);
        thread::sleep(wait);
    }
    told += memory
        .output()
        .iter()
        .filter(|byte| **byte == b'\n')
        .count();
    assert!((1_000..=2_000).contains(&told), "{told}");
}

#[test]
fn over_pipes_a_change_wakes_the_loop_and_the_end_closes_what_is_open() {
    let mut script = Script::start(CHANGING);
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["tick:0"] });
    script.send(&listen(1, &filter));
    assert_eq!(script.receive(), acknowledged(1, &filter));
    // By a thread, while the loop sleeps.
    script.ask(&call(2, "later", &json!({})));
    assert_eq!(script.receive(), changed(1, TOOLS));
    assert_eq!(
        script.ask(&call(3, "learnt", &json!({})))["result"]["content"][0]["text"],
        "learnt"
    );
    // A flood without an end holds up neither calls nor the end.
    script.ask(&call(4, "flood", &json!({})));
    assert_eq!(script.receive(), updated(1, "tick:0"));
    script.send(&call(5, "later", &json!({})));
    while script.receive()["id"] != 5 {}
    let exit = script.finish();
    assert!(exit.status.success());
    assert!(exit.took < Duration::from_millis(1_000), "{:?}", exit.took);
    let [.., cancelled, result] = &exit.answers[..] else {
        panic!("{:?}", exit.answers);
    };
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], 1);
    assert_eq!(result["id"], 1);
    assert_eq!(result["result"]["_meta"][ID], 1);
}

#[test]
fn over_pipes_a_flood_that_nobody_reads_of_needs_no_memory() {
    let mut process = Process::start(CHANGING, Stdio::piped(), Stdio::piped(), Stdio::null());
    let stdin = process.child().stdin.as_mut().expect("stdin is piped");
    let uris: Vec<String> = (0..1_000).map(|index| format!("tick:{index}")).collect();
    let filter = json!({ "resourceSubscriptions": uris });
    writeln!(stdin, "{}", listen(1, &filter)).expect("the server reads");
    writeln!(stdin, "{}", call(2, "flood", &json!({}))).expect("the server reads");
    // Long enough for 50 rounds, which would be some 8 MB.
    thread::sleep(Duration::from_millis(300));
    let before = process.memory_max();
    thread::sleep(Duration::from_millis(1_000));
    let grown = process.memory_max() - before;
    assert!(grown < 1 << 20, "{grown} bytes more");
}

#[test]
fn over_pipes_a_signal_closes_what_is_open() {
    let mut script = Script::start(CHANGING);
    script.ask(&listen(1, &json!({})));
    script.signal(rustix::process::Signal::TERM);
    let exit = script.wait();
    assert!(exit.status.success());
    let ids: Vec<_> = exit
        .answers
        .iter()
        .map(|answer| answer.get("id").cloned())
        .collect();
    assert_eq!(ids, [None, Some(json!(1))]);
}

fn changing() -> (Stepped, Handle) {
    let mut server = server();
    let handle = server.handle();
    (Stepped::new(server), handle)
}

fn tool(name: &str) -> Tool {
    Tool::new(name, |_: Call<'_>, reply: Reply<'_>| reply.text("done"))
}
