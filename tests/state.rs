//! What the attributes make of methods of a state, and of functions with a context; functions
//! that block, and that are asynchronous; prompts and resources.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

use serde_json::{Value, json};
use tightwire::{
    Ask, BoxFuture, Context, Elicitation, Elicited, Field, Inputs, LogLevel, RpcError, Server,
    prompt, resource, tool, tools,
};
use tightwire_tests::{Pair, Stepped, call, modern, modern_meta, refusal};

/// Notes that several calls share.
#[derive(Debug, Default)]
struct Notes {
    notes: Mutex<Vec<String>>,
    reads: AtomicU64,
}

#[tools]
impl Notes {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.notes
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Write a note
    #[tool(title = "Write")]
    fn write(
        &self,
        /// The note
        text: &str,
        #[default(1)] times: usize,
    ) -> usize {
        let mut notes = self.lock();
        notes.extend((0..times).map(|_| text.to_owned()));
        notes.len()
    }

    /// What clients are told of themselves
    #[tool]
    fn client(&self, context: &Context<'_>, #[default("?")] otherwise: &str) -> String {
        let reads = self.reads.load(Ordering::Relaxed);
        let name = context.client_info().name.unwrap_or(otherwise);
        format!("{name} {reads}")
    }

    #[tool]
    async fn count(&self, context: &Context<'_>, at_least: usize) -> Result<usize, Missing> {
        yield_once().await;
        let count = self.lock().len();
        assert!(!context.is_cancelled());
        if count < at_least {
            Err(Missing(at_least - count))
        } else {
            Ok(count)
        }
    }

    #[tool(blocking)]
    fn thread(&self, text: &str) -> String {
        format!("{text} {:?} {}", thread::current().id(), self.lock().len())
    }

    /// The state is not needed for everything
    #[tool]
    fn double(n: f64) -> f64 {
        n * 2.0
    }

    /// Read a note
    #[resource(uri = "notes://{index}", mime_type = "text/plain", title = "A note")]
    fn read(&self, index: usize) -> Option<String> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.lock().get(index).cloned()
    }

    /// Sum up the notes
    #[prompt(title = "Summary")]
    fn summary(&self, #[arg(description = "How long")] length: Option<&str>) -> String {
        format!(
            "Sum up in {}: {}",
            length.unwrap_or("short"),
            self.lock().join("; ")
        )
    }
}

#[derive(Debug)]
struct Missing(usize);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} are missing", self.0)
    }
}

