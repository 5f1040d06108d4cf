//! What a server does around its tools: changes, logs, hooks, and where it is embedded.

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tightwire_tests::{Conversation, SUBSCRIPTION_ID, acknowledged, changed, updated};

#[test]
fn changes() {
    let mut conversation = Conversation::start(example!("changes"), Conversation::MODERN);
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["plugins://loads"] });
    let id = conversation.send("subscriptions/listen", json!({ "notifications": filter }));
    assert_eq!(conversation.receive(), acknowledged(id, &filter));
    let load = json!({ "name": "load", "arguments": { "name": "maths" } });
    conversation.send("tools/call", load.clone());
    let mut messages: Vec<Value> = (0..3).map(|_| conversation.receive()).collect();
    for told in [
        changed(id, "notifications/tools/list_changed"),
        updated(id, "plugins://loads"),
    ] {
        let place = messages.iter().position(|message| *message == told);
        messages.remove(place.unwrap_or_else(|| panic!("{told} in {messages:?}")));
    }
    assert_eq!(Conversation::text_of(&messages[0]["result"]), "loaded");
    assert_eq!(conversation.text("maths", json!({})), "This is maths.");
    let twice = conversation.tool_error("load", json!({ "name": "maths" }));
    assert!(twice.contains("maths"), "{twice}");

    let mut conversation = Conversation::start(example!("changes"), Conversation::LEGACY);
    conversation.result("resources/subscribe", json!({ "uri": "plugins://loads" }));
    conversation.send("tools/call", load);
    let mut methods: Vec<Value> = (0..3)
        .map(|_| conversation.receive()["method"].take())
        .collect();
    methods.sort_by_key(Value::to_string);
    let expected = [
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    ];
    assert_eq!(
        methods,
        [json!(expected[0]), json!(expected[1]), Value::Null]
    );
    conversation.send(
        "tools/call",
        json!({ "name": "unload", "arguments": { "name": "maths" } }),
    );
    let messages = [conversation.receive(), conversation.receive()];
    assert!(
        messages
            .iter()
            .any(|message| message["method"] == expected[1]),
        "{messages:?}"
    );
    let gone = conversation.ask("tools/call", json!({ "name": "maths" }));
    assert_eq!(gone["error"]["code"], -32602);
    // Of the modern era alone.
    assert!(!gone.to_string().contains(SUBSCRIPTION_ID));
}

#[test]
fn logging() {
    let call =
        |meta: Value| json!({ "name": "connect", "arguments": { "host": "db" }, "_meta": meta });
    let mut conversation = Conversation::start(example!("logging"), Conversation::MODERN);
    let level = json!({ "io.modelcontextprotocol/logLevel": "debug" });
    conversation.send("tools/call", call(level));
    let data: Vec<Value> = (0..3)
        .map(|_| conversation.receive()["params"].take())
        .collect();
    let first = json!({ "host": "db", "attempt": 1 });
    assert_eq!(
        data[0],
        json!({ "level": "debug", "logger": "network", "data": first })
    );
    assert_eq!(data[2], json!({ "level": "warning", "data": "db is slow" }));
    assert_eq!(
        Conversation::text_of(&conversation.receive()["result"]),
        "connected to db"
    );
    assert_eq!(
        conversation.text("connect", json!({ "host": "db" })),
        "connected to db"
    );
    assert_eq!(conversation.end(), ["connected to db", "connected to db"]);

    let mut conversation = Conversation::start(example!("logging"), Conversation::LEGACY);
    conversation.result("logging/setLevel", json!({ "level": "warning" }));
    conversation.send("tools/call", call(json!({})));
    assert_eq!(conversation.receive()["params"]["level"], "warning");
    assert_eq!(
        Conversation::text_of(&conversation.receive()["result"]),
        "connected to db"
    );
}

#[test]
fn hooks() {
    for mut conversation in Conversation::each(example!("hooks")) {
        let call = json!({ "name": "add", "arguments": { "a": 1, "b": 2 } });
        for _ in 0..2 {
            assert_eq!(
                Conversation::text_of(&conversation.result("tools/call", call.clone())),
                "3"
            );
        }
        let refused = conversation.ask("tools/call", call);
        assert_eq!(refused["error"]["code"], -31_000);
        let asked = format!("asked by tests in {}", conversation.version);
        let ended = |how: &str| format!("tools/call add ended with {how}");
        let (result, error) = (ended("Result"), ended("Error(-31000)"));
        assert_eq!(
            conversation.end(),
            [&asked, &result, &asked, &result, &asked, &error].map(String::as_str)
        );
    }
}

