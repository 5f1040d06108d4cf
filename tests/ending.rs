//! How serving ends: at the end of the input, and by SIGTERM or SIGINT.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::ExitStatusExt},
    },
    process::{ChildStdin, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::{pipe::fcntl_setpipe_size, process::Signal};
use serde_json::{Value, json};
use tightwire_tests::{Exit, Process, Script, call};

const DEMO: &str = env!("CARGO_BIN_EXE_demo_under_test");
const FAULTY: &str = env!("CARGO_BIN_EXE_faulty");

const MIB: usize = 1 << 20;
/// The drain limit.
const DRAIN: Duration = Duration::from_millis(1_500);
/// What a busy machine takes longer.
const SLACK: Duration = Duration::from_millis(1_000);

#[test]
fn everything_read_is_answered_at_the_end_of_the_input() {
    let mut script = Script::start(DEMO);
    for id in 0..500 {
        script.send(&sleep(id, id));
        script.send(&echo(1_000 + id, "at once"));
    }
    script.send_bytes(echo(2_000, "without a newline").as_bytes());
    let exit = script.finish();
    let expected = (0..500).chain(1_000..1_500).chain([2_000]);
    assert_quiet_end(&exit, expected);
    assert!(exit.took < DRAIN, "{:?}", exit.took);
}

#[test]
fn nothing_in_flight_is_waited_for_when_there_is_nothing() {
    let mut script = Script::start(DEMO);
    script.ask(&echo(1, "one"));
    let exit = script.finish();
    assert_quiet_end(&exit, []);
    assert!(exit.took < SLACK, "{:?}", exit.took);
}

#[test]
fn what_is_unanswered_at_the_drain_limit_is_dropped() {
    let mut script = Script::start(DEMO);
    script.send(&sleep(1, 60_000));
    script.send(&sleep(2, 300));
    script.send(&echo(3, "three"));
    let exit = script.finish();
    assert_quiet_end(&exit, [2, 3]);
    assert!(
        exit.took > DRAIN - SLACK / 2 && exit.took < DRAIN + SLACK,
        "{:?}",
        exit.took
    );
}

#[test]
fn a_signal_ends_it_when_what_is_in_flight_is_answered() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut script = Script::start(DEMO);
        script.send(&sleep(1, 200));
        script.ask(&echo(2, "both are read"));
        script.signal(signal);
        // Stdin is open all the while.
        let exit = script.wait();
        assert_quiet_end(&exit, [1]);
        assert!(exit.took < SLACK, "{:?}", exit.took);
    }
}

#[test]
fn a_signal_ends_it_at_the_drain_limit_at_last() {
    let mut script = Script::start(DEMO);
    script.send(&sleep(1, 60_000));
    script.ask(&echo(2, "both are read"));
    script.signal(Signal::TERM);
    let exit = script.wait();
    assert_quiet_end(&exit, []);
    assert!(exit.took < DRAIN + SLACK, "{:?}", exit.took);
}

#[test]
fn a_signal_while_idle_ends_it_at_once() {
    let mut script = Script::start(DEMO);
    script.ask(&echo(1, "started"));
    // Half a line is not served.
    script.send_bytes(b"{\"jsonrpc\"");
    script.signal(Signal::INT);
    let exit = script.wait();
    assert_quiet_end(&exit, []);
    assert!(exit.took < SLACK, "{:?}", exit.took);
}

#[test]
fn a_second_signal_ends_it_at_once_whatever_holds_the_loop() {
    for signals in [[Signal::TERM, Signal::INT], [Signal::INT, Signal::TERM]] {
        let mut script = Script::start(FAULTY);
        script.send(&call(1, "hold", &json!({ "ms": 60_000 })));
        assert_eq!(script.next_error(), "holding");
        script.signal(signals[0]);
        script.signal(signals[1]);
        let exit = script.wait();
        let ended_by = exit.status.signal();
        assert!(
            signals
                .iter()
                .any(|signal| Some(signal.as_raw()) == ended_by),
            "{exit:?}"
        );
        assert!(exit.took < SLACK, "{:?}", exit.took);
    }
}

#[test]
fn one_signal_leaves_the_call_that_holds_the_loop_its_time() {
    let mut script = Script::start(FAULTY);
    script.send(&call(1, "hold", &json!({ "ms": 300 })));
    assert_eq!(script.next_error(), "holding");
    script.signal(Signal::TERM);
    let exit = script.wait();
    assert_eq!(exit.status.code(), Some(0), "{exit:?}");
    assert_eq!(exit.answers.len(), 1, "{exit:?}");
}

#[test]
fn a_slow_reader_loses_nothing_after_the_end_of_the_input() {
    let (stdout, server_stdout) = std::io::pipe().expect("a pipe");
    let (process, stdin) = start(server_stdout);
    assert_loses_nothing(process, stdin, stdout, MIB, Duration::from_millis(70));
}

#[test]
fn a_slow_reader_of_a_socket_loses_nothing_after_the_end_of_the_input() {
    let (client, server) = UnixStream::pair().expect("a pair of sockets");
    let (process, stdin) = start(OwnedFd::from(server));
    // It empties less of the socket than the system waits for before it says that there is room.
    assert_loses_nothing(process, stdin, client, MIB / 3, Duration::from_millis(400));
}

