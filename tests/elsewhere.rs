//! Handlers outside of the loop: resources and prompts on the pool, tools as futures, and the time
//! that a tool may take.

use std::{
    future::{pending, ready},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    task::{Context as TaskContext, Wake, Waker},
    thread,
    time::Duration,
};

use serde_json::json;
use tightwire::{
    AsyncAnswer, BoxFuture, Call, Error, Prompt, Reply, Resource, ResourceTemplate, Server, Tool,
};
use tightwire_tests::{
    Pair, Stepped, call, cancelled, modern, modern_result, refusal, server, text,
};

/// An executor of one thread, which polls each future until it is done.
fn executor(server: Server) -> Server {
    let (sender, receiver) = mpsc::channel::<BoxFuture<'static, ()>>();
    thread::spawn(move || {
        for future in receiver {
            thread::spawn(move || block_on(future));
        }
    });
    let sender = Mutex::new(sender);
    server.executor(move |future| {
        let _ = sender.lock().unwrap().send(future);
    })
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on(mut future: BoxFuture<'static, ()>) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    while future
        .as_mut()
        .poll(&mut TaskContext::from_waker(&waker))
        .is_pending()
    {
        thread::park();
    }
}

fn say(text: impl Into<String>) -> AsyncAnswer {
    let text = text.into();
    Box::new(move |reply: Reply<'_>| reply.text(&text))
}

fn shout(call: Call<'_>) -> BoxFuture<'_, AsyncAnswer> {
    Box::pin(async move {
        let message = call
            .arguments()
            .find("message")
            .and_then(|text| text.as_str());
        let message = message.unwrap_or_default();
        ready(()).await;
        call.context().progress(1.0, None, None);
        say(message.to_uppercase())
    })
}

#[test]
fn a_future_borrows_its_arguments_and_answers() {
    let tool = Tool::asynchronous("shout", shout);
    let mut pair = Pair::new(executor(server().tool(tool)));
    // The other thread may be done before the line is.
    let mut answers = pair.send(&call(1, "shout", &json!({ "message": "hi" })));
    let answer = answers.pop().unwrap_or_else(|| pair.wait());
    assert_eq!(answer, modern_result(1, text("HI")));
    // The next call does not wait for one that takes its time.
    let waiting = Tool::asynchronous("wait", |_: Call<'_>| Box::pin(pending()));
    let mut pair = Pair::new(executor(server().tool(waiting)));
    assert!(pair.send(&call(1, "wait", &json!({}))).is_empty());
    let answer = pair.ask(&call(2, "echo", &json!({ "message": "hi" })));
    assert_eq!(answer, modern_result(2, text("hi")));
}

#[test]
fn a_future_is_dropped_when_its_call_is_cancelled() {
    struct Dropped(Arc<AtomicBool>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&dropped);
    let tool = Tool::asynchronous("wait", move |_: Call<'_>| {
        let guard = Dropped(Arc::clone(&flag));
        Box::pin(async move {
            pending::<()>().await;
            drop(guard);
            say("never")
        })
    });
    let mut pair = Pair::new(executor(server().tool(tool)));
    assert!(pair.send(&call(1, "wait", &json!({}))).is_empty());
    thread::sleep(Duration::from_millis(20));
    assert!(pair.send(&cancelled(1)).is_empty());
    for _ in 0..500 {
        if dropped.load(Ordering::SeqCst) {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    assert!(dropped.load(Ordering::SeqCst));
    assert!(pair.poll().is_empty());
}

#[test]
fn a_future_that_panics_is_an_internal_error_and_is_told_in_the_log() {
    let tool = Tool::asynchronous("panics", |_: Call<'_>| {
        Box::pin(async { panic!("on purpose") })
    });
    let mut pair = Pair::new(executor(server().tool(tool)));
    // The other thread may be quicker than this one.
    let answer = pair.send(&call(1, "panics", &json!({}))).pop();
    let answer = answer.unwrap_or_else(|| pair.wait());
    assert_eq!(refusal(&answer).head(), (Some(json!(1)), -32603));
    let log = pair.log().concat();
    assert!(log.contains("tool `panics` panicked: on purpose"), "{log}");
}

#[test]
fn an_asynchronous_tool_without_an_executor_is_an_error_of_the_freeze() {
    let tool = Tool::asynchronous("shout", shout);
    let frozen = server().tool(tool).freeze();
    let Err(Error::NoExecutor { tool }) = frozen else {
        panic!("not frozen, {frozen:?}");
    };
    assert_eq!(tool, "shout");
}

#[test]
fn resources_templates_and_prompts_may_run_on_the_pool() {
    let server = server()
        .resource(
            Resource::new("slow://one", "one", |read, reply| {
                reply.text(format_args!(
                    "{} {}",
                    read.uri(),
                    read.context().cancellation().is_some()
                ));
            })
            .blocking(),
        )
        .resource_template(
            ResourceTemplate::new("slow://many/{name}", "many", |read, reply| {
                reply.text(read.variable("name"));
            })
            .blocking(),
        )
        .prompt(
            Prompt::new("slow", |prompt, reply| {
                reply.user_text(prompt.argument("a").unwrap_or_default());
            })
            .required("a", "An argument")
            .blocking(),
        );
    let mut stepped = Stepped::new(server);
    for (method, params, said) in [
        (
            "resources/read",
            json!({ "uri": "slow://one" }),
            "slow://one true",
        ),
        (
            "resources/read",
            json!({ "uri": "slow://many/x%20y" }),
            "x y",
        ),
        (
            "prompts/get",
            json!({ "name": "slow", "arguments": { "a": "an a" } }),
            "an a",
        ),
    ] {
        assert!(stepped.send(&modern(1, method, params)).is_empty());
        stepped.connection().poll_job().unwrap().run();
        let answers = stepped.completed();
        assert_eq!(answers.len(), 1);
        assert!(
            answers[0].to_string().contains(&format!("\"{said}\"")),
            "{answers:?}"
        );
    }
}

#[test]
fn a_tool_may_have_less_time_than_others() {
    let tool = Tool::new("hold", |call: Call<'_>, reply: Reply<'_>| {
        let cancelled = call.wait_cancelled(Duration::from_secs(10));
        reply.display(cancelled);
    })
    .blocking()
    .timeout(Duration::from_millis(200));
    let mut stepped = Stepped::new(server().tool(tool));
    assert!(stepped.send(&call(1, "hold", &json!({}))).is_empty());
    assert_eq!(stepped.due_in_ms(), Some(200));
    let job = stepped.connection().poll_job().unwrap();
    let worker = thread::spawn(move || job.run());
    let late = stepped.pass_ms(200);
    let refused = refusal(&late[0]);
    assert_eq!(refused.head(), (Some(json!(1)), -32603));
    assert!(refused.message.contains("200 ms"), "{refused:?}");
    worker.join().unwrap();
    assert!(stepped.completed().is_empty());
}

#[test]
fn a_handler_knows_when_its_time_is_up() {
    let when = || {
        Tool::new("when", |call: Call<'_>, reply: Reply<'_>| {
            reply.display(format_args!("{:?}", call.context().deadline_unix_ms()));
        })
    };
    for (tool, said) in [
        (when().blocking(), "Some(600500)"),
        (
            when().blocking().timeout(Duration::from_millis(200)),
            "Some(700)",
        ),
    ] {
        let mut stepped = Stepped::new(server().tool(tool));
        stepped.pass_ms(500);
        assert!(stepped.send(&call(1, "when", &json!({}))).is_empty());
        stepped.connection().poll_job().unwrap().run();
        assert_eq!(stepped.completed(), [modern_result(1, text(said))]);
    }
    let mut stepped = Stepped::new(server().tool(when()));
    let answer = stepped.send(&call(1, "when", &json!({})));
    assert_eq!(answer, [modern_result(1, text("None"))]);
}
