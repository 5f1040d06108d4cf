//! In the steady state a call allocates nothing: counted on the thread under test, first through
//! [`ServerConnection::handle_line`], then through the loop of one peer over real pipes, and that of
//! many on a socket; each without a session and within one.

#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tightwire::{
    Call, Content, FrozenServer, GetPrompt, Json, Limits, Metrics, Now, Prompt, PromptReply,
    Read as ReadResource, ReadReply, Reply, Resource, Server, ServerConnection, Tool,
    codec::Ring,
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
};
use tightwire_tests::{Pair, call, initialize, legacy, listen, modern};

/// The allocator of the system, which counts for each thread what it is asked for.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every method hands its arguments to `System` as they came and returns what `System`
// returns, so the contract of `GlobalAlloc` holds for it as it does for `System`. Counting does
// not allocate: the cell is initialised by the compiler and has no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises on `layout` are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises on `layout` are those that `System` asks for.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: `pointer` came from `System` through this allocator, with `layout`; the caller
        // promises the rest.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System` through this allocator, with `layout`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tightwire::serde")]
#[schemars(crate = "tightwire::schemars")]
struct Add {
    a: f64,
    b: f64,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "tightwire::serde")]
#[schemars(crate = "tightwire::schemars")]
struct Sum {
    sum: f64,
    of: &'static str,
}

/// In a module of their own, so that variables here may have their names.
mod functions {
    use tightwire::tool;

    #[tool(name = "function.add")]
    pub(crate) fn add(a: f64, b: f64) -> f64 {
        a + b
    }

    #[tool(name = "function.echo")]
    pub(crate) fn echo(message: &str) -> &str {
        message
    }
}

fn server() -> Server {
    let text =
        r#"{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}"#;
    let echo = Tool::new("echo", |call: Call<'_>, reply: Reply<'_>| {
        let message = call.arguments().find("message");
        reply.text(message.and_then(|text| text.as_str()).unwrap_or_default());
    });
    let boom = |_: Call<'_>, reply: Reply<'_>| reply.error("city not found");
    let allocations = |_: Call<'_>, reply: Reply<'_>| reply.display(ALLOCATIONS.get());
    let image = [
        Content::text("an image"),
        Content::image(&[7; 500], "image/png"),
    ];
    let image = move |_: Call<'_>, reply: Reply<'_>| reply.contents(&image);
    // On a busy machine a call may take long; the line that tells of it would be counted.
    let limits = Limits {
        inline_ms_warn: u64::MAX,
        ..Limits::default()
    };
    // Checking output parses it, with buffers of its own: a debug build would.
    Server::new("counted", "1.0.0")
        .limits(limits)
        .hook(Metrics::new())
        .check_output(false)
        .page_size(2)
        .tool_fn("sum", "Add two numbers", |args: Add| {
            Json(Sum {
                sum: args.a + args.b,
                of: "\"two\" numbers",
            })
        })
        .tool(Tool::new("image", image))
        .tool_fn("add", "Add two numbers", |args: Add| args.a + args.b)
        .tool(
            Tool::new("strict", |_: Call<'_>, reply: Reply<'_>| reply.text("ok"))
                .input_schema(STRICT),
        )
        .tool(echo.input_schema(text))
        .tool(functions::add)
        .tool(functions::echo)
        .tool(Tool::new("boom", boom))
        .tool(Tool::new("allocations", allocations))
        .resource(Resource::new(
            "counted://text",
            "text",
            |_: ReadResource<'_>, reply: ReadReply<'_>| reply.text("a text"),
        ))
        .resource(Resource::new(
            "counted://blob",
            "blob",
            |_: ReadResource<'_>, reply: ReadReply<'_>| reply.blob(&[7; 500]),
        ))
        .prompt(
            Prompt::new("greet", |get: GetPrompt<'_>, reply: PromptReply<'_>| {
                reply.user_text(get.argument("name").unwrap_or_default());
            })
            .required("name", "Who is greeted"),
        )
}

