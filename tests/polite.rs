//! What the attributes expand to is as clean as the code around it: this module allows nothing.
//! Functions stand in modules, are used across them, and have names that others have too.

#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub)]
#![deny(
    rust_2018_idioms,
    unused_qualifications,
    trivial_casts,
    clippy::all,
    clippy::pedantic
)]

use std::fmt::Display;

use serde_json::json;
use tightwire::{Server, prompt, resource, tool, tools};
use tightwire_tests::{Pair, call, text};

/// A module that has the name of the tool in it.
mod shout {
    /// Say it louder
    #[tightwire::tool(title = "Louder")]
    #[inline]
    #[must_use]
    pub(crate) fn shout(text: &str) -> String {
        text.to_uppercase()
    }
}

use shout::shout;

// What the expansion names must not be what stands here under the same name.
#[allow(dead_code, non_camel_case_types)]
mod decoys {
    pub(crate) struct Option;
    pub(crate) struct Result;
    pub(crate) struct String;
    pub(crate) struct Vec;
    pub(crate) struct Box;
    pub(crate) mod core {}
    pub(crate) mod std {}
    pub(crate) mod serde {}
    pub(crate) mod schemars {}

    /// Count the words
    #[tightwire::tool]
    pub(crate) fn words(text: &str, numbers: &[u64], #[default(0)] more: usize) -> usize {
        text.split(' ').count() + numbers.len() + more
    }

    /// A prompt
    #[tightwire::prompt]
    pub(crate) fn ask(question: &str, tone: ::std::option::Option<&str>) -> ::std::string::String {
        format!("{question} {}", tone.unwrap_or("kindly"))
    }

    /// A resource
    #[tightwire::resource(uri = "decoys://{id}")]
    pub(crate) fn read(id: u32) -> ::std::string::String {
        format!("{id}")
    }
}

/// The factorial
#[tool]
fn factorial(n: u64) -> u64 {
    if n == 0 { 1 } else { n * factorial(n - 1) }
}

/// A parameter may have the name of a tool, here and there
#[tool]
fn spell(factorial: &str, #[default(limit())] limit: usize) -> String {
    factorial.chars().rev().take(limit).collect()
}

fn limit() -> usize {
    3
}

#[cfg(any())]
#[tool]
fn left_out(nothing: NoSuchType) {}

#[tool]
#[cfg(any())]
fn left_out_too(nothing: NoSuchType) {}

/// Kept for those who call it
#[tool]
#[deprecated = "shout instead"]
fn whisper(text: &str) -> String {
    text.to_lowercase()
}

#[prompt]
fn review(code: &str) -> &str {
    code
}

#[resource(uri = "polite://hello")]
fn hello() -> &'static str {
    "Hello!"
}

struct Greeter {
    greeting: &'static str,
}

#[tools]
impl Greeter {
    /// Greet someone
    #[tool]
    fn greet(&self, name: &str) -> String {
        format!("{}, {name}!", self.greeting)
    }
}

/// A state of any type
struct Shelf<T>(T, String);

#[tools]
impl<T: Display + Send + Sync + 'static> Shelf<T> {
    /// Show what is there
    #[tightwire::tool]
    fn show(&self) -> String {
        self.0.to_string()
    }

    /// Lend what is there
    #[tool]
    fn label<'a>(&'a self, other: Option<&str>) -> &'a str {
        if other.is_some() { "other" } else { &self.1 }
    }
}

#[test]
#[allow(deprecated)]
fn the_expansion_is_clean() {
    #[tool]
    fn local(n: i8) -> i8 {
        n
    }

    let server = Server::new("pair", "1.2.3")
        .tool(shout)
        .tool(decoys::words)
        .tool(factorial)
        .tool(spell)
        .tool(whisper)
        .tool(local)
        .tools(Greeter { greeting: "Hello" })
        .tools(Shelf(7, "label".to_owned()))
        .prompt(review)
        .prompt(decoys::ask)
        .resource(hello)
        .resource(decoys::read);
    let mut pair = Pair::new(server);
    let cases = [
        ("shout", json!({ "text": "a" }), "A"),
        ("words", json!({ "text": "a b", "numbers": [1] }), "3"),
        ("factorial", json!({ "n": 5 }), "120"),
        ("spell", json!({ "factorial": "abcd" }), "dcb"),
        ("whisper", json!({ "text": "A" }), "a"),
        ("local", json!({ "n": -1 }), "-1"),
        ("show", json!({}), "7"),
        ("label", json!({}), "label"),
        ("greet", json!({ "name": "Ada" }), "Hello, Ada!"),
    ];
    for (tool, arguments, said) in cases {
        let answer = pair.ask(&call(1, tool, &arguments));
        assert_eq!(answer["result"]["content"], text(said)["content"], "{tool}");
    }
    assert_eq!(factorial(3), 6);
    assert_eq!(shout("x"), "X");
    assert_eq!(Greeter { greeting: "Hi" }.greet("you"), "Hi, you!");
}
