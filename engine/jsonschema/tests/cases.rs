//! What the built-in check refuses, checked here: by itself, and plugged into a server.

use serde_json::{Value, json};
use tightwire::{
    Call, FrozenServer, Memory, Reply, Server, Tool,
    codec::{LINE_PADDING, Line, Parser},
    schema::{Checker, Compiler, Problem, ProblemKind},
};
use tightwire_jsonschema::AllDialects;

fn problems(schema: &str, value: &str) -> Vec<Problem> {
    let checker = AllDialects.compile(schema).expect("the schema is one");
    let mut bytes = value.as_bytes().to_vec();
    bytes.resize(value.len() + LINE_PADDING, 0);
    let mut line = Line::padded(&mut bytes, value.len()).expect("there is padding");
    let mut parser = Parser::default();
    let document = parser.parse(&mut line).expect("the value is JSON");
    checker.problems(document.root())
}

#[test]
fn what_only_the_whole_of_2020_12_has() {
    let cases = [
        (
            r##"{"$ref":"#/$defs/a","properties":{"y":true},"unevaluatedProperties":false,
                "$defs":{"a":{"properties":{"x":true}}}}"##,
            r#"{"x":1,"y":2}"#,
            r#"{"x":1,"z":2}"#,
        ),
        (
            r#"{"prefixItems":[{}],"unevaluatedItems":{"type":"string"}}"#,
            r#"[1,"a"]"#,
            "[1,2]",
        ),
        (
            r##"{"$id":"https://example.com/strict","$dynamicAnchor":"node","$ref":"tree",
                "unevaluatedProperties":false,"$defs":{"tree":{"$id":"tree",
                "$dynamicAnchor":"node","properties":{"data":true,
                "children":{"items":{"$dynamicRef":"#node"}}}}}}"##,
            r#"{"children":[{"data":1}]}"#,
            r#"{"children":[{"daat":1}]}"#,
        ),
        (
            r##"{"$ref":"#a","$defs":{"x":{"$anchor":"a","type":"integer"}}}"##,
            "1",
            r#""a""#,
        ),
        (r#"{"pattern":"^(?!a)\\p{L}+$"}"#, r#""éa""#, r#""aé""#),
    ];
    for (schema, valid, invalid) in cases {
        assert_eq!(problems(schema, valid), [], "{valid} fits {schema}");
        assert_eq!(problems(schema, invalid).len(), 1, "{invalid} and {schema}");
    }
}

#[test]
fn older_dialects_by_their_name() {
    let cases = [
        (
            r##"{"$schema":"http://json-schema.org/draft-07/schema#",
                "properties":{"a":{"$ref":"#/definitions/a"}},"dependencies":{"a":["b"]},
                "definitions":{"a":{"items":[{"type":"null"}],"additionalItems":false}}}"##,
            r#"{"a":[null],"b":1}"#,
            &[
                r#"{"a":[null]}"#,
                r#"{"a":[null,1],"b":1}"#,
                r#"{"a":[1],"b":1}"#,
            ][..],
        ),
        (
            r#"{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,
                "exclusiveMinimum":true}"#,
            "2",
            &["1"],
        ),
        (
            r##"{"$schema":"https://json-schema.org/draft/2019-09/schema",
                "properties":{"a":{"$recursiveRef":"#"}},"additionalProperties":false}"##,
            r#"{"a":{"a":{}}}"#,
            &[r#"{"a":{"b":{}}}"#],
        ),
    ];
    for (schema, valid, invalid) in cases {
        assert_eq!(problems(schema, valid), [], "{valid} fits {schema}");
        for value in invalid {
            assert!(!problems(schema, value).is_empty(), "{value} and {schema}");
        }
    }
}

