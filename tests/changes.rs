//! Tools, resources and prompts that come and go while the server serves.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::{Value, json};
use tightwire::{
    Call, Error, Handle, Memory, Prompt, Reply, Resource, ResourceTemplate, Server, Tool,
};
use tightwire_tests::{Pair, Stepped, call, modern, modern_result, refusal, server, text};

#[test]
fn what_comes_is_listed_and_served_and_what_goes_is_not() {
    let (mut pair, handle) = changing();
    handle.add_tool(tool("new", "tool")).unwrap();
    handle
        .add_resource(Resource::new("new://x", "x", |_, reply| {
            reply.text("resource");
        }))
        .unwrap();
    handle
        .add_resource_template(ResourceTemplate::new("new://{y}/z", "y", |_, reply| {
            reply.text("template");
        }))
        .unwrap();
    handle
        .add_prompt(Prompt::new("new", |_, reply| reply.user_text("prompt")))
        .unwrap();
    let requests = [
        ("tools/call", json!({ "name": "new" }), "tool"),
        ("resources/read", json!({ "uri": "new://x" }), "resource"),
        ("resources/read", json!({ "uri": "new://y/z" }), "template"),
        ("prompts/get", json!({ "name": "new" }), "prompt"),
    ];
    for (method, params, expected) in &requests {
        let answer = pair.ask(&modern(1, method, params.clone())).to_string();
        assert!(answer.contains(expected), "{answer}");
    }
    let lists = [
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
    ];
    for method in lists {
        let answer = pair.ask(&modern(1, method, json!({}))).to_string();
        assert!(answer.contains("new"), "{answer}");
    }
    assert!(handle.remove_tool("new").unwrap());
    assert!(handle.remove_resource("new://x").unwrap());
    assert!(handle.remove_resource_template("new://{y}/z").unwrap());
    assert!(handle.remove_prompt("new").unwrap());
    for (method, params, _) in &requests {
        let refusal = refusal(&pair.ask(&modern(1, method, params.clone())));
        assert_eq!(refusal.code, -32602, "{method}");
    }
    for method in lists {
        let answer = pair.ask(&modern(1, method, json!({}))).to_string();
        assert!(!answer.contains("new"), "{answer}");
    }
    assert!(!handle.remove_tool("new").unwrap());
}