#[test]
fn metrics() {
    for mut conversation in Conversation::each(example!("metrics")) {
        assert_eq!(conversation.text("halve", json!({ "number": 8 })), "4");
        conversation.tool_error("halve", json!({ "number": 7 }));
        let told = conversation.end();
        assert_eq!(told.len(), 1, "{told:?}");
        let head = "tools/call halve: 2 calls, 1 failed, median ";
        assert!(told[0].starts_with(head), "{told:?}");
    }
}

/// It has no peer: it is the whole program.
#[test]
fn memory() {
    let output = Command::new(example!("memory"))
        .output()
        .expect("the example starts");
    assert!(output.status.success());
    let stdout = String::from_utf8(output.stdout).expect("stdout is UTF-8");
    let answers = stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let answers: Vec<(Value, String)> = answers
        .map(|answer: Value| {
            (
                answer["id"].clone(),
                Conversation::text_of(&answer["result"]),
            )
        })
        .collect();
    let expected = [(json!(2), "5".to_owned()), (json!(1), "at last".to_owned())];
    assert_eq!(answers, expected);
}

#[test]
fn own_loop() {
    for mut conversation in Conversation::each(example!("own_loop")) {
        let wait = conversation.send("tools/call", json!({ "name": "wait" }));
        assert_eq!(conversation.text("add", json!({ "a": 2, "b": 3 })), "5");
        let answer = conversation.receive();
        assert_eq!(
            (&answer["id"], Conversation::text_of(&answer["result"])),
            (&json!(wait), "waited".to_owned())
        );
        // Longer than what is read at once.
        let long = "x".repeat(100_000);
        let answer = conversation.ask("tools/call", json!({ "name": long }));
        assert_eq!(answer["error"]["code"], -32602);
        conversation.end();
    }
}

#[test]
fn spans() {
    let traceparent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    for mut conversation in Conversation::each(example!("spans")) {
        let call = json!({ "name": "lookup", "arguments": { "key": "a" }, "_meta": { "traceparent": traceparent } });
        assert_eq!(
            Conversation::text_of(&conversation.result("tools/call", call)),
            "the value of a"
        );
        let told = conversation.end();
        let line = told
            .iter()
            .find(|line| line.contains("asking the database"));
        let line = line.unwrap_or_else(|| panic!("{told:?}"));
        assert!(
            line.contains(&format!("traceparent=\"{traceparent}\"")),
            "{line}"
        );
        assert!(line.contains("client=\"tests\""), "{line}");
    }
}

/// Asks for a sum, and gives the answer.
fn sum(mut stream: impl Write, answers: impl std::io::Read) -> Value {
    let request = tightwire_tests::call(1, "add", &json!({ "a": 2, "b": 3 }));
    writeln!(stream, "{request}").expect("the server reads");
    let mut answer = String::new();
    let read = BufReader::new(answers).read_line(&mut answer);
    read.expect("the server answers");
    let answer: Value = serde_json::from_str(&answer).expect("an answer is JSON");
    answer["result"]["content"][0]["text"].clone()
}

/// A server that is gone with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(arguments: [&str; 2]) -> Served {
    let mut command = Command::new(example!("sockets"));
    let child = command.args(arguments).stderr(Stdio::piped()).spawn();
    Served(child.expect("the example starts"))
}

#[test]
fn sockets() {
    let mut served = serve(["tcp", "127.0.0.1:0"]);
    let mut line = String::new();
    let errors = served.0.stderr.as_mut().expect("stderr is piped");
    BufReader::new(errors).read_line(&mut line).expect("a line");
    let address = line
        .trim()
        .strip_prefix("listening on ")
        .expect("its address");
    // Two clients at once.
    let clients = [0, 1].map(|_| TcpStream::connect(address).expect("the server listens"));
    for client in &clients {
        assert_eq!(sum(client, client), "5");
    }

    let path = env::temp_dir().join(format!("how-to-{}.sock", std::process::id()));
    let served = serve(["unix", path.to_str().expect("a path in UTF-8")]);
    let start = Instant::now();
    let client = loop {
        match UnixStream::connect(&path) {
            Ok(client) => break client,
            Err(_) if start.elapsed() < Duration::from_secs(20) => {
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(sum(&client, &client), "5");
    drop(served);
    let _ = fs::remove_file(path);
}
