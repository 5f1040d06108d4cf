//! Schemas against arguments, both walks.

mod cases;

use tightwire_codec::{LINE_PADDING, Line, Parser};

use super::{Schema, describe};

fn problems(schema: &str, arguments: &str) -> Vec<String> {
    let schema = Schema::compile(schema).unwrap();
    let mut bytes = arguments.as_bytes().to_vec();
    bytes.resize(arguments.len() + LINE_PADDING, 0);
    let mut line = Line::padded(&mut bytes, arguments.len()).unwrap();
    let mut parser = Parser::default();
    let document = parser.parse(&mut line).unwrap();
    let problems = schema.problems(document.root());
    assert_eq!(
        schema.is_valid(document.root()),
        problems.is_empty(),
        "both walks agree about {arguments}"
    );
    problems
        .into_iter()
        .map(|problem| format!("{}: {}", problem.path, problem.text))
        .collect()
}

const FORECAST: &str = r#"{"type":"object","properties":{
    "location":{"type":"string"},"days":{"type":"integer"},
    "units":{"type":"string","enum":["c","f"]}},
    "required":["location"],"additionalProperties":false}"#;

#[test]
fn all_problems_are_told_in_the_stated_order() {
    assert_eq!(
        problems(FORECAST, r#"{"zone":1,"units":"k","days":"soon"}"#),
        [
            "location: is required",
            "days: must be integer, not string",
            r#"units: must be one of "c", "f""#,
            "zone: is not expected",
        ]
    );
    for valid in [
        r#"{"location":""}"#,
        r#"{"units":"c","days":2.0,"location":"x"}"#,
        r#"{"location":"x","days":1e20}"#,
        r#"{"location":"x","days":-0}"#,
    ] {
        assert_eq!(problems(FORECAST, valid), [""; 0], "{valid}");
    }
    assert_eq!(
        problems(FORECAST, r#"{"location":"x","days":2.5}"#),
        ["days: must be integer, not a number with a fraction"]
    );
    assert_eq!(
        problems(FORECAST, r#"{"location":"x","location":"y"}"#),
        ["location: is given more than once"]
    );
    assert_eq!(
        problems(FORECAST, r#"{"location":"x","":1}"#),
        ["\"\": is not expected"]
    );
}

#[test]
fn nested_values_are_named_by_their_path() {
    let schema = r##"{"type":"object","properties":{"items":{"type":"array","minItems":1,
        "items":{"$ref":"#/$defs/item"}},"when":{"anyOf":[{"type":"null"},
        {"type":"string","minLength":2}]},"n":{"type":"number","minimum":0,
        "exclusiveMaximum":1},"k":{"const":[1,{"a":null}]},"o":{"oneOf":[
        {"type":"integer"},{"type":"number"}]},"s":{"not":{"type":"string"}}},
        "$defs":{"item":{"type":"object","properties":{"name":{"type":"string"},
        "sub":{"$ref":"#/$defs/item"}},"required":["name"]}},"title":"t","x-y":1,
        "required":["other"]}"##;
    assert_eq!(
        problems(
            schema,
            r#"{"items":[{"name":"a"},{"name":1},{"name":"b","sub":{}}],"when":"x","n":1,
                "k":[1.0,{"a":0}],"o":1,"s":"x"}"#
        ),
        [
            "items[2].sub.name: is required",
            "other: is required",
            "items[1].name: must be string, not number",
            "k: must be the array of the schema",
            "when: fits none of the forms that are allowed",
            "n: must be less than 1",
            "o: fits more than one of the forms of which it must be one",
            "s: has a form that is not allowed",
        ]
    );
    assert_eq!(
        problems(
            schema,
            r#"{"other":0,"items":[{"name":"a"}],"when":null,"n":0.5,"k":[1.0,{"a":null}],
                "o":1.5,"s":1}"#
        ),
        [""; 0]
    );
    assert_eq!(
        problems(schema, r#"{"other":0,"items":[]}"#),
        ["items: must have at least 1 items, not 0"]
    );
}

