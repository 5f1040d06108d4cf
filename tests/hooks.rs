//! Hooks around handlers, and the one that counts and measures.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;
use tightwire::{
    AsyncAnswer, Call, Context, Finished, Hook, Inputs, IntoReply, Limits, Memory, Metrics, Now,
    Prompt, Reply, RpcError, Server, Tool,
};
use tightwire_tests::{
    Pair, Stepped, call, cancelled, legacy, modern, modern_result, refusal, server, text,
};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Notes all it sees.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn push(&self, note: String) {
        self.0.lock().unwrap().push(note);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Hook for Notes {
    fn before(&self, context: &Context<'_>) -> Result<(), RpcError> {
        let client = context.client_info().name.unwrap_or("-");
        self.push(format!("before {client}"));
        Ok(())
    }

    fn around(&self, _: &Context<'_>, handler: &mut dyn FnMut()) {
        self.push("in".to_owned());
        handler();
        self.push("out".to_owned());
    }

    fn after(&self, finished: &Finished<'_>) {
        self.push(format!(
            "{} {} {:?} {:?}",
            finished.method(),
            finished.name(),
            finished.ending(),
            finished.took()
        ));
    }
}

fn tools() -> Server {
    server()
        .tool(
            Tool::new("slow", |call: Call<'_>, reply: Reply<'_>| {
                let _ = call.wait_cancelled(Duration::ZERO);
                reply.text("slow");
            })
            .blocking(),
        )
        .tool(Tool::new("later", |_: Call<'_>, reply: Reply<'_>| {
            reply.after(Duration::from_millis(50), |reply| reply.error("no"));
        }))
        .tool(Tool::new("asks", |call: Call<'_>, reply: Reply<'_>| {
            if call.context().ask(Inputs::new().roots("r")).is_ok() {
                reply.text("asked");
            }
        }))
        .tool(Tool::new("panics", |_: Call<'_>, _: Reply<'_>| {
            panic!("on purpose")
        }))
}

#[test]
fn a_handler_in_the_loop_is_told_of_with_the_time_of_its_line() {
    let notes = Notes::default();
    let mut stepped = Stepped::new(tools().hook(notes.clone()));
    for (line, told) in [
        (
            call(1, "echo", &json!({ "message": "hi" })),
            "tools/call echo Result 5ms",
        ),
        (call(2, "boom", &json!({})), "tools/call boom ToolError 5ms"),
        (call(3, "echo", &json!({})), "tools/call echo ToolError 5ms"),
        (
            call(4, "panics", &json!({})),
            "tools/call panics Error(-32603) 5ms",
        ),
        (
            modern(5, "resources/read", json!({ "uri": "pair://hello" })),
            "resources/read  Result 5ms",
        ),
        (
            modern(
                6,
                "prompts/get",
                json!({ "name": "review", "arguments": { "code": "x" } }),
            ),
            "prompts/get review Result 5ms",
        ),
    ] {
        stepped.send(&line);
        stepped.connection().line_took(Duration::from_millis(5));
        let seen = notes.take();
        assert_eq!(seen[0], "before tests");
        assert_eq!(seen[1], "in");
        assert_eq!(seen.last().unwrap(), told);
    }
    // What names nothing runs nothing.
    stepped.send(&call(7, "nothing", &json!({})));
    stepped.send(&modern(8, "tools/list", json!({})));
    stepped.connection().line_took(Duration::from_millis(5));
    assert_eq!(notes.take(), Vec::<String>::new());
}

#[test]
fn a_server_in_memory_tells_of_each_line_at_once() {
    #[derive(Clone, Default)]
    struct Took(Arc<Mutex<Vec<Duration>>>);
    impl Hook for Took {
        fn after(&self, finished: &Finished<'_>) {
            self.0.lock().unwrap().push(finished.took());
        }
    }
    let took = Took::default();
    let nap = |_: Call<'_>, reply: Reply<'_>| {
        std::thread::sleep(Duration::from_millis(5));
        reply.text("slept");
    };
    let server = server().tool(Tool::new("nap", nap)).hook(took.clone());
    let mut memory = Memory::new(&server.freeze().unwrap());
    let line = call(1, "nap", &json!({}));
    memory.feed(line.as_bytes());
    assert_eq!(took.0.lock().unwrap().len(), 0);
    memory.feed(b"\n");
    assert_eq!(took.0.lock().unwrap().len(), 1);
    // The last line, which has no newline.
    memory.feed(line.as_bytes());
    memory.finish();
    let times = took.0.lock().unwrap();
    assert_eq!(times.len(), 2);
    assert!(times.iter().all(|took| *took >= Duration::from_millis(5)));
}

#[test]
fn a_handler_elsewhere_is_told_of_when_its_answer_is_there() {
    let notes = Notes::default();
    let mut stepped = Stepped::new(tools().hook(notes.clone()));
    stepped.send(&call(1, "slow", &json!({})));
    assert_eq!(notes.take(), ["before tests"]);
    stepped.connection().poll_job().unwrap().run();
    assert_eq!(notes.take(), ["in", "out"]);
    stepped.pass_ms(30);
    stepped.completed();
    assert_eq!(notes.take(), ["tools/call slow Result 30ms"]);

    stepped.send(&call(2, "later", &json!({})));
    stepped.pass_ms(50);
    assert_eq!(
        notes.take().last().unwrap(),
        "tools/call later ToolError 50ms"
    );

    stepped.send(&call(3, "slow", &json!({})));
    stepped.pass_ms(10);
    stepped.send(&cancelled(3));
    assert_eq!(
        notes.take().last().unwrap(),
        "tools/call slow Cancelled 10ms"
    );
}

#[test]
fn what_is_given_up_at_the_end_is_told_of_as_cancelled() {
    let notes = Notes::default();
    let mut stepped = Stepped::new(tools().hook(notes.clone()));
    stepped.send(&call(1, "slow", &json!({})));
    stepped.send(&call(2, "later", &json!({})));
    stepped.send(&call(3, "boom", &json!({})));
    notes.take();
    let now = Now {
        monotonic: Duration::from_secs(7),
        unix_ms: 0,
    };
    stepped.connection().abort(now, &mut Vec::new());
    assert_eq!(
        notes.take(),
        [
            "tools/call boom ToolError 0ns",
            "tools/call slow Cancelled 7s",
            "tools/call later Cancelled 7s",
        ]
    );
    stepped.connection().abort(now, &mut Vec::new());
    assert_eq!(notes.take(), Vec::<String>::new());
}

#[test]
fn a_question_to_the_client_ends_the_request() {
    let notes = Notes::default();
    let mut stepped = Stepped::new(tools().hook(notes.clone()));
    let mut meta = tightwire_tests::modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({ "roots": {} });
    stepped.send(&modern(
        1,
        "tools/call",
        json!({ "name": "asks", "_meta": meta }),
    ));
    stepped.connection().line_took(Duration::ZERO);
    assert_eq!(
        notes.take().last().unwrap(),
        "tools/call asks InputRequired 0ns"
    );
    stepped.send(&call(2, "asks", &json!({})));
    stepped.connection().line_took(Duration::ZERO);
    assert_eq!(
        notes.take().last().unwrap(),
        "tools/call asks Error(-32021) 0ns"
    );
}

#[test]
fn a_hook_may_refuse_and_the_first_is_the_outermost() {
    struct Closed;
    impl Hook for Closed {
        fn before(&self, _: &Context<'_>) -> Result<(), RpcError> {
            Err(RpcError::new(1, "closed"))
        }
    }
    let notes = Notes::default();
    let mut pair = Pair::new(tools().hook(notes.clone()).hook(Closed));
    let refused = refusal(&pair.ask(&call(1, "echo", &json!({ "message": "hi" }))));
    assert_eq!((refused.code, refused.message.as_str()), (1, "closed"));
    let mut pair = Pair::new(tools().hook(Closed).hook(notes.clone()));
    notes.take();
    pair.ask(&call(1, "echo", &json!({ "message": "hi" })));
    assert!(!notes.take().iter().any(|note| note.starts_with("before")));
}

#[test]
fn a_hook_that_panics_when_all_is_over_stops_nothing() {
    struct Careless;
    impl Hook for Careless {
        fn after(&self, _: &Finished<'_>) {
            panic!("on purpose");
        }
    }
    let notes = Notes::default();
    let server = tools().hook(Careless).hook(notes.clone());
    let mut stepped = Stepped::new(server);
    let now = call(1, "echo", &json!({ "message": "hi" }));
    assert_eq!(stepped.ask(&now), modern_result(1, text("hi")));
    stepped.connection().line_took(Duration::from_millis(5));
    assert!(stepped.send(&call(2, "later", &json!({}))).is_empty());
    assert_eq!(stepped.pass_ms(50)[0]["result"]["isError"], true);
    let told = notes.take();
    assert!(told.contains(&"tools/call echo Result 5ms".to_owned()));
    assert!(told.contains(&"tools/call later ToolError 50ms".to_owned()));
    for _ in 0..2 {
        let line = stepped.connection().poll_log().expect("a line");
        assert!(line.contains("a hook panicked: on purpose"), "{line}");
    }
}

#[test]
fn a_hook_without_effect_changes_no_answer() {
    struct Nothing;
    impl Hook for Nothing {}
    let mut plain = Pair::new(tools());
    let mut hooked = Pair::new(tools().hook(Nothing));
    for line in [
        call(1, "echo", &json!({ "message": "hi" })),
        call(2, "boom", &json!({})),
        call(3, "panics", &json!({})),
        modern(4, "resources/read", json!({ "uri": "pair://hello" })),
    ] {
        assert_eq!(hooked.ask(&line), plain.ask(&line));
    }
    assert_eq!(
        hooked.ask(&call(5, "echo", &json!({ "message": "x" }))),
        modern_result(5, text("x"))
    );
}

#[test]
fn metrics_count_and_measure_by_method_and_name() {
    let metrics = Metrics::new();
    let prompt = Prompt::new("p", |_, reply| {
        reply.protocol_error(&RpcError::internal("no"));
    });
    let mut stepped = Stepped::new(tools().prompt(prompt).hook(metrics.clone()));
    for (line, ms) in [
        (call(1, "echo", &json!({ "message": "hi" })), 1),
        (call(2, "echo", &json!({})), 3),
        (modern(3, "prompts/get", json!({ "name": "p" })), 1),
    ] {
        stepped.send(&line);
        stepped.connection().line_took(Duration::from_millis(ms));
    }
    let seen: Vec<_> = metrics
        .snapshot()
        .iter()
        .map(|s| (s.method, s.name.clone(), s.calls, s.tool_errors, s.errors))
        .collect();
    assert_eq!(
        seen,
        [
            ("prompts/get", "p".to_owned(), 1, 0, 1),
            ("tools/call", "echo".to_owned(), 2, 1, 0),
        ]
    );
    let p99 = metrics.snapshot()[1].quantile(0.99).unwrap();
    assert!((3000..3400).contains(&p99.as_micros()), "{p99:?}");
}

#[test]
fn in_a_session_a_call_that_fails_on_its_client_is_told_of_once_as_it_ended() {
    let notes = Notes::default();
    let asks = Prompt::new("asks", |prompt, reply| {
        match prompt.context().ask(Inputs::new().roots("r")) {
            Ok(_) => reply.user_text("asked"),
            Err(ask) => reply.protocol_error(&ask.into()),
        }
    });
    let mut stepped = Stepped::new(tools().prompt(asks).hook(notes.clone()));
    let capabilities = json!({ "roots": {} });
    let client = json!({ "name": "tests", "version": "1" });
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client
    });
    stepped.send(&legacy("init", "initialize", &params));
    stepped.send(INITIALIZED);
    let mut ended = |line: &str, late: bool| {
        let asked = stepped.send(line).remove(0);
        notes.take();
        if late {
            stepped.pass_ms(600_000);
        } else {
            let error = json!({ "code": -1, "message": "no" });
            let refused = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
            stepped.send(&refused.to_string());
        }
        notes.take()
    };
    let tool = legacy(1, "tools/call", &json!({ "name": "asks" }));
    let prompt = legacy(2, "prompts/get", &json!({ "name": "asks" }));
    assert_eq!(ended(&tool, false), ["tools/call asks ToolError 0ns"]);
    assert_eq!(
        ended(&prompt, false),
        ["prompts/get asks Error(-32603) 0ns"]
    );
    assert_eq!(ended(&tool, true), ["tools/call asks ToolError 600s"]);
    assert_eq!(
        ended(&prompt, true),
        ["prompts/get asks Error(-32603) 600s"]
    );
}

