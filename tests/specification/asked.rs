//! What a server asks a client for, and what the client answers.

use serde_json::{Value, json};
use tightwire::{
    Answers, Ask, Call, Context, Elicited, Inputs, IntoReply, Reply, Server, Tool, codec,
};
use tightwire_tests::{Pair, modern, modern_meta};

use super::{
    Example,
    build::{self, members},
};

/// A request that a client is asked to serve.
pub(super) fn request(example: &Example) {
    let mut expected = example.value.clone();
    // Its key takes the place of an id.
    expected.as_object_mut().map(|request| request.remove("id"));
    let mut asked = asked(&json!({ "it": expected }))["it"].take();
    if expected.get("params").is_none() {
        let params = asked
            .as_object_mut()
            .and_then(|asked| asked.remove("params"));
        assert_eq!(params, Some(json!({})));
    }
    example.shows(&expected, &asked);
}

/// The parameters of such a request.
pub(super) fn params(example: &Example) {
    let method = match example.folder.as_str() {
        "CreateMessageRequestParams" => "sampling/createMessage",
        _ => "elicitation/create",
    };
    let requests = json!({ "it": { "method": method, "params": example.value } });
    example.is(&asked(&requests)["it"]["params"]);
}

/// Several such requests.
pub(super) fn requests(example: &Example) {
    example.is(&asked(&example.value));
}

/// The result that asks for them.
pub(super) fn required(example: &Example) {
    let requests = example.value["inputRequests"].clone();
    let mut result = asking(&requests, true)["result"].take();
    let members = result.as_object_mut().expect("a result");
    assert!(members.remove("_meta").is_some());
    // Only its server can read it.
    assert!(members["requestState"].is_string());
    members["requestState"] = example.value["requestState"].clone();
    let mut expected = example.value.clone();
    for (_, request) in expected["inputRequests"]
        .as_object_mut()
        .into_iter()
        .flatten()
    {
        // A form is what an elicitation is by default.
        if request["method"] == "elicitation/create" {
            request["params"]["mode"] = json!("form");
        }
    }
    example.shows(&expected, &result);
}

/// A field of a form.
pub(super) fn field(example: &Example) {
    let form = json!({ "message": "", "requestedSchema": {
        "type": "object", "properties": { "it": example.value },
    } });
    let requests = json!({ "it": { "method": "elicitation/create", "params": form } });
    let params = &asked(&requests)["it"]["params"];
    example.is(&params["requestedSchema"]["properties"]["it"]);
}

/// Which model is preferred.
pub(super) fn preferences(example: &Example) {
    let params = json!({ "messages": [], "maxTokens": 1, "modelPreferences": example.value });
    example.is(&sampled(&params)["modelPreferences"]);
}

/// A message of a conversation with a model.
pub(super) fn message(example: &Example) {
    let params = json!({ "messages": [example.value], "maxTokens": 1 });
    example.is(&sampled(&params)["messages"][0]);
}

/// A content of such a message; a model may answer with the use of a tool, too.
pub(super) fn content(example: &Example) {
    let message = json!({ "role": "user", "content": [example.value] });
    let params = json!({ "messages": [message], "maxTokens": 1 });
    example.is(&sampled(&params)["messages"][0]["content"][0]);
    if example.value["type"] == "tool_use" {
        let answer = json!({ "role": "assistant", "content": [example.value], "model": "m" });
        let read = answered(&json!({ "it": answer }));
        example.is(&read["it"]["contents"][0]);
    }
}

/// A client's answer.
pub(super) fn answer(example: &Example) {
    let read = answered(&json!({ "it": example.value }));
    example.is(&read["it"]["whole"]);
    check_read(example, &example.value, &read["it"]);
}

/// Several answers of a client's.
pub(super) fn answers(example: &Example) {
    let read = answered(&example.value);
    for (key, answer) in members(&example.value) {
        example.shows(answer, &read[key]["whole"]);
        check_read(example, answer, &read[key]);
    }
}

/// A root of a client's.
pub(super) fn root(example: &Example) {
    let read = answered(&json!({ "it": { "roots": [example.value] } }));
    example.is(&read["it"]["roots"][0]);
}

/// Compares what the typed views of an answer say with the answer.
fn check_read(example: &Example, answer: &Value, read: &Value) {
    if let Some(action) = answer.get("action") {
        example.shows(action, &read["action"]);
        let content = answer.get("content").cloned();
        let names: Vec<&String> = members(answer.get("content").unwrap_or(&Value::Null))
            .map(|(name, _)| name)
            .collect();
        assert_eq!(read["fields"], json!(names), "{content:?}");
    } else if answer.get("roots").is_some() {
        example.shows(&answer["roots"], &read["roots"]);
    } else {
        example.shows(&answer["model"], &read["model"]);
        example.shows(&answer["stopReason"], &read["stopReason"]);
        let content = &answer["content"];
        let contents = match content {
            Value::Array(_) => content.clone(),
            one => json!([one]),
        };
        example.shows(&contents, &read["contents"]);
        example.shows(&content["text"], &read["text"]);
    }
}

