//! Any stream to a server in memory, which changes meanwhile: every line that comes back is a response
//! or tells of a change, every request is answered once, and nothing panics.

#![no_main]

use std::{
    sync::{LazyLock, Mutex},
    time::Duration,
};

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tightwire::{
    Call, FrozenServer, Handle, Limits, Memory, Prompt, Reply, Resource, ResourceTemplate,
    RpcError, Server, TaskSupport, Ticket, Tool,
    codec::{LINE_PADDING, Line, Message, Parser},
    schemars::{self, JsonSchema},
};

static SERVER: LazyLock<(FrozenServer, Handle)> = LazyLock::new(server);
/// The calls of the tool `later` that nobody has answered yet.
static LATER: Mutex<Vec<Ticket>> = Mutex::new(Vec::new());

/// What a byte from 0x80 on stands for. Those after the last stand for themselves.
const PIECES: [&str; 75] = [
    "\n",
    "\"",
    "\":",
    ",\"",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"",
    "{\"jsonrpc\":\"2.0\",\"id\":\"a\\n\",\"method\":\"",
    "{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901,\"method\":\"",
    "{\"jsonrpc\":\"2.0\",\"method\":\"",
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}},\"name\":\"",
    "\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"",
    "\",\"params\":{",
    "\",\"arguments\":{",
    "\"name\":\"",
    ",\"arguments\":{",
    "}}}\n",
    "}}\n",
    "}\n",
    "}",
    "[",
    "]",
    "]\n",
    "},",
    "{",
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{},\"clientInfo\":{\"name\":\"f\",\"version\":\"1\"}}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-03-26\",\"capabilities\":{},\"clientInfo\":{\"name\":\"f\",\"version\":\"1\"}}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"f\",\"version\":\"1\"}}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"f\",\"version\":\"1\"}}}\n",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
    "server/discover",
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "notifications/initialized",
    "notifications/cancelled",
    "add\",\"arguments\":{\"a\":1,\"b\":2}",
    "strict",
    "fails",
    "refuses",
    "silent",
    "soon",
    "later",
    "dropped",
    "blocking",
    "echo\",\"arguments\":{\"message\":\"",
    "\"uri\":\"mem://one\"",
    "\"uri\":\"mem://one/",
    "\"name\":\"review\"",
    "\"code\":\"",
    "\"cursor\":\"",
    "\"progressToken\":",
    "\"io.modelcontextprotocol/logLevel\":\"debug\"",
    "\\u0000",
    "\\ud800",
    "1e400",
    "-0",
    "null",
    "subscriptions/listen",
    ",\"notifications\":{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"mem://one\"",
    "\"toolsListChanged\":",
    "resources/subscribe",
    "resources/unsubscribe",
    ",\"task\":{",
    "\"ttl\":1",
    "tasks/list",
    "tasks/get",
    "tasks/result",
    "\"taskId\":\"",
];

// How the stream is cut, then the stream.
fuzz_target!(|input: &[u8]| {
    let Some((cut, stream)) = input.split_first() else {
        return;
    };
    let mut bytes = Vec::new();
    for byte in stream {
        match PIECES.get(usize::from(byte.wrapping_sub(0x80))) {
            Some(piece) => bytes.extend_from_slice(piece.as_bytes()),
            None => bytes.push(*byte),
        }
    }
    let (server, handle) = &*SERVER;
    let mut memory = Memory::new(server);
    for piece in bytes.chunks(usize::from(*cut) * 16 + 1) {
        memory.feed(piece);
        handle.resource_updated("mem://one");
        memory.poll();
    }
    change(handle);
    memory.finish();
    for (index, ticket) in take_later().into_iter().enumerate() {
        match index % 4 {
            0 => ticket.answer(|reply| reply.text("later")),
            1 => ticket.answer(|reply| reply.after(Duration::ZERO, |reply| reply.text("at last"))),
            2 => ticket.answer(|reply| LATER.lock().unwrap().push(reply.defer())),
            _ => drop(ticket),
        }
        memory.poll();
    }
    drop(take_later());
    while memory.in_flight() > 0 {
        memory.poll();
    }
    memory.poll();
    let answers = check(memory.output());
    if let Some(expected) = expect(&bytes) {
        assert_eq!(answers, expected);
    }
});

/// A tool comes, and another time goes.
fn change(handle: &Handle) {
    if !handle.remove_tool("more").expect("it is served") {
        let more = Tool::new("more", |_: Call<'_>, reply: Reply<'_>| reply.text("more"));
        handle.add_tool(more).expect("there is no such tool");
    }
}

fn take_later() -> Vec<Ticket> {
    std::mem::take(&mut LATER.lock().unwrap())
}

/// How many answers a stream must get. Unknown with batches, which not every revision has, and
/// with cancellations.
fn expect(stream: &[u8]) -> Option<usize> {
    let line_bytes_max = SERVER.0.limits().line_bytes_max;
    let mut parser = Parser::default();
    let mut expected = 0;
    let lines = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    for (index, text) in lines.split(|byte| *byte == b'\n').enumerate() {
        let with_mark = if index == 0 {
            stream.len() - lines.len()
        } else {
            0
        };
        if text.len() + with_mark > line_bytes_max {
            expected += 1;
            continue;
        }
        let mut bytes = text.to_vec();
        bytes.resize(text.len() + LINE_PADDING, 0);
        let mut line = Line::padded(&mut bytes, text.len())?;
        if line.is_blank() {
            continue;
        }
        let Ok(document) = parser.parse(&mut line) else {
            expected += 1;
            continue;
        };
        if document.root().as_array().is_some() {
            return None;
        }
        match Message::read(document.root()) {
            Ok(Message::Notification(notification))
                if notification.method == "notifications/cancelled" =>
            {
                return None;
            }
            Ok(Message::Notification(_) | Message::Response(_)) => {}
            Ok(Message::Request(_)) | Err(_) => expected += 1,
        }
    }
    Some(expected)
}