/// A schema that uses every keyword there is.
const STRICT: &str = r##"{"type":"object","minProperties":1,"maxProperties":9,
    "properties":{"text":{"type":"string","minLength":2,"maxLength":9,"pattern":"^[a-zé]+\\b"},
    "number":{"minimum":1,"maximum":9,"exclusiveMinimum":0,"exclusiveMaximum":10,"multipleOf":0.1},
    "list":{"prefixItems":[{"type":"integer"}],"items":{"$ref":"#/$defs/item"},"minItems":1,
    "maxItems":2000,"contains":{"const":{"n":7}},"maxContains":1,"uniqueItems":true},
    "card":{"if":{"type":"string"},"then":{"enum":["visa"]},"else":{"not":{"type":"null"}}}},
    "patternProperties":{"^x-":{"type":"null"}},"additionalProperties":false,
    "propertyNames":{"maxLength":9},"dependentRequired":{"card":["text"]},
    "dependentSchemas":{"card":{"required":["number"]}},
    "allOf":[{"anyOf":[{"required":["none"]},{"oneOf":[{"required":["list"]},false]}]}],
    "$defs":{"item":{"type":"object"}}}"##;

/// Arguments that fit it.
fn strict() -> Value {
    let items = (0..1000).map(|n| json!({ "n": n }));
    let list: Vec<Value> = std::iter::once(json!(1)).chain(items).collect();
    json!({ "text": "né é", "number": 4.7, "list": list, "card": "visa", "x-y": null })
}

/// In which era a client speaks.
#[derive(Clone, Copy, Debug)]
enum Client {
    Modern,
    /// In a session of 2025-11-25.
    Session,
}

impl Client {
    const ALL: [Self; 2] = [Self::Modern, Self::Session];

    /// What it sends before anything else. There is one answer, if any.
    fn opening(self) -> Option<String> {
        match self {
            Self::Modern => None,
            Self::Session => {
                let opened = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
                Some(format!("{}\n{opened}", initialize("2025-11-25")))
            }
        }
    }

    /// One request of each kind.
    fn requests(self) -> Vec<(&'static str, String)> {
        match self {
            Self::Modern => requests(),
            Self::Session => {
                let is_known = |(what, _): &(&str, String)| *what != "discovery";
                let requests = requests().into_iter().filter(is_known);
                let requests = requests.map(|(what, line)| (what, in_session(&line)));
                let ping = ("a ping", legacy(1, "ping", &json!({})));
                requests.chain([ping]).collect()
            }
        }
    }

    /// A call, which only the modern era has metadata for.
    fn call(self, id: impl Into<Value>, name: &str, arguments: &Value) -> String {
        let line = call(id, name, arguments);
        match self {
            Self::Modern => line,
            Self::Session => in_session(&line),
        }
    }
}

/// The same request as one of a session.
fn in_session(line: &str) -> String {
    let mut request: Value = serde_json::from_str(line).expect("a request is JSON");
    let params = request["params"].as_object_mut();
    params.expect("a request has params").remove("_meta");
    request.to_string()
}

/// One request of each kind.
fn requests() -> Vec<(&'static str, String)> {
    let escaped = "\"quoted\"\n\tnaïve €".repeat(50);
    vec![
        ("add", call(1, "add", &json!({ "a": 2, "b": 3.5 }))),
        (
            "echo of 1 KiB",
            call(2, "echo", &json!({ "message": "x".repeat(1024) })),
        ),
        (
            "echo of text with escapes",
            call("three", "echo", &json!({ "message": escaped })),
        ),
        ("a strict schema", call(7, "strict", &strict())),
        (
            "add, a function",
            call(1, "function.add", &json!({ "a": 2, "b": 3.5 })),
        ),
        (
            "echo, a function",
            call(2, "function.echo", &json!({ "message": escaped })),
        ),
        ("boom", call(4, "boom", &json!({}))),
        (
            "structured content",
            call(7, "sum", &json!({ "a": 2, "b": 3.5 })),
        ),
        ("contents", call(8, "image", &json!({}))),
        ("a list of tools", modern(5, "tools/list", json!({}))),
        (
            "a page of a list",
            modern(9, "tools/list", json!({ "cursor": cursor() })),
        ),
        (
            "a resource",
            modern(10, "resources/read", json!({ "uri": "counted://text" })),
        ),
        (
            "a resource of bytes",
            modern(11, "resources/read", json!({ "uri": "counted://blob" })),
        ),
        (
            "a prompt",
            modern(
                12,
                "prompts/get",
                json!({ "name": "greet", "arguments": { "name": "Ada" } }),
            ),
        ),
        ("discovery", modern(6, "server/discover", json!({}))),
    ]
}

