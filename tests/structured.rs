//! Structured content, output schemas, and the check of one against the other.
//!
//! Specification: `server/tools`, Structured Content and Output Schema.

use std::{
    collections::BTreeMap,
    task::{Context, Waker},
};

use serde_json::{Value, json};
use tightwire::{
    AsyncAnswer, Call, Content, Json, Reply, Server, Tool,
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
};
use tightwire_tests::{Revision, refusal};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tightwire::serde")]
#[schemars(crate = "tightwire::schemars")]
struct Nothing {}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "tightwire::serde")]
#[schemars(crate = "tightwire::schemars")]
struct Weather {
    /// In degrees Celsius.
    temperature: f64,
    conditions: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    humidity: Option<u8>,
}

const WEATHER: Weather = Weather {
    temperature: 22.5,
    conditions: "partly \"cloudy\"",
    humidity: None,
};
const TEXT: &str = r#"{"temperature":22.5,"conditions":"partly \"cloudy\""}"#;

fn server() -> Server {
    Server::new("structured", "1.0.0")
        .tool(Tool::typed("object", |_: Nothing| Json(WEATHER)))
        .tool(Tool::typed("array", |_: Nothing| Json([1_u8, 2])))
        .tool(Tool::typed("both", |_: Nothing| {
            (vec![Content::text("Cloudy.")], Json(WEATHER))
        }))
        .tool(Tool::typed("failed", |_: Nothing| {
            Err::<Json<Weather>, _>("no weather")
        }))
        .tool(Tool::new("raw", |_: Call<'_>, reply: Reply<'_>| {
            reply.structured(&BTreeMap::from([("a", 1)]));
        }))
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[test]
fn a_value_is_structured_content_and_its_text() {
    for mut revision in Revision::each(server) {
        let objects = revision.is_since("2025-06-18");
        let values = revision.is_since("2026-07-28");
        let structured: Value = serde_json::from_str(TEXT).expect("it is JSON");
        let with = |has: bool, content: Value, structured: &Value| {
            if has {
                json!({ "content": content, "structuredContent": structured })
            } else {
                json!({ "content": content })
            }
        };
        let both = if objects {
            json!([text("Cloudy.")])
        } else {
            json!([text("Cloudy."), text(TEXT)])
        };
        for (tool, expected) in [
            ("object", with(objects, json!([text(TEXT)]), &structured)),
            (
                "array",
                with(values, json!([text("[1,2]")]), &json!([1, 2])),
            ),
            ("both", with(objects, both, &structured)),
            (
                "failed",
                json!({ "content": [text("no weather")], "isError": true }),
            ),
            (
                "raw",
                with(objects, json!([text("{\"a\":1}")]), &json!({ "a": 1 })),
            ),
        ] {
            assert_eq!(revision.call(tool), expected, "{} {tool}", revision.version);
        }
    }
}

#[test]
fn a_type_gives_the_output_schema() {
    let mut revision = Revision::new(server(), "2026-07-28");
    let listed = revision.list("tools/list", "tools");
    let weather = json!({
        "type": "object",
        "properties": {
            "temperature": {
                "type": "number", "format": "double", "description": "In degrees Celsius.",
            },
            "conditions": { "type": "string" },
            "humidity": {
                "type": ["integer", "null"], "format": "uint8", "minimum": 0, "maximum": 255,
            },
        },
        "required": ["temperature", "conditions"],
    });
    for (index, tool) in ["object", "array", "both", "failed", "raw"]
        .iter()
        .enumerate()
    {
        assert_eq!(listed[index]["name"], *tool);
        let schema = &listed[index]["outputSchema"];
        match *tool {
            "raw" => assert!(schema.is_null()),
            "array" => assert_eq!(schema["type"], "array"),
            _ => assert_eq!(schema, &weather, "{tool}"),
        }
    }
}

/// Answers in every way that does not fit the schema, and one that does.
fn checked() -> Server {
    let tool = |name: &str, answer: fn(Reply<'_>)| {
        Tool::new(name, move |_: Call<'_>, reply: Reply<'_>| answer(reply)).output_schema(
            r#"{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}"#,
        )
    };
    Server::new("checked", "1.0.0")
        .tool(tool("fits", |reply| reply.structured(&json!({ "a": 1 }))))
        .tool(tool("error", |reply| reply.error("no")))
        .tool(tool("missing", |reply| reply.structured(&json!({}))))
        .tool(tool("type", |reply| reply.structured(&json!({ "a": "1" }))))
        .tool(tool("kind", |reply| reply.structured(&json!([1]))))
        .tool(tool("text", |reply| reply.text("a is 1")))
        .tool(tool("number", |reply| reply.number(1.0)))
        .tool(tool("contents", |reply| {
            reply.contents(&[Content::text("a is 1")]);
        }))
        .tool(tool("with", |reply| reply.structured_with(&[], &json!({}))))
        .tool(tool("deferred", |reply| {
            reply.defer().answer(|reply| reply.structured(&json!({})));
        }))
        .tool(tool("delayed", |reply| {
            reply.after(std::time::Duration::ZERO, |reply| reply.text("a is 1"));
        }))
        .tool(tool("blocking", |reply| reply.structured(&json!({}))).blocking())
}

#[test]
fn what_does_not_fit_the_output_schema_is_an_error_of_ours() {
    let no_a = "The output of {} does not fit its output schema:\n- a: is required";
    let none = "The output of {} has no structured content, which its output schema asks for";
    for mut revision in Revision::each(|| checked().check_output(true)) {
        for (tool, message) in [
            ("missing", no_a),
            (
                "type",
                "The output of {} does not fit its output schema:\n- a: must be integer",
            ),
            (
                "kind",
                "The output of {} does not fit its output schema:\n- output: must be object",
            ),
            ("text", none),
            ("number", none),
            ("contents", none),
            ("with", no_a),
            ("deferred", no_a),
            ("delayed", none),
            ("blocking", no_a),
        ] {
            let refusal = refusal(&revision.ask("tools/call", json!({ "name": tool })));
            assert_eq!(refusal.code, -32603, "{tool}");
            let expected = message.replace("{}", tool);
            assert!(
                refusal.message.starts_with(&expected),
                "{}",
                refusal.message
            );
        }
        let fits = revision.call("fits");
        assert_eq!(fits["content"][0]["text"], "{\"a\":1}");
        assert_eq!(revision.call("error")["isError"], true);
    }
}

#[test]
fn what_an_asynchronous_tool_answers_is_checked() {
    let tool = Tool::asynchronous("later", |_: Call<'_>| {
        Box::pin(async {
            let answer: AsyncAnswer = Box::new(|reply: Reply<'_>| reply.structured(&[1]));
            answer
        })
    })
    .output_schema(r#"{"type":"object"}"#);
    let server = Server::new("s", "1")
        .tool(tool)
        .check_output(true)
        // The future is ready at once.
        .executor(|mut future| {
            let mut task = Context::from_waker(Waker::noop());
            assert!(future.as_mut().poll(&mut task).is_ready());
        });
    let mut revision = Revision::new(server, "2026-07-28");
    let refusal = refusal(&revision.ask("tools/call", json!({ "name": "later" })));
    assert_eq!(refusal.code, -32603);
    assert!(
        refusal
            .message
            .starts_with("The output of later does not fit")
    );
}

#[test]
fn the_check_can_be_switched_off_and_is_on_in_debug_builds() {
    let is_error = |server: Server, tool: &str| {
        let mut revision = Revision::new(server, "2026-07-28");
        let answer = revision.ask("tools/call", json!({ "name": tool }));
        answer["error"].is_object()
    };
    for tool in ["missing", "text", "deferred", "delayed", "blocking"] {
        assert!(!is_error(checked().check_output(false), tool), "{tool}");
        assert_eq!(is_error(checked(), tool), cfg!(debug_assertions), "{tool}");
    }
}

#[test]
fn what_serde_cannot_write_is_an_error_of_ours() {
    struct Unwritable;
    impl Serialize for Unwritable {
        fn serialize<S: tightwire::serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(tightwire::serde::ser::Error::custom("out of ink"))
        }
    }
    let server = Server::new("s", "1")
        .tool(Tool::new("ink", |_: Call<'_>, reply: Reply<'_>| {
            reply.structured(&Unwritable);
        }))
        .tool(Tool::new("keys", |_: Call<'_>, reply: Reply<'_>| {
            reply.structured(&BTreeMap::from([([1], 1)]));
        }))
        .tool(Tool::new("nan", |_: Call<'_>, reply: Reply<'_>| {
            reply.structured(&f64::NAN);
        }));
    let mut revision = Revision::new(server, "2026-07-28");
    for (tool, words) in [("ink", "out of ink"), ("keys", "key must be a string")] {
        let refusal = refusal(&revision.ask("tools/call", json!({ "name": tool })));
        assert_eq!(refusal.code, -32603);
        assert!(refusal.message.contains(words), "{}", refusal.message);
    }
    assert_eq!(revision.call("nan")["structuredContent"], Value::Null);
}
