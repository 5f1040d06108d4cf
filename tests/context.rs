//! What a handler knows of its request, and says before its answer: progress, log messages.
//!
//! Specification: 2026-07-28, `basic/patterns/progress`, `server/utilities/logging`,
//! `basic/index`; 2025-11-25, `basic/utilities/progress`, `server/utilities/logging`.

use serde_json::{Value, json};
use tightwire::{Call, Limits, LogLevel, Reply, Server, Tool};
use tightwire_tests::{
    Pair, Stepped, batch, call, initialize, legacy, modern, modern_meta, modern_result, refusal,
    server, text,
};

/// Tells of each number in `steps`, then answers.
fn steps() -> Tool {
    Tool::new("steps", |call: Call<'_>, reply: Reply<'_>| {
        let steps = call
            .arguments()
            .find("steps")
            .and_then(|steps| steps.as_array());
        for step in steps.into_iter().flatten() {
            let step = step.as_f64().unwrap_or(f64::NAN);
            call.context().progress(step, Some(100.0), Some("working"));
        }
        reply.text("done");
    })
}

fn logs() -> Tool {
    Tool::new("logs", |call: Call<'_>, reply: Reply<'_>| {
        for level in LogLevel::ALL {
            call.context()
                .log(level, Some("tests"), json!({ "at": level.as_str() }));
        }
        reply.text("done");
    })
}

fn with_token(id: u64, token: &Value, steps: &Value) -> String {
    let mut meta = modern_meta();
    meta["progressToken"] = token.clone();
    let arguments = json!({ "steps": steps });
    let params = json!({ "name": "steps", "arguments": arguments, "_meta": meta });
    modern(id, "tools/call", params)
}

fn told(lines: &[Value]) -> Vec<f64> {
    lines
        .iter()
        .filter(|line| line["method"] == "notifications/progress")
        .map(|line| line["params"]["progress"].as_f64().unwrap())
        .collect()
}

#[test]
fn progress_is_told_before_the_answer_under_the_token_that_was_given() {
    for tool in [steps(), steps().blocking()] {
        let mut pair = Pair::new(server().tool(tool));
        for token in [json!("abc"), json!(7), json!(-1)] {
            let mut lines = pair.send(&with_token(1, &token, &json!([0, 50.5, 100])));
            lines.extend(pair.poll());
            assert_eq!(lines.len(), 4, "{lines:?}");
            assert_eq!(
                lines[1],
                json!({
                    "jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {
                        "progressToken": token, "progress": 50.5, "total": 100, "message": "working"
                    }
                })
            );
            assert_eq!(lines[3], modern_result(1, text("done")));
        }
        // Who gave no token is told nothing.
        let mut lines = pair.send(&call(2, "steps", &json!({ "steps": [1, 2] })));
        lines.extend(pair.poll());
        assert_eq!(lines, [modern_result(2, text("done"))]);
    }
}

#[test]
fn progress_grows_or_is_not_told() {
    let mut pair = Pair::new(server().tool(steps()));
    let lines = pair.send(&with_token(1, &json!(1), &json!([3, 3, 2, 4, null, 4, 5])));
    assert_eq!(told(&lines), [3.0, 4.0, 5.0]);
    let mut legacy_pair = Pair::session(server().tool(steps()), "2024-11-05");
    let params = json!({
        "name": "steps", "arguments": { "steps": [1] }, "_meta": { "progressToken": "t" }
    });
    let lines = legacy_pair.send(&legacy(1, "tools/call", &params));
    // 2024-11-05 has no message.
    let expected = json!({ "progressToken": "t", "progress": 1, "total": 100 });
    assert_eq!(lines[0]["params"], expected);
}

