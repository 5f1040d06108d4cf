//! Batches: several messages in one array, in 2025-03-26 and nowhere else.
//!
//! Specification: 2025-03-26, `basic/index`, Batching, and `basic/lifecycle` for `initialize`;
//! <https://www.jsonrpc.org/specification#batch>.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tightwire::{Call, Limits, Reply, Server, Tool};
use tightwire_tests::{
    Held, Pair, Stepped, batch, cancelled, initialize, legacy, legacy_result, modern, refusal,
    server, text,
};

const NOTHING: Vec<Value> = Vec::new();

fn ping(id: impl Into<Value>) -> String {
    legacy(id, "ping", &json!({}))
}

fn hold(id: impl Into<Value>) -> String {
    legacy(id, "tools/call", &json!({ "name": "hold" }))
}

fn pong(id: impl Into<Value>) -> Value {
    legacy_result(id, &json!({}))
}

fn held(id: impl Into<Value>, said: &str) -> Value {
    legacy_result(id, &text(said))
}

fn session(server: Server) -> Pair {
    Pair::session(server, "2025-03-26")
}

/// A session on a server whose tool `hold` waits for the test.
fn holding() -> (Pair, Held) {
    let held = Held::default();
    (session(server().tool(held.tool())), held)
}

#[test]
fn other_revisions_have_no_batches() {
    let line = batch(&[&ping(1), &ping(2)]);
    let pairs = [
        Pair::new(server()),
        Pair::session(server(), "2024-11-05"),
        Pair::session(server(), "2025-06-18"),
        Pair::session(server(), "2025-11-25"),
    ];
    for mut pair in pairs {
        for line in [
            &*line,
            "[]",
            "[1]",
            &batch(&[&modern(1, "tools/list", json!({}))]),
        ] {
            let refusal = refusal(&pair.ask(line));
            assert_eq!(refusal.code, -32600, "{line}");
            assert!(matches!(refusal.id, None | Some(Value::Null)), "{line}");
        }
        assert_eq!(pair.ask(&ping(3)), pong(3));
    }
}

#[test]
fn the_answers_to_a_batch_come_in_one_array() {
    let mut pair = session(server());
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    let response = r#"{"jsonrpc":"2.0","id":9,"result":{}}"#;
    let echo = legacy(
        "e",
        "tools/call",
        &json!({ "name": "echo", "arguments": { "message": "," } }),
    );
    let cases = [
        (vec![ping(1)], json!([pong(1)])),
        (
            vec![
                ping(1),
                notification.to_owned(),
                echo,
                response.to_owned(),
                ping("2"),
            ],
            json!([pong(1), held("e", ","), pong("2")]),
        ),
        (vec![notification.to_owned(), ping(1)], json!([pong(1)])),
        // Answered by then, the id is free.
        (vec![ping(1), ping(1)], json!([pong(1), pong(1)])),
    ];
    for (messages, expected) in cases {
        let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
        assert_eq!(pair.ask(&batch(&messages)), expected);
    }
}

