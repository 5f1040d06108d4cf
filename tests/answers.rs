//! What a client answers, read into types of the handler's.
//!
//! Specification: 2026-07-28, `client/elicitation`, `client/sampling`.

use serde_json::{Value, json};
use tightwire::{
    Ask, Call, Context, Elicitation, Field, Inputs, IntoReply, Prompt, Reply, Sampling, Tool,
    serde::{self, Deserialize},
};
use tightwire_tests::{Pair, modern, modern_meta, refusal, server};

#[derive(Deserialize)]
#[serde(crate = "self::serde")]
struct Table<'a> {
    name: &'a str,
    guests: u8,
    seating: Option<String>,
}

#[derive(Deserialize)]
#[serde(crate = "self::serde")]
struct Weather {
    days: Vec<u8>,
}

fn book(context: &Context<'_>) -> Result<String, Ask> {
    let form = Elicitation::form("A table?")
        .field("name", Field::text().required())
        .field("guests", Field::integer())
        .field("seating", Field::text());
    let answers = context.ask(Inputs::new().elicit("table", form))?;
    Ok(match answers.elicited("table").parse::<Table<'_>>()? {
        Some(table) => format!("{} {} {:?}", table.name, table.guests, table.seating),
        None => "no table".to_owned(),
    })
}

fn forecast(context: &Context<'_>) -> Result<String, Ask> {
    let message = Sampling::new(9).user("The next days, as JSON.");
    let answers = context.ask(Inputs::new().sample("weather", message))?;
    let weather: Weather = answers.sampled("weather").parse()?;
    Ok(format!("{:?}", weather.days))
}

fn asking() -> Pair {
    let tool = |name: &str, function: fn(&Context<'_>) -> Result<String, Ask>| {
        Tool::new(name, move |call: Call<'_>, reply: Reply<'_>| {
            function(call.context()).reply(reply);
        })
    };
    let prompt = Prompt::new("book", |prompt, reply| match book(prompt.context()) {
        Ok(text) => reply.user_text(text),
        Err(ask) => reply.protocol_error(&ask.into()),
    });
    Pair::new(
        server()
            .tool(tool("book", book))
            .tool(tool("forecast", forecast))
            .prompt(prompt),
    )
}

fn answered(pair: &mut Pair, method: &str, name: &str, answers: &Value) -> Value {
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "elicitation": { "form": {} }, "sampling": {} });
    let params = json!({ "name": name, "_meta": meta, "inputResponses": answers });
    pair.ask(&modern(1, method, params))
}

#[test]
fn a_form_is_read_into_a_type_and_what_does_not_fit_is_named() {
    let mut pair = asking();
    for (answer, said, fails) in [
        (
            json!({ "action": "accept", "content": { "name": "Ada", "guests": 2 } }),
            "Ada 2 None",
            false,
        ),
        (
            json!({ "action": "accept", "content": { "name": "Ada", "guests": 2, "seating": "in" } }),
            "Ada 2 Some(\"in\")",
            false,
        ),
        (json!({ "action": "decline" }), "no table", false),
        (json!({ "action": "cancel" }), "no table", false),
        (
            json!({ "action": "accept", "content": { "name": "Ada", "guests": 300 } }),
            "the client's answer cannot be used: guests: invalid value: integer `300`, expected u8",
            true,
        ),
        (
            json!({ "action": "accept", "content": { "name": "Ada" } }),
            "the client's answer cannot be used: missing field `guests`",
            true,
        ),
    ] {
        let answers = json!({ "table": answer });
        let result = answered(&mut pair, "tools/call", "book", &answers)["result"].take();
        assert_eq!(result["content"][0]["text"], said);
        assert_eq!(result["isError"] == true, fails, "{said}");
    }
    let answers = json!({ "table": { "action": "accept", "content": { "name": "Ada" } } });
    let refused = refusal(&answered(&mut pair, "prompts/get", "book", &answers));
    assert_eq!(refused.code, -32603);
    assert!(refused.message.contains("guests"), "{}", refused.message);
}

#[test]
fn what_a_model_wrote_as_json_is_read_into_a_type() {
    let mut pair = asking();
    for (content, said, fails) in [
        (
            json!({ "type": "text", "text": "{\"days\":[1,2]}\n" }),
            "[1, 2]",
            false,
        ),
        (
            json!({ "type": "text", "text": "{\"days\":[1,2.5]}" }),
            "days[1]: invalid type: floating point `2.5`, expected u8",
            true,
        ),
        (
            json!({ "type": "text", "text": "Sunny!" }),
            "it is not JSON",
            true,
        ),
        (
            json!({ "type": "image", "data": "", "mimeType": "image/png" }),
            "the message has no text",
            true,
        ),
    ] {
        let message = json!({ "role": "assistant", "model": "m", "content": content });
        let answers = json!({ "weather": message });
        let result = answered(&mut pair, "tools/call", "forecast", &answers)["result"].take();
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains(said), "{text}");
        assert_eq!(result["isError"] == true, fails, "{said}");
    }
}
