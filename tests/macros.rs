//! Free functions as tools: what clients see of them, and how they are called.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use serde_json::{Value, json};
use tightwire::{
    Context, Server, TaskOptions, TaskSupport,
    schemars::{self, JsonSchema},
    serde::Deserialize,
    tool,
};
use tightwire_tests::{Pair, call, initialize, legacy, legacy_result, modern, text};

/// Add two numbers
#[tool]
fn add(
    /// The first number
    a: f64,
    /// The second number,
    /// which may be negative
    b: f64,
) -> f64 {
    a + b
}

#[tool]
fn echo(message: &str) -> &str {
    message
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tightwire::serde", rename_all = "lowercase")]
#[schemars(crate = "tightwire::schemars")]
enum Units {
    Celsius,
    Fahrenheit,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tightwire::serde")]
struct Place<'a> {
    /// The city
    city: &'a str,
    country: Option<&'a str>,
}

/// Foretell the weather
///
/// For some days.
#[tool(name = "weather.forecast", title = "The weather")]
fn forecast(
    place: Place<'_>,
    #[default(3)] days: u32,
    units: Option<Units>,
    #[arg(default = "en", name = "lang", description = "The language")] language: &str,
) -> String {
    let Place { city, country } = place;
    let unit = match units {
        Some(Units::Fahrenheit) => "°F",
        Some(Units::Celsius) | None => "°C",
    };
    format!("{city} {country:?} {days} {unit} {language}")
}

#[tool]
fn collections(
    numbers: &[f64],
    names: Vec<&str>,
    counts: BTreeMap<String, u64>,
    #[default([1, 2])] sizes: &[u8],
    more: Option<&[i32]>,
) -> String {
    let total: f64 = numbers.iter().sum();
    let count: u64 = counts.values().sum();
    format!("{total} {} {count} {sizes:?} {more:?}", names.join("+"))
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(crate = "tightwire::serde")]
struct Point {
    x: i64,
    y: i64,
}

#[tool]
fn references(
    point: &Point,
    other: Option<&Point>,
    path: &std::path::Path,
    text: Cow<'_, str>,
    owned: &String,
    map: &HashMap<String, Point>,
) -> String {
    let is_borrowed = matches!(text, Cow::Borrowed(_));
    let other = other.map(|other| other.x);
    let x: i64 = map.values().map(|point| point.x).sum();
    let path = path.display();
    format!(
        "{} {} {other:?} {path} {text} {is_borrowed} {owned} {x}",
        point.x, point.y
    )
}

#[tool]
fn divide(a: i64, b: i64) -> Result<i64, String> {
    a.checked_div(b)
        .ok_or_else(|| format!("{a} cannot be divided by {b}"))
}

#[tool(description = concat!("Say ", "nothing"))]
fn nothing() {}

#[tool]
fn longest<'a>(first: &'a str, second: &'a str) -> &'a str {
    if first.len() < second.len() {
        second
    } else {
        first
    }
}

/// What would be one name with its own words.
#[tool]
fn keywords(r#type: &str, mut count: u8, #[serde(rename = "in")] place: &str) -> String {
    count += 1;
    format!("{type} {count} {place}")
}

#[tool]
fn bounded(#[schemars(range(min = 1, max = 5))] stars: u8) -> u8 {
    stars
}

/// Its parameter and its own names are those of the expansion and of another tool.
#[tool]
fn reply(call: &str, add: f64, __reply: &str) -> String {
    format!("{call} {add} {__reply}")
}

fn server() -> Server {
    Server::new("pair", "1.2.3")
        .tool(add)
        .tool(echo)
        .tool(forecast)
        .tool(collections)
        .tool(references)
        .tool(divide)
        .tool(nothing)
        .tool(longest)
        .tool(keywords)
        .tool(bounded)
        .tool(reply)
}

/// The definition of a tool in the list.
fn listed(pair: &mut Pair, name: &str) -> Value {
    let answer = pair.ask(&modern(1, "tools/list", json!({})));
    let tools = answer["result"]["tools"].as_array().cloned();
    let mut tools = tools.unwrap_or_default().into_iter();
    tools.find(|tool| tool["name"] == name).unwrap_or_default()
}

/// The text and `isError` of a call.
#[track_caller]
fn said(pair: &mut Pair, tool: &str, arguments: &Value) -> (String, bool) {
    let answer = pair.ask(&call(1, tool, arguments));
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("no text in {answer}"));
    (text.to_owned(), result["isError"] == true)
}

