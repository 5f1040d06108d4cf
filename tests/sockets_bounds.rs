//! Serving on sockets: what all connections may hold together, and how long they may keep their
//! place for nothing.

use std::{
    io::{BufRead, Read},
    ops::Range,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use tightwire_tests::{Client, Listening, call, legacy};

const LISTENING: &str = env!("CARGO_BIN_EXE_listening");
const DIRECTORY: &str = env!("CARGO_TARGET_TMPDIR");
const MIB: usize = 1 << 20;
const HELD: &str = "a connection was closed: all together held";

fn unix(arguments: &[&str]) -> Listening {
    Listening::unix(LISTENING, DIRECTORY, arguments)
}

fn both(arguments: &[&str]) -> [Listening; 2] {
    [unix(arguments), Listening::tcp(LISTENING, arguments)]
}

fn echo(id: u64) -> String {
    call(id, "echo", &json!({ "message": "x" }))
}

fn large(id: u64, tool: &str, bytes: usize) -> String {
    call(id, tool, &json!({ "bytes": bytes }))
}

/// Waits until the server says so; it may say of a slow machine that a tool is slow.
fn wait_for(server: &mut Listening, text: &str) {
    let mut lines = server.errors().lines();
    let said = lines.any(|line| line.expect("a line").contains(text));
    assert!(said, "it never said {text:?}");
}

/// A server whose connections may hold 64 MiB together, and one that does not say anything.
fn bounded() -> (Listening, Client) {
    let server = unix(&["connections_bytes_max=67108864"]);
    let mut idle = server.connect();
    idle.ask(&echo(0));
    (server, idle)
}

/// The memory of a process that keeps to the bound: twice as much, since what is freed is not given
/// back at once, and some for itself.
fn assert_bounded(server: &Listening) {
    let memory = server.process().memory_max();
    assert!(memory < 160 * MIB, "{memory} bytes of memory");
}

#[test]
fn readers_that_take_nothing_are_held_back_and_lose_nothing() {
    let (server, mut idle) = bounded();
    let mut clients: Vec<Client> = (0..16).map(|_| server.connect()).collect();
    for client in &mut clients {
        for id in 0..30 {
            client.send(&large(id, "large", 500_000));
        }
    }
    idle.ask(&echo(1));
    thread::sleep(Duration::from_millis(300));
    assert_bounded(&server);
    for client in &mut clients {
        for id in 0..30 {
            assert_eq!(client.receive()["id"], id);
        }
    }
    idle.ask(&echo(2));
}

#[test]
fn answers_of_other_threads_count_too() {
    let (mut server, mut idle) = bounded();
    let mut clients: Vec<Client> = (0..4).map(|_| server.connect()).collect();
    for client in &mut clients {
        for id in 0..60 {
            client.send(&large(id, "large_elsewhere", 2_000_000));
        }
    }
    wait_for(&mut server, HELD);
    idle.ask(&echo(1));
}

#[test]
fn the_connection_that_holds_the_most_is_closed() {
    // Lines that do not end, and requests that are not answered.
    let unfinished = |_| "x".repeat(5 * MIB);
    let unanswered = |ids: Range<usize>| -> String { ids.map(late).collect() };
    let kinds: [&dyn Fn(Range<usize>) -> String; 2] = [&unfinished, &unanswered];
    for kind in kinds {
        let (mut server, mut idle) = bounded();
        let mut heaviest = server.connect();
        heaviest.ask(&echo(0));
        heaviest.send_bytes(kind(0..100).as_bytes());
        heaviest.send_bytes(kind(100..200).as_bytes());
        let mut clients: Vec<Client> = (0..14).map(|_| server.connect()).collect();
        for client in &mut clients {
            client.ask(&echo(0));
            // The server may close one of them, too.
            let _ = client.try_send(kind(0..100).as_bytes());
        }
        wait_for(&mut server, HELD);
        assert!(heaviest.rest().is_empty());
        idle.ask(&echo(1));
        server.connect().ask(&echo(1));
        assert_bounded(&server);
    }
}

#[test]
fn what_clients_say_of_themselves_counts_too() {
    let (mut server, mut idle) = bounded();
    let client = json!({ "name": "x".repeat(9 * MIB), "version": "1" });
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client
    });
    let opening = legacy(1, "initialize", &params);
    let mut clients: Vec<Client> = (0..16).map(|_| server.connect()).collect();
    for client in &mut clients {
        // The server may close one of them.
        let _ = client.try_send(format!("{opening}\n").as_bytes());
    }
    wait_for(&mut server, HELD);
    idle.ask(&echo(1));
    assert_bounded(&server);
}

/// A call that is answered late, with a long id.
fn late(id: usize) -> String {
    let id = format!("\"id\":\"{}{id}\"", "x".repeat(60_000));
    let line = call(0, "sleep", &json!({ "ms": 60_000 })).replacen("\"id\":0", &id, 1);
    format!("{line}\n")
}

#[test]
fn connections_that_are_quiet_give_back_what_they_needed() {
    let server = unix(&["connections_bytes_max=20000000"]);
    let message = json!({ "message": "x".repeat(900_000) });
    // Each needs some MiB for a line and its answer, and all of them live.
    let mut clients: Vec<Client> = (0..40).map(|_| server.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.ask(&call(1, "echo", &message))["id"], 1);
        thread::sleep(Duration::from_millis(60));
    }
    for client in &mut clients {
        assert_eq!(client.ask(&echo(2))["id"], 2);
    }
}

#[test]
fn a_first_line_is_waited_for_only_so_long() {
    for server in both(&["connections_max=3", "opening_ms_max=300"]) {
        let mut admitted = server.connect();
        admitted.ask(&echo(0));
        let (mut silent, mut unfinished) = (server.connect(), server.connect());
        unfinished.send_bytes(b"\n\n{\"jsonrpc\":");
        let start = Instant::now();
        let mut next = server.connect();
        assert_eq!(next.ask(&echo(1))["id"], 1);
        assert!(start.elapsed() >= Duration::from_millis(250));
        assert_eq!(silent.rest(), "");
        assert_eq!(unfinished.rest(), "");
        thread::sleep(Duration::from_millis(400));
        assert_eq!(admitted.ask(&echo(2))["id"], 2);
        assert_eq!(next.ask(&echo(3))["id"], 3);
    }
}

#[test]
fn a_reader_that_takes_nothing_is_waited_for_only_so_long() {
    for mut server in both(&["connections_max=2", "stall_ms_max=500"]) {
        let mut idle = server.connect();
        idle.ask(&echo(0));
        let mut stalled = server.connect();
        stalled.send(&large(1, "large", 20 * MIB));
        let mut next = server.connect();
        assert_eq!(next.ask(&echo(1))["id"], 1);
        wait_for(&mut server, "its reader took nothing for 500 ms");
        assert_eq!(idle.ask(&echo(2))["id"], 2);
    }
}

#[test]
fn a_slow_reader_that_closed_its_side_gets_all_of_its_answers() {
    let bytes = 12 * MIB;
    for server in both(&["drain_ms_max=300"]) {
        let mut client = server.connect();
        client.send(&large(1, "large", bytes));
        client.finish();
        // It takes less in the time to drain than the system tells the server of.
        let mut piece = vec![0; 16 * 1024];
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(50));
            client.read_exact(&mut piece).expect("it is sent");
        }
        assert!(client.rest().len() + 20 * piece.len() > bytes);
    }
}
