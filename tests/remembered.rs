//! A connection that remembers lines answers as one that does not, byte for byte.

use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::json;
use tightwire::{FrozenServer, GetPrompt, Limits, Memory, Prompt, PromptReply};
use tightwire_tests::{call, cancelled, initialize, legacy, modern, modern_meta, server};

proptest! {
    #[test]
    fn any_requests_are_answered_alike(
        turns in vec((any::<Index>(), vec(edit(), 0..3)), 1..60),
        opens in any::<bool>(),
    ) {
        let requests = requests();
        let mut stream = Vec::new();
        if opens {
            stream.extend(initialize("2025-03-26").into_bytes());
            stream.push(b'\n');
        }
        for (request, edits) in turns {
            let mut line = request.get(&requests).clone().into_bytes();
            for edit in edits {
                edit.make(&mut line);
            }
            stream.extend(line);
            stream.push(b'\n');
        }
        let [with, without] = [4, 0].map(|lines| serve(lines, &stream));
        prop_assert_eq!(String::from_utf8_lossy(&with), String::from_utf8_lossy(&without));
    }
}

#[test]
fn what_admits_a_request_is_looked_at_in_each() {
    let mut meta = modern_meta();
    meta["progressToken"] = json!(1);
    let bases = [
        modern(
            1,
            "tools/call",
            json!({ "name": "add", "arguments": { "a": 2, "b": 3 }, "_meta": meta }),
        ),
        modern(1, "tools/call", json!({ "name": "boom" })),
        modern(
            1,
            "tools/call",
            json!({ "name": "boom", "requestState": "none" }),
        ),
        modern(
            1,
            "tools/call",
            json!({ "name": "boom", "inputResponses": { "a": 1 } }),
        ),
        modern(1, "tools/list", json!({})),
        modern(1, "tools/list", json!({ "cursor": "none" })),
        modern(1, "resources/read", json!({ "uri": "none:a" })),
        modern(
            1,
            "prompts/get",
            json!({ "name": "greet", "arguments": { "name": "Ada" } }),
        ),
        modern(1, "server/discover", json!({})),
        legacy(1, "ping", &json!({})),
    ];
    let edits = [
        (r#""jsonrpc":"2.0""#, r#""jsonrpc":"2.1""#),
        (r#""jsonrpc":"#, r#""jsonrpd":"#),
        (r#""id":1"#, r#""id":1.5"#),
        (r#""id":1"#, r#""id":-7"#),
        (r#""id":"#, r#""ie":"#),
        (r#""method":"tools/call""#, r#""method":"tools/list""#),
        (r#""method":"tools/list""#, r#""method":"prompts/list""#),
        (r#""method":"tools/list""#, r#""method":"initialize""#),
        (r#""method":"ping""#, r#""method":"pong""#),
        (r#""method":"#, r#""result":"#),
        (r#""params":"#, r#""parans":"#),
        (r#""_meta":"#, r#""meta":"#),
        (r#""2026-07-28""#, r#""2026-07-29""#),
        ("io.modelcontextprotocol/protocolVersion", "protocolVersion"),
        ("io.modelcontextprotocol/clientCapabilities", "capabilities"),
        (r#""progressToken":1"#, r#""progressToken":1.5"#),
        (r#""progressToken":1"#, r#""progressToken":22"#),
        (r#""progressToken":"#, r#""method":"#),
        (r#""name":"add""#, r#""name":"boom""#),
        (r#""name":"add""#, r#""name":"none""#),
        (r#""name":"add""#, r#""uri":"add""#),
        (r#""name":"greet""#, r#""arguments":"greet""#),
        (r#""name":"Ada""#, r#""name":"Eve""#),
        (r#""name":"Ada""#, r#""nome":"Ada""#),
        (r#""arguments":"#, r#""name":"#),
        (r#""arguments":"#, r#""argument":"#),
        (r#""a":2"#, r#""a":7.25"#),
        (r#""a":2"#, r#""b":2"#),
        (r#""cursor":"none""#, r#""cursor":"some""#),
        (r#""cursor":"none""#, r#""curses":"none""#),
        (r#""requestState":"#, r#""requestStage":"#),
        (r#""inputResponses":{"a":1}"#, r#""inputResponses":{"a":2}"#),
        (r#""uri":"none:a""#, r#""uri":"none:b""#),
        (r#""uri":"#, r#""requestState":"#),
        (r#""uri":"#, r#""name":"#),
    ];
    for base in &bases {
        for (from, to) in edits.iter().filter(|(from, _)| base.contains(from)) {
            let edited = base.replacen(from, to, 1);
            // Before the base is remembered, once it is, once one like it has been admitted, and the
            // first that is like it.
            for lines in [
                [&edited, base, &edited, base],
                [base, &edited, base, &edited],
                [base, base, &edited, base],
                [base, base, base, &edited],
            ] {
                let stream: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
                let [with, without] = [4, 0].map(|lines| serve(lines, stream.as_bytes()));
                assert_eq!(
                    String::from_utf8_lossy(&with),
                    String::from_utf8_lossy(&without),
                    "{stream}"
                );
            }
        }
    }
    let unused = edits
        .iter()
        .find(|(from, _)| !bases.iter().any(|base| base.contains(from)));
    assert_eq!(unused, None);
}

/// What is written in the place of a piece of a line.
#[derive(Clone, Debug)]
enum Edit {
    /// Of one number, if there is any.
    Number(Index, String),
    /// Of some bytes.
    Bytes(Index, usize, Vec<u8>),
}

fn edit() -> impl Strategy<Value = Edit> {
    let number = prop_oneof![
        (0..1000_u32).prop_map(|number| number.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| format!("{number:?}")),
        (-9999..9999_i32).prop_map(|number| (f64::from(number) / 100.0).to_string()),
        "-?[0-9]{1,20}(\\.[0-9]{1,16})?",
        Just("\"id\"".to_owned()),
    ];
    let piece = prop_oneof![
        "[a-z]{0,3}".prop_map(String::into_bytes),
        "[-,:.{}\\[\\]\"\\\\ 0-9é]{0,3}".prop_map(String::into_bytes),
        vec(
            any::<u8>().prop_filter("no end of line", |byte| *byte != b'\n'),
            0..3
        ),
    ];
    prop_oneof![
        3 => (any::<Index>(), number).prop_map(|(at, number)| Edit::Number(at, number)),
        1 => (any::<Index>(), 0..3_usize, piece)
            .prop_map(|(at, removed, piece)| Edit::Bytes(at, removed, piece)),
    ]
}

impl Edit {
    fn make(self, line: &mut Vec<u8>) {
        match self {
            Self::Number(at, number) => {
                let starts: Vec<_> = (1..line.len())
                    .filter(|at| line[*at].is_ascii_digit() && line[at - 1] == b':')
                    .collect();
                if starts.is_empty() {
                    return;
                }
                let start = *at.get(&starts);
                let digits = line[start..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_digit());
                let end = start + digits.count();
                line.splice(start..end, number.into_bytes());
            }
            Self::Bytes(at, removed, piece) => {
                let start = at.index(line.len() + 1);
                let end = (start + removed).min(line.len());
                line.splice(start..end, piece);
            }
        }
    }
}

fn requests() -> Vec<String> {
    let add = json!({ "a": 2, "b": 3.5 });
    let long = "a long text, ".repeat(200);
    vec![
        call(1, "add", &add),
        call("one", "add", &json!({ "b": 1, "a": 2 })),
        call(2, "echo", &json!({ "message": "short" })),
        call(3, "echo", &json!({ "message": "naïve" })),
        call(4, "echo", &json!({ "message": long })),
        call(5, "echo", &json!({ "message": format!("{long}\n") })),
        call(6, "boom", &json!({})),
        modern(7, "tools/list", json!({})),
        modern(8, "server/discover", json!({})),
        modern(
            9,
            "prompts/get",
            json!({ "name": "greet", "arguments": { "name": "Ada" } }),
        ),
        legacy(
            10,
            "tools/call",
            &json!({ "name": "add", "arguments": add }),
        ),
        legacy(11, "tools/list", &json!({})),
        legacy(12, "ping", &json!({})),
        cancelled(1),
    ]
}

fn served(lines_remembered_max: usize) -> FrozenServer {
    let limits = Limits {
        lines_remembered_max,
        ..Limits::default()
    };
    let greet = Prompt::new("greet", |get: GetPrompt<'_>, reply: PromptReply<'_>| {
        reply.user_text(get.argument("name").unwrap_or_default());
    });
    let greet = greet.required("name", "Who is greeted");
    let server = server().limits(limits).prompt(greet).freeze();
    server.expect("the server can be frozen")
}

fn serve(lines_remembered_max: usize, stream: &[u8]) -> Vec<u8> {
    let mut memory = Memory::new(&served(lines_remembered_max));
    memory.feed(stream);
    memory.output().to_vec()
}
