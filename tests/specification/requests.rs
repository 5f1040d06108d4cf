//! Requests and notifications of clients: sent to a server that has what they name, and answered.

use serde_json::{Value, json};
use tightwire::{Call, Completion, Prompt, Reply, Resource, Server, Tool};
use tightwire_tests::{Held, Pair, call, modern, refusal, server};

use super::{
    Example,
    build::{members, must},
};

/// A whole request.
pub(super) fn request(example: &Example) {
    answered(example, &example.value);
}

/// The parameters of a request.
pub(super) fn params(example: &Example) {
    let method = match example.folder.as_str() {
        "CallToolRequestParams" => "tools/call",
        "CompleteRequestParams" => "completion/complete",
        "GetPromptRequestParams" => "prompts/get",
        other => panic!("{other} has a method"),
    };
    let params = &example.value;
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    answered(example, &request);
}

/// Sends a request, and looks for what it asked for in the result.
fn answered(example: &Example, request: &Value) {
    let params = &request["params"];
    let mut pair = Pair::new(serving(request));
    let mut answers = pair.send(&request.to_string());
    let answer = answers.pop().expect("an answer");
    assert_eq!(answers, Vec::<Value>::new(), "{}", example.file);
    assert_eq!(answer["id"], request["id"]);
    let result = &answer["result"];
    match request["method"].as_str() {
        Some("tools/call") => assert_eq!(result["structuredContent"], params["arguments"]),
        Some("prompts/get") => {
            let text = result["messages"][0]["content"]["text"].as_str();
            assert_eq!(text, params["arguments"]["code"].as_str(), "{answer}");
        }
        Some("resources/read") => assert_eq!(result["contents"][0]["uri"], params["uri"]),
        Some("completion/complete") => {
            let known = params["context"]["arguments"]["language"].as_str();
            let values = [params["argument"]["value"].as_str(), known];
            assert_eq!(
                result["completion"]["values"],
                json!(values.map(Option::unwrap_or_default))
            );
        }
        Some("server/discover") => assert_eq!(result["supportedVersions"], json!(["2026-07-28"])),
        Some(list) => {
            let key = match list {
                "resources/templates/list" => "resourceTemplates",
                list => list.trim_end_matches("/list"),
            };
            assert!(result[key].is_array(), "{answer}");
        }
        None => panic!("{} has a method", example.file),
    }
}

/// A server with what a request names.
fn serving(request: &Value) -> Server {
    let params = &request["params"];
    match request["method"].as_str() {
        Some("tools/call") => {
            let echo = |call: Call<'_>, reply: Reply<'_>| {
                let arguments: Value = call.parse().expect("arguments are JSON");
                reply.structured(&arguments);
            };
            server().tool(Tool::new(must(&params["name"]), echo))
        }
        Some("prompts/get") => {
            let prompt = Prompt::new(must(&params["name"]), |prompt, reply| {
                reply.user_text(prompt.argument("code").unwrap_or_default());
            });
            let arguments = members(&params["arguments"]);
            server().prompt(arguments.fold(prompt, |prompt, (name, _)| prompt.required(name, "")))
        }
        Some("resources/read") => {
            let resource = Resource::new(must(&params["uri"]), "it", |_, reply| reply.text("read"));
            server().resource(resource)
        }
        Some("completion/complete") => {
            let argument = must(&params["argument"]["name"]);
            let prompt = Prompt::new(must(&params["ref"]["name"]), |_, reply| reply.user_text(""));
            let prompt = prompt
                .optional(&argument, "")
                .complete(argument, |complete| {
                    let known = complete.argument("language").unwrap_or_default();
                    Completion::new([complete.value(), known])
                });
            server().prompt(prompt)
        }
        _ => server(),
    }
}

/// A cursor of the server's goes on where it stopped; that of the example is nobody's.
pub(super) fn page(example: &Example) {
    let tool = |name: &str| Tool::new(name, |_: Call<'_>, reply: Reply<'_>| reply.text(""));
    let mut pair = Pair::new(server().page_size(1).tool(tool("last")));
    let answer = pair.ask(&modern(1, "tools/list", example.value.clone()));
    let refusal = refusal(&answer);
    assert_eq!(refusal.code, -32602);
    assert!(refusal.message.contains("cursor"), "{answer}");
    let first = pair.ask(&modern(2, "tools/list", json!({})));
    let mut params = example.value.clone();
    params["cursor"] = first["result"]["nextCursor"].clone();
    let second = pair.ask(&modern(3, "tools/list", params));
    assert_eq!(second["result"]["tools"][0]["name"], "boom");
}

/// A subscription is acknowledged as it was asked for.
pub(super) fn listen(example: &Example) {
    let mut server = server();
    let _handle = server.handle();
    let answer = Pair::new(server).ask(&example.value.to_string());
    let params = &answer["params"];
    assert_eq!(answer["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        params["notifications"],
        example.value["params"]["notifications"]
    );
}

/// A cancelled call is never answered.
pub(super) fn cancelled(example: &Example) {
    let held = Held::default();
    let mut pair = Pair::new(server().tool(held.tool()));
    let (notification, id) = match example.value.get("params") {
        Some(params) => (example.value.clone(), params["requestId"].clone()),
        None => {
            let params = &example.value;
            let method = "notifications/cancelled";
            let notification = json!({ "jsonrpc": "2.0", "method": method, "params": params });
            (notification, params["requestId"].clone())
        }
    };
    assert_eq!(
        pair.send(&call(id, "hold", &json!({}))),
        Vec::<Value>::new()
    );
    let ticket = held.next();
    assert!(!ticket.is_cancelled());
    assert_eq!(pair.send(&notification.to_string()), Vec::<Value>::new());
    assert!(ticket.is_cancelled());
    ticket.answer(|reply| reply.text("too late"));
    assert_eq!(pair.poll(), Vec::<Value>::new());
}
