//! Extensions: what a server declares of them, and methods and result types of its own.
//!
//! Specification: 2026-07-28, `basic/versioning`, Extension Negotiation.

use serde_json::{Value, json};
use tightwire::{
    Error, ExtensionCall, ExtensionMethod, ExtensionReply, Inputs, RpcError, Server,
    serde::Deserialize,
};
use tightwire_tests::{
    Pair, Stepped, cancelled, initialize, legacy, legacy_result, modern, modern_meta,
    modern_result, refusal, server,
};

const EXTENSION: &str = "com.example/measuring";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn method(
    name: &str,
    handler: impl Fn(ExtensionCall<'_>, ExtensionReply<'_>) + Send + Sync + 'static,
) -> ExtensionMethod {
    ExtensionMethod::new(name, handler)
}

#[derive(Deserialize)]
#[serde(crate = "tightwire::serde")]
struct Measure<'a> {
    what: &'a str,
    #[serde(default)]
    times: u64,
}

fn measuring() -> Server {
    let measure = method("example/measure", |call, reply| {
        match call.parse::<Measure<'_>>() {
            Ok(Measure { what, times }) => {
                let name = call.name();
                reply.result(&json!({ "what": what, "times": times, "method": name }));
            }
            Err(error) => reply.protocol_error(&RpcError::invalid_params(error.to_string())),
        }
    });
    server()
        .extension(EXTENSION, "{\"units\":\n[\"m\"]}")
        .method(measure)
}

fn freeze_error(server: Server) -> Error {
    server.freeze().map(drop).unwrap_err()
}

#[test]
fn extensions_are_declared_in_both_eras() {
    let extended = || measuring().extension("com.example/other", "{}");
    let declared = json!({ EXTENSION: { "units": ["m"] }, "com.example/other": {} });
    let mut pair = Pair::new(extended());
    let answer = pair.ask(&modern(1, "server/discover", json!({})));
    let capabilities = &answer["result"]["capabilities"];
    assert_eq!(capabilities["extensions"], declared);
    assert_eq!(capabilities["tools"], json!({}));
    for version in ["2025-11-25", "2024-11-05"] {
        let answer = Pair::new(extended()).ask(&initialize(version));
        let capabilities = &answer["result"]["capabilities"];
        assert_eq!(capabilities["experimental"], declared);
        assert_eq!(capabilities.get("extensions"), None);
    }
    let alone = Server::new("alone", "1").extension(EXTENSION, "{}");
    let answer = Pair::new(alone).ask(&modern(1, "server/discover", json!({})));
    let capabilities = &answer["result"]["capabilities"];
    assert_eq!(*capabilities, json!({ "extensions": { EXTENSION: {} } }));
}

#[test]
fn what_cannot_be_declared_is_an_error_of_the_freeze() {
    for identifier in [
        "measuring",
        "com.example/",
        "com..example/a",
        "io.modelcontextprotocol/tasks",
    ] {
        let error = freeze_error(server().extension(identifier, "{}"));
        assert!(
            matches!(error, Error::Extension { .. }),
            "{identifier}: {error}"
        );
    }
    for settings in ["", "[]", "true", "{} {}"] {
        let error = freeze_error(server().extension(EXTENSION, settings));
        assert!(
            matches!(error, Error::Extension { .. }),
            "{settings}: {error}"
        );
    }
    let error = freeze_error(measuring().extension(EXTENSION, "{}"));
    assert!(
        matches!(
            error,
            Error::Duplicate {
                kind: "extension",
                ..
            }
        ),
        "{error}"
    );
    for name in [
        "measure",
        "/measure",
        "example/",
        "tools/measure",
        "tools/call",
        "tasks/list",
        "ping",
        "server/measure",
        "notifications/measure",
        "rpc.example/measure",
    ] {
        let error = freeze_error(server().method(method(name, |_, _| {})));
        assert!(matches!(error, Error::Extension { .. }), "{name}: {error}");
    }
    let error = freeze_error(measuring().method(method("example/measure", |_, _| {})));
    assert!(
        matches!(error, Error::Duplicate { kind: "method", .. }),
        "{error}"
    );
}

#[test]
fn a_method_of_ones_own_is_served_in_both_eras() {
    let mut pair = Pair::new(measuring());
    let params = json!({ "what": "a \"table\"", "times": 3 });
    let expected = json!({ "what": "a \"table\"", "times": 3, "method": "example/measure" });
    let answer = pair.ask(&modern("a", "example/measure", params.clone()));
    assert_eq!(answer, modern_result("a", expected.clone()));
    let answer = pair.ask(&modern(2, "example/measure", json!({ "what": 1 })));
    assert_eq!(refusal(&answer).code, -32602);
    for other in ["example/measures", "example", "measure"] {
        let answer = pair.ask(&modern(3, other, json!({})));
        assert_eq!(refusal(&answer).code, -32601, "{other}");
    }
    // The envelope is checked as for any method.
    let answer = pair.ask(&legacy(4, "example/measure", &params));
    assert_eq!(refusal(&answer).code, -32602);
    for version in ["2025-11-25", "2024-11-05"] {
        let mut pair = Pair::session(measuring(), version);
        let answer = pair.ask(&legacy(1, "example/measure", &params));
        assert_eq!(answer, legacy_result(1, &expected));
    }
}