/// The cursor of the second page of tools.
fn cursor() -> Value {
    let mut pair = Pair::new(server());
    let page = pair.ask(&modern(1, "tools/list", json!({})));
    page["result"]["nextCursor"].clone()
}

/// A connection, and the one buffer on either side of it.
struct Counted {
    connection: ServerConnection,
    ring: Ring,
    out: Vec<u8>,
}

impl Counted {
    fn connect(server: &FrozenServer, client: Client) -> Self {
        let mut counted = Self {
            connection: server.connect(),
            ring: Ring::new(server.limits().line_bytes_max),
            out: Vec::new(),
        };
        if let Some(opening) = client.opening() {
            counted.serve(&opening);
        }
        counted
    }

    fn serve(&mut self, line: &str) {
        self.out.clear();
        for bytes in [line.as_bytes(), b"\n"] {
            self.ring.spare()[..bytes.len()].copy_from_slice(bytes);
            self.ring.commit(bytes.len());
        }
        while let Some(line) = self.ring.next_line() {
            let line = line.expect("the line is within the limit");
            self.connection
                .handle_line(Now::default(), line, &mut self.out);
        }
    }
}

#[test]
fn the_connection_allocates_nothing() {
    let server = server().freeze().expect("the server can be frozen");
    for client in Client::ALL {
        for (what, request) in client.requests() {
            let what = format!("{client:?}: {what}");
            let mut counted = Counted::connect(&server, client);
            for _ in 0..100 {
                counted.serve(&request);
            }
            let expected = counted.out.clone();
            let answer: Value = serde_json::from_slice(&expected).expect("the answer is JSON");
            assert!(answer["result"].is_object(), "{what}: {answer}");
            let is_error = answer["result"]["isError"] == true;
            assert_eq!(is_error, what.ends_with("boom"), "{what}: {answer}");

            let before = ALLOCATIONS.get();
            for _ in 0..1000 {
                counted.serve(&request);
                assert!(counted.out == expected);
            }
            assert_eq!(ALLOCATIONS.get() - before, 0, "1,000 calls: {what}");
        }
    }
}

#[test]
fn requests_of_more_kinds_than_are_remembered_allocate_nothing() {
    let server = server().freeze().expect("the server can be frozen");
    for client in Client::ALL {
        let requests = client.requests();
        assert!(requests.len() > server.limits().lines_remembered_max);
        let mut counted = Counted::connect(&server, client);
        let mut serve_all = |rounds: usize| {
            let before = ALLOCATIONS.get();
            for _ in 0..rounds {
                for (_, request) in &requests {
                    counted.serve(request);
                }
            }
            ALLOCATIONS.get() - before
        };
        serve_all(100);
        assert_eq!(serve_all(500), 0, "{client:?}");
    }
}

#[test]
fn calls_beside_open_subscriptions_allocate_nothing() {
    let mut server = server();
    let _handle = server.handle();
    let server = server.freeze().expect("the server can be frozen");
    let mut counted = Counted::connect(&server, Client::Modern);
    for id in 100..110 {
        counted.serve(&listen(id, &json!({ "resourceSubscriptions": ["a:"] })));
    }
    let (_, add) = requests().remove(0);
    // What the first call adds to the metrics is counted with the second.
    counted.serve(&add);
    counted.serve(&add);
    let before = ALLOCATIONS.get();
    for _ in 0..1000 {
        counted.serve(&add);
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

#[test]
fn allocations_are_counted() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Vec::<u8>::with_capacity(1)));
    assert_eq!(ALLOCATIONS.get() - before, 1);
}

/// Set for the process that the tests of loops start: empty to serve on stdio, or the path of a
/// socket.
const SERVE: &str = "TIGHTWIRE_ZERO_ALLOC_SERVE";

/// The other side of the tests of loops, which run this binary again for it.
#[test]
fn serve_when_asked_to() {
    let Some(place) = std::env::var_os(SERVE) else {
        return;
    };
    let served = if place.is_empty() {
        server().serve_stdio()
    } else {
        server().serve_unix(place)
    };
    served.expect("it serves to the end");
}

#[test]
fn the_loop_of_one_peer_allocates_nothing() {
    for client in Client::ALL {
        let mut process = Serving::start(None);
        let stdin = process.0.stdin.take().expect("stdin is piped");
        let stdout = process.0.stdout.take().expect("stdout is piped");
        allocates_nothing(Peer::new(client, Box::new(stdin), Box::new(stdout)));
    }
}