#[test]
fn a_reader_that_stops_for_good_is_not_waited_for() {
    let (stdout, server_stdout) = std::io::pipe().expect("a pipe");
    let (process, stdin) = start(server_stdout);
    assert_ends_unread(process, stdin, MIB);
    drop(stdout);

    let (client, server) = UnixStream::pair().expect("a pair of sockets");
    let (process, stdin) = start(OwnedFd::from(server));
    assert_ends_unread(process, stdin, MIB);
    drop(client);
}

#[test]
fn a_reader_that_stops_for_good_is_not_waited_for_where_input_is_unread() {
    let mut command = Command::new(FAULTY);
    command
        .arg("100000")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut process = Process::spawn(&mut command);
    let stdin = process.child().stdin.take().expect("stdin is piped");
    // All is sent, although the server stops reading at its limit.
    fcntl_setpipe_size(&stdin, MIB).expect("a pipe may be as large");
    assert_ends_unread(process, stdin, MIB / 2);
}

#[test]
fn a_reader_that_stops_for_good_is_not_waited_for_after_a_signal() {
    let (stdout, server_stdout) = std::io::pipe().expect("a pipe");
    let (mut process, mut stdin) = start(server_stdout);
    send(&mut stdin, MIB);
    process.signal(Signal::TERM);
    let (status, took) = process.wait();
    assert_eq!(status.code(), Some(0));
    assert!(took < DRAIN + SLACK, "{took:?}");
    drop(stdout);
}

/// Reads what is answered to many requests in small pieces with pauses, after stdin was closed.
fn assert_loses_nothing(
    mut process: Process,
    stdin: ChildStdin,
    mut stdout: impl Read,
    bytes: usize,
    pause: Duration,
) {
    let sent = send_and_close(stdin, bytes);
    let mut output = Vec::new();
    let mut piece = vec![0; 32 * 1024];
    let start = Instant::now();
    loop {
        let count = stdout.read(&mut piece).expect("it can be read");
        output.extend_from_slice(&piece[..count]);
        if count == 0 {
            break;
        }
        thread::sleep(pause);
    }
    assert!(
        start.elapsed() > DRAIN,
        "it took longer than the drain limit"
    );
    assert!(process.wait().0.success());
    assert_all_answered(&output, sent.join().expect("all was sent"));
}

/// Sends more than the output takes, closes stdin, and expects the end at the drain limit.
fn assert_ends_unread(mut process: Process, mut stdin: ChildStdin, bytes: usize) {
    send(&mut stdin, bytes);
    drop(stdin);
    let (status, took) = process.wait();
    assert_eq!(status.code(), Some(0));
    assert!(took < DRAIN + SLACK, "{took:?}");
}

fn assert_all_answered(output: &[u8], count: u64) {
    let answers = BufReader::new(output).lines().map(|line| {
        let line = line.expect("output is UTF-8");
        serde_json::from_str::<Value>(&line).expect("a line is JSON")
    });
    let ids: Vec<Value> = answers.map(|mut answer| answer["id"].take()).collect();
    assert_eq!(ids, (0..count).map(Value::from).collect::<Vec<_>>());
}

/// Status 0, silence on stderr, and one answer to each of these requests, in any order.
fn assert_quiet_end(exit: &Exit, expected: impl IntoIterator<Item = u64>) {
    assert_eq!(exit.status.code(), Some(0), "{exit:?}");
    assert!(exit.stderr.is_empty(), "{exit:?}");
    let ids = exit.answers.iter().map(|answer| answer["id"].as_u64());
    let mut ids: Vec<u64> = ids.map(|id| id.expect("a number")).collect();
    ids.sort_unstable();
    assert_eq!(ids, expected.into_iter().collect::<Vec<_>>());
}

/// Starts the demo with its stdout somewhere.
fn start(stdout: impl Into<Stdio>) -> (Process, ChildStdin) {
    let mut process = Process::start(DEMO, Stdio::piped(), stdout, Stdio::inherit());
    let stdin = process.child().stdin.take().expect("stdin is piped");
    (process, stdin)
}

/// Sends requests with the ids from 0 whose answers are at least so many bytes. How many.
fn send(stdin: &mut ChildStdin, bytes: usize) -> u64 {
    const MESSAGE: usize = 10_000;
    let count = bytes.div_ceil(MESSAGE) as u64;
    for id in 0..count {
        writeln!(stdin, "{}", echo(id, &"x".repeat(MESSAGE))).expect("the server reads");
    }
    count
}

/// As [`send`], from another thread, and closes stdin.
fn send_and_close(mut stdin: ChildStdin, bytes: usize) -> thread::JoinHandle<u64> {
    thread::spawn(move || send(&mut stdin, bytes))
}

fn echo(id: u64, message: &str) -> String {
    call(id, "echo", &json!({ "message": message }))
}

fn sleep(id: u64, ms: u64) -> String {
    call(id, "sleep", &json!({ "ms": ms }))
}
