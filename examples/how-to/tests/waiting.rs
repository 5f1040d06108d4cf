//! Tools that take their time.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tightwire_tests::Conversation;

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
        assert_eq!(
            Conversation::text_of(&Conversation::result_of(answer)),
            "2 documents are indexed"
        );

        // Another is served meanwhile; the slow one ends early when it is cancelled.
        let slow = conversation.send("tools/call", params(600, 100));
        assert_eq!(conversation.receive()["params"]["progress"], 1);
        conversation.send("tools/call", json!({ "name": "ping" }));
        assert_eq!(
            Conversation::text_of(&Conversation::result_of(conversation.receive_answer())),
            "pong"
        );
        conversation.notify("notifications/cancelled", &json!({ "requestId": slow }));
        let told = conversation.next_error();
        assert!(told.starts_with("cancelled after "), "{told}");
        let ping = conversation.send("tools/call", json!({ "name": "ping" }));
        assert_eq!(conversation.receive_answer()["id"], ping);
        conversation.end();
    }
}

#[test]
fn deferred() {
    for mut conversation in Conversation::each(example!("deferred")) {
        let remind = conversation.send("tools/call", json!({ "name": "remind" }));
        assert_eq!(conversation.text("square", json!({ "number": 12 })), "144");
        let answer = conversation.receive();
        assert_eq!(answer["id"], remind);
        assert_eq!(
            Conversation::text_of(&Conversation::result_of(answer)),
            "It is time."
        );
    }
}

#[test]
fn tasks() {
    let capabilities = json!({
        "elicitation": { "form": {} },
        "extensions": { "io.modelcontextprotocol/tasks": {} },
    });
    let publish = json!({ "action": "accept", "content": { "publish": true } });
    for mut conversation in Conversation::each_with(example!("tasks"), capabilities) {
        let train = json!({ "epochs": 2, "ms": 1 });
        if !conversation.is_modern() {
            let (asked, text) = conversation.asked("train", train.clone(), publish.clone());
            assert_eq!(asked["method"], "elicitation/create");
            assert_eq!(text, "published");
            session_task(conversation, &train, &publish);
            continue;
        }
        let call = json!({ "name": "train", "arguments": train });
        let answer = conversation.ask("tools/call", call.clone());
        let task = json!({ "taskId": answer["result"]["taskId"] });
        assert_eq!(answer["result"]["resultType"], "task");
        let get = |conversation: &mut Conversation, task: &Value, status: &str| {
            let start = Instant::now();
            loop {
                let state = conversation.result("tasks/get", task.clone());
                if state["status"] == status {
                    return state;
                }
                assert!(start.elapsed() < Duration::from_secs(20), "{state}");
            }
        };
        let state = get(&mut conversation, &task, "input_required");
        assert_eq!(
            state["inputRequests"]["publish"]["method"],
            "elicitation/create"
        );
        let mut update = task.clone();
        update["inputResponses"] = json!({ "publish": publish });
        conversation.result("tasks/update", update);
        let state = get(&mut conversation, &task, "completed");
        assert_eq!(Conversation::text_of(&state["result"]), "published");

        let slow = json!({ "name": "train", "arguments": { "epochs": 1, "ms": 60_000 } });
        let answer = conversation.ask("tools/call", slow);
        let task = json!({ "taskId": answer["result"]["taskId"] });
        conversation.result("tasks/cancel", task.clone());
        get(&mut conversation, &task, "cancelled");
        conversation.end();
    }
}

/// The same call as a task of a session: who waits for its result is asked.
fn session_task(mut conversation: Conversation, train: &Value, publish: &Value) {
    let call = json!({ "name": "train", "arguments": train, "task": { "ttl": 60_000 } });
    let made = conversation.result("tools/call", call);
    assert_eq!(made["task"]["status"], "working");
    let task = json!({ "taskId": made["task"]["taskId"] });
    let waiting = conversation.send("tasks/result", task.clone());
    let asked = conversation.receive_answer();
    assert_eq!(asked["method"], "elicitation/create");
    let related = &asked["params"]["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(*related, task);
    conversation.answer(&asked["id"], publish);
    let answer = conversation.receive_answer();
    assert_eq!(answer["id"], waiting);
    let result = Conversation::result_of(answer);
    assert_eq!(Conversation::text_of(&result), "published");

    let text = json!({ "text": "not for you" });
    let refused = conversation.ask("tools/call", json!({ "name": "count", "arguments": text }));
    assert_eq!(refused["error"]["code"], -32601);
    let call = json!({ "name": "count", "arguments": text, "task": {} });
    let made = conversation.result("tools/call", call);
    let task = json!({ "taskId": made["task"]["taskId"] });
    conversation.send("tasks/result", task);
    let result = Conversation::result_of(conversation.receive_answer());
    assert_eq!(Conversation::text_of(&result), "3");
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
