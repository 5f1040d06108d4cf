//! Tools that misbehave harm nothing but themselves.

use std::{process::Stdio, time::Duration};

use rustix::process::Signal;
use serde_json::{Value, json};
use tightwire_tests::{Exit, Process, Script, call, cancelled};

const FAULTY: &str = env!("CARGO_BIN_EXE_faulty");

/// The drain limit of 1.5 s, and what a busy machine needs to end a process.
const DRAINED: Duration = Duration::from_millis(3_000);
/// An end that nothing is waited for.
const AT_ONCE: Duration = Duration::from_millis(1_200);

#[test]
fn a_panic_costs_its_own_call_and_is_told_on_stderr() {
    for tool in ["panic", "panic_blocking", "panic_later", "panic_ticket"] {
        let (answer, mut script) = among_others(tool, &json!({}));
        assert_internal(&answer, "the handler panicked");
        let mut told = String::new();
        while !told.contains("out of order") {
            told += &script.next_error();
        }
        assert!(told.contains("panicked"), "{tool}: {told}");
        assert_quiet_end(&script.finish(), AT_ONCE);
    }
}

#[test]
fn a_slow_tool_delays_no_fast_one_and_can_be_cancelled() {
    let mut script = Script::start(FAULTY);
    // It takes a minute, if nobody stops it.
    script.send(&call("slow", "wait", &json!({})));
    for id in 0..1_000 {
        let answer = script.ask(&call(id, "echo", &json!({ "message": "fast" })));
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["content"][0]["text"], "fast");
    }
    script.send(&cancelled("slow"));
    assert_quiet_end(&script.finish(), AT_ONCE);
}

#[test]
fn the_tool_that_panicked_is_named_in_one_line() {
    for tool in ["panic", "panic_blocking"] {
        let (_, mut script) = among_others(tool, &json!({}));
        let named = format!("tightwire: tool `{tool}` panicked: out of order, at ");
        let line = script.next_error();
        assert!(line.starts_with(&named), "{line}");
        assert!(script.finish().stderr.is_empty());
    }
}

#[test]
fn a_forgotten_reply_is_answered_with_an_error() {
    let (answer, stderr) = among_others_to_the_end("forget", &json!({}));
    assert_internal(&answer, "the handler gave no answer");
    assert!(stderr.is_empty(), "{stderr:?}");
}

#[test]
fn what_a_tool_prints_goes_to_stderr() {
    let (answer, stderr) = among_others_to_the_end("print", &json!({}));
    assert_eq!(text(&answer), "printed");
    assert_eq!(
        stderr,
        [
            "printed by the tool",
            "printed by a child",
            "printed without a newline"
        ]
    );
}

#[test]
fn control_characters_arrive_as_they_were_sent() {
    let (answer, _) = among_others_to_the_end("control", &json!({}));
    let control = ('\0'..' ').chain(['"', '\\', '\u{7F}', '\u{2028}', '\u{2029}']);
    assert_eq!(text(&answer), control.collect::<String>());
}

#[test]
fn a_tool_that_holds_the_loop_is_named() {
    let (answer, stderr) = among_others_to_the_end("hold", &json!({ "ms": 150 }));
    assert_eq!(text(&answer), "held");
    let named = |line: &String| line.contains("tool `hold` held the loop for 1");
    assert!(stderr.iter().any(named), "{stderr:?}");
}

#[test]
fn a_blocking_tool_that_holds_its_thread_is_not() {
    let (answer, stderr) = among_others_to_the_end("hold_blocking", &json!({ "ms": 150 }));
    assert_eq!(text(&answer), "held");
    assert_eq!(stderr, ["holding"]);
}

#[test]
fn others_are_answered_while_calls_hang() {
    let mut script = Script::start(FAULTY);
    script.send(&hanging_calls().join("\n"));
    for id in 10..20 {
        let answer = script.ask(&call(id, "echo", &json!({ "message": "free" })));
        assert_eq!((&answer["id"], text(&answer)), (&json!(id), "free"));
    }
}

#[test]
fn calls_that_hang_do_not_outlast_the_drain() {
    let mut script = Script::start(FAULTY);
    script.send(&hanging_calls().join("\n"));
    script.send(&call(10, "echo", &json!({ "message": "last" })));
    let exit = script.finish();
    assert_quiet_end(&exit, DRAINED);
    assert!(exit.took > Duration::from_millis(1_000), "{:?}", exit.took);
    let ids: Vec<&Value> = exit.answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(10)]);
}

#[test]
fn a_signal_does_not_wait_for_calls_that_hang() {
    let mut script = Script::start(FAULTY);
    script.send(&hanging_calls().join("\n"));
    script.ask(&call(
        10,
        "echo",
        &json!({ "message": "all are in flight" }),
    ));
    script.signal(Signal::TERM);
    assert_quiet_end(&script.wait(), DRAINED);
}