#[test]
fn format_and_content_are_not_asserted() {
    for dialect in [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2020-12/schema",
    ] {
        let schema = json!({
            "$schema": dialect, "format": "date", "contentEncoding": "base64",
            "contentMediaType": "application/json",
        });
        assert_eq!(problems(&schema.to_string(), r#""?""#), []);
    }
}

#[test]
fn nothing_is_fetched_and_what_is_no_schema_is_refused() {
    for (schema, reason) in [
        (r#"{"$ref":"https://example.com/schema"}"#, "example.com"),
        (r#"{"$ref":"file:///etc/hostname"}"#, "file:///etc/hostname"),
        (
            r#"{"$schema":"https://example.com/dialect"}"#,
            "example.com",
        ),
        (r##"{"$ref":"#/$defs/none"}"##, "none"),
        (r#"{"type":"text"}"#, "text"),
        (r#"{"pattern":"("}"#, "regex"),
        ("{", "not JSON"),
    ] {
        let error = AllDialects.compile(schema).unwrap_err();
        assert!(error.contains(reason), "{schema}: {error}");
    }
    // The metaschemas are built in.
    let schema = r#"{"$ref":"https://json-schema.org/draft/2020-12/schema"}"#;
    assert_eq!(problems(schema, r#"{"type":"string"}"#), []);
    assert!(!problems(schema, r#"{"type":"text"}"#).is_empty());
}

#[test]
fn problems_have_their_kind_and_their_place() {
    let schema = r#"{"properties":{"items":{"items":{"required":["name"],
        "properties":{"name":true,"size":{"type":"integer"},"unit":{"enum":["c","f"]},
        "n":{"maximum":9},"no":false},"additionalProperties":false}}}}"#;
    let value = r#"{"items":[{"name":1},{"size":"a","unit":"k","n":10,"no":0,"x":0,"y":0}]}"#;
    let mut told: Vec<(ProblemKind, String, String)> = problems(schema, value)
        .into_iter()
        .map(|problem| (problem.kind, problem.path, problem.text))
        .collect();
    told.sort();
    let told: Vec<(ProblemKind, &str, &str)> = told
        .iter()
        .map(|(kind, path, text)| (*kind, path.as_str(), text.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (ProblemKind::Missing, "items[1].name", "is required"),
            (
                ProblemKind::Type,
                "items[1].size",
                r#"value is not of type "integer""#
            ),
            (
                ProblemKind::Value,
                "items[1].unit",
                r#"value is not one of "c" or "f""#
            ),
            (
                ProblemKind::Constraint,
                "items[1].n",
                "value is greater than the maximum of 9"
            ),
            (ProblemKind::Unexpected, "items[1].no", "is not allowed"),
            (ProblemKind::Unexpected, "items[1].x", "is not expected"),
            (ProblemKind::Unexpected, "items[1].y", "is not expected"),
        ]
    );
}

#[test]
fn a_schema_that_only_refers_to_itself_ends() {
    for schema in [
        r##"{"$ref":"#"}"##,
        r##"{"allOf":[{"$ref":"#"}]}"##,
        r##"{"not":{"anyOf":[{"$ref":"#"}]}}"##,
        r##"{"$dynamicAnchor":"a","allOf":[{"$dynamicRef":"#a"}]}"##,
        r##"{"$ref":"#/$defs/a","$defs":{"a":{"if":{"$ref":"#/$defs/b"},"then":{}},
            "b":{"$ref":"#/$defs/a"}}}"##,
    ] {
        if AllDialects.compile(schema).is_ok() {
            problems(schema, r#"{"a":[1]}"#);
        }
    }
}

#[test]
fn a_name_that_is_there_twice_is_a_problem() {
    let told = problems("true", r#"{"a":[{"b":1,"c":2,"b":1}]}"#);
    assert_eq!(
        told,
        [Problem::new(ProblemKind::Constraint, "", "has `b` twice")]
    );
}

#[test]
fn numbers_are_taken_as_they_are() {
    let schema = r#"{"prefixItems":[{"const":18446744073709551615},{"const":-1},
        {"type":"integer"},{"multipleOf":0.1},{"const":null},{"const":true}]}"#;
    assert_eq!(
        problems(schema, "[18446744073709551615,-1,2.0,0.3,null,true]"),
        []
    );
    assert_eq!(
        problems(schema, "[18446744073709551614,1,2.5,0.35,0,1]").len(),
        6
    );
}

const BOOK: &str = r#"{"type":"object","allOf":[{"properties":{"to":{"type":"string"}},
    "required":["to"]}],"unevaluatedProperties":false}"#;

fn server(schema: &str) -> tightwire::Result<FrozenServer> {
    let ok = |_: Call<'_>, reply: Reply<'_>| reply.text("booked");
    Server::new("travel", "1.0.0")
        .schema_compiler(AllDialects)
        .tool(Tool::new("book", ok).input_schema(schema))
        .freeze()
}

fn call(memory: &mut Memory, arguments: &Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
        "name": "book", "arguments": arguments,
    } });
    memory.feed(request.to_string().as_bytes());
    memory.feed(b"\n");
    memory.poll();
    let answer = serde_json::from_slice(memory.output()).expect("the answer is JSON");
    memory.consume(memory.output().len());
    answer
}

#[test]
fn a_server_checks_arguments_with_it() {
    let server = server(BOOK).expect("the schema can be checked");
    let mut memory = Memory::new(&server);
    let answer = call(&mut memory, &json!({ "to": "Oslo" }));
    assert_eq!(answer["result"]["content"][0]["text"], "booked");
    let answer = call(&mut memory, &json!({ "too": 1 }));
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "Invalid arguments for book:\n- to: is required\n- too: is not expected"
    );
}

#[test]
fn a_server_still_refuses_what_cannot_be_checked() {
    for (schema, reason) in [
        (
            r#"{"type":"object","$ref":"https://example.com/s"}"#,
            "example.com",
        ),
        (
            r#"{"unevaluatedProperties":false}"#,
            "its `type` must be `object`",
        ),
    ] {
        let error = server(schema).unwrap_err().to_string();
        assert!(error.contains(reason), "{schema}: {error}");
    }
}

#[test]
fn a_checker_that_panics_costs_its_call_only() {
    #[derive(Debug)]
    struct Panics;
    impl Compiler for Panics {
        fn compile(&self, _: &str) -> Result<Box<dyn Checker>, String> {
            Ok(Box::new(Self))
        }
    }
    impl Checker for Panics {
        fn problems(&self, _: tightwire::codec::Value<'_>) -> Vec<Problem> {
            panic!("on purpose");
        }
    }
    let ok = |_: Call<'_>, reply: Reply<'_>| reply.text("booked");
    let server = Server::new("travel", "1.0.0")
        .schema_compiler(Panics)
        .tool(Tool::new("book", ok).input_schema(BOOK))
        .freeze()
        .expect("the schema can be checked");
    let mut memory = Memory::new(&server);
    for _ in 0..2 {
        let answer = call(&mut memory, &json!({}));
        assert_eq!(
            answer["result"]["content"][0]["text"],
            "Invalid arguments for book:\n- arguments: cannot be checked"
        );
    }
}
