//! The official test suite of JSON Schema, draft 2020-12, against the argument check of tools.
//!
//! It is not part of this repository: the test reads it from the folder that
//! `JSON_SCHEMA_TEST_SUITE` names, a copy of `json-schema-org/JSON-Schema-Test-Suite`.

use std::{collections::BTreeMap, env, fs, path::Path};

use serde_json::{Value, json};
use tightwire::{Call, Reply, Server, Tool};
use tightwire_tests::{Pair, call};

/// What a schema may be refused for: each is told by name. Those of the last two lines are of the
/// files of keywords that are covered.
const REASONS: [(&str, &str); 9] = [
    ("unevaluatedItems", "`unevaluatedItems` cannot be checked"),
    (
        "unevaluatedProperties",
        "`unevaluatedProperties` cannot be checked",
    ),
    ("$dynamicRef", "`$dynamicRef` cannot be checked"),
    ("dependencies", "`dependencies` cannot be checked"),
    ("$schema", "the dialect `"),
    ("$ref by $id", "does not point into the schema itself"),
    ("$ref to $anchor", "refers to an `$anchor`"),
    ("pattern", "Unicode property"),
    ("pattern", "look-around"),
];

#[test]
fn every_case_holds_or_its_schema_is_refused() {
    let Some(folder) = env::var_os("JSON_SCHEMA_TEST_SUITE") else {
        eprintln!("JSON_SCHEMA_TEST_SUITE is not set: the official test suite is not run");
        return;
    };
    let folder = Path::new(&folder).join("tests/draft2020-12");
    let mut outcome = Outcome::default();
    for file in ["", "optional"].map(|part| folder.join(part)) {
        for entry in fs::read_dir(file).expect("the suite is there") {
            let path = entry.expect("the suite is there").path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                outcome.run(&path);
            }
        }
    }
    eprintln!("{outcome:#?}");
    assert!(outcome.wrong.is_empty());
}

#[derive(Debug, Default)]
struct Outcome {
    held: usize,
    /// Cases that came out the other way.
    wrong: Vec<String>,
    refused: BTreeMap<&'static str, Vec<String>>,
}

impl Outcome {
    fn run(&mut self, path: &Path) {
        let text = fs::read_to_string(path).expect("the suite can be read");
        let groups: Vec<Value> = serde_json::from_str(&text).expect("the suite is JSON");
        let file = path.file_stem().unwrap_or_default().to_string_lossy();
        for group in &groups {
            let name = format!("{file}: {}", group["description"]);
            self.group(&name, group);
        }
    }

    fn group(&mut self, name: &str, group: &Value) {
        let ok = |_: Call<'_>, reply: Reply<'_>| reply.text("ok");
        let tool = Tool::new("tool", ok).input_schema(arguments(&group["schema"]));
        let server = match Server::new("suite", "1.0.0").tool(tool).freeze() {
            Ok(server) => server,
            Err(error) => {
                let error = error.to_string();
                let reason = REASONS.iter().find(|(_, words)| error.contains(words));
                let reason = reason.map_or("?", |(reason, _)| reason);
                let text = format!("{name}: {error}");
                self.refused.entry(reason).or_default().push(text);
                return;
            }
        };
        let mut pair = Pair::connect(&server);
        for case in group["tests"].as_array().expect("there are cases") {
            let answer = pair.ask(&call(1, "tool", &json!({ "value": case["data"] })));
            let is_valid = answer["result"]["isError"] != true;
            if is_valid == case["valid"] {
                self.held += 1;
            } else {
                let text = &answer["result"]["content"][0]["text"];
                self.wrong
                    .push(format!("{name}: {}: {text}", case["description"]));
            }
        }
    }
}

/// A schema of arguments with one member, `value`, that must fit this one. It becomes a resource
/// of its own, so that its references mean what they meant.
fn arguments(schema: &Value) -> String {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        members
            .entry("$id")
            .or_insert_with(|| json!("https://example.com/case"));
    }
    json!({ "type": "object", "properties": { "value": schema } }).to_string()
}