#[test]
fn a_tool_can_be_called_as_a_function() {
    assert!((add(1.0, 2.0) - 3.0).abs() < f64::EPSILON);
    assert_eq!(echo("hi"), "hi");
    assert_eq!(longest("a", "bb"), "bb");
    assert_eq!(divide(6, 3), Ok(2));
    nothing();
    // As a value it is a pointer away.
    let sums: Vec<f64> = [1.0, 2.0]
        .into_iter()
        .zip([3.0, 4.0])
        .map(|(a, b)| add(a, b))
        .collect();
    assert_eq!(sums, [4.0, 6.0]);
    let pointer: fn(f64, f64) -> f64 = *add;
    assert!((pointer(1.0, 2.0) - 3.0).abs() < f64::EPSILON);
}

#[test]
fn names_docs_and_types_are_listed() {
    let mut pair = Pair::new(server());
    let number = |text: &str| json!({ "type": "number", "format": "double", "description": text });
    assert_eq!(
        listed(&mut pair, "add"),
        json!({
            "name": "add",
            "description": "Add two numbers",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "a": number("The first number"),
                    "b": number("The second number,\nwhich may be negative"),
                },
                "required": ["a", "b"],
            },
        })
    );
    assert_eq!(
        listed(&mut pair, "nothing"),
        json!({
            "name": "nothing",
            "description": "Say nothing",
            "inputSchema": { "type": "object" },
        })
    );
}

#[test]
fn what_may_be_left_out_is_not_required() {
    let mut pair = Pair::new(server());
    let tool = listed(&mut pair, "weather.forecast");
    assert_eq!(tool["title"], "The weather");
    assert_eq!(
        tool["description"],
        "Foretell the weather\n\nFor some days."
    );
    let schema = &tool["inputSchema"];
    assert_eq!(schema["required"], json!(["place"]));
    let properties = &schema["properties"];
    assert_eq!(properties["days"]["default"], 3);
    assert_eq!(
        properties["lang"],
        json!({ "type": "string", "description": "The language", "default": "en" })
    );
    let place = &properties["place"];
    assert_eq!(place["required"], json!(["city"]));
    assert_eq!(place["properties"]["city"]["description"], "The city");
    assert_eq!(
        properties["units"],
        json!({ "type": ["string", "null"], "enum": ["celsius", "fahrenheit", null] })
    );

    let schema = &listed(&mut pair, "collections")["inputSchema"];
    assert_eq!(schema["required"], json!(["numbers", "names", "counts"]));
    assert_eq!(schema["properties"]["sizes"]["default"], json!([1, 2]));

    let schema = &listed(&mut pair, "keywords")["inputSchema"];
    assert_eq!(schema["required"], json!(["type", "count", "in"]));
}

