//! Notifications of a server's.

use serde_json::{Value, json};
use tightwire::{Call, Content, LogLevel, Prompt, Reply, Resource, Server, Tool};
use tightwire_tests::{Pair, SUBSCRIPTION_ID, listen, modern, modern_meta};

use super::{
    Example,
    build::{must, text},
};

/// The notification that an example is, or whose parameters it is.
fn is(example: &Example, notification: &Value) {
    match example.value.get("method") {
        Some(_) => example.is(notification),
        None => example.is(&notification["params"]),
    }
}

fn params(example: &Example) -> Value {
    let params = example.value.get("params");
    params.unwrap_or(&example.value).clone()
}

/// Sends a call with this in its `_meta`, and gives what was told before the answer.
fn told(server: Server, key: &str, value: Value) -> Value {
    let mut meta = modern_meta();
    meta[key] = value;
    let params = json!({ "name": "it", "_meta": meta });
    let mut lines = Pair::new(server).send(&modern(1, "tools/call", params));
    assert_eq!(lines.len(), 2, "{lines:?}");
    lines.remove(0)
}

/// How far a call is.
pub(super) fn progress(example: &Example) {
    let params = params(example);
    let token = params["progressToken"].clone();
    let tool = Tool::new("it", move |call: Call<'_>, reply: Reply<'_>| {
        let number = |name: &str| params[name].as_f64();
        let message = params["message"].as_str();
        let progress = number("progress").expect("it is a number");
        call.context().progress(progress, number("total"), message);
        reply.text("");
    });
    is(
        example,
        &told(Server::new("s", "1").tool(tool), "progressToken", token),
    );
}

/// A log message.
pub(super) fn message(example: &Example) {
    let params = params(example);
    let level = params["level"].clone();
    assert_eq!(level, "error");
    let tool = Tool::new("it", move |call: Call<'_>, reply: Reply<'_>| {
        let logger = params["logger"].as_str();
        call.context().log(LogLevel::Error, logger, &params["data"]);
        reply.text("");
    });
    let server = Server::new("s", "1").logging().tool(tool);
    is(
        example,
        &told(server, "io.modelcontextprotocol/logLevel", level),
    );
}

/// That something changed, to a client that listens to all there is.
pub(super) fn changed(example: &Example) {
    let params = params(example);
    let mut server = Server::new("s", "1");
    let handle = server.handle();
    let mut pair = Pair::new(server);
    let id = text(&params["_meta"][SUBSCRIPTION_ID]).unwrap_or_else(|| "listen-1".to_owned());
    let uri = text(&params["uri"]);
    let filter = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": [uri.as_deref().unwrap_or("other:")],
    });
    assert_eq!(pair.send(&listen(id, &filter)).len(), 1);
    let tool = |_: Call<'_>, reply: Reply<'_>| reply.contents(&[Content::text("")]);
    let done = match example.folder.as_str() {
        "ToolListChangedNotification" => handle.add_tool(Tool::new("it", tool)),
        "PromptListChangedNotification" => {
            handle.add_prompt(Prompt::new("it", |_, reply| reply.user_text("")))
        }
        "ResourceListChangedNotification" => {
            handle.add_resource(Resource::new("it:", "it", |_, reply| reply.text("")))
        }
        _ => {
            handle.resource_updated(uri.as_deref().expect("it has a URI"));
            Ok(())
        }
    };
    done.expect("it is served");
    let mut notification = pair.wait();
    if example.folder.ends_with("Params") {
        // Parameters of a subscription name it.
        let params = notification["params"].as_object_mut();
        params.map(|params| params.remove("_meta"));
    }
    is(example, &notification);
}

/// That a subscription began.
pub(super) fn acknowledged(example: &Example) {
    let params = &example.value["params"];
    let mut server = Server::new("s", "1");
    let _handle = server.handle();
    let id = must(&params["_meta"][SUBSCRIPTION_ID]);
    example.is(&Pair::new(server).ask(&listen(id, &params["notifications"])));
}

/// That a subscription is over, since the server ends.
pub(super) fn closed(example: &Example) {
    let mut server = Server::new("s", "1");
    let _handle = server.handle();
    let mut pair = Pair::new(server);
    let expected = example.value.get("result").unwrap_or(&example.value);
    let id = must(&expected["_meta"][SUBSCRIPTION_ID]);
    pair.ask(&listen(id, &json!({ "toolsListChanged": true })));
    let mut out = Vec::new();
    pair.memory().connection().handle_end(&mut out);
    let lines = String::from_utf8(out).expect("output is UTF-8");
    let last = lines.lines().last().expect("it says so");
    let mut answer: Value = serde_json::from_str(last).expect("a line is JSON");
    let meta = answer["result"]["_meta"].as_object_mut();
    meta.map(|meta| meta.remove("io.modelcontextprotocol/serverInfo"));
    match example.value.get("result") {
        Some(_) => example.is(&answer),
        None => example.is(&answer["result"]),
    }
}