/// A future that is pending once.
async fn yield_once() {
    let mut is_first = true;
    poll_fn(|context| {
        if !std::mem::take(&mut is_first) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[tool]
async fn join(first: &str, second: String, #[default(["-"])] separator: &[&str]) -> String {
    yield_once().await;
    [first, &second].join(&separator.concat())
}

#[tool(timeout = "50ms")]
async fn forever(context: &Context<'_>) -> String {
    std::future::pending::<()>().await;
    format!("{}", context.version())
}

#[tool]
fn report(context: &Context<'_>, steps: u32) -> &'static str {
    for step in 1..=steps {
        context.progress(f64::from(step), Some(f64::from(steps)), None);
    }
    context.log(LogLevel::Info, Some("report"), "done");
    "reported"
}

#[tool]
fn greet(context: &Context<'_>) -> Result<String, Ask> {
    let form = Elicitation::form("Who are you?").field("name", Field::text().required());
    let answers = context.ask(Inputs::new().elicit("who", form))?;
    Ok(match answers.elicited("who") {
        Elicited::Accepted(form) => {
            let name = form.find("name").and_then(|name| name.as_str());
            format!("Hello, {}!", name.unwrap_or_default())
        }
        Elicited::Declined | Elicited::Cancelled => "Hello, whoever you are!".to_owned(),
    })
}

/// Ask for a review of some code
#[prompt(name = "review.code")]
fn review(
    context: &Context<'_>,
    /// The code
    code: &str,
    #[default("kind")] tone: String,
) -> Result<String, RpcError> {
    if code.is_empty() {
        return Err(RpcError::invalid_params("there is no code"));
    }
    Ok(format!("{code} {tone} {}", context.version()))
}

#[prompt(blocking)]
fn failing() -> Result<String, &'static str> {
    Err("out of words")
}

/// A greeting to everyone
#[resource(uri = "state://greeting", mime_type = "text/plain")]
fn greeting() -> &'static str {
    "Hello!"
}

#[resource(uri = "state://{first}/{second}", name = "both")]
fn both(first: &str, second: u8, context: &Context<'_>) -> Result<String, RpcError> {
    if first == "secret" {
        return Err(RpcError::new(7, "not for you"));
    }
    Ok(format!("{first} {second} {}", context.version()))
}

#[resource(uri = "state://broken", blocking)]
fn broken() -> Result<String, &'static str> {
    Err("no disk")
}

fn server() -> (Arc<Notes>, Server) {
    let notes = Arc::new(Notes::default());
    let server = Server::new("pair", "1.2.3")
        .executor(spawn)
        .logging()
        .tools(Arc::clone(&notes))
        .tool(join)
        .tool(forever)
        .tool(report)
        .tool(greet)
        .prompt(review)
        .prompt(failing)
        .resource(greeting)
        .resource(both)
        .resource(broken);
    (notes, server)
}

/// An executor: a thread for each future.
fn spawn(future: BoxFuture<'static, ()>) {
    thread::spawn(move || block_on(future));
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future
            .as_mut()
            .poll(&mut std::task::Context::from_waker(&waker))
        {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// Sends a line, and gives the one answer to it, at once or later.
fn answer(pair: &mut Pair, line: &str) -> Value {
    match pair.send(line).pop() {
        Some(answer) => answer,
        None => pair.wait(),
    }
}

fn said(pair: &mut Pair, tool: &str, arguments: &Value) -> Value {
    answer(pair, &call(1, tool, arguments))["result"]["content"][0]["text"].clone()
}

fn read(pair: &mut Pair, uri: &str) -> Value {
    answer(pair, &modern(1, "resources/read", json!({ "uri": uri })))
}

fn get(pair: &mut Pair, name: &str, arguments: &Value) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    answer(pair, &modern(1, "prompts/get", params))
}

#[test]
fn a_state_is_shared_by_its_tools_prompts_and_resources() {
    let (notes, server) = server();
    let mut pair = Pair::new(server);
    assert_eq!(said(&mut pair, "write", &json!({ "text": "a" })), "1");
    assert_eq!(
        said(&mut pair, "write", &json!({ "text": "b", "times": 2 })),
        "3"
    );
    assert_eq!(
        read(&mut pair, "notes://2")["result"]["contents"][0]["text"],
        "b"
    );
    let message = get(&mut pair, "summary", &json!({}))["result"]["messages"][0].clone();
    assert_eq!(message["content"]["text"], "Sum up in short: a; b; b");
    assert_eq!(said(&mut pair, "client", &json!({})), "tests 1");
    assert_eq!(said(&mut pair, "double", &json!({ "n": 2 })), "4");
    // Its owner sees what the calls did, and the methods stay methods.
    assert_eq!(*notes.lock(), ["a", "b", "b"]);
    assert_eq!(notes.write("c", 1), 4);
    assert!((Notes::double(1.0) - 2.0).abs() < f64::EPSILON);
}

#[test]
fn methods_are_listed_as_functions_are() {
    let mut pair = Pair::new(server().1);
    let tools = pair.ask(&modern(1, "tools/list", json!({})));
    let schema = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string", "description": "The note" },
            "times": { "type": "integer", "format": "uint", "minimum": 0, "default": 1 },
        },
        "required": ["text"],
    });
    assert_eq!(
        tools["result"]["tools"][0],
        json!({
            "name": "write", "title": "Write", "description": "Write a note", "inputSchema": schema
        })
    );
    // A context is no argument.
    let client = &tools["result"]["tools"][1]["inputSchema"]["properties"];
    assert_eq!(
        *client,
        json!({ "otherwise": { "type": "string", "default": "?" } })
    );
}

#[test]
fn prompts_are_listed_with_their_arguments() {
    let mut pair = Pair::new(server().1);
    let prompts = pair.ask(&modern(1, "prompts/list", json!({})));
    let prompts = &prompts["result"]["prompts"];
    let length = json!({ "name": "length", "description": "How long", "required": false });
    assert_eq!(
        prompts[0],
        json!({
            "name": "summary", "title": "Summary", "description": "Sum up the notes",
            "arguments": [length]
        })
    );
    assert_eq!(prompts[1]["name"], "review.code");
    let arguments = &prompts[1]["arguments"];
    assert_eq!(
        arguments[0],
        json!({ "name": "code", "description": "The code", "required": true })
    );
    assert_eq!(
        (&arguments[1]["name"], &arguments[1]["required"]),
        (&json!("tone"), &json!(false))
    );
}

#[test]
fn a_prompt_answers_or_refuses() {
    let mut pair = Pair::new(server().1);
    let answer = get(&mut pair, "review.code", &json!({ "code": "x" }));
    let result = &answer["result"];
    assert_eq!(result["description"], "Ask for a review of some code");
    assert_eq!(
        result["messages"][0]["content"]["text"],
        "x kind 2026-07-28"
    );
    let answer = get(
        &mut pair,
        "review.code",
        &json!({ "code": "x", "tone": "harsh" }),
    );
    assert_eq!(
        answer["result"]["messages"][0]["content"]["text"],
        "x harsh 2026-07-28"
    );

    let cases = [
        (
            "review.code",
            json!({}),
            (-32602, "params.arguments.code is missing"),
        ),
        (
            "review.code",
            json!({ "code": "" }),
            (-32602, "there is no code"),
        ),
        ("failing", json!({}), (-32603, "out of words")),
    ];
    for (name, arguments, (code, words)) in cases {
        let refusal = refusal(&get(&mut pair, name, &arguments));
        assert_eq!((refusal.code, refusal.message.as_str()), (code, words));
    }
}