#[test]
fn a_call_that_is_cancelled_is_waited_for_no_more() {
    let mut script = Script::start(FAULTY);
    script.send(&hanging_calls().join("\n"));
    for id in 1..=3 {
        script.send(&cancelled(id));
    }
    let exit = script.finish();
    assert_quiet_end(&exit, AT_ONCE);
    assert!(exit.answers.is_empty(), "{:?}", exit.answers);
}

#[test]
fn panics_that_nobody_reads_of_hold_nothing_up() {
    let mut process = Process::start(FAULTY, Stdio::piped(), Stdio::piped(), Stdio::piped());
    let unread = process.child().stderr.take();
    let mut script = Script::over_pipes(process);
    // More than the pipe holds.
    for id in 0..2_000 {
        script.send(&call(id, "panic", &json!({})));
    }
    for id in 0..2_000 {
        assert_eq!(script.receive()["id"], id);
    }
    assert_quiet_end(&script.finish(), AT_ONCE);
    drop(unread);
}

#[test]
fn panics_and_prints_cost_nothing_more_where_stderr_has_no_reader() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let process = Process::start(FAULTY, Stdio::piped(), Stdio::piped(), writer);
    let mut script = Script::over_pipes(process);
    for round in 0..3 {
        let answer = script.ask(&call(round, "panic", &json!({})));
        assert_internal(&answer, "the handler panicked");
        let answer = script.ask(&call(round, "print", &json!({})));
        assert_eq!(text(&answer), "printed");
    }
    assert_quiet_end(&script.finish(), AT_ONCE);
}

#[test]
fn a_panic_right_before_the_end_is_told_too() {
    for tool in ["panic", "panic_blocking", "panic_later", "panic_ticket"] {
        for _ in 0..30 {
            let mut script = Script::start(FAULTY);
            script.send(&call(1, tool, &json!({})));
            let exit = script.finish();
            assert_quiet_end(&exit, AT_ONCE);
            assert_internal(&exit.answers[0], "the handler panicked");
            let told = exit.stderr.join("\n");
            assert!(told.contains("out of order"), "{tool}: {told}");
        }
    }
}

#[test]
fn a_panic_on_cancellation_costs_its_own_call() {
    let mut script = Script::start(FAULTY);
    script.send(&call(1, "panic_cancelled", &json!({})));
    script.send(&cancelled(1));
    let answer = script.ask(&call(2, "echo", &json!({ "message": "after" })));
    assert_eq!(text(&answer), "after");
    script.send(&call(3, "panic_cancelled", &json!({})));
    script.send(&call(4, "echo", &json!({ "message": "last" })));
    assert_quiet_end(&script.finish(), DRAINED);
}

#[test]
fn a_panic_that_panics_again_costs_its_own_call() {
    let (answer, _) = among_others_to_the_end("panic_twice", &json!({}));
    assert_internal(&answer, "the handler panicked");
}

/// Calls a tool between two calls of `echo` sent together with it, which are answered whatever it
/// does. Gives its answer, and the conversation to go on with.
fn among_others(tool: &str, arguments: &Value) -> (Value, Script) {
    let mut script = Script::start(FAULTY);
    let lines = [
        call(1, "echo", &json!({ "message": "before" })),
        call(2, tool, arguments),
        call(3, "echo", &json!({ "message": "after" })),
    ];
    script.send(&lines.join("\n"));
    let mut answers = [(); 3].map(|()| script.receive());
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let [before, answer, after] = answers;
    assert_eq!((&before["id"], text(&before)), (&json!(1), "before"));
    assert_eq!((&after["id"], text(&after)), (&json!(3), "after"));
    assert_eq!(answer["id"], 2);
    (answer, script)
}

/// As [`among_others`], and ends the process. Gives the answer and stderr.
fn among_others_to_the_end(tool: &str, arguments: &Value) -> (Value, Vec<String>) {
    let (answer, script) = among_others(tool, arguments);
    let exit = script.finish();
    assert_quiet_end(&exit, AT_ONCE);
    assert!(exit.answers.is_empty(), "{exit:?}");
    (answer, exit.stderr)
}

/// Calls 1, 2 and 3, which hang: deferred for ever, waiting, and deaf.
fn hanging_calls() -> [String; 3] {
    [
        call(1, "never", &json!({})),
        call(2, "wait", &json!({})),
        call(3, "hold_blocking", &json!({ "ms": 60_000 })),
    ]
}

/// Status 0, in time, and nothing but messages on stdout.
fn assert_quiet_end(exit: &Exit, within: Duration) {
    assert!(exit.status.success(), "{exit:?}");
    assert!(exit.took < within, "{exit:?}");
    for answer in &exit.answers {
        assert_eq!(answer["jsonrpc"], "2.0", "{exit:?}");
    }
}

fn assert_internal(answer: &Value, message: &str) {
    let error = json!({ "code": -32603, "message": message });
    assert_eq!(answer["error"], error, "{answer}");
}

fn text(answer: &Value) -> &str {
    let text = &answer["result"]["content"][0]["text"];
    text.as_str().unwrap_or_else(|| panic!("a text: {answer}"))
}
