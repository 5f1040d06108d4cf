//! The limits that a connection in memory keeps: each has its answer, and costs the sender alone.
//!
//! Those of the transports (`output_bytes_max`, `pool_threads_max`, `pool_queue_max`,
//! `drain_ms_max`) need a process; what is kept for requests in flight is in `held`. `batch_max` is among the batches.

use std::time::Duration;

use serde_json::{Value, json};
use tightwire::{Call, Limits, Reply, Server, Tool};
use tightwire_tests::{
    Held, Pair, Stepped, call, cancelled, initialize, legacy, legacy_result, modern, modern_meta,
    modern_result, refusal, server, text,
};

const NOTHING: Vec<Value> = Vec::new();

fn hi(id: impl Into<Value>) -> String {
    call(id, "echo", &json!({ "message": "hi" }))
}

fn hold(id: impl Into<Value>) -> String {
    modern(id, "tools/call", json!({ "name": "hold" }))
}

fn limited(limits: Limits) -> Server {
    server().limits(limits)
}

/// A call of `echo` with one more argument, of this JSON.
fn with_argument(id: &str, json: &str) -> String {
    let meta = modern_meta();
    format!(
        r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"name":"echo","arguments":{{"message":"hi","x":{json}}},"_meta":{meta}}},"id":{id}}}"#
    )
}

/// Arrays in arrays.
fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn line_bytes_max_is_the_longest_line_served() {
    let line = hi(1);
    let limits = Limits {
        line_bytes_max: line.len(),
        ..Limits::default()
    };
    let mut pair = Pair::new(limited(limits));
    assert_eq!(pair.ask(&line), modern_result(1, text("hi")));
    let longer = format!("{line} ");
    for line in [longer.clone(), "x".repeat(200_000), format!(" {longer}")] {
        let refusal = refusal(&pair.ask(&line));
        assert_eq!(refusal.head(), (None, -32600));
        assert!(
            refusal.message.contains("longer than"),
            "{}",
            refusal.message
        );
        assert_eq!(pair.ask(&hi(2)), modern_result(2, text("hi")));
    }
    // It is told as soon as it is known, once, and what follows its end is served.
    let mut answers = pair.send_bytes(longer.as_bytes());
    answers.extend(pair.send_bytes(longer.as_bytes()));
    assert_eq!(answers.len(), 1);
    assert_eq!(refusal(&answers[0]).code, -32600);
    assert_eq!(pair.send_bytes(b"\n"), NOTHING);
    assert_eq!(pair.ask(&hi(3)), modern_result(3, text("hi")));
}

#[test]
fn a_line_over_the_limit_is_answered_as_the_session_wants_it() {
    for (version, id) in [("2025-11-25", None), ("2025-06-18", Some(Value::Null))] {
        let limits = Limits {
            line_bytes_max: 1_000,
            ..Limits::default()
        };
        let mut pair = Pair::session(limited(limits), version);
        let refusal = refusal(&pair.ask(&"x".repeat(1_001)));
        assert_eq!(refusal.head(), (id, -32600));
    }
}