#[test]
fn the_loop_of_many_peers_allocates_nothing() {
    for client in Client::ALL {
        let path = format!("{}/{client:?}.sock", env!("CARGO_TARGET_TMPDIR"));
        let path = PathBuf::from(path);
        let _ = std::fs::remove_file(&path);
        let _process = Serving::start(Some(&path));
        let stream = connect(&path);
        let writer = stream.try_clone().expect("there are descriptors");
        allocates_nothing(Peer::new(client, Box::new(writer), Box::new(stream)));
    }
}

/// Connects as soon as somebody listens.
fn connect(path: &Path) -> UnixStream {
    let start = Instant::now();
    loop {
        match UnixStream::connect(path) {
            Ok(stream) => return stream,
            Err(error) => assert!(start.elapsed() < Duration::from_secs(20), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn allocates_nothing(mut peer: Peer) {
    /// Of each kind. One allocation in so many would be found.
    const CALLS: usize = 320;
    let client = peer.client;
    let requests = client.requests();
    // The output grows at once to what the answers in a burst may need.
    let long = "x".repeat(48 * 1024);
    peer.burst(&[client.call(0, "echo", &json!({ "message": long }))]);
    let bursts: Vec<Vec<String>> = requests
        .iter()
        .map(|(_, request)| vec![request.clone(); 16])
        .collect();

    for (_, request) in &requests {
        for _ in 0..100 {
            peer.burst(std::slice::from_ref(request));
        }
    }
    for burst in &bursts {
        peer.burst(burst);
    }
    // Asking for the count is a call too.
    peer.allocations();

    for (what, request) in &requests {
        let before = peer.allocations();
        for _ in 0..CALLS {
            peer.burst(std::slice::from_ref(request));
        }
        let count = peer.allocations() - before;
        assert_eq!(count, 0, "{client:?}, one at a time: {what}");
    }
    for ((what, _), burst) in requests.iter().zip(&bursts) {
        let before = peer.allocations();
        for _ in 0..CALLS / burst.len() {
            peer.burst(burst);
        }
        let count = peer.allocations() - before;
        assert_eq!(count, 0, "{client:?}, pipelined: {what}");
    }
}

/// A server process. It is killed when it is dropped.
struct Serving(Child);

impl Serving {
    /// Starts one on stdio, or on a socket.
    fn start(path: Option<&Path>) -> Self {
        let program = std::env::current_exe().expect("this binary has a path");
        let mut command = Command::new(program);
        command
            // With two threads the harness prints no name in front of the first answer.
            .args(["--exact", "serve_when_asked_to", "--test-threads=2"])
            .env(SERVE, path.unwrap_or(Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        Self(command.spawn().expect("this binary can be run again"))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A client of a server process.
struct Peer {
    client: Client,
    requests: Box<dyn Write>,
    answers: BufReader<Box<dyn Read>>,
    line: String,
}

impl Peer {
    fn new(client: Client, requests: Box<dyn Write>, answers: Box<dyn Read>) -> Self {
        let mut peer = Self {
            client,
            requests,
            answers: BufReader::new(answers),
            line: String::new(),
        };
        if let Some(opening) = client.opening() {
            peer.burst(&[opening]);
        }
        peer
    }

    /// Sends requests in one write, and takes their answers.
    fn burst(&mut self, requests: &[String]) {
        let bytes = requests.join("\n") + "\n";
        self.requests
            .write_all(bytes.as_bytes())
            .expect("the server reads its input");
        for _ in requests {
            self.receive();
        }
    }

    /// Takes one answer.
    fn receive(&mut self) {
        loop {
            self.line.clear();
            let count = self.answers.read_line(&mut self.line);
            assert!(
                count.expect("answers are UTF-8") > 0,
                "the server has ended"
            );
            // What the harness prints before the server starts is no answer.
            if self.line.starts_with('{') {
                break;
            }
        }
        assert!(self.line.contains("\"result\":{"), "{}", self.line);
    }

    /// What the thread of the loop has allocated so far.
    fn allocations(&mut self) -> u64 {
        self.burst(&[self.client.call("count", "allocations", &json!({}))]);
        let answer: Value = serde_json::from_str(&self.line).expect("an answer is JSON");
        let text = answer["result"]["content"][0]["text"].as_str();
        text.and_then(|text| text.parse().ok())
            .expect("the answer is a number")
    }
}