#[test]
fn progress_that_comes_too_often_is_not_told() {
    let limits = Limits {
        progress_per_second_max: 10,
        ..Limits::default()
    };
    let many: Vec<u32> = (0..1000).collect();
    for tool in [steps(), steps().blocking()] {
        let mut pair = Pair::new(server().tool(tool).limits(limits.clone()));
        let mut lines = pair.send(&with_token(1, &json!(1), &json!(many)));
        lines.extend(pair.poll());
        assert_eq!(lines.last(), Some(&modern_result(1, text("done"))));
        let count = told(&lines).len();
        assert!((10..100).contains(&count), "{count}");
    }
}

#[test]
fn nothing_is_told_after_the_answer_or_the_cancellation() {
    let tool = Tool::new("hold", |call: Call<'_>, reply: Reply<'_>| {
        let _ = call
            .context()
            .wait_cancelled(std::time::Duration::from_secs(10));
        call.context().progress(1.0, None, None);
        reply.text("done");
    })
    .blocking();
    let mut stepped = Stepped::new(server().tool(tool));
    let mut meta = modern_meta();
    meta["progressToken"] = json!(1);
    stepped.send(&modern(
        1,
        "tools/call",
        json!({ "name": "hold", "_meta": meta }),
    ));
    let job = stepped.connection().poll_job().unwrap();
    let worker = std::thread::spawn(move || job.run());
    let cancelled = tightwire_tests::cancelled(1);
    assert!(stepped.send(&cancelled).is_empty());
    worker.join().unwrap();
    assert!(stepped.completed().is_empty());
}

#[test]
fn log_messages_are_told_to_who_asks_for_them_with_its_request() {
    let mut pair = Pair::new(server().tool(logs()).logging());
    let mut levels = |level: Option<&str>| -> Vec<String> {
        let mut meta = modern_meta();
        if let Some(level) = level {
            meta["io.modelcontextprotocol/logLevel"] = json!(level);
        }
        let params = json!({ "name": "logs", "_meta": meta });
        let lines = pair.send(&modern(1, "tools/call", params));
        assert_eq!(lines.last(), Some(&modern_result(1, text("done"))));
        let notices = &lines[..lines.len() - 1];
        let level = |line: &Value| {
            assert_eq!(line["method"], "notifications/message");
            assert_eq!(line["params"]["logger"], "tests");
            assert_eq!(line["params"]["data"]["at"], line["params"]["level"]);
            line["params"]["level"].as_str().unwrap().to_owned()
        };
        notices.iter().map(level).collect()
    };
    let all = LogLevel::ALL.map(LogLevel::as_str);
    assert_eq!(levels(None), Vec::<String>::new());
    for (index, level) in all.iter().enumerate() {
        assert_eq!(levels(Some(level)), all[index..]);
    }
}

#[test]
fn a_session_sets_its_level_and_is_told_no_details_before() {
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let mut pair = Pair::session(server().tool(logs()).logging(), version);
        let logs = legacy(1, "tools/call", &json!({ "name": "logs" }));
        assert_eq!(pair.send(&logs).len(), 8, "all but debug, and the answer");
        let set = |level: &str| legacy(2, "logging/setLevel", &json!({ "level": level }));
        let done = json!({ "jsonrpc": "2.0", "id": 2, "result": {} });
        assert_eq!(pair.ask(&set("alert")), done);
        assert_eq!(pair.send(&logs).len(), 3);
        assert_eq!(pair.ask(&set("debug")), done);
        assert_eq!(pair.send(&logs).len(), 9);
        let refused = refusal(&pair.ask(&set("loud")));
        assert_eq!(refused.code, -32602);
        assert!(refused.message.contains("debug, info"), "{refused:?}");
        let refused = refusal(&pair.ask(&legacy(3, "logging/setLevel", &json!({}))));
        assert_eq!(refused.code, -32602);
    }
}