#[test]
fn a_resource_answers_or_refuses() {
    let mut pair = Pair::new(server().1);
    let lists = ["resources/list", "resources/templates/list"];
    let [resources, templates] = lists.map(|method| pair.ask(&modern(1, method, json!({}))));
    assert_eq!(
        resources["result"]["resources"][0],
        json!({
            "uri": "state://greeting", "name": "greeting", "mimeType": "text/plain",
            "description": "A greeting to everyone"
        })
    );
    assert_eq!(
        templates["result"]["resourceTemplates"],
        json!([
            {
                "uriTemplate": "notes://{index}", "name": "read", "title": "A note",
                "mimeType": "text/plain", "description": "Read a note"
            },
            { "uriTemplate": "state://{first}/{second}", "name": "both" },
        ])
    );
    for (uri, text) in [
        ("state://greeting", "Hello!"),
        ("state://a%20b/5", "a b 5 2026-07-28"),
    ] {
        assert_eq!(read(&mut pair, uri)["result"]["contents"][0]["text"], text);
    }
    let cases = [
        // What is not a number of that size names no resource.
        ("state://a/256", (-32602, "Resource not found")),
        ("notes://0", (-32602, "Resource not found")),
        ("state://secret/1", (7, "not for you")),
        ("state://broken", (-32603, "no disk")),
    ];
    for (uri, (code, words)) in cases {
        let refusal = refusal(&read(&mut pair, uri));
        assert_eq!(
            (refusal.code, refusal.message.as_str()),
            (code, words),
            "{uri}"
        );
    }
}

#[test]
fn a_blocking_function_is_a_job_for_another_thread() {
    let mut stepped = Stepped::new(server().1);
    let line = call(1, "thread", &json!({ "text": "on" }));
    assert_eq!(stepped.send(&line), Vec::<Value>::new());
    let job = stepped.connection().poll_job().expect("there is a job");
    let other = thread::spawn(|| {
        job.run();
        thread::current().id()
    });
    let other = other.join().expect("the job does not panic");
    let answers = stepped.completed();
    let expected = format!("on {other:?} 0");
    assert_eq!(answers[0]["result"]["content"][0]["text"], expected);
}

#[test]
fn an_async_function_runs_on_the_executor() {
    let mut pair = Pair::new(server().1);
    let arguments = json!({ "first": "a", "second": "b" });
    assert_eq!(said(&mut pair, "join", &arguments), "a-b");
    let arguments = json!({ "first": "a", "second": "b", "separator": ["/", "/"] });
    assert_eq!(said(&mut pair, "join", &arguments), "a//b");
    let refused = answer(&mut pair, &call(1, "count", &json!({ "at_least": 2 })));
    assert_eq!(refused["result"]["isError"], true);
    assert_eq!(refused["result"]["content"][0]["text"], "2 are missing");
    assert_eq!(said(&mut pair, "count", &json!({ "at_least": 0 })), "0");
    // It stays callable: its future is in a box.
    assert_eq!(block_on(join("a", "b".to_owned(), &["+"])), "a+b");
}

#[test]
fn without_an_executor_an_async_function_is_refused_at_the_freeze() {
    let error = Server::new("pair", "1.2.3").tool(join).freeze();
    let error = error.expect_err("there is no executor").to_string();
    assert!(
        error.contains("join") && error.contains("executor"),
        "{error}"
    );
}

#[test]
fn a_timeout_ends_a_call() {
    let mut pair = Pair::new(server().1);
    assert_eq!(
        pair.send(&call(1, "forever", &json!({}))),
        Vec::<Value>::new()
    );
    thread::sleep(Duration::from_millis(60));
    let answer = pair.wait();
    assert!(
        answer["error"].is_object() || answer["result"]["isError"] == true,
        "{answer}"
    );
}

#[test]
fn a_context_reports_and_asks() {
    let mut pair = Pair::new(server().1);
    let mut meta = modern_meta();
    meta["progressToken"] = json!("p");
    meta["io.modelcontextprotocol/logLevel"] = json!("info");
    let params = json!({ "name": "report", "arguments": { "steps": 2 }, "_meta": meta });
    let lines = pair.send(&modern(1, "tools/call", params));
    let methods: Vec<&Value> = lines.iter().map(|line| &line["method"]).collect();
    let progress = &json!("notifications/progress");
    let log = &json!("notifications/message");
    assert_eq!(methods, [progress, progress, log, &Value::Null]);
    assert_eq!(lines[3]["result"]["content"][0]["text"], "reported");

    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": {} });
    let mut params = json!({ "name": "greet", "_meta": meta });
    let asked = pair.ask(&modern(1, "tools/call", params.clone()));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let who = json!({ "action": "accept", "content": { "name": "Ada" } });
    params["inputResponses"] = json!({ "who": who });
    let greeted = pair.ask(&modern(2, "tools/call", params));
    assert_eq!(greeted["result"]["content"][0]["text"], "Hello, Ada!");
}
