//! Completion of the arguments of prompts and the variables of templates.
//!
//! Specification: `server/utilities/completion`.

use serde_json::{Value, json};
use tightwire::{Completion, Error, Prompt, ResourceTemplate, Server};
use tightwire_tests::{Pair, Revision, initialize, modern, refusal};

const LANGUAGES: [&str; 4] = ["Python", "pyside", "Ruby", "python"];

fn prompt() -> Prompt {
    Prompt::new("review", |_, reply| reply.user_text(""))
        .required("language", "")
        .optional("framework", "")
        .optional("note", "")
        .complete("language", |complete| complete.among(LANGUAGES))
        .complete("framework", |complete| {
            let language = complete.argument("language").unwrap_or("none");
            Completion::new([format!("{language} {}", complete.value())])
        })
}

fn template() -> ResourceTemplate {
    ResourceTemplate::new("log://{day}{?level,page}", "log", |_, reply| reply.text(""))
        .complete("day", |_| {
            Completion::new((0..250).map(|day| day.to_string()))
        })
        .complete("level", |_| Completion::new(["a"]).total(7))
        .complete("page", |_| Completion::new(["1"]).has_more())
}

fn server() -> Server {
    Server::new("completion", "1.0.0")
        .prompt(prompt())
        .resource_template(template())
}

fn prompt_ref() -> Value {
    json!({ "type": "ref/prompt", "name": "review" })
}

fn template_ref() -> Value {
    json!({ "type": "ref/resource", "uri": "log://{day}{?level,page}" })
}

fn params(of: &Value, argument: &str, value: &str) -> Value {
    json!({ "ref": of, "argument": { "name": argument, "value": value } })
}

#[test]
fn values_are_completed() {
    for mut revision in Revision::each(server) {
        for (of, argument, value, expected) in [
            (
                prompt_ref(),
                "language",
                "py",
                json!(["Python", "pyside", "python"]),
            ),
            (prompt_ref(), "language", "", json!(LANGUAGES)),
            (prompt_ref(), "language", "pythons", json!([])),
            (prompt_ref(), "language", "ü", json!([])),
            (prompt_ref(), "framework", "fla", json!(["none fla"])),
        ] {
            let result = revision.result("completion/complete", params(&of, argument, value));
            let total = expected.as_array().map_or(0, Vec::len);
            let expected = json!({ "values": expected, "total": total, "hasMore": false });
            assert_eq!(
                result,
                json!({ "completion": expected }),
                "{argument} {value}"
            );
        }
    }
}

#[test]
fn an_argument_that_nobody_completes_has_no_suggestions() {
    for mut revision in Revision::each(server) {
        let result = revision.result("completion/complete", params(&prompt_ref(), "note", "x"));
        assert_eq!(
            result,
            json!({ "completion": { "values": [], "hasMore": false } })
        );
    }
}

/// At most 100 values; `total` and `hasMore` tell of the others.
#[test]
fn a_hundred_values_are_sent_at_most() {
    for mut revision in Revision::each(server) {
        let result = revision.result("completion/complete", params(&template_ref(), "day", ""));
        let completion = &result["completion"];
        let values = completion["values"].as_array().expect("values");
        assert_eq!((values.len(), &values[99]), (100, &json!("99")));
        assert_eq!(completion["total"], 250);
        assert_eq!(completion["hasMore"], true);
        for (variable, expected) in [
            (
                "level",
                json!({ "values": ["a"], "total": 7, "hasMore": true }),
            ),
            ("page", json!({ "values": ["1"], "hasMore": true })),
        ] {
            let params = params(&template_ref(), variable, "");
            let result = revision.result("completion/complete", params);
            assert_eq!(result, json!({ "completion": expected }));
        }
    }
}

/// `context.arguments` came with 2025-06-18; in older revisions it is one more member.
#[test]
fn arguments_that_are_known_are_handed_over() {
    for mut revision in Revision::each(server) {
        let mut params = params(&prompt_ref(), "framework", "fla");
        for context in [json!({}), json!({ "arguments": {} }), json!({ "other": 1 })] {
            params["context"] = context;
            let result = revision.result("completion/complete", params.clone());
            assert_eq!(result["completion"]["values"], json!(["none fla"]));
        }
        params["context"] = json!({ "arguments": { "language": "python" } });
        let result = revision.result("completion/complete", params);
        assert_eq!(result["completion"]["values"], json!(["python fla"]));
    }
}

