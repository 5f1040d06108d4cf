//! Definitions of tools, resources, templates, prompts and the server, each revision without what
//! its schema lacks.
//!
//! Specification: `Tool`, `Resource`, `ResourceTemplate`, `Prompt` and `Implementation` in the
//! schema of each revision.

use serde_json::{Map, Value, json};
use tightwire::{
    Annotations, Call, Error, Icon, Prompt, PromptArgument, Reply, Resource, ResourceTemplate,
    Role, Server, Theme, Tool, ToolAnnotations,
};
use tightwire_tests::{Pair, Revision, initialize, modern};

const META: &str = "{\"example.com/key\": [1,\n null]}";

fn icon() -> Icon {
    Icon::new("https://example.com/icon.png")
        .mime_type("image/png")
        .size("48x48")
        .size("96x96")
        .theme(Theme::Dark)
}

fn annotations() -> Annotations {
    Annotations::new()
        .audience(&[Role::User, Role::Assistant])
        .priority(0.5)
        .last_modified("2025-01-12T15:00:58Z")
}

fn server() -> Server {
    let tool = Tool::new("act", |_: Call<'_>, reply: Reply<'_>| reply.text(""))
        .title("Act!")
        .description("Do it")
        .output_schema("{\"type\":\"object\",\n\"properties\":{}}")
        .annotations(
            ToolAnnotations::new()
                .title("Act, please")
                .read_only(false)
                .destructive(true)
                .idempotent(false)
                .open_world(true),
        )
        .icon(icon())
        .meta(META);
    let any = Tool::new("any", |_: Call<'_>, reply: Reply<'_>| reply.text(""))
        .output_schema(r#"{"type":"array","items":{"type":"integer"}}"#)
        .annotations(ToolAnnotations::new());
    let resource = Resource::new("a://b", "b", |_, reply| reply.text(""))
        .title("B")
        .description("The b")
        .mime_type("text/plain")
        .size(7)
        .annotations(annotations())
        .icon(icon())
        .meta(META);
    let template = ResourceTemplate::new("a://{x}", "any", |_, reply| reply.text(""))
        .title("Any")
        .description("Any of them")
        .mime_type("text/plain")
        .annotations(annotations())
        .icon(icon())
        .meta(META);
    let prompt = Prompt::new("ask", |_, reply| reply.user_text(""))
        .title("Ask")
        .description("Ask for it")
        .argument(
            PromptArgument::new("what")
                .required()
                .title("What")
                .description("It"),
        )
        .argument(PromptArgument::new("how"))
        .icon(icon())
        .meta(META);
    Server::new("definitions", "1.0.0")
        .title("Definitions")
        .description("Has one of each")
        .website_url("https://example.com")
        .icon(icon())
        .tool(tool)
        .tool(any)
        .resource(resource)
        .resource_template(template)
        .prompt(prompt)
}

/// Removes the members that the revision lacks; each with the first revision that has it.
fn of_revision(revision: &Revision, mut all: Value, since: &[(&str, &str)]) -> Value {
    for (name, first) in since {
        if !revision.is_since(first) {
            let removed = all.as_object_mut().and_then(|all| all.remove(*name));
            assert!(removed.is_some(), "{name}");
        }
    }
    all
}

fn icons() -> Value {
    json!([{
        "src": "https://example.com/icon.png",
        "mimeType": "image/png",
        "sizes": ["48x48", "96x96"],
        "theme": "dark",
    }])
}

fn meta() -> Value {
    json!({ "example.com/key": [1, null] })
}

/// `annotations`, whose `lastModified` came with 2025-06-18.
fn annotations_of(revision: &Revision) -> Value {
    let all = json!({
        "audience": ["user", "assistant"],
        "priority": 0.5,
        "lastModified": "2025-01-12T15:00:58Z",
    });
    of_revision(revision, all, &[("lastModified", "2025-06-18")])
}

#[test]
fn tools_have_what_the_revision_has() {
    for mut revision in Revision::each(server) {
        let tool = json!({
            "name": "act",
            "title": "Act!",
            "description": "Do it",
            "inputSchema": { "type": "object" },
            "outputSchema": { "type": "object", "properties": {} },
            "annotations": {
                "title": "Act, please",
                "readOnlyHint": false,
                "destructiveHint": true,
                "idempotentHint": false,
                "openWorldHint": true,
            },
            "icons": icons(),
            "_meta": meta(),
        });
        let since = [
            ("title", "2025-06-18"),
            ("outputSchema", "2025-06-18"),
            ("annotations", "2025-03-26"),
            ("icons", "2025-11-25"),
            ("_meta", "2025-06-18"),
        ];
        let tool = of_revision(&revision, tool, &since);
        // An output schema of another type than object is there in 2026-07-28 alone.
        let any = json!({
            "name": "any",
            "inputSchema": { "type": "object" },
            "outputSchema": { "type": "array", "items": { "type": "integer" } },
            "annotations": {},
        });
        let since = [
            ("outputSchema", "2026-07-28"),
            ("annotations", "2025-03-26"),
        ];
        let any = of_revision(&revision, any, &since);
        let listed = revision.list("tools/list", "tools");
        assert_eq!(listed, json!([tool, any]), "{}", revision.version);
    }
}

#[test]
fn resources_and_templates_have_what_the_revision_has() {
    let since = [
        ("title", "2025-06-18"),
        ("icons", "2025-11-25"),
        ("_meta", "2025-06-18"),
    ];
    for mut revision in Revision::each(server) {
        let resource = json!({
            "uri": "a://b",
            "name": "b",
            "title": "B",
            "description": "The b",
            "mimeType": "text/plain",
            "size": 7,
            "annotations": annotations_of(&revision),
            "icons": icons(),
            "_meta": meta(),
        });
        let resource = of_revision(&revision, resource, &since);
        let listed = revision.list("resources/list", "resources");
        assert_eq!(listed, json!([resource]), "{}", revision.version);

        let template = json!({
            "uriTemplate": "a://{x}",
            "name": "any",
            "title": "Any",
            "description": "Any of them",
            "mimeType": "text/plain",
            "annotations": annotations_of(&revision),
            "icons": icons(),
            "_meta": meta(),
        });
        let template = of_revision(&revision, template, &since);
        let listed = revision.list("resources/templates/list", "resourceTemplates");
        assert_eq!(listed, json!([template]), "{}", revision.version);
    }
}

#[test]
fn prompts_have_what_the_revision_has() {
    for mut revision in Revision::each(server) {
        let what =
            json!({ "name": "what", "title": "What", "description": "It", "required": true });
        let what = of_revision(&revision, what, &[("title", "2025-06-18")]);
        let prompt = json!({
            "name": "ask",
            "title": "Ask",
            "description": "Ask for it",
            "arguments": [what, { "name": "how", "required": false }],
            "icons": icons(),
            "_meta": meta(),
        });
        let since = [
            ("title", "2025-06-18"),
            ("icons", "2025-11-25"),
            ("_meta", "2025-06-18"),
        ];
        let prompt = of_revision(&revision, prompt, &since);
        let listed = revision.list("prompts/list", "prompts");
        assert_eq!(listed, json!([prompt]), "{}", revision.version);
    }
}

#[test]
fn the_server_says_of_itself_what_the_revision_has() {
    let info = json!({
        "name": "definitions",
        "version": "1.0.0",
        "title": "Definitions",
        "description": "Has one of each",
        "websiteUrl": "https://example.com",
        "icons": icons(),
    });
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let answer = Pair::new(server()).ask(&initialize(version));
        let revision = Revision::new(server(), version);
        let since = [
            ("title", "2025-06-18"),
            ("description", "2025-11-25"),
            ("websiteUrl", "2025-11-25"),
            ("icons", "2025-11-25"),
        ];
        let info = of_revision(&revision, info.clone(), &since);
        assert_eq!(answer["result"]["serverInfo"], info, "{version}");
    }
    let answer = Pair::new(server()).ask(&modern(1, "server/discover", json!({})));
    let meta = &answer["result"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/serverInfo"], info);
}

/// Specification: `server/resources`, Annotations: a number from 0 to 1.
#[test]
fn a_priority_is_between_nothing_and_all() {
    for (given, sent) in [(-1.0, Some(0.0)), (7.0, Some(1.0)), (f64::NAN, None)] {
        let resource = Resource::new("a://b", "b", |_, reply| reply.text(""))
            .annotations(Annotations::new().priority(given));
        let mut revision = Revision::new(Server::new("s", "1").resource(resource), "2026-07-28");
        let listed = revision.list("resources/list", "resources");
        let annotations: &Value = &listed[0]["annotations"];
        let expected: Map<String, Value> = sent
            .map(|sent| ("priority".to_owned(), json!(sent)))
            .into_iter()
            .collect();
        assert_eq!(annotations, &Value::Object(expected));
    }
}

#[test]
fn what_cannot_be_sent_is_refused_at_the_freeze() {
    let tool = || Tool::new("t", |_: Call<'_>, reply: Reply<'_>| reply.text(""));
    let server = || Server::new("s", "1");
    for meta in ["", "[]", "1", "{", "{}{}", "null", "{\"a\":1,}"] {
        let resource = Resource::new("a://b", "b", |_, reply| reply.text("")).meta(meta);
        let template = ResourceTemplate::new("a://{b}", "b", |_, reply| reply.text("")).meta(meta);
        let prompt = Prompt::new("p", |_, reply| reply.user_text("")).meta(meta);
        for (server, whose) in [
            (server().tool(tool().meta(meta)), "t"),
            (server().resource(resource), "a://b"),
            (server().resource_template(template), "a://{b}"),
            (server().prompt(prompt), "p"),
        ] {
            let Err(Error::Meta { name }) = server.freeze() else {
                panic!("{meta} of {whose} was taken");
            };
            assert_eq!(name, whose);
        }
    }
    for schema in [
        "",
        "[]",
        r#"{"type":"object","unevaluatedProperties":false}"#,
    ] {
        let Err(error) = server().tool(tool().output_schema(schema)).freeze() else {
            panic!("{schema} was taken");
        };
        assert!(matches!(error, Error::OutputSchema { .. }), "{error}");
        assert!(
            error
                .to_string()
                .starts_with("the output schema of tool `t`: ")
        );
    }
}