/// All rounds of a session's call are one request, which began when it came.
#[test]
fn in_a_session_the_time_of_a_call_that_asks_counts_from_its_request() {
    let notes = Notes::default();
    let asks = |call: Call<'_>, reply: Reply<'_>| {
        let context = call.context();
        let first = context.ask(Inputs::new().roots("first"));
        let second = first.and_then(|_| context.ask(Inputs::new().roots("second")));
        second.map(|_| "asked").reply(reply);
    };
    let tools = tools()
        .tool(Tool::new("twice", asks))
        .tool(Tool::new("twice-blocking", asks).blocking());
    let limits = Limits {
        ask_ms_max: 1_000,
        ..Limits::default()
    };
    let mut stepped = Stepped::new(tools.hook(notes.clone()).limits(limits));
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "roots": {} },
        "clientInfo": { "name": "tests", "version": "1" }
    });
    stepped.send(&legacy("init", "initialize", &params));
    stepped.send(INITIALIZED);
    for tool in ["twice", "twice-blocking"] {
        for late in [false, true] {
            let mut line = legacy(1, "tools/call", &json!({ "name": tool }));
            for round in 0..3 {
                let mut told = stepped.send(&line);
                while let Some(job) = stepped.connection().poll_job() {
                    job.run();
                }
                told.extend(stepped.completed());
                stepped.connection().line_took(Duration::ZERO);
                if late && round == 1 {
                    stepped.pass_ms(1_000);
                    break;
                }
                let asked = told.pop().expect("a message");
                let roots = json!({ "roots": [] });
                line = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": roots }).to_string();
                if round < 2 {
                    stepped.pass_ms(700);
                }
            }
            let ended = if late {
                "ToolError 1.7s"
            } else {
                "Result 1.4s"
            };
            let told = notes.take().pop().expect("it was told");
            assert_eq!(told, format!("tools/call {tool} {ended}"));
        }
    }
}