#[test]
fn what_cannot_be_checked_is_refused_by_name() {
    for (schema, reason) in [
        ("[]", "it must be an object, not array"),
        ("{", "it is not JSON"),
        ("{}", "its `type` must be `object`"),
        (
            r#"{"type":"object","unevaluatedProperties":false}"#,
            "unevaluatedProperties",
        ),
        (
            r#"{"type":"object","anyOf":[{"unevaluatedItems":{}}]}"#,
            "#/anyOf/0/unevaluatedItems: `unevaluatedItems` cannot be checked",
        ),
        (
            r##"{"type":"object","$dynamicRef":"#a"}"##,
            "`$dynamicRef` cannot be checked",
        ),
        (
            r##"{"type":"object","$recursiveRef":"#"}"##,
            "`$recursiveRef` cannot be checked",
        ),
        (
            r#"{"type":"object","dependencies":{"a":["b"]}}"#,
            "`dependencies` cannot be checked",
        ),
        (
            r#"{"type":"object","items":[{}]}"#,
            "#/items must be an object or a boolean",
        ),
        (
            r#"{"type":"object","prefixItems":[]}"#,
            "#/prefixItems must be an array that is not empty",
        ),
        (
            r#"{"type":"object","uniqueItems":1}"#,
            "#/uniqueItems must be a boolean",
        ),
        (
            r#"{"type":"object","minProperties":-1}"#,
            "#/minProperties must be an integer that is not negative",
        ),
        (
            r#"{"type":"object","minimum":"1"}"#,
            "#/minimum must be a number",
        ),
        (
            r#"{"type":"object","exclusiveMinimum":true}"#,
            "#/exclusiveMinimum must be a number",
        ),
        (
            r#"{"type":"object","multipleOf":0}"#,
            "#/multipleOf must be more than 0",
        ),
        (
            r#"{"type":"object","dependentRequired":{"a":"b"}}"#,
            "#/dependentRequired/a must be an array of strings",
        ),
        (
            r#"{"type":"object","patternProperties":{"\\p{L}":{}}}"#,
            "the pattern `\\p{L}` has the Unicode property",
        ),
        (r#"{"type":"object","type":"object"}"#, "# has `type` twice"),
        (
            r##"{"type":"object","$ref":"#a","$defs":{"a":{"$anchor":"a"}}}"##,
            "#/$ref: `#a` refers to an `$anchor`",
        ),
        (
            r#"{"type":"object","$id":"https://example.com/s","$ref":"s#/$defs/a"}"#,
            "does not point into the schema itself",
        ),
        (
            r##"{"type":"object","$ref":"#/allOf/00","allOf":[{}]}"##,
            "there is no `#/allOf/00`",
        ),
        (
            r##"{"type":"object","$ref":"#/%zz"}"##,
            "`%` stand for no text",
        ),
        (
            r##"{"type":"object","$ref":"#/%FF"}"##,
            "`%` stand for no text",
        ),
        (
            r##"{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},
                "b":{"if":{"$ref":"#/$defs/a"},"then":{}}}}"##,
            "refers to itself without end",
        ),
        (
            r##"{"type":"object","dependentSchemas":{"a":{"$ref":"#"}}}"##,
            "refers to itself without end",
        ),
        (
            r##"{"type":"object","$ref":"#/$defs/x"}"##,
            "there is no `#/$defs/x`",
        ),
        (
            r#"{"type":"object","$ref":"https://example.com/s"}"#,
            "does not point into",
        ),
        (
            r#"{"type":"object","$schema":"http://json-schema.org/draft-07/schema#"}"#,
            "draft-07",
        ),
        (
            r#"{"type":"object","properties":{"a":{"type":"text"}}}"#,
            "no type `text`",
        ),
        (
            r#"{"type":"object","properties":{"a/b":{"pattern":"(?=x)"}}}"#,
            "#/properties/a~1b/pattern: the pattern `(?=x)` has look-around",
        ),
        (
            r#"{"type":"object","properties":{"a":{},"a":{"type":"null"}}}"#,
            "#/properties has `a` twice",
        ),
        (
            r#"{"type":"object","items":{"type":[]}}"#,
            "#/items/type must name a type",
        ),
        (
            r#"{"type":"object","required":"a"}"#,
            "#/required must be an array of strings",
        ),
    ] {
        let error = Schema::of_arguments(schema, None).unwrap_err();
        assert!(error.contains(reason), "{schema}: {error}");
    }
}