#[test]
fn a_server_without_logging_says_so_and_logs_nothing() {
    let capabilities = |server: Server, line: &str| {
        let answer = Pair::new(server).ask(line);
        answer["result"]["capabilities"].clone()
    };
    for line in [
        modern(1, "server/discover", json!({})),
        initialize("2025-11-25"),
    ] {
        let with = capabilities(server().logging(), &line);
        assert_eq!(with["logging"], json!({}));
        assert!(capabilities(server(), &line).get("logging").is_none());
    }
    let mut pair = Pair::session(server().tool(logs()), "2025-11-25");
    let set = legacy(1, "logging/setLevel", &json!({ "level": "debug" }));
    assert_eq!(refusal(&pair.ask(&set)).code, -32601);
    assert_eq!(
        pair.send(&legacy(2, "tools/call", &json!({ "name": "logs" })))
            .len(),
        1
    );
}

#[test]
fn what_comes_of_a_batch_does_not_wait_for_the_rest_of_it() {
    let mut pair = Pair::session(server().tool(steps()), "2025-03-26");
    let params = json!({
        "name": "steps", "arguments": { "steps": [1, 2] }, "_meta": { "progressToken": "t" }
    });
    let line = legacy(1, "tools/call", &params);
    let lines = pair.send(&batch(&[&line]));
    assert_eq!(told(&lines), [1.0, 2.0]);
    assert_eq!(lines.len(), 3);
    assert!(lines[2].is_array());
}

#[test]
fn a_handler_knows_its_client_in_both_eras() {
    let who = || {
        Tool::new("who", |call: Call<'_>, reply: Reply<'_>| {
            let context = call.context();
            let client = context.client_info();
            let trace = context.trace_context();
            let extension = context.client_extension("example.com/x");
            reply.display(format_args!(
                "{} {} {} {} {} {}",
                context.version(),
                client.name.unwrap_or("-"),
                client.version.unwrap_or("-"),
                context.capabilities().sampling,
                trace.traceparent.unwrap_or("-"),
                extension.is_some(),
            ));
        })
    };
    let said = |answer: &Value| answer["result"]["content"][0]["text"].clone();
    for tool in [who(), who().blocking()] {
        let mut pair = Pair::new(server().tool(tool));
        let mut meta = modern_meta();
        meta["traceparent"] = json!("00-1-2-01");
        meta["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "sampling": {}, "extensions": { "example.com/x": {} } });
        let mut lines = pair.send(&modern(
            1,
            "tools/call",
            json!({ "name": "who", "_meta": meta }),
        ));
        lines.extend(pair.poll());
        assert_eq!(said(&lines[0]), "2026-07-28 tests 1 true 00-1-2-01 true");
    }
    for tool in [who(), who().blocking()] {
        let mut pair = Pair::session(server().tool(tool), "2025-06-18");
        let mut lines = pair.send(&legacy(1, "tools/call", &json!({ "name": "who" })));
        lines.extend(pair.poll());
        assert_eq!(said(&lines[0]), "2025-06-18 tests 1 false - false");
    }
}

#[test]
fn notices_that_nobody_has_taken_yet_are_limited_in_their_bytes() {
    let long = |call: Call<'_>, reply: Reply<'_>| {
        let text = "x".repeat(1 << 20);
        for step in 1..=50 {
            call.context().progress(f64::from(step), None, Some(&text));
        }
        reply.text("done");
    };
    let mut stepped = Stepped::new(
        server()
            .tool(Tool::new("here", long))
            .tool(Tool::new("elsewhere", long).blocking()),
    );
    for name in ["here", "elsewhere", "here"] {
        let mut meta = modern_meta();
        meta["progressToken"] = json!("token");
        let params = json!({ "name": name, "_meta": meta });
        let mut lines = stepped.send(&modern(1, "tools/call", params));
        if let Some(job) = stepped.connection().poll_job() {
            job.run();
        }
        lines.extend(stepped.completed());
        assert_eq!(
            lines.len(),
            16,
            "{name}: 15 that have a little more than a MiB"
        );
        assert_eq!(lines[15]["id"], 1);
    }
}