#[test]
fn nesting_max_is_the_deepest_line_served() {
    // The line, its params and its arguments are three levels.
    let cases = [
        (Limits::default(), 128),
        (
            Limits {
                nesting_max: 8,
                ..Limits::default()
            },
            8,
        ),
        (
            Limits {
                nesting_max: 300,
                ..Limits::default()
            },
            300,
        ),
    ];
    for (limits, max) in cases {
        let mut pair = Pair::new(limited(limits));
        let deepest = with_argument("1", &nested(max - 3));
        assert_eq!(pair.ask(&deepest), modern_result(1, text("hi")));
        for (id, back) in [
            ("1", json!(1)),
            (r#""\"é""#, json!("\"é")),
            ("-0", json!(-0.0)),
        ] {
            for levels in [max - 2, max, 100_000] {
                let refusal = refusal(&pair.ask(&with_argument(id, &nested(levels))));
                assert_eq!(refusal.head(), (Some(back.clone()), -32700), "{levels}");
                assert!(
                    refusal.message.contains("nested too deep"),
                    "{}",
                    refusal.message
                );
            }
        }
        // In a part that nobody reads, and cut off.
        let unread = format!(
            r#"{{"x":{},"jsonrpc":"2.0","id":1,"method":"ping"}}"#,
            nested(max)
        );
        assert_eq!(refusal(&pair.ask(&unread)).head(), (Some(json!(1)), -32700));
        assert_eq!(
            refusal(&pair.ask(&"[".repeat(100_000))).head(),
            (None, -32700)
        );
        assert_eq!(pair.ask(&hi(2)), modern_result(2, text("hi")));
    }
}

#[test]
fn a_blocking_tool_is_called_as_deep_as_an_inline_one() {
    let tool = Tool::new("deep", |call: Call<'_>, reply: Reply<'_>| {
        let arguments = call
            .arguments()
            .find("x")
            .map(|value| value.as_array().is_some());
        reply.display(arguments.unwrap_or_default());
    });
    let mut pair = Pair::new(server().tool(tool.blocking()));
    let line = with_argument("1", &nested(125)).replace("\"echo\"", "\"deep\"");
    assert_eq!(pair.ask(&line), modern_result(1, text("true")));
}

#[test]
fn values_max_bounds_the_values_of_a_long_line() {
    let over_a_mebibyte = " ".repeat(1 << 20);
    let values = |count: usize| format!("[{}0]{over_a_mebibyte}", "0,".repeat(count - 1));
    let cases = [
        (Limits::default(), 1 << 20),
        (
            Limits {
                values_max: 1_000,
                ..Limits::default()
            },
            1_000,
        ),
    ];
    for (limits, max) in cases {
        let mut pair = Pair::new(limited(limits));
        assert_eq!(
            pair.ask(&with_argument("1", &values(max - 100))),
            modern_result(1, text("hi"))
        );
        let refusal = refusal(&pair.ask(&with_argument("1", &values(max + 1))));
        assert_eq!(refusal.code, -32600);
        assert!(
            refusal.message.contains("too many values"),
            "{}",
            refusal.message
        );
        // Text is no value, whatever it holds.
        let text_only = format!("\"{}\"", ",:[{".repeat(1 << 19));
        assert_eq!(
            pair.ask(&with_argument("1", &text_only)),
            modern_result(1, text("hi"))
        );
        assert_eq!(pair.ask(&hi(2)), modern_result(2, text("hi")));
    }
}

#[test]
fn in_flight_max_is_how_many_calls_may_wait() {
    let held = Held::default();
    let limits = Limits {
        in_flight_max: 2,
        ..Limits::default()
    };
    let mut pair = Pair::new(limited(limits).tool(held.tool()));
    assert_eq!(pair.send(&hold(1)), NOTHING);
    assert_eq!(pair.ask(&hi("between"))["id"], "between");
    assert_eq!(pair.send(&hold(2)), NOTHING);
    assert_eq!(pair.memory().in_flight(), 2);
    // The next one that would run a handler, whichever.
    let lines = [
        hold(3),
        hi(3),
        modern(3, "resources/read", json!({ "uri": "pair://hello" })),
        modern(
            3,
            "prompts/get",
            json!({ "name": "review", "arguments": { "code": "x" } }),
        ),
    ];
    for line in &lines {
        let refusal = refusal(&pair.ask(line));
        assert_eq!(refusal.head(), (Some(json!(3)), -32603), "{line}");
        assert!(refusal.message.contains("in flight"), "{}", refusal.message);
    }
    // What runs none is served.
    assert!(pair.ask(&modern(4, "tools/list", json!({})))["result"].is_object());
    assert_eq!(
        pair.ask(&legacy(4, "ping", &json!({})))["result"],
        json!({})
    );
    assert_eq!(pair.ask(&initialize("2025-11-25"))["id"], "init");
    // A cancellation frees a place, and so does an answer.
    assert_eq!(pair.send(&cancelled(1)), NOTHING);
    drop(held.next());
    assert_eq!(pair.send(&hold(3)), NOTHING);
    assert_eq!(refusal(&pair.ask(&hi(4))).code, -32603);
    held.answer("two");
    assert_eq!(pair.poll(), [modern_result(2, text("two"))]);
    for line in &lines[1..] {
        assert!(
            pair.ask(&line.replace("\"id\":3", "\"id\":4"))["result"].is_object(),
            "{line}"
        );
    }
    held.answer("three");
    assert_eq!(pair.poll(), [modern_result(3, text("three"))]);
}

#[test]
fn the_default_is_1024_in_flight() {
    let held = Held::default();
    let mut pair = Pair::new(server().tool(held.tool()));
    for id in 0..1024 {
        assert_eq!(pair.send(&hold(id)), NOTHING);
    }
    assert_eq!(
        refusal(&pair.ask(&hold(1024))).head(),
        (Some(json!(1024)), -32603)
    );
    for id in 0..1024 {
        assert_eq!(pair.send(&cancelled(id)), NOTHING);
    }
    assert_eq!(pair.memory().in_flight(), 0);
    assert!(held.next().is_cancelled());
}

#[test]
fn an_id_in_flight_is_refused_until_it_is_answered() {
    let held = Held::default();
    for id in [json!(1), json!("\"é\n"), json!(""), json!(-7)] {
        let mut pair = Pair::new(server().tool(held.tool()));
        assert_eq!(pair.send(&hold(id.clone())), NOTHING);
        let lines = [
            hold(id.clone()),
            hi(id.clone()),
            modern(id.clone(), "tools/list", json!({})),
            legacy(id.clone(), "ping", &json!({})),
        ];
        for line in lines {
            let refusal = refusal(&pair.ask(&line));
            assert_eq!(refusal.head(), (Some(id.clone()), -32600), "{line}");
        }
        // The first one is not touched by it, and its id is free after it.
        held.answer("done");
        assert_eq!(pair.poll(), [modern_result(id.clone(), text("done"))]);
        assert_eq!(
            pair.ask(&hi(id.clone())),
            modern_result(id.clone(), text("hi"))
        );
        // A cancellation frees it too.
        assert_eq!(pair.send(&hold(id.clone())), NOTHING);
        assert_eq!(pair.send(&cancelled(id.clone())), NOTHING);
        drop(held.next());
        assert_eq!(pair.poll(), NOTHING);
        assert_eq!(
            pair.ask(&hi(id.clone())),
            modern_result(id.clone(), text("hi"))
        );
    }
}

#[test]
fn deferred_ms_max_is_how_long_an_answer_may_take() {
    let held = Held::default();
    let limits = Limits {
        deferred_ms_max: 1_000,
        ..Limits::default()
    };
    let mut server = Stepped::new(limited(limits).tool(held.tool()));
    assert_eq!(server.due_in_ms(), None);
    assert_eq!(server.send(&hold(1)), NOTHING);
    assert_eq!(server.due_in_ms(), Some(1_000));
    assert_eq!(server.pass_ms(400), NOTHING);
    assert_eq!(server.send(&hold(2)), NOTHING);
    assert_eq!(server.due_in_ms(), Some(600));
    assert_eq!(server.pass_ms(599), NOTHING);
    let (first, second) = (held.next(), held.next());
    assert!(!first.is_cancelled());

    let answers = server.pass_ms(1);
    assert_eq!(answers.len(), 1);
    let refused = refusal(&answers[0]);
    assert_eq!(refused.head(), (Some(json!(1)), -32603));
    assert!(refused.message.contains("1000 ms"), "{}", refused.message);
    assert!(first.is_cancelled() && !second.is_cancelled());
    // Its late answer is thrown away; the other one is in time.
    first.answer(|reply| reply.text("late"));
    second.answer(|reply| reply.text("in time"));
    assert_eq!(server.completed(), [modern_result(2, text("in time"))]);
    assert_eq!(server.due_in_ms(), None);
    assert_eq!(server.pass_ms(10_000), NOTHING);
    assert_eq!(server.connection().in_flight(), 0);
}

#[test]
fn delays_count_towards_deferred_ms_max() {
    fn again(reply: Reply<'_>) {
        reply.after(Duration::from_millis(400), again);
    }
    let limits = Limits {
        deferred_ms_max: 1_000,
        ..Limits::default()
    };
    let mut server = Stepped::new(
        limited(limits)
            .tool(Tool::new("again", |_: Call<'_>, reply: Reply<'_>| {
                again(reply);
            }))
            .tool(Tool::new("late", |_: Call<'_>, reply: Reply<'_>| {
                reply.after(Duration::from_millis(1_001), |reply| reply.text("late"));
            }))
            .tool(Tool::new("last", |_: Call<'_>, reply: Reply<'_>| {
                reply.after(Duration::from_millis(1_000), |reply| reply.text("just"));
            }))
            .tool(Tool::new("never", |_: Call<'_>, reply: Reply<'_>| {
                reply.after(Duration::MAX, |reply| reply.text("never"));
            })),
    );
    server.send(&initialize("2025-11-25"));
    for name in ["again", "late", "last", "never"] {
        let line = legacy(name, "tools/call", &json!({ "name": name }));
        assert_eq!(server.send(&line), NOTHING);
    }
    for _ in 0..2 {
        assert_eq!(server.due_in_ms(), Some(400));
        assert_eq!(server.pass_ms(400), NOTHING);
    }
    assert_eq!(server.due_in_ms(), Some(200));
    let mut answers = server.pass_ms(200);
    answers.sort_by_key(|answer| answer["id"].to_string());
    let (just, refused): (Vec<Value>, Vec<Value>) = answers
        .into_iter()
        .partition(|answer| answer["id"] == "last");
    assert_eq!(just, [legacy_result("last", &text("just"))]);
    let heads: Vec<_> = refused
        .iter()
        .map(|answer| refusal(answer).head())
        .collect();
    let expected = ["again", "late", "never"].map(|id| (Some(json!(id)), -32603));
    assert_eq!(heads, expected);
}

#[test]
fn inline_ms_warn_names_the_tool_that_held_the_loop() {
    let limits = Limits {
        inline_ms_warn: 50,
        ..Limits::default()
    };
    let mut pair = Pair::new(limited(limits));
    let mut took = |line: &str, ms: u64| {
        pair.ask(line);
        pair.memory()
            .connection()
            .line_took(Duration::from_millis(ms));
        pair.log()
    };
    assert_eq!(took(&hi(1), 49), Vec::<String>::new());
    let log = took(&hi(1), 50);
    assert_eq!(log.len(), 1);
    assert!(
        log[0].contains("`echo`") && log[0].contains("50 ms"),
        "{log:?}"
    );
    // No tool was called by these.
    for line in [
        modern(1, "tools/list", json!({})),
        modern(1, "tools/call", json!({ "name": "nope" })),
        call(1, "echo", &json!({})),
        "{".to_owned(),
    ] {
        assert_eq!(took(&line, 1_000), Vec::<String>::new(), "{line}");
    }
}
