//! Serving on sockets: how connections end, and how the server does.

use std::{
    io::BufRead,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::{net::sockopt::set_socket_linger, process::Signal};
use serde_json::json;
use tightwire_tests::{Client, Listening, call};

const LISTENING: &str = env!("CARGO_BIN_EXE_listening");
const DIRECTORY: &str = env!("CARGO_TARGET_TMPDIR");

fn both(arguments: &[&str]) -> [Listening; 2] {
    [
        Listening::unix(LISTENING, DIRECTORY, arguments),
        Listening::tcp(LISTENING, arguments),
    ]
}

fn echo(id: u64) -> String {
    call(id, "echo", &json!({ "message": "x" }))
}

fn timed(id: u64, tool: &str, ms: u64) -> String {
    call(id, tool, &json!({ "ms": ms }))
}

#[test]
fn what_was_asked_before_the_client_closed_its_side_is_answered() {
    for server in both(&[]) {
        let mut client = server.connect();
        client.send(&timed(1, "sleep", 100));
        client.send(&timed(2, "ticket", 200));
        // A last line needs no newline.
        client.send_bytes(echo(3).as_bytes());
        client.finish();
        let ids = [(); 3].map(|()| client.receive()["id"].clone());
        assert_eq!(ids, [3, 1, 2]);
        assert_eq!(client.rest(), "");
    }
}

#[test]
fn what_is_unanswered_after_the_time_to_drain_is_dropped() {
    for server in both(&["drain_ms_max=200"]) {
        let mut client = server.connect();
        client.send(&call(1, "never", &json!({})));
        client.finish();
        let start = Instant::now();
        assert_eq!(client.rest(), "");
        assert!(start.elapsed() >= Duration::from_millis(200));
        assert!(start.elapsed() < Duration::from_secs(2));
        server.connect().ask(&echo(2));
    }
}

#[test]
fn a_client_that_is_gone_has_its_calls_cancelled() {
    for mut server in both(&["drain_ms_max=200"]) {
        let mut errors = server.errors();
        let mut client = server.connect();
        client.send(&call(1, "wait", &json!({})));
        // It has begun.
        thread::sleep(Duration::from_millis(100));
        drop(client);
        let mut said = String::new();
        errors.read_line(&mut said).expect("a line");
        assert_eq!(said, "cancelled\n");
        server.connect().ask(&echo(2));
    }
}

#[test]
fn clients_that_go_away_in_the_middle_of_anything_disturb_nobody() {
    for server in both(&[]) {
        server.connect().ask(&echo(0));
        let idle = server.descriptors_at_rest();
        let mut other = server.connect();
        for round in 0..50 {
            let mut client = server.connect();
            client.ask(&echo(1));
            match round % 5 {
                0 => client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,"),
                1 => client.send(&timed(1, "sleep", 20)),
                2 => client.send(&timed(1, "ticket", 20)),
                // Answers that it will not take.
                3 => client.send(&call(
                    1,
                    "echo",
                    &json!({ "message": "x".repeat(1_000_000) }),
                )),
                _ => {}
            }
            drop(client);
            assert_eq!(other.ask(&echo(round))["id"], round);
        }
        drop(other);
        let start = Instant::now();
        while server.descriptors() > idle && start.elapsed() < Duration::from_secs(5) {
            thread::sleep(Duration::from_millis(10));
        }
        // Blocking tools were not called: there are no threads, and no descriptors of theirs.
        assert_eq!(server.descriptors(), idle);
    }
}

#[test]
fn what_panics_when_it_is_dropped_disturbs_nobody() {
    for mut server in both(&["pool_threads_max=2"]) {
        let mut other = server.connect();
        for _ in 0..3 {
            for tool in ["bomb", "bomb_elsewhere"] {
                let mut client = server.connect();
                client.send(&call(1, tool, &json!({})));
                client.ask(&echo(2));
                drop(client);
                other.ask(&echo(3));
            }
        }
        // The threads are still there.
        let elsewhere = call(4, "large_elsewhere", &json!({ "bytes": 1 }));
        assert_eq!(other.ask(&elsewhere)["id"], 4);
        drop(other);
        server.process().signal(Signal::TERM);
        assert_eq!(server.process_mut().wait().0.code(), Some(0));
        let mut said = String::new();
        std::io::Read::read_to_string(&mut server.errors(), &mut said).expect("a text");
        // What is said is in lines that cannot block, and not by the hook of the process.
        assert!(
            said.lines().all(|line| line.starts_with("tightwire: ")),
            "{said}"
        );
    }
}

#[test]
fn a_reset_ends_its_connection_alone_and_quietly() {
    let mut server = Listening::tcp(LISTENING, &[]);
    let mut other = server.connect();
    for in_flight in [false, true] {
        let mut client = server.connect();
        client.ask(&echo(1));
        if in_flight {
            client.send(&call(2, "never", &json!({})));
            client.send(&echo(3));
            client.receive();
        }
        set_socket_linger(client.tcp(), Some(Duration::ZERO)).expect("it is open");
        drop(client);
        assert_eq!(other.ask(&echo(4))["id"], 4);
    }
    drop(other);
    server.process().signal(Signal::TERM);
    assert_eq!(server.process_mut().wait().0.code(), Some(0));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut server.errors(), &mut said).expect("a text");
    assert_eq!(said, "");
}

