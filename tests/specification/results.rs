//! Results, and what they are made of: written by a server that was built from the example.

use serde_json::{Value, json};
use tightwire::{
    CacheScope, Call, Completion, Content, Prompt, PromptMessage, Reply, Resource,
    ResourceContents, Server, Tool,
};
use tightwire_jsonschema::AllDialects;
use tightwire_tests::{Pair, modern};

use super::{
    Example,
    build::{self, items, must, text},
};

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// A content, as the answer of a tool.
pub(super) fn content(example: &Example) {
    let content = build::content(&example.value);
    let handler =
        move |_: Call<'_>, reply: Reply<'_>| reply.contents(std::slice::from_ref(&content));
    let result = asked(
        Server::new("s", "1").tool(Tool::new("it", handler)),
        "tools/call",
    );
    example.is(&result["content"][0]);
}

/// The contents of a resource, as it is read.
pub(super) fn contents(example: &Example) {
    let contents = [build::contents(&example.value)];
    let resource = Resource::new("it:", "it", move |_, reply| reply.contents(&contents));
    let result = asked(Server::new("s", "1").resource(resource), "resources/read");
    example.is(&result["contents"][0]);
}

/// The definition of a tool.
pub(super) fn tool(example: &Example) {
    let server = Server::new("s", "1").schema_compiler(AllDialects);
    let result = asked(server.tool(build::tool(&example.value)), "tools/list");
    example.is(&result["tools"][0]);
}

/// The definition of a resource.
pub(super) fn resource(example: &Example) {
    let server = Server::new("s", "1").resource(build::resource(&example.value));
    example.is(&asked(server, "resources/list")["resources"][0]);
}

/// A result.
pub(super) fn result(example: &Example) {
    answer(example, &json!(1), &example.value);
}

/// A response: a result under the id of its request.
pub(super) fn response(example: &Example) {
    answer(example, &example.value["id"], &example.value["result"]);
}

fn answer(example: &Example, id: &Value, expected: &Value) {
    let server = Server::new("ExampleServer", "1.0.0");
    let folder = example.folder.trim_end_matches("Response");
    let (server, method) = match folder {
        "CallToolResult" => (calling(server, expected), "tools/call"),
        "CompleteResult" => (completing(server, expected), "completion/complete"),
        "DiscoverResult" => (discovered(server, expected), "server/discover"),
        "GetPromptResult" => (prompting(server, expected), "prompts/get"),
        "ReadResourceResult" => (reading(server, expected), "resources/read"),
        "ListToolsResult" => (listing(server, expected, "tools"), "tools/list"),
        "ListPromptsResult" => (listing(server, expected, "prompts"), "prompts/list"),
        "ListResourcesResult" => (listing(server, expected, "resources"), "resources/list"),
        "ListResourceTemplatesResult" => (
            listing(server, expected, "resourceTemplates"),
            "resources/templates/list",
        ),
        other => panic!("{other} is the result of a request"),
    };
    let uri = &expected["contents"][0]["uri"];
    let request = modern(id.clone(), method, params(method, uri));
    let mut answer = Pair::new(server).ask(&request);
    assert_eq!(answer["id"], *id);
    let written = comparable(answer["result"].take(), expected, method);
    example.shows(&without_default(expected.clone()), &written);
}

/// The parameters that ask for what the servers here serve.
fn params(method: &str, uri: &Value) -> Value {
    match method {
        "tools/call" | "prompts/get" => json!({ "name": "it" }),
        "resources/read" => json!({ "uri": text(uri).unwrap_or_else(|| "it:".to_owned()) }),
        "completion/complete" => json!({
            "ref": { "type": "ref/prompt", "name": "it" },
            "argument": { "name": "argument", "value": "" },
        }),
        _ => json!({}),
    }
}

fn asked(server: Server, method: &str) -> Value {
    let request = modern(1, method, params(method, &Value::Null));
    Pair::new(server).ask(&request)["result"].take()
}