#[test]
fn ids_beyond_64_bits_are_ids_in_a_batch_too() {
    let mut pair = session(server());
    let id = "18446744073709551616";
    let line = format!(r#"[{{"jsonrpc":"2.0","id":{id},"method":"ping"}}]"#);
    let answer = pair.ask_text(&line);
    let expected = format!("[{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}]\n");
    assert_eq!(answer, expected);
}

#[test]
fn a_batch_of_notifications_is_not_answered() {
    let mut pair = session(server());
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    let response = r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#;
    for line in [
        batch(&[notification]),
        batch(&[notification, &cancelled(1), notification]),
        batch(&[response, notification]),
    ] {
        assert_eq!(pair.send(&line), NOTHING, "{line}");
    }
    assert_eq!(pair.ask(&ping(1)), pong(1));
}

#[test]
fn an_empty_batch_and_one_over_the_limit_are_refused_with_one_error() {
    let limits = Limits {
        batch_max: 3,
        ..Limits::default()
    };
    let mut pair = session(server().limits(limits));
    let (one, two, three, four) = (ping(1), ping(2), ping(3), ping(4));
    let full = pair.ask(&batch(&[&one, &two, &three]));
    assert_eq!(full, json!([pong(1), pong(2), pong(3)]));
    for line in ["[]", " [ ] ", &batch(&[&one, &two, &three, &four])] {
        let refusal = refusal(&pair.ask(line));
        assert_eq!(refusal.head(), (Some(Value::Null), -32600), "{line}");
        assert!(
            refusal.message.contains("1 to 3 messages"),
            "{}",
            refusal.message
        );
    }
}

#[test]
fn the_default_limit_is_1024_messages() {
    let mut pair = session(server());
    let messages: Vec<String> = (0..1025).map(ping).collect();
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    let answer = pair.ask(&batch(&messages[..1024]));
    assert_eq!(answer.as_array().map(Vec::len), Some(1024));
    assert_eq!(refusal(&pair.ask(&batch(&messages))).code, -32600);
}

#[test]
fn what_is_no_message_in_a_batch_is_answered_in_its_place() {
    let mut pair = session(server());
    let answer = pair.ask(&batch(&[
        "1",
        &ping(1),
        "null",
        "[]",
        r#"{"foo":"bar"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":5}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        &legacy(3, "no/such", &json!({})),
    ]));
    let answers = answer.as_array().expect("an array");
    let codes: Vec<(Value, Value)> = answers
        .iter()
        .map(|answer| (answer["id"].clone(), answer["error"]["code"].clone()))
        .collect();
    let expected = [
        (json!(null), json!(-32600)),
        (json!(1), json!(null)),
        (json!(null), json!(-32600)),
        (json!(null), json!(-32600)),
        (json!(null), json!(-32600)),
        (json!(2), json!(-32600)),
        (json!(null), json!(-32600)),
        (json!(3), json!(-32601)),
    ];
    assert_eq!(codes, expected);
    assert!(answers.iter().all(|answer| answer.get("id").is_some()));
}

#[test]
fn a_batch_that_is_not_json_is_a_parse_error_as_a_whole() {
    let mut pair = session(server());
    for line in [
        format!("[{},", ping(1)),
        format!("[{},]", ping(1)),
        format!(
            r#"[{},{{"jsonrpc":"2.0","id":2,"method":"ping","params":{{"x":1e400}}}}]"#,
            ping(1)
        ),
    ] {
        assert_eq!(
            refusal(&pair.ask(&line)).head(),
            (Some(Value::Null), -32700),
            "{line}"
        );
    }
}

#[test]
fn initialize_must_not_be_part_of_a_batch() {
    let mut pair = session(server());
    let answer = pair.ask(&batch(&[&initialize("2025-11-25"), &ping(1)]));
    assert_eq!(refusal(&answer[0]).head(), (Some(json!("init")), -32600));
    assert_eq!(answer[1], pong(1));
    // Nor before there is a session.
    let mut pair = Pair::new(server());
    let refused = refusal(&pair.ask(&batch(&[&initialize("2025-03-26")])));
    assert_eq!(refused.head(), (None, -32600));
    assert_eq!(pair.ask(&initialize("2025-03-26"))["id"], "init");
}

#[test]
fn a_modern_request_must_not_be_part_of_a_batch() {
    let mut pair = session(server());
    let lines = [
        modern(1, "tools/list", json!({})),
        legacy(1, "server/discover", &json!({})),
        legacy(
            1,
            "tools/list",
            &json!({ "_meta": { "io.modelcontextprotocol/logLevel": 1 } }),
        ),
    ];
    for line in lines {
        let answer = pair.ask(&batch(&[&line, &ping(2)]));
        assert_eq!(
            refusal(&answer[0]).head(),
            (Some(json!(1)), -32600),
            "{line}"
        );
        assert_eq!(answer[1], pong(2));
    }
}

#[test]
fn a_batch_waits_for_its_last_answer() {
    let (mut pair, calls) = holding();
    assert_eq!(
        pair.send(&batch(&[&hold(1), &ping(2), &hold(3), &hold(4)])),
        NOTHING
    );
    // Others do not wait for it.
    assert_eq!(pair.ask(&ping(5)), pong(5));
    assert_eq!(pair.ask(&batch(&[&ping(6)])), json!([pong(6)]));
    let (first, second) = (calls.next(), calls.next());
    second.answer(|reply| reply.text("second"));
    assert_eq!(pair.poll(), NOTHING);
    first.answer(|reply| reply.text("first"));
    assert_eq!(pair.poll(), NOTHING);
    drop(calls.next());
    let answers = pair.poll();
    let [Value::Array(answers)] = &answers[..] else {
        panic!("one array, not {answers:?}");
    };
    assert_eq!(answers[..3], [pong(2), held(3, "second"), held(1, "first")]);
    assert_eq!(refusal(&answers[3]).head(), (Some(json!(4)), -32603));
    assert_eq!(pair.memory().in_flight(), 0);
}

#[test]
fn batches_that_are_open_together_are_kept_apart() {
    let (mut pair, calls) = holding();
    assert_eq!(pair.send(&batch(&[&hold("a1"), &ping("a2")])), NOTHING);
    assert_eq!(pair.send(&batch(&[&ping("b1"), &hold("b2")])), NOTHING);
    assert_eq!(pair.send(&hold("c")), NOTHING);
    let a1 = calls.next();
    calls.answer("b2");
    assert_eq!(pair.poll(), [json!([pong("b1"), held("b2", "b2")])]);
    calls.answer("c");
    assert_eq!(pair.poll(), [held("c", "c")]);
    a1.answer(|reply| reply.text("a1"));
    assert_eq!(pair.poll(), [json!([pong("a2"), held("a1", "a1")])]);
}

#[test]
fn a_cancelled_request_is_missing_from_its_batch() {
    let (mut pair, calls) = holding();
    assert_eq!(pair.send(&batch(&[&hold(1), &ping(2), &hold(3)])), NOTHING);
    assert_eq!(pair.send(&cancelled(1)), NOTHING);
    assert!(calls.next().is_cancelled());
    calls.answer("three");
    assert_eq!(pair.poll(), [json!([pong(2), held(3, "three")])]);

    // The last one that is awaited is cancelled.
    assert_eq!(pair.send(&batch(&[&hold(1), &ping(2)])), NOTHING);
    assert_eq!(pair.send(&cancelled(1)), [json!([pong(2)])]);

    // The only one.
    assert_eq!(pair.send(&batch(&[&hold(1)])), NOTHING);
    assert_eq!(pair.send(&cancelled(1)), NOTHING);
    assert_eq!(pair.poll(), NOTHING);
    assert_eq!(pair.memory().in_flight(), 0);
}

#[test]
fn a_batch_may_cancel_what_it_asked_for_itself() {
    let (mut pair, calls) = holding();
    let line = batch(&[&hold(1), &ping(2), &cancelled(1)]);
    assert_eq!(pair.ask(&line), json!([pong(2)]));
    assert!(calls.next().is_cancelled());
    // The id is free again, within the batch too.
    let line = batch(&[&hold(1), &cancelled(1), &hold(1)]);
    assert_eq!(pair.send(&line), NOTHING);
    drop(calls.next());
    calls.answer("again");
    assert_eq!(pair.poll(), [json!([held(1, "again")])]);
}

#[test]
fn a_batch_that_another_one_ends_is_not_a_part_of_it() {
    let (mut pair, _calls) = holding();
    assert_eq!(pair.send(&batch(&[&hold(1), &ping(2)])), NOTHING);
    let answers = pair.send(&batch(&[&ping(3), &cancelled(1), &ping(4)]));
    let expected = [json!([pong(2)]), json!([pong(3), pong(4)])];
    assert_eq!(answers, expected);
}

#[test]
fn an_id_in_flight_is_refused_within_a_batch() {
    let (mut pair, calls) = holding();
    assert_eq!(pair.send(&batch(&[&hold(1), &hold(1)])), NOTHING);
    calls.answer("one");
    let answers = pair.poll();
    assert_eq!(refusal(&answers[0][0]).head(), (Some(json!(1)), -32600));
    assert_eq!(answers[0][1], held(1, "one"));
}

#[test]
fn delays_and_the_time_limit_hold_within_a_batch() {
    let held = Held::default();
    let limits = Limits {
        deferred_ms_max: 1_000,
        ..Limits::default()
    };
    let slow = Tool::new("slow", |_: Call<'_>, reply: Reply<'_>| {
        reply.after(Duration::from_millis(300), |reply| {
            reply.after(Duration::from_millis(300), |reply| reply.text("slept"));
        });
    });
    let mut server = Stepped::new(server().tool(held.tool()).tool(slow).limits(limits));
    server.send(&initialize("2025-03-26"));
    let slow = legacy(1, "tools/call", &json!({ "name": "slow" }));
    assert_eq!(server.send(&batch(&[&slow, &hold(2), &ping(3)])), NOTHING);
    assert_eq!(server.pass_ms(300), NOTHING);
    assert_eq!(server.pass_ms(300), NOTHING);
    let answers = server.pass_ms(400);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0][0], pong(3));
    assert_eq!(answers[0][1], legacy_result(1, &text("slept")));
    assert_eq!(refusal(&answers[0][2]).head(), (Some(json!(2)), -32603));
}

#[test]
fn a_ticket_made_after_a_delay_stays_in_its_batch() {
    let later = Arc::new(Mutex::new(Vec::new()));
    let tickets = Arc::clone(&later);
    let slow = Tool::new("slow", move |_: Call<'_>, reply: Reply<'_>| {
        let tickets = Arc::clone(&tickets);
        reply.after(Duration::from_millis(1), move |reply| {
            tickets.lock().expect("no panic").push(reply.defer());
        });
    });
    let mut server = Stepped::new(server().tool(slow));
    server.send(&initialize("2025-03-26"));
    let slow = legacy(1, "tools/call", &json!({ "name": "slow" }));
    assert_eq!(server.send(&batch(&[&slow, &ping(2)])), NOTHING);
    assert_eq!(server.pass_ms(1), NOTHING);
    for ticket in later.lock().expect("no panic").drain(..) {
        ticket.answer(|reply| reply.text("later"));
    }
    assert_eq!(server.completed(), [json!([pong(2), held(1, "later")])]);
}