#[test]
fn a_result_may_have_a_type_and_metadata_of_its_own() {
    let typed = || {
        server().method(method("example/typed", |call, reply| {
            let wanted = call.params().find("type").and_then(|kind| kind.as_str());
            let members = json!({ "a": [1.5, null], "resultType": "x", "_meta": { "k": "v" } });
            reply.result_as(wanted.unwrap_or_default(), &members);
        }))
    };
    let mut pair = Pair::new(typed());
    let line = modern(
        1,
        "example/typed",
        json!({ "type": "com.example/measured" }),
    );
    let mut expected = modern_result(1, json!({ "a": [1.5, null] }));
    expected["result"]["resultType"] = json!("com.example/measured");
    expected["result"]["_meta"]["k"] = json!("v");
    assert_eq!(pair.ask(&line), expected);
    assert_eq!(pair.ask_text(&line).matches("resultType").count(), 1);
    for reserved in ["task", "input_required"] {
        let answer = pair.ask(&modern(2, "example/typed", json!({ "type": reserved })));
        assert_eq!(refusal(&answer).code, -32603, "{reserved}");
    }
    let mut pair = Pair::session(typed(), "2025-11-25");
    let answer = pair.ask(&legacy(1, "example/typed", &json!({})));
    assert_eq!(
        answer,
        legacy_result(1, &json!({ "a": [1.5, null], "_meta": { "k": "v" } }))
    );
}

#[test]
fn metadata_that_is_none_is_refused_and_who_serves_is_told_once() {
    let given = |call: ExtensionCall<'_>, reply: ExtensionReply<'_>| {
        let meta: Value = call.params().find("meta").unwrap().deserialize().unwrap();
        reply.result(&json!({ "_meta": meta }));
    };
    let mut pair = Pair::new(server().method(method("example/given", given)));
    let mut session = Pair::session(
        server().method(method("example/given", given)),
        "2025-11-25",
    );
    for meta in [json!(5), json!(null), json!([])] {
        let params = json!({ "meta": meta });
        let answers = [
            pair.ask(&modern(1, "example/given", params.clone())),
            session.ask(&legacy(1, "example/given", &params)),
        ];
        for answer in answers {
            assert_eq!(refusal(&answer).code, -32603, "{meta}");
        }
    }
    let name = "io.modelcontextprotocol/serverInfo";
    let line = modern(
        1,
        "example/given",
        json!({ "meta": { name: "somebody else" } }),
    );
    assert_eq!(pair.ask_text(&line).matches(name).count(), 1);
    assert_eq!(pair.ask(&line), modern_result(1, json!({})));
}

#[test]
fn results_without_members_and_values_that_are_none() {
    let odd = server()
        .method(method("example/empty", |_, reply| reply.result(&json!({}))))
        .method(method("example/array", |_, reply| reply.result(&[1])))
        .method(method("example/none", |_, _| {}))
        .method(method("example/panics", |_, _| panic!("oh no")));
    let mut pair = Pair::new(odd);
    let answer = pair.ask(&modern(1, "example/empty", json!({})));
    assert_eq!(answer, modern_result(1, json!({})));
    for name in ["array", "none", "panics"] {
        let answer = pair.ask(&modern(2, &format!("example/{name}"), json!({})));
        assert_eq!(refusal(&answer).code, -32603, "{name}");
    }
    let log = pair.log();
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(
        log[0].contains("method `example/panics` panicked"),
        "{log:?}"
    );
}

#[test]
fn a_method_may_require_its_extension() {
    let strict = || {
        let strict = method("example/strict", |_, reply| reply.result(&json!({})));
        server().method(strict.requires(EXTENSION))
    };
    let mut pair = Pair::new(strict());
    let refused = refusal(&pair.ask(&modern(1, "example/strict", json!({}))));
    assert_eq!(refused.code, -32021);
    let required = json!({ "requiredCapabilities": { "extensions": { EXTENSION: {} } } });
    assert_eq!(refused.data, Some(required));
    let mut meta = modern_meta();
    meta[CAPABILITIES] = json!({ "extensions": { EXTENSION: {} } });
    let answer = pair.ask(&modern(2, "example/strict", json!({ "_meta": meta })));
    assert_eq!(answer, modern_result(2, json!({})));
    // There was no way to declare it then.
    let mut pair = Pair::session(strict(), "2025-11-25");
    let answer = pair.ask(&legacy(1, "example/strict", &json!({})));
    assert_eq!(answer, legacy_result(1, &json!({})));
}

#[test]
fn a_method_cannot_ask_the_client() {
    let ask = method("example/ask", |call, reply| {
        match call.context().ask(Inputs::new().roots("roots")) {
            Ok(_) => reply.result(&json!({})),
            Err(ask) => reply.protocol_error(&ask.into()),
        }
    });
    let mut pair = Pair::new(server().method(ask));
    let mut meta = modern_meta();
    meta[CAPABILITIES] = json!({ "roots": {} });
    let answer = pair.ask(&modern(1, "example/ask", json!({ "_meta": meta })));
    assert_eq!(refusal(&answer).code, -32603);
}

#[test]
fn a_blocking_method_gets_a_copy_of_its_parameters() {
    let slow = method("example/slow", |call, reply| {
        let what = call.params().find("what").and_then(|what| what.as_str());
        let client = call.context().client_info().name;
        reply.result(&json!({ "what": what, "client": client }));
    });
    let mut server = Stepped::new(server().method(slow.blocking()));
    let line = modern(1, "example/slow", json!({ "what": "é\n" }));
    assert_eq!(server.send(&line), Vec::<Value>::new());
    server.connection().poll_job().unwrap().run();
    let expected = json!({ "what": "é\n", "client": "tests" });
    assert_eq!(server.completed(), [modern_result(1, expected)]);
    server.send(&line);
    let job = server.connection().poll_job().unwrap();
    server.send(&cancelled(1));
    job.run();
    assert_eq!(server.completed(), Vec::<Value>::new());
}