/// What was written, without what the example may leave out, and with what is the server's choice
/// as the example has it.
fn comparable(mut written: Value, expected: &Value, method: &str) -> Value {
    if expected["_meta"].get(SERVER_INFO).is_none() {
        let meta = written["_meta"]
            .as_object_mut()
            .expect("results have _meta");
        assert!(meta.remove(SERVER_INFO).is_some());
        if meta.is_empty() {
            written.as_object_mut().map(|result| result.remove("_meta"));
        }
    }
    // A cursor is opaque.
    if expected.get("nextCursor").is_some() {
        assert!(written["nextCursor"].is_string(), "{written}");
        written["nextCursor"] = expected["nextCursor"].clone();
    }
    // The engine says how long this one may be kept.
    if method == "server/discover" {
        assert!(written["ttlMs"].is_u64(), "{written}");
        written["ttlMs"] = expected["ttlMs"].clone();
    }
    // The schema wants both; one of the examples has neither.
    for name in ["ttlMs", "cacheScope"] {
        if expected.get(name).is_none() {
            written.as_object_mut().map(|result| result.remove(name));
        }
    }
    without_default(written)
}

/// No error is what a result is by default.
fn without_default(mut result: Value) -> Value {
    if result["isError"] == false {
        result
            .as_object_mut()
            .map(|result| result.remove("isError"));
    }
    result
}

fn calling(server: Server, expected: &Value) -> Server {
    let expected = expected.clone();
    let handler = move |_: Call<'_>, reply: Reply<'_>| {
        let contents: Vec<Content> = items(&expected["content"]).map(build::content).collect();
        match expected.get("structuredContent") {
            _ if expected["isError"] == true => {
                reply.error(must(&expected["content"][0]["text"]));
            }
            Some(value) => reply.structured_with(&contents, value),
            None => reply.contents(&contents),
        }
    };
    server.tool(Tool::new("it", handler))
}

fn completing(server: Server, expected: &Value) -> Server {
    let completion = &expected["completion"];
    let values = Completion::new(items(&completion["values"]).map(must));
    let total = completion["total"].as_u64().expect("it has a total");
    let values = values.total(total);
    let prompt = Prompt::new("it", |_, reply| reply.user_text("")).optional("argument", "");
    server.prompt(prompt.complete("argument", move |_| values.clone()))
}

fn discovered(server: Server, expected: &Value) -> Server {
    let server = match text(&expected["instructions"]) {
        Some(instructions) => server.instructions(instructions),
        None => server,
    };
    let handler = |_: Call<'_>, reply: Reply<'_>| reply.text("");
    let resource = Resource::new("it:", "it", |_, reply| reply.text(""));
    server.tool(Tool::new("it", handler)).resource(resource)
}

fn prompting(server: Server, expected: &Value) -> Server {
    let description = must(&expected["description"]);
    let messages = items(&expected["messages"]).map(build::message);
    let messages: Vec<PromptMessage> = messages.collect();
    server.prompt(Prompt::new("it", move |_, reply| {
        reply.description(&description).messages(&messages);
    }))
}

fn reading(server: Server, expected: &Value) -> Server {
    let contents = items(&expected["contents"]).map(build::contents);
    let contents: Vec<ResourceContents> = contents.collect();
    let uri = must(&expected["contents"][0]["uri"]);
    let resource = Resource::new(uri, "it", move |_, reply| reply.contents(&contents));
    server.resource(match expected["ttlMs"].as_u64() {
        Some(ttl_ms) => resource.cache(ttl_ms, scope(expected)),
        None => resource,
    })
}

/// A server whose first page is the example; a second thing is on the next page, if there is one.
fn listing(server: Server, expected: &Value, key: &str) -> Server {
    let ttl_ms = expected["ttlMs"].as_u64().expect("lists have a ttlMs");
    let mut server = server.cache_lists(ttl_ms, scope(expected));
    let mut listed: Vec<Value> = items(&expected[key]).cloned().collect();
    if expected.get("nextCursor").is_some() {
        server = server.page_size(listed.len());
        listed.push(json!({ "name": "next", "uri": "next:", "uriTemplate": "next:{x}" }));
    }
    listed.iter().fold(server, |server, item| match key {
        "tools" => server.tool(build::tool(item)),
        "prompts" => server.prompt(build::prompt(item)),
        "resources" => server.resource(build::resource(item)),
        _ => server.resource_template(build::template(item)),
    })
}

fn scope(expected: &Value) -> CacheScope {
    match expected["cacheScope"].as_str() {
        Some("public") => CacheScope::Public,
        _ => CacheScope::Private,
    }
}
