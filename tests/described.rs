//! What the options of the attributes put into definitions, and results of every kind.

use serde_json::{Value, json};
use tightwire::{
    Complete, Completion, Content, Json, PromptMessage, ResourceContents, Server, prompt, resource,
    schemars::JsonSchema, serde::Serialize, tool,
};
use tightwire_tests::{Pair, call, modern};

#[derive(Serialize, JsonSchema)]
#[serde(crate = "tightwire::serde")]
#[schemars(crate = "tightwire::schemars")]
struct Weather {
    /// In degrees Celsius
    temperature: f64,
}

/// Measure
#[tool(
    title = "Weather",
    read_only,
    destructive = false,
    idempotent,
    open_world = false,
    icon = "https://example.com/a.png",
    icon(
        src = "https://example.com/b.svg",
        mime_type = "image/svg+xml",
        size = "48x48",
        size = "96x96",
        theme = "dark"
    ),
    meta = r#"{"example.com/kind":"weather"}"#
)]
fn weather(city: &str) -> Result<Json<Weather>, String> {
    if city.is_empty() {
        return Err("there is no city".to_owned());
    }
    Ok(Json(Weather { temperature: 22.5 }))
}

#[tool]
async fn later() -> Json<Weather> {
    Json(Weather { temperature: 0.0 })
}

#[tool]
fn picture(caption: String) -> [Content; 2] {
    [
        Content::text(caption),
        Content::image(b"GIF89a".as_slice(), "image/gif"),
    ]
}

#[prompt(
    title = "Riddle",
    icon = "https://example.com/a.png",
    meta = r#"{"example.com/kind":"riddle"}"#
)]
fn riddle(#[arg(complete = languages)] language: &str) -> Vec<PromptMessage> {
    vec![
        PromptMessage::user(format!("A riddle in {language}")),
        PromptMessage::assistant("What has keys and opens no lock?"),
    ]
}

#[prompt]
fn look() -> Content {
    Content::image(b"GIF89a".as_slice(), "image/gif")
}

fn languages(complete: Complete<'_>) -> Completion {
    complete.among(["English", "Esperanto"])
}

#[resource(
    uri = "described://dot",
    title = "Dot",
    mime_type = "image/gif",
    size = 6,
    audience(user, assistant),
    priority = 0.5,
    last_modified = "2026-07-28T12:00:00Z",
    ttl_ms = 60_000,
    cache_scope = "public",
    icon = "https://example.com/a.png",
    meta = r#"{"example.com/kind":"dot"}"#
)]
fn dot() -> &'static [u8] {
    b"GIF89a"
}

#[resource(uri = "described://pages/{language}{?page}", ttl_ms = 5)]
fn pages(#[arg(complete = languages)] language: &str, page: Option<u32>) -> [ResourceContents; 1] {
    let text = format!("{language} {page:?}");
    [ResourceContents::text("described://page", text)]
}

fn server() -> Server {
    Server::new("pair", "1.2.3")
        .executor(drop)
        .tool(weather)
        .tool(later)
        .tool(picture)
        .prompt(riddle)
        .prompt(look)
        .resource(dot)
        .resource(pages)
}

fn ask(pair: &mut Pair, method: &str, params: Value) -> Value {
    pair.ask(&modern(1, method, params))["result"].clone()
}

#[test]
fn the_options_of_a_tool_are_in_its_definition() {
    let mut pair = Pair::new(server());
    let tools = ask(&mut pair, "tools/list", json!({}));
    let temperature =
        json!({ "type": "number", "format": "double", "description": "In degrees Celsius" });
    let output = json!({
        "type": "object",
        "properties": { "temperature": temperature },
        "required": ["temperature"],
    });
    assert_eq!(
        tools["tools"][0],
        json!({
            "name": "weather",
            "title": "Weather",
            "description": "Measure",
            "icons": [
                { "src": "https://example.com/a.png" },
                {
                    "src": "https://example.com/b.svg", "mimeType": "image/svg+xml",
                    "sizes": ["48x48", "96x96"], "theme": "dark"
                },
            ],
            "inputSchema": {
                "type": "object",
                "properties": { "city": { "type": "string" } },
                "required": ["city"],
            },
            "outputSchema": output,
            "annotations": {
                "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
                "openWorldHint": false,
            },
            "_meta": { "example.com/kind": "weather" },
        })
    );
    assert_eq!(tools["tools"][1]["outputSchema"], output);
    assert_eq!(tools["tools"][2].get("outputSchema"), None);
}

