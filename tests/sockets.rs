//! Serving on sockets: many connections at once.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::{
        fs::{FileTypeExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::{Value, json};
use tightwire::{Error, Listener};
use tightwire_tests::{
    Client, Listening, Process, acknowledged, call, initialize, legacy, listen, modern,
};

const LISTENING: &str = env!("CARGO_BIN_EXE_listening");
const DIRECTORY: &str = env!("CARGO_TARGET_TMPDIR");

fn unix(arguments: &[&str]) -> Listening {
    Listening::unix(LISTENING, DIRECTORY, arguments)
}

fn both(arguments: &[&str]) -> [Listening; 2] {
    [unix(arguments), Listening::tcp(LISTENING, arguments)]
}

fn echo(id: u64, message: &str) -> String {
    call(id, "echo", &json!({ "message": message }))
}

fn text(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("a text, not {answer}"))
}

#[test]
fn many_connections_in_both_eras_each_with_its_own_state() {
    for server in both(&[]) {
        let mut clients: Vec<Client> = (0..100).map(|_| server.connect()).collect();
        for (index, client) in clients.iter_mut().enumerate() {
            if index % 2 == 0 {
                let answer = client.ask(&initialize("2025-06-18"));
                assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
            }
        }
        // All have the same id in flight, and get the answer to their own request.
        for (index, client) in clients.iter_mut().enumerate() {
            let arguments = json!({ "message": index.to_string(), "ms": 50 });
            client.send(&call(1, "sleep", &arguments));
            client.send(&call(2, "ticket", &arguments));
            client.send(&echo(3, &index.to_string()));
        }
        for (index, client) in clients.iter_mut().enumerate() {
            let mut answers = [(); 3].map(|()| client.receive());
            answers.sort_by_key(|answer| answer["id"].as_u64());
            assert_eq!(text(&answers[0]), "slept");
            assert_eq!(text(&answers[1]), "answered");
            assert_eq!(text(&answers[2]), index.to_string());
            let list = client.ask(&legacy(4, "tools/list", &json!({})));
            assert_eq!(list["result"].is_object(), index % 2 == 0, "{list}");
        }
    }
}

#[test]
fn a_session_is_of_its_connection_alone() {
    let server = unix(&[]);
    let (mut old, mut new) = (server.connect(), server.connect());
    old.ask(&initialize("2024-11-05"));
    let list = legacy(1, "tools/list", &json!({}));
    assert!(old.ask(&list)["result"]["tools"].is_array());
    assert_eq!(new.ask(&list)["error"]["code"], -32602);
    let listed = new.ask(&modern(2, "tools/list", json!({})));
    assert_eq!(listed["result"]["resultType"], "complete");
    assert!(old.ask(&list)["result"]["resultType"].is_null());
}

#[test]
fn a_first_line_that_is_no_object_closes_the_connection_without_an_answer() {
    for server in both(&["line_bytes_max=1000"]) {
        let post = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n{}\n",
            echo(1, "x")
        );
        let long = format!("{{\"a\":\"{}\"}}\n", "x".repeat(2000));
        for bytes in [
            post.as_bytes(),
            b"GET / HTTP/1.1\r\n\r\n",
            b"[]\n",
            b"[{}]\n",
            b"null\n",
            b"{]\n",
            b"{\"a\":1}{\n",
            b"\n\n[\n",
            // These need not be waited for to their end.
            b"\x16\x03\x01\x02\x00",
            b"G",
            long.as_bytes(),
        ] {
            let mut client = server.connect();
            client.send_bytes(bytes);
            assert_eq!(client.rest(), "", "{}", String::from_utf8_lossy(bytes));
        }
    }
}

