//! The official test suite of JSON Schema, draft 2020-12, against the argument check of tools.
//!
//! It is not part of this repository: the test reads it from the folder that
//! `JSON_SCHEMA_TEST_SUITE` names, a copy of `json-schema-org/JSON-Schema-Test-Suite`.

use std::{collections::BTreeMap, env, fs, path::Path};

use serde_json::{Value, json};
use tightwire::{Call, Reply, Server, Tool};
use tightwire_tests::{Pair, call, say_untested};

/// Files about what is not checked: none of their schemas need be taken.
const NOT_COVERED: [&str; 5] = [
    "dynamicRef",
    "refRemote",
    "unevaluatedItems",
    "unevaluatedProperties",
    "vocabulary",
];
/// Files about references, of which those by an `$id` or an `$anchor` are not followed.
const OF_REFERENCES: [&str; 3] = ["anchor", "defs", "ref"];
/// What a schema may be refused for: each keyword is told by name.
const REASONS: [(&str, &str); 8] = [
    ("unevaluatedItems", "`unevaluatedItems` cannot be checked"),
    (
        "unevaluatedProperties",
        "`unevaluatedProperties` cannot be checked",
    ),
    ("$dynamicRef", "`$dynamicRef` cannot be checked"),
    ("dependencies", "`dependencies` cannot be checked"),
    ("$schema", "$schema: the dialect `"),
    ("$ref to an $id", "does not point into the schema itself"),
    ("$ref to an $anchor", "refers to an `$anchor`"),
    ("pattern", "has the Unicode property `\\p`"),
];

#[test]
fn every_case_holds_or_its_schema_is_refused() {
    let Some(folder) = env::var_os("JSON_SCHEMA_TEST_SUITE") else {
        say_untested("the official suite of JSON Schema: JSON_SCHEMA_TEST_SUITE is not set");
        return;
    };
    let folder = Path::new(&folder).join("tests/draft2020-12");
    let mut outcome = Outcome::default();
    for entry in fs::read_dir(&folder).expect("the suite is there") {
        let path = entry.expect("the suite is there").path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            outcome.run(&path);
        }
    }
    // Of what is optional, all but what formats assert.
    for entry in fs::read_dir(folder.join("optional")).expect("the suite is there") {
        let path = entry.expect("the suite is there").path();
        if path.is_file() && !path.ends_with("format-assertion.json") {
            outcome.run(&path);
        }
    }
    eprintln!(
        "{} cases hold; refused: {:#?}",
        outcome.held, outcome.refused
    );
    assert!(outcome.wrong.is_empty(), "{:#?}", outcome.wrong);
    let too_many: Vec<_> = outcome.per_file.iter().filter(|(_, n)| **n > 1).collect();
    assert!(too_many.is_empty(), "many are refused: {too_many:?}");
}

#[derive(Debug, Default)]
struct Outcome {
    held: usize,
    /// Cases that came out the other way, and schemas that were refused for no reason known here.
    wrong: Vec<String>,
    /// The schemas that were refused, by the keyword.
    refused: BTreeMap<&'static str, Vec<String>>,
    /// How many were, in files of keywords that are covered.
    per_file: BTreeMap<String, usize>,
}

impl Outcome {
    fn run(&mut self, path: &Path) {
        let text = fs::read_to_string(path).expect("the suite can be read");
        let groups: Vec<Value> = serde_json::from_str(&text).expect("the suite is JSON");
        let file = path.file_stem().unwrap_or_default().to_string_lossy();
        for group in &groups {
            let name = format!("{file}: {}", group["description"]);
            let is_refused = self.group(&name, group);
            let is_excused = [&NOT_COVERED[..], &OF_REFERENCES]
                .concat()
                .contains(&&*file);
            if is_refused && !is_excused && !path.parent().is_some_and(|p| p.ends_with("optional"))
            {
                *self.per_file.entry(file.to_string()).or_default() += 1;
            }
        }
    }

    /// Returns whether the schema is refused.
    fn group(&mut self, name: &str, group: &Value) -> bool {
        let ok = |_: Call<'_>, reply: Reply<'_>| reply.text("ok");
        let tool = Tool::new("tool", ok).input_schema(arguments(&group["schema"]));
        let server = match Server::new("suite", "1.0.0").tool(tool).freeze() {
            Ok(server) => server,
            Err(error) => {
                let error = error.to_string();
                match REASONS.iter().find(|(_, words)| error.contains(words)) {
                    Some((keyword, _)) => {
                        self.refused
                            .entry(keyword)
                            .or_default()
                            .push(name.to_owned());
                    }
                    None => self.wrong.push(format!("{name}: {error}")),
                }
                return true;
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
        false
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