#[test]
fn what_cannot_be_completed_is_invalid_params() {
    let argument = json!({ "name": "language", "value": "" });
    let with = |of: Value| json!({ "ref": of, "argument": argument });
    let of = |argument: Value| json!({ "ref": prompt_ref(), "argument": argument });
    let context =
        |context: Value| json!({ "ref": prompt_ref(), "argument": argument, "context": context });
    let cases = [
        (json!({}), "params.ref is missing"),
        (with(json!("review")), "params.ref must be an object"),
        (with(json!({})), "params.ref.type is missing"),
        (
            with(json!({ "type": "ref/tool", "name": "a" })),
            "params.ref.type must be",
        ),
        (
            with(json!({ "type": "ref/prompt" })),
            "params.ref.name is missing",
        ),
        (
            with(json!({ "type": "ref/prompt", "name": 1 })),
            "params.ref.name must be a string",
        ),
        (
            with(json!({ "type": "ref/prompt", "name": "x" })),
            "params.ref: unknown prompt: `x`",
        ),
        (
            with(json!({ "type": "ref/resource" })),
            "params.ref.uri is missing",
        ),
        (
            with(json!({ "type": "ref/resource", "uri": "log://1" })),
            "params.ref: unknown resource template: `log://1`",
        ),
        (
            with(template_ref()),
            "params.argument.name: there is no argument `language`",
        ),
        (json!({ "ref": prompt_ref() }), "params.argument is missing"),
        (of(json!(null)), "params.argument must be an object"),
        (
            of(json!({ "value": "" })),
            "params.argument.name is missing",
        ),
        (
            of(json!({ "name": "language" })),
            "params.argument.value is missing",
        ),
        (
            of(json!({ "name": "language", "value": 1 })),
            "params.argument.value must be a string",
        ),
        (
            of(json!({ "name": "x", "value": "" })),
            "params.argument.name: there is no argument `x`",
        ),
        (context(json!([])), "params.context must be an object"),
        (
            context(json!({ "arguments": 1 })),
            "params.context.arguments must be an object",
        ),
        (
            context(json!({ "arguments": { "a": 1 } })),
            "params.context.arguments.`a` must be a string",
        ),
    ];
    for mut revision in Revision::each(server) {
        for (params, words) in &cases {
            let refusal = refusal(&revision.ask("completion/complete", params.clone()));
            assert_eq!(refusal.code, -32602, "{params}");
            assert!(refusal.message.starts_with(words), "{}", refusal.message);
        }
    }
    let twice = modern(
        1,
        "completion/complete",
        params(&prompt_ref(), "language", ""),
    )
    .replacen("\"ref\":", "\"ref\":{},\"ref\":", 1);
    let refusal = refusal(&Pair::new(server()).ask(&twice));
    assert_eq!(
        (refusal.code, refusal.message.as_str()),
        (-32602, "params.ref is there twice")
    );
}

/// Servers that support completions must declare so; 2024-11-05 has no word for it.
#[test]
fn the_capability_is_declared_where_there_is_one() {
    let without = || Server::new("s", "1").prompt(Prompt::new("p", |_, reply| reply.user_text("")));
    let by_prompt = || Server::new("s", "1").prompt(prompt());
    let by_template = || Server::new("s", "1").resource_template(template());
    let declared = |server: Server, version: &str| {
        let answer = match version {
            "2026-07-28" => Pair::new(server).ask(&modern(1, "server/discover", json!({}))),
            version => Pair::new(server).ask(&initialize(version)),
        };
        answer["result"]["capabilities"].get("completions").cloned()
    };
    for version in tightwire_tests::REVISIONS {
        let expected = (version != "2024-11-05").then(|| json!({}));
        assert_eq!(declared(by_prompt(), version), expected, "{version}");
        assert_eq!(declared(by_template(), version), expected, "{version}");
        assert_eq!(declared(without(), version), None, "{version}");
    }
    for mut revision in Revision::each(without) {
        let params = params(&json!({ "type": "ref/prompt", "name": "p" }), "a", "");
        let refusal = refusal(&revision.ask("completion/complete", params));
        assert_eq!(refusal.code, -32601);
    }
}

#[test]
fn a_completion_of_what_does_not_exist_is_refused_at_the_freeze() {
    let prompt = prompt().complete("other", |_| Completion::default());
    let template = template().complete("other", |_| Completion::default());
    for (server, whose) in [
        (Server::new("s", "1").prompt(prompt), "review"),
        (
            Server::new("s", "1").resource_template(template),
            "log://{day}{?level,page}",
        ),
    ] {
        let Err(Error::Completion { name, argument }) = server.freeze() else {
            panic!("it was taken");
        };
        assert_eq!((name.as_str(), argument.as_str()), (whose, "other"));
    }
}

#[test]
fn a_completion_that_panics_costs_its_own_request() {
    let prompt = Prompt::new("p", |_, reply| reply.user_text(""))
        .optional("a", "")
        .complete("a", |_| panic!("no idea"));
    let mut revision = Revision::new(Server::new("s", "1").prompt(prompt), "2026-07-28");
    let params = params(&json!({ "type": "ref/prompt", "name": "p" }), "a", "");
    let refusal = refusal(&revision.ask("completion/complete", params));
    assert_eq!(refusal.code, -32603);
    assert!(revision.result("prompts/get", json!({ "name": "p" }))["messages"].is_array());
}
