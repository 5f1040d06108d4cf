//! Contents of every kind, and what revisions get that lack one.
//!
//! Specification: `server/tools`, Tool Result; `ContentBlock` in the schema, or the contents of
//! `CallToolResult` where it has none.

use serde_json::{Value, json};
use tightwire::{
    Annotations, Call, Content, Icon, Reply, ResourceContents, ResourceLink, Role, Server, Tool,
};
use tightwire_tests::{Revision, refusal};

fn contents() -> Vec<Content> {
    let link = ResourceLink::new("file:///main.rs", "main.rs")
        .title("Main")
        .description("Where it starts")
        .mime_type("text/x-rust")
        .size(42)
        .icon(Icon::new("https://example.com/i.svg"));
    let text = ResourceContents::text("a://t", "a \"text\"").mime_type("text/plain");
    vec![
        Content::text("first\n")
            .annotations(
                Annotations::new()
                    .audience(&[Role::User])
                    .priority(1.0)
                    .last_modified("2025-01-12T15:00:58Z"),
            )
            .meta(r#"{"k":1}"#),
        Content::image(&b"\x00\xFF\x10"[..], "image/png").annotations(Annotations::new()),
        Content::audio(b"sound".to_vec(), "audio/wav")
            .annotations(Annotations::new().priority(0.0)),
        Content::link(link).annotations(Annotations::new().audience(&[Role::Assistant])),
        Content::resource(text.meta(r#"{"m":2}"#)).meta("{}"),
        Content::resource(ResourceContents::blob("a://b", b"\x01\x02".to_vec())),
    ]
}

fn server() -> Server {
    let many = |_: Call<'_>, reply: Reply<'_>| reply.contents(&contents());
    Server::new("contents", "1.0.0").tool(Tool::new("many", many))
}

/// What each revision is to get.
fn expected(revision: &Revision) -> Value {
    let titled = revision.is_since("2025-06-18");
    let mut text = json!({
        "type": "text",
        "text": "first\n",
        "annotations": { "audience": ["user"], "priority": 1.0 },
    });
    let mut embedded = json!({
        "type": "resource",
        "resource": { "uri": "a://t", "mimeType": "text/plain", "text": "a \"text\"" },
    });
    if titled {
        text["annotations"]["lastModified"] = json!("2025-01-12T15:00:58Z");
        text["_meta"] = json!({ "k": 1 });
        embedded["resource"]["_meta"] = json!({ "m": 2 });
        embedded["_meta"] = json!({});
    }
    let image = json!({
        "type": "image", "mimeType": "image/png", "data": "AP8Q", "annotations": {},
    });
    let mut audio = json!({ "type": "audio", "mimeType": "audio/wav", "data": "c291bmQ=" });
    if revision.version == "2024-11-05" {
        audio = json!({
            "type": "resource",
            "resource": { "uri": "content://2", "mimeType": "audio/wav", "blob": "c291bmQ=" },
        });
    }
    audio["annotations"] = json!({ "priority": 0.0 });
    let mut link = json!({ "type": "text", "text": "Main: file:///main.rs\nWhere it starts" });
    if titled {
        link = json!({
            "type": "resource_link",
            "uri": "file:///main.rs",
            "name": "main.rs",
            "title": "Main",
            "description": "Where it starts",
            "mimeType": "text/x-rust",
            "size": 42,
        });
    }
    if revision.is_since("2025-11-25") {
        link["icons"] = json!([{ "src": "https://example.com/i.svg" }]);
    }
    link["annotations"] = json!({ "audience": ["assistant"] });
    let blob = json!({ "type": "resource", "resource": { "uri": "a://b", "blob": "AQI=" } });
    json!([text, image, audio, link, embedded, blob])
}

#[test]
fn contents_are_lowered_where_a_revision_lacks_them() {
    for mut revision in Revision::each(server) {
        let expected = json!({ "content": expected(&revision) });
        assert_eq!(revision.call("many"), expected, "{}", revision.version);
    }
}

#[test]
fn typed_tools_return_contents() {
    type None = std::collections::BTreeMap<String, Value>;
    let server = || {
        Server::new("contents", "1.0.0")
            .tool(Tool::typed("one", |_: None| Content::text("a")))
            .tool(Tool::typed("two", |_: None| ["a", "b"].map(Content::from)))
            .tool(Tool::typed("list", |_: None| {
                vec![Content::from("a".to_owned())]
            }))
            .tool(Tool::typed("none", |_: None| ()))
            .tool(Tool::typed("link", |_: None| {
                Content::from(ResourceLink::new("a://b", "b"))
            }))
            .tool(Tool::typed("failed", |_: None| Err::<Content, _>("no")))
    };
    let text = |text: &str| json!({ "type": "text", "text": text });
    let link = json!({ "type": "resource_link", "uri": "a://b", "name": "b" });
    for (tool, content) in [
        ("one", json!({ "content": [text("a")] })),
        ("two", json!({ "content": [text("a"), text("b")] })),
        ("list", json!({ "content": [text("a")] })),
        ("none", json!({ "content": [] })),
        ("link", json!({ "content": [link] })),
        (
            "failed",
            json!({ "content": [text("no")], "isError": true }),
        ),
    ] {
        let mut revision = Revision::new(server(), "2025-06-18");
        assert_eq!(revision.call(tool), content, "{tool}");
    }
}

#[test]
fn contents_are_answered_later_too() {
    let tool = Tool::new("later", |_: Call<'_>, reply: Reply<'_>| {
        reply.defer().answer(|reply| reply.contents(&contents()));
    });
    let mut revision = Revision::new(Server::new("s", "1").tool(tool), "2026-07-28");
    let expected = json!({ "content": expected(&revision) });
    assert_eq!(revision.call("later"), expected);
}

/// A `_meta` that is no object would make the answer invalid, or break its line.
#[test]
fn a_meta_that_is_no_object_is_an_error_of_ours() {
    for meta in ["", "1", "}", "{\"a\":}", "{}\n{}"] {
        for content in [
            Content::text("a").meta(meta),
            Content::resource(ResourceContents::text("a://b", "").meta(meta)),
        ] {
            let tool = Tool::new("bad", move |_: Call<'_>, reply: Reply<'_>| {
                reply.contents(std::slice::from_ref(&content));
            });
            let mut revision = Revision::new(Server::new("s", "1").tool(tool), "2026-07-28");
            let answer = revision.ask("tools/call", json!({ "name": "bad" }));
            let refusal = refusal(&answer);
            assert_eq!(refusal.code, -32603, "{meta}");
            assert!(refusal.message.contains("_meta"), "{}", refusal.message);
        }
    }
}
