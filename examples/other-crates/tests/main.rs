//! A test for each example that needs other crates: a short conversation with it as a process, in
//! both eras.

use std::time::{Duration, Instant};

use serde_json::json;
use tightwire_tests::Conversation;

/// The program of an example.
macro_rules! example {
    ($name:literal) => {
        env!(concat!("CARGO_BIN_EXE_", $name))
    };
}

#[test]
fn full_schema() {
    for mut conversation in Conversation::each(example!("full_schema")) {
        let journey = json!({ "from": "Bern", "to": "Roma", "class": 2 });
        assert_eq!(conversation.text("book", journey), "booked");
        let unexpected = json!({ "from": "Bern", "to": "Roma", "seat": "window" });
        let error = conversation.tool_error("book", unexpected);
        assert!(error.contains("seat"), "{error}");
        let missing = conversation.tool_error("book", json!({ "from": "Bern" }));
        assert!(missing.contains("to"), "{missing}");
    }
}

#[test]
fn asynchronous() {
    for mut conversation in Conversation::each(example!("asynchronous")) {
        assert_eq!(
            conversation.text("lookup", json!({ "key": "a" })),
            "the value of a"
        );
        let start = Instant::now();
        let call = json!({ "name": "lookup", "arguments": { "key": "b", "ms": 60_000 } });
        let slow = conversation.send("tools/call", call);
        assert_eq!(
            conversation.text("lookup", json!({ "key": "c" })),
            "the value of c"
        );
        conversation.notify("notifications/cancelled", &json!({ "requestId": slow }));
        assert!(conversation.is_silent());
        conversation.end();
        assert!(start.elapsed() < Duration::from_secs(20));
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