/// A hook does not call the handler, calls it again, or panics before or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Careless {
    Skips,
    CallsTwice,
    PanicsBefore,
    PanicsAfter,
}

impl Hook for Careless {
    fn around(&self, _: &Context<'_>, handler: &mut dyn FnMut()) {
        match self {
            Self::Skips => {}
            Self::CallsTwice => {
                handler();
                handler();
            }
            Self::PanicsBefore => panic!("on purpose"),
            Self::PanicsAfter => {
                handler();
                panic!("on purpose");
            }
        }
    }
}

#[test]
fn what_a_careless_hook_does_to_a_handler_is_the_same_wherever_that_runs() {
    let handler = |_: Call<'_>, reply: Reply<'_>| reply.text("done");
    for hook in [
        Careless::Skips,
        Careless::CallsTwice,
        Careless::PanicsBefore,
        Careless::PanicsAfter,
    ] {
        let asynchronous = Tool::asynchronous("async", |_: Call<'_>| {
            Box::pin(async {
                let answer: AsyncAnswer = Box::new(|reply: Reply<'_>| reply.text("done"));
                answer
            })
        });
        let tools = server()
            .tool(Tool::new("inline", handler))
            .tool(Tool::new("blocking", handler).blocking())
            .tool(asynchronous)
            .executor(|mut future| {
                let mut task = std::task::Context::from_waker(std::task::Waker::noop());
                let _ = future.as_mut().poll(&mut task);
                // One that waits now waits for ever.
            });
        let mut stepped = Stepped::new(tools.hook(hook));
        for tool in ["inline", "blocking", "async"] {
            let mut answers = stepped.send(&call(1, tool, &json!({})));
            if let Some(job) = stepped.connection().poll_job() {
                job.run();
            }
            answers.extend(stepped.completed());
            assert_eq!(answers.len(), 1, "{hook:?} {tool}: {answers:?}");
            let why = match hook {
                Careless::Skips => "the handler gave no answer",
                Careless::PanicsBefore => "the handler panicked",
                Careless::CallsTwice | Careless::PanicsAfter => {
                    assert_eq!(answers[0], modern_result(1, text("done")), "{tool}");
                    continue;
                }
            };
            let refused = refusal(&answers[0]);
            assert_eq!(refused.head(), (Some(json!(1)), -32603));
            assert_eq!(refused.message, why, "{hook:?} {tool}");
        }
        let panics = std::iter::from_fn(|| stepped.connection().poll_log()).count();
        let is_panicking = matches!(hook, Careless::PanicsBefore | Careless::PanicsAfter);
        assert_eq!(panics, if is_panicking { 3 } else { 0 }, "{hook:?}");
    }
}
