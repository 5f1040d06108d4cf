//! How functions with attributes may be declared: by `macro_rules!`, under any name, on conditions.

use serde_json::{Value, json};
use shapes::Point;
use tightwire::{Server, tool, tools};
use tightwire_tests::{Pair, call, modern};

/// What is derived elsewhere has other names to itself.
mod shapes {
    use tightwire::{
        schemars::{self, JsonSchema},
        serde::Deserialize,
    };

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(crate = "tightwire::serde")]
    pub(super) struct Point {
        pub(super) x: u8,
    }
}

/// A function whose types and default are fragments.
macro_rules! shown {
    ($name:ident, $type:ty, $text:literal $(, $default:expr)?) => {
        #[doc = $text]
        #[tool]
        fn $name($(#[default($default)])? value: $type, more: Option<$type>) -> String {
            format!("{value:?} {more:?}")
        }
    };
}

shown!(borrowed, &str, "A \"text\"", "a");
shown!(owned, String, "An owned one", "b");
shown!(numbers, &[u8], "Numbers", [1, 2]);
shown!(point, &Point, "A point");
shown!(optional, Option<&str>, "Perhaps", Some("c"));

// The names of these are in what is derived for the arguments of the others.
#[tool]
fn schema(value: u8) -> u8 {
    value
}

#[tool]
fn generator(value: u8) -> u8 {
    schema(value) + 1
}

#[tool]
fn struct_default(#[default(1)] value: u8) -> u8 {
    value
}

/** Says nothing

*  A list
* of one */
#[tool]
fn quiet(
    /// What is
    /// not said
    #[serde(default = "text")]
    text: String,
) {
    drop(text);
}

fn text() -> String {
    String::new()
}

struct State;

#[tools]
impl State {
    #[tool]
    #[cfg(not(test))]
    fn never(&self) -> Missing {
        Missing
    }

    #[cfg(test)]
    #[tool]
    fn always(&self) -> bool {
        true
    }
}

fn server() -> Server {
    Server::new("pair", "1.2.3")
        .tool(borrowed)
        .tool(owned)
        .tool(numbers)
        .tool(point)
        .tool(optional)
        .tool(schema)
        .tool(generator)
        .tool(struct_default)
        .tool(quiet)
        .tools(State)
}

fn said(pair: &mut Pair, tool: &str, arguments: &Value) -> Value {
    pair.ask(&call(1, tool, arguments))["result"]["content"][0]["text"].clone()
}

#[test]
fn macros_hand_on_types_and_defaults() {
    let mut pair = Pair::new(server());
    let none = json!({});
    assert_eq!(said(&mut pair, "borrowed", &none), "\"a\" None");
    assert_eq!(said(&mut pair, "owned", &none), "\"b\" None");
    assert_eq!(said(&mut pair, "numbers", &none), "[1, 2] None");
    assert_eq!(said(&mut pair, "optional", &none), "Some(\"c\") None");
    let one = Point { x: 1 };
    assert_eq!(point(&one, None), format!("Point {{ x: {} }} None", one.x));
    let points = json!({ "value": { "x": 1 }, "more": { "x": 2 } });
    let shown = "Point { x: 1 } Some(Point { x: 2 })";
    assert_eq!(said(&mut pair, "point", &points), shown);
}

#[test]
fn tools_have_the_names_of_derived_code() {
    let mut pair = Pair::new(server());
    let value = json!({ "value": 5 });
    assert_eq!(said(&mut pair, "schema", &value), "5");
    assert_eq!(said(&mut pair, "generator", &value), "6");
    assert_eq!(said(&mut pair, "struct_default", &json!({})), "1");
}

#[test]
fn block_comments_lose_their_margin() {
    let mut pair = Pair::new(server());
    let answer = pair.ask(&modern(1, "tools/list", json!({})));
    let tools = answer["result"]["tools"].as_array().unwrap();
    let find = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    let silent = find("quiet");
    assert_eq!(silent["description"], "Says nothing\n\n A list\nof one");
    let text = &silent["inputSchema"]["properties"]["text"];
    assert_eq!(text["description"], "What is\nnot said");
    assert_eq!(find("borrowed")["description"], "A \"text\"");
}

#[test]
fn methods_are_served_on_conditions() {
    let mut pair = Pair::new(server());
    assert_eq!(said(&mut pair, "always", &json!({})), "true");
    let answer = pair.ask(&call(1, "never", &json!({})));
    assert_eq!(answer["error"]["message"], "Unknown tool: `never`");
}