/// Checks what came back, and counts the answers.
fn check(output: &[u8]) -> usize {
    let mut count = 0;
    let output = std::str::from_utf8(output).expect("output is UTF-8");
    assert!(output.is_empty() || output.ends_with('\n'));
    for line in output.lines() {
        let value: Value = serde_json::from_str(line).expect("a line is JSON");
        match value {
            Value::Array(answers) => {
                assert!(!answers.is_empty());
                answers.iter().for_each(check_answer);
                count += answers.len();
            }
            told if told.get("method").is_some() => {
                assert_eq!(told["jsonrpc"], "2.0");
                assert!(told.get("id").is_none());
            }
            answer => {
                check_answer(&answer);
                count += 1;
            }
        }
    }
    count
}

fn check_answer(answer: &Value) {
    assert_eq!(answer["jsonrpc"], "2.0");
    match (answer.get("result"), answer.get("error")) {
        (Some(result), None) => {
            assert!(result.is_object());
            assert!(answer["id"].is_number() || answer["id"].is_string());
        }
        (None, Some(error)) => {
            assert!(error["code"].is_i64() && error["message"].is_string());
            let id = answer.get("id");
            assert!(id.is_none_or(|id| id.is_number() || id.is_string() || id.is_null()));
        }
        _ => panic!("neither a result nor an error, or both: {answer}"),
    }
}

#[derive(serde::Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Add {
    a: f64,
    b: f64,
    exact: Option<bool>,
    digits: Option<u8>,
    unit: Option<Unit>,
}

#[derive(serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code)]
enum Unit {
    Metre,
    Foot,
    Other(String),
}

/// A server with a tool for each way to answer.
fn server() -> (FrozenServer, Handle) {
    let strict = r##"{
        "type": "object",
        "properties": {
            "a": { "type": "integer", "minimum": 0, "exclusiveMaximum": 1e3 },
            "b": { "type": "array", "items": { "$ref": "#/$defs/b" }, "maxItems": 3 },
            "c": { "enum": ["x", 1, null, [2]] },
            "code": { "type": ["string", "null"], "minLength": 2, "maxLength": 5 }
        },
        "required": ["a"],
        "additionalProperties": false,
        "anyOf": [{ "required": ["b"] }, { "not": { "required": ["c"] } }],
        "$defs": { "b": { "oneOf": [{ "const": 1 }, { "$ref": "#/properties/a" }] } }
    }"##;
    let mut server = Server::new("fuzz \"server\"", "1.0.0");
    let handle = server.handle();
    let server = server
        .title("Fuzz")
        .instructions("Anything\ngoes")
        .limits(Limits {
            line_bytes_max: 16 * 1024,
            in_flight_max: 8,
            batch_max: 16,
            subscriptions_max: 4,
            subscribed_uris_max: 8,
            ..Limits::default()
        })
        .tool_fn("add", "Add", |args: Add| match args.exact {
            Some(true) => Err("never exact".to_owned()),
            _ => Ok(args.a + args.b),
        })
        .tool(Tool::new("echo", |call: Call<'_>, reply: Reply<'_>| {
            let message = call.arguments().find("message");
            reply.text(message.and_then(|text| text.as_str()).unwrap_or_default());
        }))
        .tool(
            Tool::new("strict", |call: Call<'_>, reply: Reply<'_>| {
                reply.display(format_args!("{:?}", call.arguments()));
            })
            .input_schema(strict),
        )
        .tool(
            Tool::new("fails", |call: Call<'_>, reply: Reply<'_>| {
                reply.error(format_args!("{:?}", call.meta()));
            })
            .task(TaskSupport::Optional),
        )
        .tool(Tool::new("refuses", |_: Call<'_>, reply: Reply<'_>| {
            reply.protocol_error(&RpcError::new(7, "no\n").with_data("{\"why\":\n[]}"));
        }))
        .tool(Tool::new("silent", |_: Call<'_>, reply: Reply<'_>| {
            drop(reply)
        }))
        .tool(
            Tool::new("soon", |_: Call<'_>, reply: Reply<'_>| {
                reply.after(Duration::ZERO, |reply| {
                    reply.after(Duration::from_micros(1), |reply| reply.text("soon"));
                });
            })
            .task(TaskSupport::Optional),
        )
        .tool(
            Tool::new("later", |_: Call<'_>, reply: Reply<'_>| {
                LATER.lock().unwrap().push(reply.defer());
            })
            .task(TaskSupport::Optional),
        )
        .tool(Tool::new("dropped", |_: Call<'_>, reply: Reply<'_>| {
            drop(reply.defer())
        }))
        .tool(
            Tool::new("blocking", |call: Call<'_>, reply: Reply<'_>| {
                if call.arguments().is_empty() {
                    return reply.after(Duration::ZERO, |reply| reply.text("blocked"));
                }
                reply.display(format_args!("{:?} {:?}", call.arguments(), call.meta()));
            })
            .blocking()
            .task(TaskSupport::Optional),
        )
        .resource(Resource::new("mem://one", "one", |_, reply| {
            reply.text("one")
        }))
        .resource_template(ResourceTemplate::new(
            "mem://one/{name}",
            "one-of",
            |read, reply| reply.text(read.variable("name")),
        ))
        .prompt(
            Prompt::new("review", |prompt, reply| {
                reply.user_text(prompt.argument("code").unwrap_or_default());
            })
            .required("code", "The code")
            .optional("style", "How"),
        )
        .freeze()
        .expect("the server can be frozen");
    (server, handle)
}