#[test]
fn a_signal_lets_all_that_was_read_be_answered() {
    for signal in [Signal::TERM, Signal::INT] {
        for mut server in both(&[]) {
            let mut clients = [(); 20].map(|()| server.connect());
            let mut idle = server.connect();
            for client in &mut clients {
                client.ask(&echo(0));
                client.send(&timed(1, "sleep", 300));
                client.send(&timed(2, "ticket", 400));
                client.send(&echo(3));
                assert_eq!(client.receive()["id"], 3);
            }
            server.process().signal(signal);
            // Nobody is taken any more, long before the last answers.
            thread::sleep(Duration::from_millis(100));
            assert!(server.try_connect().is_err());
            assert_eq!(idle.rest(), "");
            for client in &mut clients {
                let ids = [(); 2].map(|()| client.receive()["id"].clone());
                assert_eq!(ids, [1, 2]);
                assert_eq!(client.rest(), "");
            }
            let (status, _) = server.process_mut().wait();
            assert_eq!(status.code(), Some(0));
        }
    }
}

#[test]
fn a_signal_gives_up_what_takes_too_long_and_whoever_takes_nothing() {
    for mut server in both(&["drain_ms_max=300"]) {
        let mut clients = [(); 3].map(|()| server.connect());
        clients[0].send(&call(1, "never", &json!({})));
        clients[0].ask(&echo(2));
        clients[1].send(&call(1, "wait", &json!({})));
        clients[1].ask(&echo(2));
        // Its answers are not taken.
        let message = json!({ "message": "x".repeat(1_000_000) });
        for id in 0..10 {
            clients[2].send(&call(id, "echo", &message));
        }
        server.process().signal(Signal::TERM);
        let (status, took) = server.process_mut().wait();
        assert_eq!(status.code(), Some(0));
        assert!(took >= Duration::from_millis(250), "{took:?}");
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
}

#[test]
fn answers_on_their_way_at_a_signal_arrive_whatever_is_left_unread() {
    for mut server in both(&["drain_ms_max=20000"]) {
        let mut client = server.connect();
        // The system takes it from the server long before the client does.
        client.send(&call(1, "large", &json!({ "bytes": 1_500_000 })));
        thread::sleep(Duration::from_millis(200));
        server.process().signal(Signal::STOP);
        client.send(&echo(2));
        server.process().signal(Signal::TERM);
        server.process().signal(Signal::CONT);
        thread::sleep(Duration::from_millis(200));
        // Too late to be read, but that is no reason to lose anything.
        client.send(&echo(3));
        let answers = client.rest();
        assert!(answers.len() > 1_500_000, "{}", answers.len());
        assert!(answers.ends_with('\n'), "the answer is cut off");
        drop(client);
        let (status, took) = server.process_mut().wait();
        assert_eq!(status.code(), Some(0));
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
}

#[test]
fn a_signal_waits_for_nobody_who_was_sent_nothing_of_late() {
    for mut server in both(&["drain_ms_max=5000"]) {
        let _silent = server.connect();
        server.process().signal(Signal::TERM);
        let (status, took) = server.process_mut().wait();
        assert_eq!(status.code(), Some(0));
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
}

#[test]
fn whatever_was_served_before_a_signal_lets_all_that_was_read_be_answered() {
    let mut server = Listening::unix(LISTENING, DIRECTORY, &["stdio_first"]);
    drop(server.process_mut().child().stdin.take());
    let mut client = server.connect();
    client.ask(&echo(0));
    client.send(&timed(1, "sleep", 300));
    client.ask(&echo(2));
    server.process().signal(Signal::TERM);
    assert_eq!(client.receive()["id"], 1);
    assert_eq!(client.rest(), "");
    assert_eq!(server.process_mut().wait().0.code(), Some(0));
    assert!(!server.path().exists());
}

#[test]
fn a_signal_ends_all_that_are_served_at_once() {
    let path = format!("{DIRECTORY}/{}-also.sock", std::process::id());
    let also = format!("also={path}");
    let mut server = Listening::unix(LISTENING, DIRECTORY, &[&also]);
    let start = Instant::now();
    let mut other = loop {
        match Client::unix(Path::new(&path)) {
            Ok(client) => break client,
            Err(error) => assert!(start.elapsed() < Duration::from_secs(10), "{error}"),
        }
        thread::sleep(Duration::from_millis(10));
    };
    let mut client = server.connect();
    // The one ends before the other does.
    for (client, ms) in [(&mut client, 200), (&mut other, 500)] {
        client.send(&timed(1, "sleep", ms));
        client.ask(&echo(2));
    }
    server.process().signal(Signal::TERM);
    for client in [&mut client, &mut other] {
        assert_eq!(client.receive()["id"], 1);
        assert_eq!(client.rest(), "");
    }
    assert_eq!(server.process_mut().wait().0.code(), Some(0));
    assert!(!server.path().exists() && !Path::new(&path).exists());
}

#[test]
fn a_second_signal_ends_at_once() {
    for mut server in both(&["drain_ms_max=20000"]) {
        let mut client = server.connect();
        client.send(&call(1, "never", &json!({})));
        client.ask(&echo(2));
        server.process().signal(Signal::TERM);
        thread::sleep(Duration::from_millis(200));
        server.process().signal(Signal::TERM);
        let (status, took) = server.process_mut().wait();
        assert!(!status.success());
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
}

#[test]
fn the_file_of_a_socket_is_removed_at_the_end_if_it_is_still_the_same() {
    let mut server = Listening::unix(LISTENING, DIRECTORY, &[]);
    server.connect().ask(&echo(1));
    assert!(server.path().exists());
    server.process().signal(Signal::TERM);
    assert_eq!(server.process_mut().wait().0.code(), Some(0));
    assert!(!server.path().exists());

    let mut server = Listening::unix(LISTENING, DIRECTORY, &[]);
    server.connect().ask(&echo(1));
    std::fs::remove_file(server.path()).expect("it is there");
    std::fs::write(server.path(), "another's").expect("a free path");
    server.process().signal(Signal::TERM);
    assert_eq!(server.process_mut().wait().0.code(), Some(0));
    assert_eq!(
        std::fs::read(server.path()).expect("it is there"),
        b"another's"
    );
}
