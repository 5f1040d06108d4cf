//! Compilers of schemas that use a handle of the server that they compile for.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, mpsc::channel},
    thread,
    time::Duration,
};

use serde_json::json;
use tightwire::{
    Call, Error, Handle, Reply, Tool, codec,
    schema::{Checker, Compiler, Problem},
};
use tightwire_tests::{Pair, call, modern_result, refusal, server, text};

/// Runs a function of the test each time that it compiles.
struct Meddling<F>(F);

impl<F> std::fmt::Debug for Meddling<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meddling")
    }
}

impl<F: Fn() + Send + Sync> Compiler for Meddling<F> {
    fn compile(&self, _: &str) -> Result<Box<dyn Checker>, String> {
        (self.0)();
        Ok(Box::new(Anything))
    }
}

#[derive(Debug)]
struct Anything;

impl Checker for Anything {
    fn problems(&self, _: codec::Value<'_>) -> Vec<Problem> {
        Vec::new()
    }
}

/// A tool whose schema is left to the compiler.
fn foreign(name: &str) -> Tool {
    tool(name).input_schema(r#"{"type":"object","unevaluatedProperties":false}"#)
}

fn tool(name: &str) -> Tool {
    Tool::new(name, |_: Call<'_>, reply: Reply<'_>| reply.text("x"))
}

/// A server that is served, with a compiler that does this with its handle.
fn served(meddle: impl Fn(&Handle) + Send + Sync + 'static) -> (Pair, Handle) {
    let mut server = server();
    let handle = server.handle();
    let own = handle.clone();
    let compiler = Meddling(move || meddle(&own));
    (Pair::new(server.schema_compiler(compiler)), handle)
}

#[test]
fn a_compiler_cannot_change_what_it_compiles_for_and_does_not_wait_for_ever() {
    let met = Arc::<Mutex<Vec<Error>>>::default();
    let meeting = Arc::clone(&met);
    let (mut pair, handle) = served(move |handle| {
        handle.resource_updated("pair://hello");
        let changes = [
            handle.add_tool(tool("other")),
            handle.remove_tool("echo").map(drop),
        ];
        let mut met = meeting.lock().unwrap();
        met.extend(changes.into_iter().filter_map(Result::err));
    });
    handle.add_tool(foreign("new")).unwrap();
    let errors = std::mem::take(&mut *met.lock().unwrap());
    assert_eq!(errors.len(), 2);
    for error in errors {
        assert!(matches!(error, Error::Compiling), "{error}");
    }
    let answer = pair.ask(&call(1, "new", &json!({})));
    assert_eq!(answer, modern_result(1, text("x")));
    let refused = refusal(&pair.ask(&call(2, "other", &json!({}))));
    assert_eq!(refused.code, -32602);
    // Only while it compiles.
    handle.add_tool(tool("other")).unwrap();
    let answer = pair.ask(&call(3, "other", &json!({})));
    assert_eq!(answer, modern_result(3, text("x")));
}

#[test]
fn a_change_of_another_thread_may_come_in_between_and_both_are_made() {
    let once = Mutex::new(true);
    let (mut pair, handle) = served(move |handle| {
        if !std::mem::take(&mut *once.lock().unwrap()) {
            return;
        }
        let (done, waiting) = channel();
        let handle = handle.clone();
        thread::spawn(move || done.send(handle.add_tool(tool("other"))));
        let added = waiting.recv_timeout(Duration::from_secs(20));
        added.expect("nothing is locked").unwrap();
    });
    handle.add_tool(foreign("new")).unwrap();
    for name in ["new", "other"] {
        let answer = pair.ask(&call(1, name, &json!({})));
        assert_eq!(answer, modern_result(1, text("x")), "{name}");
    }
}

#[test]
fn a_compiler_that_panics_leaves_the_handle_as_it_was() {
    let (mut pair, handle) = served(|_| panic!("on purpose"));
    let added = catch_unwind(AssertUnwindSafe(|| handle.add_tool(foreign("new"))));
    added.unwrap_err();
    handle.add_tool(tool("other")).unwrap();
    let answer = pair.ask(&call(1, "other", &json!({})));
    assert_eq!(answer, modern_result(1, text("x")));
}