#[test]
fn an_error_changes_nothing() {
    let (mut pair, handle) = changing();
    let before = lists(&mut pair);
    let duplicate = handle.add_tool(tool("echo", "x"));
    assert!(matches!(
        duplicate,
        Err(Error::Duplicate { kind: "tool", .. })
    ));
    let schema = handle.add_tool(tool("new", "x").input_schema(r#"{"type":"nothing"}"#));
    assert!(matches!(schema, Err(Error::Schema { .. })));
    let template = ResourceTemplate::new("a:{", "a", |_, reply| reply.text("x"));
    let template = handle.add_resource_template(template);
    assert!(matches!(template, Err(Error::Template { .. })));
    let resource = Resource::new("pair://hello", "x", |_, reply| reply.text("x"));
    handle.add_resource(resource).unwrap_err();
    handle
        .add_prompt(Prompt::new("review", |_, reply| reply.user_text("x")))
        .unwrap_err();
    assert_eq!(lists(&mut pair), before);
    let answer = pair.ask(&call(1, "echo", &json!({ "message": "x" })));
    assert_eq!(answer, modern_result(1, text("x")));
    handle.add_tool(tool("new", "x")).unwrap();
}

#[test]
fn a_handle_works_while_something_is_served() {
    let mut server = server();
    let handle = server.handle();
    assert!(matches!(
        handle.add_tool(tool("new", "x")),
        Err(Error::NotServing)
    ));
    assert!(matches!(handle.remove_tool("echo"), Err(Error::NotServing)));
    handle.resource_updated("pair://hello");
    let frozen = server.freeze().unwrap();
    handle.add_tool(tool("new", "x")).unwrap();
    let mut pair = Pair::connect(&frozen);
    drop(frozen);
    assert_eq!(
        pair.ask(&call(1, "new", &json!({}))),
        modern_result(1, text("x"))
    );
    assert!(handle.remove_tool("new").unwrap());
    drop(pair);
    let error = handle.remove_tool("echo").unwrap_err();
    assert!(error.to_string().contains("gone"), "{error}");
    handle.resource_updated("pair://hello");
}

#[test]
fn every_connection_has_what_is_newest_and_a_new_one_too() {
    let mut server = server();
    let handle = server.handle();
    let frozen = server.freeze().unwrap();
    let mut pairs = vec![Pair::connect(&frozen), Pair::connect(&frozen.clone())];
    handle.add_tool(tool("new", "x")).unwrap();
    pairs.push(Pair::connect(&frozen));
    // Those that are gone are no trouble.
    for _ in 0..100 {
        drop(Pair::connect(&frozen));
        handle.add_tool(tool("other", "x")).unwrap();
        handle.remove_tool("other").unwrap();
    }
    for pair in &mut pairs {
        assert_eq!(
            pair.ask(&call(1, "new", &json!({}))),
            modern_result(1, text("x"))
        );
        assert_eq!(
            refusal(&pair.ask(&call(1, "other", &json!({})))).code,
            -32602
        );
    }
}

#[test]
fn a_handler_changes_the_server_it_is_of_and_the_next_line_sees_it() {
    let mut server = server();
    let handle = server.handle();
    let listening = server.handle();
    let server = server
        .tool(Tool::new(
            "learn",
            move |_: Call<'_>, reply: Reply<'_>| match handle.add_tool(tool("learnt", "yes")) {
                Ok(()) => reply.text("done"),
                Err(error) => reply.error(error),
            },
        ))
        .tool(Tool::new("forget", move |_: Call<'_>, reply: Reply<'_>| {
            // Itself, too: the call that runs keeps what it began with.
            let done = ["learnt", "forget"].map(|name| listening.remove_tool(name).unwrap());
            listening.resource_updated("a:");
            reply.display(format_args!("{done:?}"));
        }));
    let mut stepped = Stepped::new(server);
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    stepped.send(&modern("s", "subscriptions/listen", listen));
    // Line upon line, nothing else between.
    assert_eq!(
        stepped.send(&call(1, "learn", &json!({}))),
        [modern_result(1, text("done"))]
    );
    assert_eq!(
        stepped.send(&call(2, "learnt", &json!({}))),
        [modern_result(2, text("yes"))]
    );
    let again = &stepped.send(&call(3, "learn", &json!({})))[0]["result"];
    assert_eq!(again["isError"], true);
    let forgotten = stepped.send(&call(4, "forget", &json!({})));
    assert_eq!(forgotten, [modern_result(4, text("[true, true]"))]);
    for name in ["learnt", "forget"] {
        assert_eq!(
            refusal(&stepped.send(&call(5, name, &json!({})))[0]).code,
            -32602
        );
    }
    assert_eq!(stepped.completed().len(), 1);
}

#[test]
fn a_call_in_flight_is_answered_though_its_tool_is_gone() {
    let mut server = server();
    let handle = server.handle();
    let held = tightwire_tests::Held::default();
    let blocking = Tool::new("slow", |_: Call<'_>, reply: Reply<'_>| reply.text("slow")).blocking();
    let mut stepped = Stepped::new(server.tool(held.tool()).tool(blocking));
    stepped.send(&call(1, "hold", &json!({})));
    stepped.send(&call(2, "slow", &json!({})));
    let job = stepped.connection().poll_job().unwrap();
    handle.remove_tool("hold").unwrap();
    handle.remove_tool("slow").unwrap();
    assert_eq!(
        refusal(&stepped.send(&call(3, "hold", &json!({})))[0]).code,
        -32602
    );
    held.answer("held");
    job.run();
    let answers = stepped.completed();
    assert_eq!(
        answers,
        [
            modern_result(1, text("held")),
            modern_result(2, text("slow"))
        ]
    );
}

#[test]
fn changes_from_many_threads_are_all_made() {
    let mut server = server();
    let handle = server.handle();
    let frozen = server.freeze().unwrap();
    let mut memory = Memory::new(&frozen);
    let woken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&woken);
    memory.connection().set_waker(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    thread::scope(|scope| {
        for thread in 0..4 {
            let handle = &handle;
            let frozen = &frozen;
            scope.spawn(move || {
                for index in 0..20 {
                    handle
                        .add_tool(tool(&format!("t{thread}_{index}"), "x"))
                        .unwrap();
                    // Connections come and go meanwhile.
                    drop(Pair::connect(frozen));
                }
                for index in (0..20).step_by(2) {
                    assert!(handle.remove_tool(&format!("t{thread}_{index}")).unwrap());
                }
            });
        }
        for _ in 0..100 {
            memory.feed(format!("{}\n", call(1, "echo", &json!({ "message": "x" }))).as_bytes());
            memory.poll();
            memory.consume(usize::MAX);
        }
    });
    assert!(woken.load(Ordering::Relaxed) > 0);
    let mut pair = Pair::connect(&frozen);
    let names = |pair: &mut Pair| {
        let answer = pair.ask(&modern(1, "tools/list", json!({})));
        answer["result"]["tools"].as_array().unwrap().len()
    };
    assert_eq!(names(&mut pair), 2 + 40);
}

#[test]
fn what_users_drop_may_use_a_handle_or_panic() {
    struct Changes(Handle, bool);
    impl Drop for Changes {
        fn drop(&mut self) {
            let _ = self.0.add_tool(tool("last", "words"));
            assert!(self.1, "out of order");
        }
    }
    let mut server = server();
    let handle = server.handle();
    let frozen = server.freeze().unwrap();
    let mut pair = Pair::connect(&frozen);
    let changes = Changes(handle.clone(), true);
    let duplicate = Tool::new("echo", move |_: Call<'_>, reply: Reply<'_>| {
        let _ = &changes;
        reply.text("x");
    });
    handle.add_tool(duplicate).unwrap_err();
    assert_eq!(
        pair.ask(&call(1, "last", &json!({}))),
        modern_result(1, text("words"))
    );
    handle.remove_tool("last").unwrap();

    // The connection has the last of it, and its loop goes on.
    let changes = Changes(handle.clone(), false);
    handle
        .add_tool(Tool::new("new", move |_: Call<'_>, reply: Reply<'_>| {
            let _ = &changes;
            reply.text("x");
        }))
        .unwrap();
    assert_eq!(
        pair.ask(&call(1, "new", &json!({}))),
        modern_result(1, text("x"))
    );
    handle.remove_tool("new").unwrap();
    assert_eq!(refusal(&pair.ask(&call(1, "new", &json!({})))).code, -32602);
    assert_eq!(
        pair.ask(&call(1, "last", &json!({}))),
        modern_result(1, text("words"))
    );
}

#[test]
fn without_a_handle_nothing_is_declared_and_nothing_wakes_the_loop() {
    let mut pair = Pair::session(server(), "2025-11-25");
    let discovered = pair.ask(&modern(1, "server/discover", json!({})));
    let plain = json!({ "prompts": {}, "resources": {}, "tools": {} });
    assert_eq!(discovered["result"]["capabilities"], plain);
    assert!(!pair.memory().connection().may_change());
    let (mut pair, handle) = changing();
    assert!(pair.memory().connection().may_change());
    pair.memory().finish();
    assert!(!pair.memory().connection().may_change());
    let waker = || panic!("nothing is told after the end");
    pair.memory().connection().set_waker(waker);
    handle.add_tool(tool("new", "x")).unwrap();
}

#[test]
fn a_handle_goes_to_any_thread() {
    fn any_thread<T: Clone + Send + Sync + 'static>(_: &T) {}
    any_thread(&Server::new("x", "1").handle());
}

fn changing() -> (Pair, Handle) {
    let mut server = server();
    let handle = server.handle();
    (Pair::new(server), handle)
}

fn tool(name: &str, says: &'static str) -> Tool {
    Tool::new(name, move |_: Call<'_>, reply: Reply<'_>| reply.text(says))
}

fn lists(pair: &mut Pair) -> Vec<Value> {
    let methods = [
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
    ];
    methods
        .map(|method| pair.ask(&modern(1, method, json!({}))))
        .into()
}

#[test]
fn what_was_removed_may_panic_when_its_last_call_drops_it() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }
    let mut server = server();
    let handle = server.handle();
    let panics = Panics;
    let last = Tool::new("last", move |_: Call<'_>, reply: Reply<'_>| {
        let _ = &panics;
        reply.text("done");
    });
    let mut stepped = Stepped::new(server.tool(last.blocking()));
    stepped.send(&call(1, "last", &json!({})));
    stepped.send(&call(2, "last", &json!({})));
    let jobs: Vec<_> = std::iter::from_fn(|| stepped.connection().poll_job()).collect();
    assert_eq!(jobs.len(), 2);
    assert!(handle.remove_tool("last").unwrap());
    assert_eq!(stepped.completed(), Vec::<Value>::new());
    // Those jobs alone have it now.
    for job in jobs {
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job.run()));
        assert!(ran.is_ok());
    }
    assert_eq!(stepped.completed().len(), 2);
}