#[test]
fn a_first_line_that_is_an_object_is_served_and_after_it_any() {
    for server in both(&[]) {
        for before in ["", "\n\r\n \n", "\u{FEFF}"] {
            let mut client = server.connect();
            client.send_bytes(before.as_bytes());
            assert_eq!(text(&client.ask(&echo(1, "a"))), "a");
            assert_eq!(client.ask("GET / HTTP/1.1")["error"]["code"], -32700);
            assert_eq!(client.ask("[]")["error"]["code"], -32600);
        }
        // Objects that are refused are answered.
        let mut client = server.connect();
        assert_eq!(client.ask("{}")["error"]["code"], -32600);
        let mut client = server.connect();
        let lone_surrogate = r#"{"jsonrpc":"2.0","id":7,"method":"\ud800"}"#;
        assert_eq!(client.ask(lone_surrogate)["id"], 7);
        // The last line may be the first, and need no newline.
        let mut client = server.connect();
        client.send_bytes(echo(1, "only").as_bytes());
        client.finish();
        assert_eq!(text(&client.receive()), "only");
        assert_eq!(client.rest(), "");
        let mut client = server.connect();
        client.send_bytes(b"{\"jsonrpc\":");
        client.finish();
        assert_eq!(client.rest(), "");
    }
}

#[test]
fn a_unix_socket_is_its_owners_alone_whatever_the_umask() {
    for umask in ["000", "022", "777"] {
        let path = PathBuf::from(format!("{DIRECTORY}/umask-{umask}.sock"));
        let script = format!("umask {umask}; exec \"$0\" unix \"$1\"");
        let mut command = Command::new("sh");
        let command = command.args(["-c", &script, LISTENING]).arg(&path);
        let mut server = Process::spawn(command.stdout(Stdio::piped()));
        let mut line = String::new();
        let stdout = server.child().stdout.take().expect("stdout is piped");
        let read = BufReader::new(stdout).read_line(&mut line);
        assert_eq!(read.expect("a line"), 2);
        let metadata = path.metadata().expect("the socket is there");
        assert_eq!(metadata.permissions().mode() & 0o7777, 0o600);
        assert!(metadata.file_type().is_socket());
        std::fs::remove_file(path).expect("it is there");
    }
}