#[test]
fn arguments_reach_the_function() {
    let point = json!({ "x": 1, "y": 2 });
    let cases = [
        ("add", json!({ "a": 1, "b": 2.5 }), "3.5"),
        ("echo", json!({ "message": "a\n\"b\" é" }), "a\n\"b\" é"),
        ("longest", json!({ "first": "a", "second": "bb" }), "bb"),
        ("divide", json!({ "a": 7, "b": 2 }), "3"),
        (
            "weather.forecast",
            json!({ "place": { "city": "Oslo" } }),
            "Oslo None 3 °C en",
        ),
        (
            "weather.forecast",
            json!({
                "place": { "city": "Oslo", "country": "NO" },
                "days": 1, "units": "fahrenheit", "lang": "no"
            }),
            "Oslo Some(\"NO\") 1 °F no",
        ),
        (
            "weather.forecast",
            json!({ "place": { "city": "Oslo", "country": null }, "units": null }),
            "Oslo None 3 °C en",
        ),
        (
            "collections",
            json!({ "numbers": [1, 2.5], "names": ["a", "b"], "counts": { "x": 1, "y": 2 } }),
            "3.5 a+b 3 [1, 2] None",
        ),
        (
            "collections",
            json!({ "numbers": [0], "names": [], "counts": {}, "sizes": [], "more": [-1] }),
            "0  0 [] Some([-1])",
        ),
        (
            "references",
            json!({
                "point": point, "other": point, "path": "a/b", "text": "t\n", "owned": "o",
                "map": { "k": point }
            }),
            "1 2 Some(1) a/b t\n true o 1",
        ),
        (
            "keywords",
            json!({ "type": "t", "count": 1, "in": "p" }),
            "t 2 p",
        ),
        (
            "reply",
            json!({ "call": "c", "add": 1, "__reply": "r" }),
            "c 1 r",
        ),
    ];
    let mut pair = Pair::new(server());
    for (tool, arguments, expected) in cases {
        let expected = (expected.to_owned(), false);
        assert_eq!(said(&mut pair, tool, &arguments), expected, "{tool}");
    }
    let answer = pair.ask(&call(1, "nothing", &json!({})));
    assert_eq!(answer["result"]["content"], json!([]));
}

#[test]
fn arguments_that_do_not_fit_are_a_tool_error() {
    let cases = [
        ("add", json!({ "a": 1 }), "b: is required"),
        ("add", json!({ "a": 1, "b": "2" }), "b: must be number"),
        (
            "weather.forecast",
            json!({ "place": {} }),
            "place.city: is required",
        ),
        (
            "weather.forecast",
            json!({ "place": { "city": "x" }, "units": "k" }),
            "units: must",
        ),
        ("bounded", json!({ "stars": 6 }), "stars: must be at most 5"),
        (
            "divide",
            json!({ "a": 1, "b": 0 }),
            "1 cannot be divided by 0",
        ),
    ];
    let mut pair = Pair::new(server());
    for (tool, arguments, words) in cases {
        let (text, is_error) = said(&mut pair, tool, &arguments);
        assert!(is_error && text.contains(words), "{tool}: {text}");
    }
}

#[test]
fn the_same_function_serves_both_eras() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut pair = Pair::new(server());
        pair.ask(&initialize(version));
        let params = json!({ "name": "add", "arguments": { "a": 2, "b": 3 } });
        let answer = pair.ask(&legacy(1, "tools/call", &params));
        assert_eq!(answer, legacy_result(1, &text("5")), "{version}");
    }
}

#[tool(task)]
fn may(context: &Context<'_>) -> bool {
    context.is_task()
}

#[tool(task = "optional", blocking)]
fn may_too() {}

#[tool(task = "required")]
fn must() {}

#[tool(task = short())]
async fn shortly() {}

fn short() -> TaskOptions {
    TaskOptions::new(TaskSupport::Required).ttl(Duration::from_secs(7))
}

#[test]
fn calls_of_a_function_may_become_tasks() {
    let server = Server::new("s", "1").executor(drop);
    let server = server.tool(may).tool(may_too).tool(must).tool(shortly);
    let mut pair = Pair::session(server, "2025-11-25");
    let answer = pair.ask(&legacy(1, "tools/list", &json!({})));
    let tools = answer["result"]["tools"].as_array().unwrap().iter();
    let support = tools.map(|tool| tool["execution"]["taskSupport"].as_str());
    let expected = ["optional", "optional", "required", "required"];
    assert_eq!(support.collect::<Vec<_>>(), expected.map(Some));
    let call = |tool: &str| legacy(2, "tools/call", &json!({ "name": tool, "task": {} }));
    let lines = pair.send(&call("shortly"));
    assert_eq!(lines[0]["result"]["task"]["ttl"], 7_000);
    let lines = pair.send(&call("may"));
    let id = &lines[0]["result"]["task"]["taskId"];
    let answer = pair.ask(&legacy(3, "tasks/result", &json!({ "taskId": id })));
    assert_eq!(answer["result"]["content"], text("true")["content"]);
}