#[test]
fn results_of_every_kind() {
    let mut pair = Pair::new(server());
    let answer = pair.ask(&call(1, "weather", &json!({ "city": "Oslo" })));
    let result = &answer["result"];
    assert_eq!(result["structuredContent"], json!({ "temperature": 22.5 }));
    assert_eq!(result["content"][0]["text"], r#"{"temperature":22.5}"#);
    let answer = pair.ask(&call(1, "weather", &json!({ "city": "" })));
    assert_eq!(answer["result"]["content"][0]["text"], "there is no city");
    assert_eq!(answer["result"]["isError"], true);

    let image = json!({ "type": "image", "data": "R0lGODlh", "mimeType": "image/gif" });
    let answer = pair.ask(&call(1, "picture", &json!({ "caption": "A dot" })));
    let contents = json!([{ "type": "text", "text": "A dot" }, image]);
    assert_eq!(answer["result"]["content"], contents);

    let params = json!({ "name": "riddle", "arguments": { "language": "English" } });
    let messages = ask(&mut pair, "prompts/get", params)["messages"].clone();
    assert_eq!(messages[0]["content"]["text"], "A riddle in English");
    assert_eq!(messages[1]["role"], "assistant");
    let messages = ask(&mut pair, "prompts/get", json!({ "name": "look" }))["messages"].clone();
    assert_eq!(messages, json!([{ "role": "user", "content": image }]));
}

#[test]
fn the_options_of_a_prompt_are_in_its_definition() {
    let mut pair = Pair::new(server());
    let prompts = ask(&mut pair, "prompts/list", json!({}));
    assert_eq!(
        prompts["prompts"][0],
        json!({
            "name": "riddle",
            "title": "Riddle",
            "icons": [{ "src": "https://example.com/a.png" }],
            "arguments": [{ "name": "language", "required": true }],
            "_meta": { "example.com/kind": "riddle" },
        })
    );
}

#[test]
fn the_options_of_a_resource_are_in_its_definition_and_its_contents() {
    let mut pair = Pair::new(server());
    let resources = ask(&mut pair, "resources/list", json!({}));
    assert_eq!(
        resources["resources"][0],
        json!({
            "uri": "described://dot",
            "name": "dot",
            "title": "Dot",
            "mimeType": "image/gif",
            "size": 6,
            "icons": [{ "src": "https://example.com/a.png" }],
            "annotations": {
                "audience": ["user", "assistant"], "priority": 0.5,
                "lastModified": "2026-07-28T12:00:00Z",
            },
            "_meta": { "example.com/kind": "dot" },
        })
    );
    let read = ask(
        &mut pair,
        "resources/read",
        json!({ "uri": "described://dot" }),
    );
    let blob = json!({ "uri": "described://dot", "mimeType": "image/gif", "blob": "R0lGODlh" });
    assert_eq!(read["contents"], json!([blob]));
    assert_eq!(
        (&read["ttlMs"], &read["cacheScope"]),
        (&json!(60_000), &json!("public"))
    );

    for (uri, text) in [
        ("described://pages/en", "en None"),
        ("described://pages/en?page=2", "en Some(2)"),
    ] {
        let read = ask(&mut pair, "resources/read", json!({ "uri": uri }));
        assert_eq!(read["contents"][0]["text"], text);
        assert_eq!(
            (&read["ttlMs"], &read["cacheScope"]),
            (&json!(5), &json!("private"))
        );
    }
}

#[test]
fn arguments_and_variables_are_completed() {
    let mut pair = Pair::new(server());
    for reference in [
        json!({ "type": "ref/prompt", "name": "riddle" }),
        json!({ "type": "ref/resource", "uri": "described://pages/{language}{?page}" }),
    ] {
        let argument = json!({ "name": "language", "value": "Es" });
        let params = json!({ "ref": reference, "argument": argument });
        let completion = ask(&mut pair, "completion/complete", params)["completion"].clone();
        assert_eq!(completion["values"], json!(["Esperanto"]));
    }
}

#[test]
fn functions_come_while_the_server_serves() {
    let mut server = Server::new("pair", "1.2.3").executor(drop);
    let handle = server.handle();
    let mut pair = Pair::new(server);
    handle.add_tool(weather).expect("the tool is new");
    handle.add_prompt(look).expect("the prompt is new");
    handle.add_resource(dot).expect("the resource is new");
    handle.add_resource(pages).expect("the template is new");
    pair.poll();
    for (method, list, name) in [
        ("tools/list", "tools", "weather"),
        ("prompts/list", "prompts", "look"),
        ("resources/list", "resources", "dot"),
        ("resources/templates/list", "resourceTemplates", "pages"),
    ] {
        assert_eq!(ask(&mut pair, method, json!({}))[list][0]["name"], name);
    }
}
