//! What clients and servers say they can do.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tightwire::{Call, ClientCapabilities, Prompt, Reply, Resource, Server, TaskSupport, Tool};
use tightwire_tests::{Pair, modern, modern_meta};

use super::{Example, build::members};

/// A handler learns them by name.
pub(super) fn of_clients(example: &Example) {
    let seen = Arc::new(Mutex::new(None));
    let learnt = Arc::clone(&seen);
    let tool = Tool::new("look", move |call: Call<'_>, reply: Reply<'_>| {
        let context = call.context();
        let ui = context.client_extension("io.modelcontextprotocol/ui");
        let types = ui.and_then(|ui| ui.find("mimeTypes")?.deserialize::<Value>().ok());
        *learnt.lock().expect("nobody panics") = Some((context.capabilities(), types));
        reply.text("seen");
    });
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = example.value.clone();
    let params = json!({ "name": "look", "_meta": meta });
    let mut pair = Pair::new(Server::new("s", "1").tool(tool));
    let answer = pair.ask(&modern(1, "tools/call", params));
    assert_eq!(answer["result"]["content"][0]["text"], "seen", "{answer}");

    let has = |path: &str| example.value.pointer(path).is_some_and(Value::is_object);
    let mut expected = ClientCapabilities::default();
    // No mode at all means forms.
    expected.elicitation_form =
        has("/elicitation/form") || (has("/elicitation") && !has("/elicitation/url"));
    expected.elicitation_url = has("/elicitation/url");
    expected.sampling = has("/sampling");
    expected.sampling_tools = has("/sampling/tools");
    expected.sampling_context = has("/sampling/context");
    expected.roots = has("/roots");
    let types = example
        .value
        .pointer("/extensions/io.modelcontextprotocol~1ui/mimeTypes");
    let seen = seen.lock().expect("nobody panics").take();
    assert_eq!(seen, Some((expected, types.cloned())), "{}", example.file);
}

/// A server declares each as the example does, once it has what it is for.
pub(super) fn of_servers(example: &Example) {
    let tool = || Tool::new("it", |_: Call<'_>, reply: Reply<'_>| reply.text(""));
    for (name, expected) in members(&example.value) {
        let mut server = Server::new("s", "1");
        let changes = expected.get("listChanged").is_some() || expected.get("subscribe").is_some();
        let handle = changes.then(|| server.handle());
        let server = match name.as_str() {
            "tools" => server.tool(tool()),
            "prompts" => server.prompt(Prompt::new("it", |_, reply| reply.user_text(""))),
            "resources" => server.resource(Resource::new("it:", "it", |_, reply| reply.text(""))),
            "completions" => {
                let prompt = Prompt::new("it", |_, reply| reply.user_text("")).optional("x", "");
                server.prompt(prompt.complete("x", |complete| complete.among(["y"])))
            }
            "logging" => server.logging(),
            "extensions" => server.tool(tool().task(TaskSupport::Optional)),
            other => panic!("{other} is declared by nothing"),
        };
        let answer = Pair::new(server).ask(&modern(1, "server/discover", json!({})));
        example.shows(expected, &answer["result"]["capabilities"][name]);
        drop(handle);
    }
}