/// The parameters of a request for a message, as a client is sent them.
fn sampled(params: &Value) -> Value {
    let requests = json!({ "it": { "method": "sampling/createMessage", "params": params } });
    asked(&requests)["it"]["params"].take()
}

/// The requests that a server makes of these.
fn asked(requests: &Value) -> Value {
    asking(requests, false)["result"]["inputRequests"].take()
}

/// The answer of a tool that makes these requests, and keeps a state if it is told to.
fn asking(requests: &Value, keeps: bool) -> Value {
    Pair::new(server(requests, keeps)).ask(&call(&json!({})))
}

/// What a tool reads from these answers, each to a request that fits it.
fn answered(answers: &Value) -> Value {
    let requests = members(answers).map(|(key, answer)| (key.clone(), request_for(answer)));
    let requests = Value::Object(requests.collect());
    let more = json!({ "inputResponses": answers });
    let mut answer = Pair::new(server(&requests, false)).ask(&call(&more));
    answer["result"]["structuredContent"].take()
}

/// A request that an answer is one to.
fn request_for(answer: &Value) -> Value {
    if answer.get("roots").is_some() {
        return json!({ "method": "roots/list" });
    }
    if answer.get("model").is_some() {
        let tool = json!({ "name": "get_weather", "inputSchema": { "type": "object" } });
        let params = json!({ "messages": [], "maxTokens": 1, "tools": [tool] });
        return json!({ "method": "sampling/createMessage", "params": params });
    }
    let Some(content) = answer.get("content") else {
        let params = json!({ "mode": "url", "message": "", "url": "https://example.com" });
        return json!({ "method": "elicitation/create", "params": params });
    };
    let field = |value: &Value| match value {
        Value::Number(_) => json!({ "type": "number" }),
        _ => json!({ "type": "string" }),
    };
    let fields = members(content).map(|(name, value)| (name.clone(), field(value)));
    let schema = json!({ "type": "object", "properties": Value::Object(fields.collect()) });
    let params = json!({ "message": "", "requestedSchema": schema });
    json!({ "method": "elicitation/create", "params": params })
}

fn call(more: &Value) -> String {
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({
        "elicitation": { "form": {}, "url": {} },
        "sampling": { "tools": {}, "context": {} },
        "roots": {},
    });
    let mut params = json!({ "name": "ask", "_meta": meta });
    for (key, value) in members(more) {
        params[key] = value.clone();
    }
    modern(1, "tools/call", params)
}

/// A server with a tool that asks for inputs, and tells what it was answered.
fn server(requests: &Value, keeps: bool) -> Server {
    let inputs = build::inputs(requests);
    let keys: Vec<String> = members(requests).map(|(key, _)| key.clone()).collect();
    let handler = move |call: Call<'_>, reply: Reply<'_>| {
        if keeps {
            call.context().keep("a state");
        }
        match told(call.context(), inputs.clone(), &keys) {
            Ok(value) => reply.structured(&value),
            Err(ask) => Err::<(), Ask>(ask).reply(reply),
        }
    };
    Server::new("s", "1").tool(Tool::new("ask", handler))
}

/// All that the typed views of the answers say.
fn told(context: &Context<'_>, inputs: Inputs, keys: &[String]) -> Result<Value, Ask> {
    let answers = context.ask(inputs)?;
    let read = |key: &String| (key.clone(), views(&answers, key));
    Ok(Value::Object(keys.iter().map(read).collect()))
}

fn views(answers: &Answers<'_>, key: &str) -> Value {
    let json = |value: codec::Value<'_>| value.deserialize::<Value>().expect("it is JSON");
    let whole = answers.value(key).into_iter().flatten();
    let whole = whole.map(|(name, value)| (name.to_owned(), json(value)));
    let fields = match answers.elicited(key) {
        Elicited::Accepted(form) => form.iter().map(|(name, _)| name).collect(),
        Elicited::Declined | Elicited::Cancelled => Vec::new(),
    };
    let root = |(uri, name): (&str, Option<&str>)| json!({ "uri": uri, "name": name });
    let sampled = answers.sampled(key);
    json!({
        "whole": Value::Object(whole.collect()),
        "action": answers.elicited(key).action(),
        "fields": fields,
        "roots": answers.roots(key).map(root).collect::<Vec<_>>(),
        "model": sampled.model(),
        "stopReason": sampled.stop_reason(),
        "text": sampled.text(),
        "contents": sampled.contents().map(json).collect::<Vec<_>>(),
    })
}
