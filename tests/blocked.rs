//! What can happen while the server is in a read that blocks, which it is between the requests of a
//! conversation over pipes.

use std::{
    fs,
    io::{PipeReader, Read, Write},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::json;
use tightwire_tests::{Process, Script, call};

const DEMO: &str = env!("CARGO_BIN_EXE_demo_under_test");

/// Far below any limit, and what a busy machine may take.
const AT_ONCE: Duration = Duration::from_millis(1_000);

#[test]
fn a_signal_ends_it_and_nothing_is_left_in_the_input() {
    for (signal, rest) in [
        (Signal::TERM, ""),
        (Signal::INT, "{\"jsonrpc\""),
        (Signal::TERM, "\n\n"),
    ] {
        let (mut script, mut input) = blocked();
        script.send_bytes(rest.as_bytes());
        settle();
        script.signal(signal);
        let exit = script.wait();
        assert_eq!(exit.status.code(), Some(0), "{exit:?}");
        assert!(
            exit.answers.is_empty(),
            "half a line is not served: {exit:?}"
        );
        assert!(exit.stderr.is_empty(), "{exit:?}");
        assert!(exit.took < AT_ONCE, "{:?}", exit.took);
        let mut left = Vec::new();
        input.read_to_end(&mut left).expect("it can be read");
        assert_eq!(left, b"");
    }
}

#[test]
fn a_signal_with_stdin_open_ends_it_at_once() {
    let (script, _input) = blocked();
    script.signal(Signal::TERM);
    let exit = script.wait();
    assert_eq!(exit.status.code(), Some(0), "{exit:?}");
    assert!(exit.took < AT_ONCE, "{:?}", exit.took);
}

#[test]
fn requests_at_the_time_of_a_signal_are_answered_whole_or_not_at_all() {
    for pause in [0, 0, 20, 50, 100, 200, 500] {
        let (mut script, _input) = blocked();
        for id in 0..20 {
            script.send(&add(id));
        }
        thread::sleep(Duration::from_micros(pause));
        script.signal(Signal::TERM);
        let exit = script.wait();
        assert_eq!(exit.status.code(), Some(0), "{exit:?}");
        let ids = exit.answers.iter().map(|answer| answer["id"].as_u64());
        let expected = (0..20).map(Some).take(exit.answers.len());
        assert!(ids.eq(expected), "{exit:?}");
        assert!(exit.stderr.is_empty(), "{exit:?}");
    }
}

#[test]
fn the_end_of_the_input_ends_it() {
    let (mut script, _input) = blocked();
    script.send_bytes(add(7).as_bytes());
    let exit = script.finish();
    assert_eq!(exit.status.code(), Some(0), "{exit:?}");
    assert_eq!(exit.answers.len(), 1, "{exit:?}");
    assert!(exit.took < AT_ONCE, "{:?}", exit.took);
}

#[test]
fn a_reader_that_goes_ends_it() {
    let mut process = Process::start(DEMO, Stdio::piped(), Stdio::piped(), Stdio::inherit());
    let child = process.child();
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let mut stdout = child.stdout.take().expect("stdout is piped");
    let mut buffer = [0; 4096];
    converse(process.id(), || {
        writeln!(stdin, "{}", add(1)).expect("the server reads");
        assert!(stdout.read(&mut buffer).expect("it answers") > 0);
    });
    settle();
    drop(stdout);
    let (status, took) = process.wait();
    assert_eq!(status.code(), Some(0));
    assert!(took < AT_ONCE, "{took:?}");
}

#[test]
fn deferred_answers_need_no_further_input() {
    let (mut script, _input) = blocked();
    for id in 0..3 {
        let start = Instant::now();
        script.ask(&call(id, "sleep", &json!({ "ms": 30 })));
        assert!(start.elapsed() < AT_ONCE);
    }
}

/// A server in a read that blocks, and its stdin as another process would have it that inherited
/// it too.
fn blocked() -> (Script, PipeReader) {
    let (input, stdin) = std::io::pipe().expect("a pipe");
    let inherited = input.try_clone().expect("there are descriptors left");
    let mut process = Process::start(DEMO, input, Stdio::piped(), Stdio::piped());
    let stdout = process.child().stdout.take().expect("stdout is piped");
    let mut script = Script::over(process, stdin, stdout);
    let id = script.id();
    converse(id, || {
        script.ask(&add(1));
    });
    (script, inherited)
}

/// Asks, with pauses that no spinning lasts, until the server reads without waiting first.
fn converse(id: u32, mut ask: impl FnMut()) {
    let start = Instant::now();
    while !is_watched(id) {
        ask();
        thread::sleep(Duration::from_micros(200));
        assert!(start.elapsed() < Process::PATIENCE, "it never blocks");
    }
    settle();
}

/// Whether there is the thread that watches while a read blocks.
fn is_watched(id: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).expect("a folder in /proc");
    tasks.flatten().any(|task| {
        fs::read_to_string(task.path().join("comm"))
            .is_ok_and(|name| name.trim() == "tightwire-watch")
    })
}

/// Gives the server time to serve all and go back to its read.
fn settle() {
    thread::sleep(Duration::from_millis(20));
}

fn add(id: u64) -> String {
    call(id, "add", &json!({ "a": 2, "b": 3 }))
}
