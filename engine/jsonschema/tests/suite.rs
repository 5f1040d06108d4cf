//! The official test suite of JSON Schema, drafts 2020-12 and 7, against [`AllDialects`].
//!
//! It is not part of this repository: the tests read it from the folder that
//! `JSON_SCHEMA_TEST_SUITE` names, a copy of `json-schema-org/JSON-Schema-Test-Suite`.

use std::{
    env, fs,
    io::{Write, stderr},
    path::Path,
};

use serde_json::Value;
use tightwire::{
    codec::{LINE_PADDING, Line, Parser},
    schema::{Checker, Compiler},
};
use tightwire_jsonschema::AllDialects;

#[test]
fn draft_2020_12() {
    run(
        "draft2020-12",
        "https://json-schema.org/draft/2020-12/schema",
    );
}

#[test]
fn draft_7() {
    run("draft7", "http://json-schema.org/draft-07/schema#");
}

/// Runs all cases of a draft. Refused may be only what would have to be fetched.
fn run(draft: &str, dialect: &str) {
    let Some(folder) = env::var_os("JSON_SCHEMA_TEST_SUITE") else {
        // Past what the test harness holds back of tests that pass.
        let what = "the official suite of JSON Schema";
        writeln!(
            stderr(),
            "NOT TESTED: {what}, {draft}: JSON_SCHEMA_TEST_SUITE is not set"
        )
        .expect("stderr is open");
        return;
    };
    let folder = Path::new(&folder).join("tests").join(draft);
    let (mut held, mut refused, mut wrong) = (0, Vec::new(), Vec::new());
    for (file, group) in groups(&folder) {
        let name = format!("{file}: {}", group["description"]);
        let mut schema = group["schema"].clone();
        if let Some(members) = schema.as_object_mut() {
            members.entry("$schema").or_insert_with(|| dialect.into());
        }
        let checker = match AllDialects.compile(&schema.to_string()) {
            Ok(checker) => checker,
            Err(error) => {
                let is_remote = schema.to_string().contains("http://localhost:1234/");
                let list = if is_remote { &mut refused } else { &mut wrong };
                list.push(format!("{name}: {error}"));
                continue;
            }
        };
        for case in group["tests"].as_array().expect("there are cases") {
            if is_valid(&*checker, &case["data"]) == case["valid"] {
                held += 1;
            } else {
                wrong.push(format!("{name}: {}", case["description"]));
            }
        }
    }
    let count = refused.len();
    eprintln!("{draft}: {held} cases hold; {count} schemas would have to be fetched");
    eprintln!("{refused:#?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// All that the draft requires.
fn groups(folder: &Path) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the suite is there") {
        let path = entry.expect("the suite is there").path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let text = fs::read_to_string(&path).expect("the suite can be read");
            let groups: Vec<Value> = serde_json::from_str(&text).expect("the suite is JSON");
            let file = path.file_stem().unwrap_or_default().to_string_lossy();
            found.extend(groups.into_iter().map(|group| (file.to_string(), group)));
        }
    }
    found
}

fn is_valid(checker: &dyn Checker, value: &Value) -> bool {
    let text = value.to_string();
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(text.len() + LINE_PADDING, 0);
    let mut line = Line::padded(&mut bytes, text.len()).expect("there is padding");
    let mut parser = Parser::default();
    let document = parser.parse(&mut line).expect("the value is JSON");
    checker.problems(document.root()).is_empty()
}