#[test]
fn what_a_schema_may_take_is_bounded() {
    let nested =
        |depth: usize| format!(r#"{}{{}}{}"#, r#"{"not":"#.repeat(depth), "}".repeat(depth));
    assert!(Schema::compile(&nested(60)).is_ok());
    let error = Schema::compile(&nested(65)).unwrap_err();
    assert!(error.contains("nested deeper than 64"), "{error}");

    let many = |count: usize| format!(r#"{{"allOf":[{}{{}}]}}"#, "{},".repeat(count - 1));
    assert!(Schema::compile(&many(9_999)).is_ok());
    let error = Schema::compile(&many(10_000)).unwrap_err();
    assert!(error.contains("more than 10000 subschemas"), "{error}");

    let patterns = |count: usize| {
        let pattern = |index| format!(r#""{index}a{{9900}}":{{}}"#);
        let patterns: Vec<String> = (0..count).map(pattern).collect();
        format!(r#"{{"patternProperties":{{{}}}}}"#, patterns.join(","))
    };
    assert!(Schema::compile(&patterns(5)).is_ok());
    let error = Schema::compile(&patterns(6)).unwrap_err();
    assert!(error.contains("patterns together are larger"), "{error}");
}

#[test]
fn a_check_that_goes_too_deep_ends() {
    // At each of the levels of the value a long chain of references.
    let mut definitions = vec![r##""d0":{"properties":{"p":{"$ref":"#"}}}"##.to_owned()];
    for index in 1..=100 {
        let previous = index - 1;
        definitions.push(format!(r##""d{index}":{{"$ref":"#/$defs/d{previous}"}}"##));
    }
    let schema = format!(
        r##"{{"$ref":"#/$defs/d100","$defs":{{{}}}}}"##,
        definitions.join(",")
    );
    let value = |depth: usize| format!("{}1{}", r#"{"p":"#.repeat(depth), "}".repeat(depth));
    assert_eq!(problems(&schema, &value(4)), [""; 0]);
    assert_eq!(problems(&schema, &value(5)), [": is too complex to check"]);
    assert_eq!(
        problems(&schema, &value(120)),
        [": is too complex to check"]
    );
    // The longest way down that there is has room on the stack of a thread.
    let schema = r##"{"items":{"oneOf":[{"anyOf":[{"oneOf":[{"$ref":"#"}]}]}]}}"##;
    let arrays = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(problems(schema, &arrays(120)), [""; 0]);
    // What is left for good does not count.
    let schema = r#"{"items":{"anyOf":[{"anyOf":[false,{"not":{"not":false}},{}]}]}}"#;
    let items = format!("[{}1]", "1,".repeat(10_000));
    assert_eq!(problems(schema, &items), [""; 0]);
}

#[test]
fn items_of_long_arrays_are_compared_within_the_steps() {
    let schema = r#"{"uniqueItems":true}"#;
    let array = |count: usize| -> Vec<String> {
        let item = |index| format!(r#"{{"k":{index},"v":"{index}"}}"#);
        (0..count).map(item).collect()
    };
    let told = |items: &[String]| problems(schema, &format!("[{}]", items.join(",")));
    for count in [9, 512, 513, 1024, 1500, 5_000] {
        let mut items = array(count);
        assert_eq!(told(&items), [""; 0]);
        let (first, last) = (count / 2, count - 1);
        items[last] = format!(r#"{{"v":"{first}","k":{first}.0}}"#);
        let text = format!(": must have no item twice, but [{last}] is equal to [{first}]");
        assert_eq!(told(&items), [text]);
    }
    let numbers: Vec<String> = (0..80_000).map(|index| index.to_string()).collect();
    assert_eq!(told(&numbers), [": is too complex to check"]);
}

#[test]
fn values_of_long_enums_are_compared_within_the_steps() {
    let names: Vec<String> = (0..2_000).map(|index| format!("\"v{index}\"")).collect();
    let schema = |count: usize| format!(r#"{{"items":{{"enum":[{}]}}}}"#, names[..count].join(","));
    let items = |count: usize, last: usize| format!("[{}1]", format!("\"v{last}\",").repeat(count));
    let few = problems(&schema(500), &items(1_000, 499));
    assert_eq!(few.len(), 1, "{few:?}");
    assert!(few[0].starts_with("[1000]"), "{few:?}");
    assert_eq!(
        problems(&schema(2_000), &items(10_000, 1_999)),
        [": is too complex to check"]
    );
}

#[test]
fn long_texts_are_matched_within_the_steps() {
    let schema = r#"{"items":{"pattern":"^[a-z]*$"}}"#;
    let text = |len: usize| format!(r#""{}""#, "a".repeat(len));
    assert_eq!(problems(schema, &format!("[{}]", text(1 << 17))), [""; 0]);
    // So many of a usual length do not run out.
    let many = format!("[{}1]", (text(1000) + ",").repeat(400));
    assert_eq!(problems(schema, &many), [""; 0]);
    assert_eq!(
        problems(schema, &format!("[{}]", text(8 << 20))),
        [": is too complex to check"]
    );
}

/// A recursive enum as schemars makes it, the members that recurse before the tag.
fn union(keyword: &str, tag: &str) -> String {
    let branch = |name: &str, inner: &str| {
        format!(
            r##"{{"type":"object","properties":{{"left":{{"$ref":"#/$defs/Tree"}},{inner}
                "type":{}}},"required":["left","type"]}}"##,
            tag.replace("NAME", name)
        )
    };
    let right = r##""right":{"$ref":"#/$defs/Tree"},"##;
    format!(
        r##"{{"type":"object","properties":{{"tree":{{"$ref":"#/$defs/Tree"}}}},
        "$defs":{{"Tree":{{"{keyword}":[{},{},{},
        {{"type":"object","properties":{{"type":{}}},"required":["type"],
        "additionalProperties":false}}]}}}}}}"##,
        branch("plus", right),
        branch("minus", right),
        branch("negate", ""),
        tag.replace("NAME", "leaf"),
    )
}

fn tree(depth: usize, leaf: &str) -> String {
    let mut tree = format!(r#"{{"type":"{leaf}"}}"#);
    for level in 0..depth {
        let name = ["plus", "minus", "negate"][level % 3];
        tree = format!(r#"{{"left":{tree},"right":{{"type":"leaf"}},"type":"{name}"}}"#);
    }
    format!(r#"{{"tree":{tree}}}"#)
}

#[test]
fn deep_values_of_a_tagged_union_are_checked() {
    for tag in [
        r#"{"type":"string","const":"NAME"}"#,
        r#"{"enum":["NAME"]}"#,
    ] {
        for (keyword, message) in [
            ("anyOf", "tree: fits none of the forms that are allowed"),
            (
                "oneOf",
                "tree: fits none of the forms of which it must be one",
            ),
        ] {
            let schema = union(keyword, tag);
            assert_eq!(problems(&schema, &tree(60, "leaf")), [""; 0]);
            assert_eq!(problems(&schema, &tree(60, "root")), [message]);
        }
    }
}

#[test]
fn tags_are_found_behind_references() {
    let schema = r##"{"type":"object","properties":{"of":{"anyOf":[
        {"$ref":"#/$defs/A"},
        {"type":"object","properties":{"k":{"const":"b"}},"required":["k"],
         "$ref":"#/$defs/B"}]}},
        "$defs":{"A":{"allOf":[{"properties":{"of":{"$ref":"#/properties/of"},
        "k":{"$ref":"#/$defs/a"}},"required":["k"]}]},"a":{"const":"a"},
        "B":{"properties":{"of":{"$ref":"#/properties/of"}}}}}"##;
    for kind in ["a", "b"] {
        let mut value = format!(r#"{{"k":"{kind}"}}"#);
        for level in 0..60 {
            let kind = ["a", "b"][level % 2];
            value = format!(r#"{{"of":{value},"k":"{kind}"}}"#);
        }
        assert_eq!(problems(schema, &value), [""; 0]);
    }
    assert_eq!(
        problems(schema, r#"{"of":{"k":"c"}}"#),
        ["of: fits none of the forms that are allowed"]
    );
    // What is no object has no tag to miss.
    let schema = r#"{"type":"object","properties":{"x":{"anyOf":[
        {"properties":{"k":{"const":1}},"required":["k"]}]}}}"#;
    assert_eq!(problems(schema, r#"{"x":5}"#), [""; 0]);
    assert_eq!(problems(schema, r#"{"x":{}}"#).len(), 1);
}

#[test]
fn what_takes_too_many_steps_is_refused() {
    let too_complex = [": is too complex to check"];
    // Nothing tells these branches apart before what is in them.
    let lengths = r#"{"type":"string","minLength":4,"not":{"const":"NAME!"}}"#;
    for keyword in ["anyOf", "oneOf"] {
        let schema = union(keyword, lengths);
        assert_eq!(
            problems(&schema, &tree(3, "leaf")).len(),
            usize::from(keyword == "oneOf")
        );
        assert_eq!(problems(&schema, &tree(60, "x")), too_complex);
    }
    for twice in [
        r##""allOf":[{"$ref":"#"},{"$ref":"#"}]"##,
        r##""not":{"not":{"oneOf":[{"$ref":"#"}]}},"anyOf":[{"$ref":"#"}]"##,
    ] {
        let schema =
            format!(r#"{{"type":"object","properties":{{"x":{{{twice}}},"n":{{"minimum":0}}}}}}"#);
        let nested = |depth: usize| {
            format!(
                "{}{{}}{}",
                r#"{"n":1,"x":"#.repeat(depth),
                "}".repeat(depth)
            )
        };
        assert_eq!(problems(&schema, &nested(8)), [""; 0]);
        assert_eq!(problems(&schema, &nested(60)), too_complex);
    }
}

#[test]
fn a_long_flat_value_is_not_too_complex() {
    let schema = r#"{"type":"object","properties":{"x":{"type":"array","items":{"oneOf":[
        {"type":"object","properties":{"k":{"const":1}},"required":["k"]},
        {"type":"object","properties":{"k":{"const":2}},"required":["k"]}]}}}}"#;
    let items = r#"{"k":1},{"k":2},"#.repeat(50_000);
    assert_eq!(
        problems(schema, &format!(r#"{{"x":[{items}{{"k":2}}]}}"#)),
        [""; 0]
    );
}

#[test]
fn lengths_are_counted_in_characters() {
    let schema = r#"{"type":"object","properties":{"x":{"minLength":2,"maxLength":3}}}"#;
    for (text, fits) in [
        ("", false),
        ("é", false),
        ("éé", true),
        ("ééé", true),
        ("éééé", false),
        ("abcd", false),
    ] {
        let found = problems(schema, &format!(r#"{{"x":"{text}"}}"#));
        assert_eq!(found.is_empty(), fits, "{text}: {found:?}");
    }
    let schema = r#"{"type":"object","properties":{"x":{"minLength":0,"maxLength":0}}}"#;
    assert_eq!(problems(schema, r#"{"x":""}"#), [""; 0]);
}

#[test]
fn many_properties_and_many_members_take_no_long_time() {
    for count in [64, 65, 1_000, 3_000] {
        let properties: Vec<String> = (0..count)
            .map(|index| format!(r#""p{index}":{{"type":"integer"}}"#))
            .collect();
        let required: Vec<String> = (0..count)
            .map(|index| format!(r#""p{index}","q{index}""#))
            .collect();
        let schema = format!(
            r#"{{"type":"object","properties":{{{}}},"required":[{}],
            "additionalProperties":{{"type":"string"}}}}"#,
            properties.join(","),
            required.join(",")
        );
        let mut members: Vec<String> = (0..count)
            .rev()
            .map(|index| format!(r#""p{index}":1,"q{index}":"""#))
            .chain((0..100_000).map(|index| format!(r#""r{index}":"""#)))
            .collect();
        let arguments = |members: &[String]| format!("{{{}}}", members.join(","));
        assert_eq!(problems(&schema, &arguments(&members)), [""; 0]);

        members[0] = r#""p5":"","#.to_owned() + r#""p7":"""#;
        members.push(r#""r":0"#.to_owned());
        let last = count - 1;
        assert_eq!(
            problems(&schema, &arguments(&members)),
            [
                format!("p{last}: is required"),
                format!("q{last}: is required"),
                "p5: must be integer, not string".to_owned(),
                "p7: must be integer, not string".to_owned(),
                "r: must be string, not number".to_owned(),
                "p5: is given more than once".to_owned(),
                "p7: is given more than once".to_owned(),
            ]
        );
    }
}

#[test]
fn what_is_told_is_bounded() {
    let key = "k".repeat(1 << 20);
    let members: Vec<String> = (0..64).map(|index| format!(r#""m{index}":1"#)).collect();
    let text = format!(r#"{{"{key}":{{{}}}}}"#, members.join(","));
    let mut bytes = text.into_bytes();
    let len = bytes.len();
    bytes.resize(len + LINE_PADDING, 0);
    let mut line = Line::padded(&mut bytes, len).unwrap();
    let mut parser = Parser::default();
    let document = parser.parse(&mut line).unwrap();
    let schema = Schema::compile(
        r#"{"type":"object","additionalProperties":{"additionalProperties":false}}"#,
    )
    .unwrap();
    let problems = schema.problems(document.root());
    assert_eq!(problems.len(), 64);
    assert_eq!(problems[0].path, "k".repeat(100) + "….m0");
    assert!(describe("tool", &problems).len() < 5 * 1024);
}

#[test]
fn a_schema_that_only_refers_to_itself_ends() {
    let error = Schema::compile(r##"{"type":"object","allOf":[{"$ref":"#"}]}"##).unwrap_err();
    assert!(error.contains("refers to itself"), "{error}");
}
