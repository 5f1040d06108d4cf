//! Prompts with messages of every role and kind.
//!
//! Specification: `server/prompts`, `PromptMessage`.

use serde_json::{Value, json};
use tightwire::{Content, Prompt, PromptMessage, ResourceContents, ResourceLink, Server};
use tightwire_tests::{Revision, refusal};

fn server() -> Server {
    let talk = Prompt::new("talk", |prompt, reply| {
        let topic = prompt.argument("topic").unwrap_or("nothing").to_owned();
        reply.description("A talk").messages(&[
            PromptMessage::user(format!("About {topic}?")),
            PromptMessage::assistant("Yes."),
            PromptMessage::user(Content::image(b"i".to_vec(), "image/png")),
            PromptMessage::user(Content::audio(b"a".to_vec(), "audio/wav")),
            PromptMessage::assistant(ResourceLink::new("a://b", "b")),
            PromptMessage::user(ResourceContents::text("a://c", "c")),
        ]);
    })
    .description("Any talk")
    .optional("topic", "What it is about");
    let plain = Prompt::new("plain", |_, reply| reply.user_text("hi")).description("Plain");
    let empty = Prompt::new("empty", |_, reply| reply.messages(&[]));
    let bad = Prompt::new("bad", |_, reply| {
        reply.messages(&[PromptMessage::user(Content::text("a").meta("1"))]);
    });
    Server::new("prompts", "1.0.0")
        .prompt(talk)
        .prompt(plain)
        .prompt(empty)
        .prompt(bad)
}

fn message(role: &str, content: &Value) -> Value {
    json!({ "role": role, "content": content })
}

#[test]
fn messages_have_roles_and_contents_of_every_kind() {
    for mut revision in Revision::each(server) {
        let audio = if revision.version == "2024-11-05" {
            let blob = json!({ "uri": "content://3", "mimeType": "audio/wav", "blob": "YQ==" });
            json!({ "type": "resource", "resource": blob })
        } else {
            json!({ "type": "audio", "mimeType": "audio/wav", "data": "YQ==" })
        };
        let link = if revision.is_since("2025-06-18") {
            json!({ "type": "resource_link", "uri": "a://b", "name": "b" })
        } else {
            json!({ "type": "text", "text": "b: a://b" })
        };
        let image = json!({ "type": "image", "mimeType": "image/png", "data": "aQ==" });
        let resource = json!({ "type": "resource", "resource": { "uri": "a://c", "text": "c" } });
        let expected = json!({
            "description": "A talk",
            "messages": [
                message("user", &json!({ "type": "text", "text": "About cats?" })),
                message("assistant", &json!({ "type": "text", "text": "Yes." })),
                message("user", &image),
                message("user", &audio),
                message("assistant", &link),
                message("user", &resource),
            ],
        });
        let params = json!({ "name": "talk", "arguments": { "topic": "cats" } });
        let result = revision.result("prompts/get", params);
        assert_eq!(result, expected, "{}", revision.version);
    }
}

#[test]
fn the_description_is_that_of_the_prompt_unless_given() {
    for mut revision in Revision::each(server) {
        let hi = message("user", &json!({ "type": "text", "text": "hi" }));
        let plain = revision.result("prompts/get", json!({ "name": "plain" }));
        assert_eq!(plain, json!({ "description": "Plain", "messages": [hi] }));
        let empty = revision.result("prompts/get", json!({ "name": "empty" }));
        assert_eq!(empty, json!({ "messages": [] }));
        let bad = refusal(&revision.ask("prompts/get", json!({ "name": "bad" })));
        assert_eq!(bad.code, -32603);
    }
}