#[test]
fn a_socket_of_a_dead_server_is_replaced_and_nothing_else() {
    let path = PathBuf::from(format!("{DIRECTORY}/stale-{}.sock", std::process::id()));
    let mut first = Listening::unix_at(LISTENING, &path, &[]);
    let in_use = |path: &PathBuf| match Listener::unix(path) {
        Err(Error::Io { source, .. }) => {
            assert_eq!(source.kind(), std::io::ErrorKind::AddrInUse);
            source.to_string()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(in_use(&path), "a server is listening there");
    assert_eq!(text(&first.connect().ask(&echo(1, "a"))), "a");

    // Even one that accepts nobody and whose queue is full is alive.
    let full = PathBuf::from(format!("{DIRECTORY}/full-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&full);
    let listener = UnixListener::bind(&full).expect("a free path");
    rustix::net::listen(&listener, 0).expect("a queue of one");
    let _queued = UnixStream::connect(&full).expect("a place in the queue");
    assert_eq!(in_use(&full), "a server is listening there");
    drop(listener);
    std::fs::remove_file(&full).expect("it is there");
    std::fs::write(&full, "precious").expect("a free path");
    assert_eq!(in_use(&full), "there is something that is no socket");
    assert_eq!(std::fs::read(&full).expect("it is there"), b"precious");
    std::fs::remove_file(&full).expect("it is there");

    first.process().signal(Signal::KILL);
    first.process_mut().wait();
    assert!(path.exists());
    let second = Listening::unix_at(LISTENING, &path, &[]);
    assert_eq!(text(&second.connect().ask(&echo(1, "b"))), "b");
}

#[test]
fn of_servers_that_start_together_on_one_path_one_serves() {
    let path = PathBuf::from(format!("{DIRECTORY}/race-{}.sock", std::process::id()));
    for _ in 0..20 {
        let _ = std::fs::remove_file(&path);
        drop(UnixListener::bind(&path).expect("a free path"));
        let start = || Listener::unix(&path).ok();
        let listeners: Vec<Option<Listener>> = thread::scope(|scope| {
            let threads = [(); 8].map(|()| scope.spawn(start));
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .collect()
        });
        assert_eq!(listeners.iter().flatten().count(), 1);
        assert!(path.exists());
    }
    assert!(!path.exists());
}

#[test]
fn tcp_is_for_this_machine_unless_asked_for_by_name() {
    for address in [
        "127.0.0.1:0",
        "[::1]:0",
        "[::ffff:127.0.0.1]:0",
        "localhost:0",
    ] {
        match Listener::tcp(address) {
            Ok(listener) => {
                let address = listener.local_addr().expect("it has one");
                assert!(address.ip().to_canonical().is_loopback());
                assert_ne!(address.port(), 0);
            }
            // There may be no IPv6.
            Err(error) => assert!(matches!(error, Error::Io { .. }), "{error}"),
        }
    }
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let refused = Listener::tcp(address).map(drop);
        assert!(
            matches!(refused, Err(Error::NotLoopback { .. })),
            "{refused:?}"
        );
    }
    let listener = Listener::tcp_beyond_loopback("0.0.0.0:0").expect("any address");
    assert!(
        listener
            .local_addr()
            .expect("it has one")
            .ip()
            .is_unspecified()
    );
}

#[test]
fn who_comes_when_all_connections_are_taken_waits_for_one_to_close() {
    for server in both(&["connections_max=2"]) {
        let [mut first, mut second, mut third] = [(); 3].map(|()| server.connect());
        first.ask(&echo(1, "a"));
        second.ask(&echo(1, "b"));
        third.send(&echo(1, "c"));
        thread::sleep(Duration::from_millis(100));
        let before = server.process().cpu_ticks();
        thread::sleep(Duration::from_millis(300));
        assert!(
            server.process().cpu_ticks() - before <= 1,
            "it waits for nothing"
        );
        first.ask(&echo(2, "a"));
        drop(second);
        assert_eq!(text(&third.receive()), "c");
        assert_eq!(text(&first.ask(&echo(3, "a"))), "a");
    }
}

#[test]
fn a_server_without_descriptors_waits_for_some_and_says_so() {
    let mut server = unix(&[]);
    let mut client = server.connect();
    client.ask(&echo(1, "a"));
    let limit = |server: &mut Listening, count: u64| {
        let limits = Rlimit {
            current: Some(count),
            maximum: Some(20_000),
        };
        let pid = Pid::from_child(server.process_mut().child());
        prlimit(Some(pid), Resource::Nofile, limits).expect("our own process");
    };
    let free = server.free_descriptor();
    limit(&mut server, free);
    let mut waiting = server.connect();
    waiting.send(&echo(1, "b"));
    let mut said = String::new();
    server.errors().read_line(&mut said).expect("a line");
    assert!(said.contains("accepting a connection: "), "{said}");
    let before = server.process().cpu_ticks();
    thread::sleep(Duration::from_millis(500));
    assert!(
        server.process().cpu_ticks() - before <= 1,
        "it does not spin"
    );
    client.ask(&echo(2, "a"));
    limit(&mut server, 10_000);
    assert_eq!(text(&waiting.receive()), "b");
}

#[test]
fn a_slow_reader_holds_up_nobody_else() {
    for server in both(&["output_bytes_max=1000000"]) {
        let mut slow = server.connect();
        let mut writer = slow.writer();
        let message = "x".repeat(100_000);
        // It takes nothing, and is read no more when so much waits for it.
        let sender = thread::spawn(move || {
            for id in 0..200 {
                let line = format!("{}\n", echo(id, &message));
                writer.write_all(line.as_bytes()).expect("the server reads");
            }
        });
        let mut fast = server.connect();
        for id in 0..1000 {
            let start = Instant::now();
            assert_eq!(text(&fast.ask(&echo(id, "fast"))), "fast");
            assert!(start.elapsed() < Duration::from_secs(2));
        }
        assert!(!sender.is_finished());
        assert!(server.process().memory_max() < 64 << 20);
        for id in 0..200 {
            assert_eq!(slow.receive()["id"], id);
        }
        sender.join().expect("no panic");
    }
}

#[test]
fn a_flood_of_one_and_a_long_line_of_another_hold_up_nobody_else() {
    for server in both(&[]) {
        let mut flood = server.connect();
        let mut long = server.connect();
        let mut fast = server.connect();
        let lines = format!("{}\n", echo(1, "flood")).repeat(50_000);
        let sender = thread::spawn(move || flood.send_bytes(lines.as_bytes()));
        let line = echo(1, &"x".repeat(20_000_000));
        let long = thread::spawn(move || long.ask(&line)["id"] == 1);
        let start = Instant::now();
        for id in 0..20 {
            assert_eq!(text(&fast.ask(&echo(id, "fast"))), "fast");
        }
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{:?}",
            start.elapsed()
        );
        assert!(long.join().expect("no panic"));
        drop(server);
        let _ = sender.join();
    }
}

#[test]
fn a_panic_costs_its_request_alone() {
    for server in both(&[]) {
        let [mut first, mut second] = [(); 2].map(|()| server.connect());
        let panicked = first.ask(&call(1, "panic", &json!({})));
        assert_eq!(panicked["error"]["code"], -32603);
        assert_eq!(text(&first.ask(&echo(2, "a"))), "a");
        assert_eq!(text(&second.ask(&echo(2, "b"))), "b");
    }
}

#[test]
fn subscriptions_end_with_their_connection() {
    for server in both(&[]) {
        let mut client = server.connect();
        let filter = json!({ "toolsListChanged": true });
        let told = client.ask(&listen("s", &filter));
        assert_eq!(told, acknowledged("s", &filter));
        client.finish();
        assert_eq!(client.receive()["method"], "notifications/cancelled");
        assert_eq!(client.receive()["id"], "s");
        assert_eq!(client.rest(), "");
    }
}

#[test]
fn connections_that_wait_take_no_processor_time() {
    for server in both(&[]) {
        let mut clients: Vec<Client> = (0..200).map(|_| server.connect()).collect();
        for (index, client) in clients.iter_mut().enumerate() {
            match index % 4 {
                0 => {}
                1 => client.send(&call(1, "never", &json!({}))),
                2 => client.send_bytes(b"{\"jsonrpc\":"),
                _ if index < 16 => drop(client.ask(&echo(1, &"x".repeat(2_000_000)))),
                _ => drop(client.ask(&echo(1, "x"))),
            }
        }
        // Memory of long lines is given back meanwhile.
        thread::sleep(Duration::from_millis(600));
        let before = server.process().cpu_ticks();
        thread::sleep(Duration::from_secs(1));
        assert!(server.process().cpu_ticks() - before <= 1);
    }
}

#[test]
fn ten_thousand_connections_leave_nothing_behind() {
    for server in both(&[]) {
        server.connect().ask(&echo(0, "it is up"));
        let idle = server.descriptors_at_rest();
        let converse = |count: usize| {
            for index in 0..count {
                let mut client = server.connect();
                match index % 5 {
                    0 => {}
                    1 => client.send(&call(1, "ticket", &json!({ "ms": 1 }))),
                    2 => client.send_bytes(b"{\"jsonrpc\":"),
                    3 => client.send_bytes(b"GET / HTTP/1.1\r\n\r\n"),
                    _ => assert_eq!(text(&client.ask(&echo(1, "x"))), "x"),
                }
            }
            // Those whose calls are still to be answered are waited for.
            let start = Instant::now();
            let mut last = server.connect();
            last.ask(&echo(1, "x"));
            while server.descriptors() > idle + 1 && start.elapsed() < Duration::from_secs(10) {
                thread::sleep(Duration::from_millis(20));
            }
            assert_eq!(server.descriptors(), idle + 1);
            server.process().memory()
        };
        let before = converse(2_000);
        let after = converse(10_000);
        assert!(after < before + (4 << 20), "from {before} to {after} bytes");
    }
}

#[test]
fn hooks_are_told_exactly_how_long_a_line_took() {
    let mut server = unix(&["hooks"]);
    let mut errors = server.errors();
    let mut client = server.connect();
    for id in 0..20 {
        client.ask(&echo(id, "x"));
        let mut took = String::new();
        errors.read_line(&mut took).expect("a line");
        let nanoseconds: u64 = took.trim_end().parse().expect("a number");
        assert!((1..1_000_000_000).contains(&nanoseconds), "{nanoseconds}");
    }
}

#[test]
fn connections_that_wait_take_little_memory() {
    for server in both(&[]) {
        let mut before = 0;
        // The second time all memory has been used before, and comes zeroed by hand.
        for _ in 0..2 {
            let mut clients: Vec<Client> = (0..400).map(|_| server.connect()).collect();
            for client in &mut clients {
                client.ask(&echo(1, "x"));
            }
            let after = server.process().memory();
            assert!(after < 32 << 20, "{after} bytes");
            assert!(
                before == 0 || after < before + (8 << 20),
                "{before} and {after}"
            );
            before = after;
        }
    }
}
