//! A table of schemas, each with values that fit and values that do not, and why.

use super::problems;

/// A schema, values that fit it, and values that do not, each with what is told of it.
type Case = (
    &'static str,
    &'static [&'static str],
    &'static [(&'static str, &'static [&'static str])],
);

fn check(cases: &[Case]) {
    for (schema, valid, invalid) in cases {
        for value in *valid {
            assert_eq!(problems(schema, value), [""; 0], "{value} fits {schema}");
        }
        for (value, told) in *invalid {
            assert_eq!(problems(schema, value), *told, "{value} against {schema}");
        }
    }
}

#[test]
fn any_value() {
    check(&[
        ("true", &["1", "null", "{}"], &[]),
        ("{}", &["1", "[]"], &[]),
        ("false", &[], &[("1", &[": is not allowed"])]),
        (
            r#"{"type":["integer","null"]}"#,
            &["1", "1.0", "1e2", "null", "123456789012345678901"],
            &[
                (
                    "1.5",
                    &[": must be null or integer, not a number with a fraction"],
                ),
                ("true", &[": must be null or integer, not boolean"]),
            ],
        ),
        (
            r#"{"enum":[1,"a",null,[1,{"b":2}]],"const":1}"#,
            &["1", "1.0", "10e-1"],
            &[
                ("null", &[": must be 1"]),
                (
                    "2",
                    &[
                        r#": must be one of 1, "a", null, the array of the schema"#,
                        ": must be 1",
                    ],
                ),
            ],
        ),
        (
            r#"{"const":{"a":1,"b":[false,0]}}"#,
            &[r#"{"b":[false,0.0],"a":1}"#],
            &[
                (
                    r#"{"a":1,"b":[0,false]}"#,
                    &[": must be the object of the schema"],
                ),
                (r#"{"a":1}"#, &[": must be the object of the schema"]),
            ],
        ),
        (
            r#"{"const":9007199254740993}"#,
            &["9007199254740993"],
            &[
                ("9007199254740992", &[": must be 9007199254740993"]),
                ("9007199254740992.0", &[": must be 9007199254740993"]),
            ],
        ),
        (
            r#"{"const":1e20}"#,
            &["100000000000000000000", "1E+20"],
            &[],
        ),
        (r#"{"const":-0.0}"#, &["0", "-0", "0.0"], &[]),
    ]);
}

#[test]
fn numbers() {
    check(&[
        (
            r#"{"minimum":-1,"exclusiveMaximum":2.5}"#,
            &["-1", "2.49", "\"x\"", "null"],
            &[
                ("-1.5", &[": must be at least -1"]),
                ("2.5", &[": must be less than 2.5"]),
            ],
        ),
        (
            r#"{"maximum":9007199254740992,"exclusiveMinimum":0}"#,
            &["9007199254740992", "1e-300"],
            &[
                ("9007199254740993", &[": must be at most 9007199254740992"]),
                ("0.0", &[": must be more than 0"]),
                ("-0.0", &[": must be more than 0"]),
            ],
        ),
        (
            r#"{"multipleOf":0.1}"#,
            &["0.3", "1", "-0.7", "0", "4.5e3", "1e-1", "\"0.35\""],
            &[("0.35", &[": must be a multiple of 0.1"])],
        ),
        (
            r#"{"type":"integer","multipleOf":3}"#,
            &["9", "-6.0", "18446744073709551615"],
            &[("18446744073709551614", &[": must be a multiple of 3"])],
        ),
    ]);
}

#[test]
fn strings() {
    check(&[
        (
            r#"{"minLength":2,"maxLength":3}"#,
            &[r#""😀😀""#, r#""é\n""#, "1"],
            &[
                (r#""😀""#, &[": must have 2 to 3 characters, not 1"]),
                (r#""abcd""#, &[": must have 2 to 3 characters, not 4"]),
            ],
        ),
        (
            r#"{"pattern":"^\\d{3}-[a-z]+$","maxLength":6}"#,
            &[r#""123-ab""#, "7"],
            &[
                (r#""123-""#, &[r": must match the pattern ^\d{3}-[a-z]+$"]),
                (
                    r#""123-abcD""#,
                    &[
                        ": must have at most 6 characters, not 8",
                        r": must match the pattern ^\d{3}-[a-z]+$",
                    ],
                ),
            ],
        ),
        (
            r#"{"format":"email","contentEncoding":"base64"}"#,
            &[r#""?""#],
            &[],
        ),
    ]);
}

#[test]
fn arrays() {
    check(&[
        (
            r#"{"prefixItems":[{"type":"string"},true],"items":{"type":"integer"},"minItems":1}"#,
            &[r#"["a"]"#, r#"["a",null,1,2]"#, "1"],
            &[
                ("[]", &[": must have at least 1 items, not 0"]),
                (
                    r#"[1,null,"b",2,"c"]"#,
                    &[
                        "[0]: must be string, not number",
                        "[2]: must be integer, not string",
                        "[4]: must be integer, not string",
                    ],
                ),
            ],
        ),
        (
            r#"{"prefixItems":[{}],"items":false}"#,
            &["[]", "[1]"],
            &[("[1,2]", &["[1]: is not allowed"])],
        ),
        (
            r#"{"contains":{"type":"integer"}}"#,
            &["[1]", r#"["a",1,2]"#, "{}"],
            &[(
                "[]",
                &[": must have at least 1 items of the form that is wanted, not 0"],
            )],
        ),
        (
            r#"{"contains":{"const":1},"minContains":2,"maxContains":3}"#,
            &["[1,1]", "[1,2,1,1]"],
            &[
                (
                    "[1,2]",
                    &[": must have at least 2 items of the form that is wanted, not 1"],
                ),
                (
                    "[1,1,1,1,1]",
                    &[": must have at most 3 items of the form that is wanted"],
                ),
            ],
        ),
        (
            r#"{"contains":{"const":1},"minContains":0}"#,
            &["[]", "[2]", "[1,1]"],
            &[],
        ),
        (
            r#"{"contains":{"const":1},"minContains":2,"maxContains":1}"#,
            &[],
            &[
                (
                    "[1]",
                    &[": must have at least 2 items of the form that is wanted, not 1"],
                ),
                (
                    "[1,1]",
                    &[": must have at most 1 items of the form that is wanted"],
                ),
            ],
        ),
        (r#"{"minContains":2,"maxContains":0}"#, &["[]", "[1]"], &[]),
        (
            r#"{"uniqueItems":true}"#,
            &[
                "[]",
                r#"[1,"1",true,null,[],{},[1],{"a":1},{"a":2},{"b":1},0,false,"",1.5]"#,
                r#"[[1,2],[2,1]]"#,
                "[9007199254740992,9007199254740993]",
            ],
            &[
                (
                    "[1,2,1.0]",
                    &[": must have no item twice, but [2] is equal to [0]"],
                ),
                (
                    r#"[{"a":[1],"b":null},{"b":null,"a":[1.0]}]"#,
                    &[": must have no item twice, but [1] is equal to [0]"],
                ),
                (
                    r#"[0,1,2,3,4,5,6,7,"x",{"a":1,"b":[2]},9,{"b":[2e0],"a":1}]"#,
                    &[": must have no item twice, but [11] is equal to [9]"],
                ),
            ],
        ),
        (r#"{"uniqueItems":false}"#, &["[1,1]"], &[]),
    ]);
}

#[test]
fn objects() {
    check(&[
        (
            r#"{"properties":{"n":{"type":"integer"}},"patternProperties":{"^n":{"minimum":0},
                "z$":{"type":"string"}},"additionalProperties":false}"#,
            &[r#"{"n":1,"nn":1.5,"xz":""}"#, r#"{"nz":"a"}"#, "[]"],
            &[
                (
                    r#"{"x":1,"n":-1,"nn":-1,"nz":-1}"#,
                    &[
                        "nz: must be string, not number",
                        "n: must be at least 0",
                        "nn: must be at least 0",
                        "nz: must be at least 0",
                        "x: is not expected",
                    ],
                ),
                (r#"{"n":"a"}"#, &["n: must be integer, not string"]),
            ],
        ),
        (
            r#"{"required":["n1","x"],"patternProperties":{"^n":{}},
                "additionalProperties":{"type":"string"}}"#,
            &[r#"{"n1":1,"x":""}"#],
            &[(
                r#"{"x":1,"n2":1}"#,
                &["n1: is required", "x: must be string, not number"],
            )],
        ),
        (
            r#"{"minProperties":1,"maxProperties":2}"#,
            &[r#"{"a":1}"#, "[]"],
            &[
                ("{}", &[": must have 1 to 2 properties, not 0"]),
                (
                    r#"{"a":1,"b":2,"c":3}"#,
                    &[": must have 1 to 2 properties, not 3"],
                ),
            ],
        ),
        (
            r#"{"propertyNames":{"maxLength":2,"pattern":"^a"}}"#,
            &[r#"{"a":1,"ab":[2,{"x":3}],"ac":2}"#, "{}", "1"],
            &[(
                r#"{"abc":1,"ab":2,"xyz":{"a":1}}"#,
                &[
                    "abc: has a name that must have at most 2 characters, not 3",
                    "xyz: has a name that must have at most 2 characters, not 3 and must match \
                     the pattern ^a",
                ],
            )],
        ),
        (
            r#"{"propertyNames":false}"#,
            &["{}"],
            &[(r#"{"a":1}"#, &["a: has a name that is not allowed"])],
        ),
        (
            r#"{"dependentRequired":{"card":["name","street"],"name":[]}}"#,
            &[
                "{}",
                r#"{"name":1}"#,
                r#"{"card":1,"name":1,"street":1}"#,
                "1",
            ],
            &[(
                r#"{"card":1}"#,
                &[
                    "name: is required where there is `card`",
                    "street: is required where there is `card`",
                ],
            )],
        ),
        (
            r#"{"dependentSchemas":{"card":{"required":["name"],"maxProperties":2},"x":false}}"#,
            &[
                "{}",
                r#"{"card":1,"name":1}"#,
                r#"{"a":1,"b":2,"c":3}"#,
                "[]",
            ],
            &[
                (r#"{"card":1}"#, &["name: is required"]),
                (r#"{"x":1}"#, &[": is not allowed"]),
            ],
        ),
    ]);
}

#[test]
fn flat_objects() {
    check(&[
        (
            r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{},"c":false,
                "d":{"type":["string","null"]}},"required":["d","x","a"]}"#,
            &[
                r#"{"a":1,"d":null,"x":1}"#,
                r#"{"x":[],"y":0,"d":"","b":{"a":1},"a":2.0}"#,
            ],
            &[
                ("[]", &[": must be object, not array"]),
                (
                    "{}",
                    &["a: is required", "d: is required", "x: is required"],
                ),
                (
                    r#"{"x":1,"d":1,"c":1,"a":1.5,"a":1}"#,
                    &[
                        "a: must be integer, not a number with a fraction",
                        "d: must be null or string, not number",
                        "a: is given more than once",
                        "c: is not allowed",
                    ],
                ),
                (
                    r#"{"x":1,"d":"","a":1,"x":2}"#,
                    &["x: is given more than once"],
                ),
            ],
        ),
        (
            r#"{"type":"object","properties":{"a":{}},"required":["a"],
                "additionalProperties":{"type":"string"}}"#,
            &[r#"{"a":1}"#, r#"{"y":"","a":1,"z":""}"#],
            &[(r#"{"a":"","b":1}"#, &["b: must be string, not number"])],
        ),
        (
            r#"{"type":"object","additionalProperties":false}"#,
            &["{}"],
            &[(r#"{"b":1}"#, &["b: is not expected"])],
        ),
    ]);
}

#[test]
fn applicators() {
    check(&[
        (
            r#"{"if":{"properties":{"k":{"const":"a"}},"required":["k"]},
                "then":{"required":["a"]},"else":{"required":["b"]}}"#,
            &[r#"{"k":"a","a":1}"#, r#"{"b":1}"#, "1"],
            &[
                (r#"{"k":"a","b":1}"#, &["a: is required"]),
                (r#"{"k":"b"}"#, &["b: is required"]),
            ],
        ),
        (
            r#"{"if":{"type":"integer"},"else":{"minLength":1}}"#,
            &["1", r#""a""#, "null"],
            &[(r#""""#, &[": must have at least 1 characters, not 0"])],
        ),
        (r#"{"if":false}"#, &["1"], &[]),
        (r#"{"then":false,"else":false}"#, &["1"], &[]),
        (
            r#"{"allOf":[{"required":["a"]},{"required":["a","b"]}]}"#,
            &[r#"{"a":1,"b":1}"#],
            &[("{}", &["a: is required", "b: is required"])],
        ),
        (
            r#"{"not":{"anyOf":[{"type":"string"},{"minimum":2}]}}"#,
            &["1"],
            &[
                ("2", &[": has a form that is not allowed"]),
                ("null", &[": has a form that is not allowed"]),
            ],
        ),
    ]);
}

#[test]
fn references() {
    check(&[
        (
            r##"{"properties":{"a":{"$ref":"#/$defs/x","maximum":5}},
                "$defs":{"x":{"minimum":1}}}"##,
            &[r#"{"a":3}"#],
            &[
                (r#"{"a":0}"#, &["a: must be at least 1"]),
                (r#"{"a":6}"#, &["a: must be at most 5"]),
            ],
        ),
        (
            r##"{"prefixItems":[{"$ref":"#/$defs/~0~1%25%22"},{"$ref":"#/prefixItems/2"},
                {"$ref":"#/$defs/b%C3%A9"}],
                "$defs":{"~/%\"":{"type":"integer"},"bé":{"type":"null"}}}"##,
            &["[1,null,null]"],
            &[(
                "[null,1,1]",
                &[
                    "[0]: must be integer, not null",
                    "[1]: must be null, not number",
                    "[2]: must be null, not number",
                ],
            )],
        ),
        // Of the two places written differently there is one.
        (
            r##"{"properties":{"a b":{"type":"null"},"c":{"$ref":"#/properties/a%20b"},
                "d":{"$ref":"#/properties/a b"},"e":{"$ref":"#/%70roperties/c"}}}"##,
            &[r#"{"c":null,"d":null,"e":null}"#],
            &[(
                r#"{"e":1,"c":1}"#,
                &["c: must be null, not number", "e: must be null, not number"],
            )],
        ),
        // A subschema with an `$id` is a resource of its own, from within and from without.
        (
            r##"{"$id":"https://example.com/root","$defs":{"x":{"type":"string"}},
                "properties":{"in":{"$id":"inner","$defs":{"x":{"type":"integer"}},
                "properties":{"x":{"$ref":"#/$defs/x"},"in":{"$ref":"#"}}},
                "x":{"$ref":"#/$defs/x"},"y":{"$ref":"#/properties/in/properties/x"}}}"##,
            &[r#"{"in":{"x":1,"in":{"x":1}},"x":"","y":1}"#],
            &[(
                r#"{"in":{"x":"","in":{"x":""}},"x":1,"y":""}"#,
                &[
                    "in.x: must be integer, not string",
                    "in.in.x: must be integer, not string",
                    "x: must be string, not number",
                    "y: must be integer, not string",
                ],
            )],
        ),
        // A property may have the name of a keyword.
        (
            r##"{"properties":{"$ref":{"type":"string"},"$id":{"$ref":"#/properties/$ref"}}}"##,
            &[r#"{"$ref":"a","$id":"b"}"#],
            &[(r#"{"$id":1}"#, &["$id: must be string, not number"])],
        ),
        // What is not referred to is not looked at.
        (
            r##"{"$schema":"https://json-schema.org/draft/2020-12/schema#","$anchor":"a",
                "$dynamicAnchor":"b","$comment":1,"title":2,"minLenght":"a","nullable":false,
                "examples":[{"$ref":"x"}],"$defs":{"x":{"type":"none","$ref":"#nowhere"}}}"##,
            &["null"],
            &[],
        ),
    ]);
}

#[test]
fn chains_of_references_are_no_nesting() {
    let mut definitions = vec![r#""d0":{"type":"null"}"#.to_owned()];
    for index in 1..=300 {
        let previous = index - 1;
        definitions.push(format!(
            r##""d{index}":{{"properties":{{"p":{{"items":{{"$ref":"#/$defs/d{previous}"}}}}}}}}"##
        ));
    }
    let schema = format!(
        r##"{{"$ref":"#/$defs/d300","$defs":{{{}}}}}"##,
        definitions.join(",")
    );
    assert_eq!(problems(&schema, r#"{"p":[{"p":[]}]}"#), [""; 0]);
}
