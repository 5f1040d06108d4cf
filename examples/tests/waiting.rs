//! Tools that take their time.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::conversation::{Conversation, example, result, text};

#[test]
fn blocking() {
    for mut conversation in Conversation::each(example!("blocking")) {
        let params = |documents: u32, ms: u32| json!({ "name": "index", "arguments": { "documents": documents, "ms": ms }, "_meta": { "progressToken": "p" } });
        let id = conversation.send("tools/call", params(2, 1));
        for done in 1..=2 {
            let notice = conversation.receive();
            let told =
                json!({ "progressToken": "p", "progress": done, "total": 2, "message": "indexed" });
            assert_eq!(
                (&notice["method"], &notice["params"]),
                (&json!("notifications/progress"), &told)
            );
        }
        let answer = conversation.receive();
        assert_eq!(answer["id"], id);
        assert_eq!(text(&result(answer)), "2 documents are indexed");

        // Another is served meanwhile; the slow one ends early when it is cancelled.
        let slow = conversation.send("tools/call", params(1, 60_000));
        assert_eq!(conversation.text("ping", json!({})), "pong");
        conversation.notify("notifications/cancelled", &json!({ "requestId": slow }));
        assert_eq!(conversation.next_error(), "cancelled after 0 documents");
        assert!(conversation.is_silent());
        conversation.end();
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
fn deferred() {
    for mut conversation in Conversation::each(example!("deferred")) {
        let remind = conversation.send("tools/call", json!({ "name": "remind" }));
        assert_eq!(conversation.text("square", json!({ "number": 12 })), "144");
        let answer = conversation.receive();
        assert_eq!(answer["id"], remind);
        assert_eq!(text(&result(answer)), "It is time.");
    }
}
