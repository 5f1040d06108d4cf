//! [`Conversation`]: with an example, in one revision.

use std::time::Duration;

use serde_json::{Value, json};
use tightwire_tests::{Script, legacy, modern, modern_meta};

/// The program of an example.
macro_rules! example {
    ($name:literal) => {
        env!(concat!("CARGO_BIN_EXE_", $name))
    };
}
pub(crate) use example;

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// A conversation with an example, which is a process.
pub(crate) struct Conversation {
    pub(crate) version: &'static str,
    script: Script,
    capabilities: Value,
    id: u64,
}

impl Conversation {
    /// Starts a program.
    pub(crate) fn start(program: &str, version: &'static str) -> Self {
        Self::with(program, version, json!({}))
    }

    /// Starts it, twice: to speak with it in each era.
    pub(crate) fn each(program: &str) -> impl Iterator<Item = Self> {
        Self::each_with(program, json!({}))
    }

    /// The same as a client with these capabilities.
    pub(crate) fn each_with(program: &str, capabilities: Value) -> impl Iterator<Item = Self> {
        [MODERN, LEGACY]
            .into_iter()
            .map(move |version| Self::with(program, version, capabilities.clone()))
    }

    fn with(program: &str, version: &'static str, capabilities: Value) -> Self {
        Self::over(Script::start(program), version, capabilities)
    }

    /// Speaks with a process.
    pub(crate) fn over(script: Script, version: &'static str, capabilities: Value) -> Self {
        let mut conversation = Self {
            version,
            script,
            capabilities,
            id: 0,
        };
        if version != MODERN {
            let client = json!({ "name": "tests", "version": "1" });
            let params = json!({
                "protocolVersion": version,
                "capabilities": conversation.capabilities,
                "clientInfo": client,
            });
            let answer = conversation.ask("initialize", params);
            assert_eq!(answer["result"]["protocolVersion"], version);
            conversation.notify("notifications/initialized", &json!({}));
        }
        conversation
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.version == MODERN
    }

    /// Sends a request. Its id.
    pub(crate) fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.id += 1;
        let line = if self.is_modern() {
            let mut meta = modern_meta();
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            for (key, value) in params["_meta"].as_object().into_iter().flatten() {
                meta[key] = value.clone();
            }
            params["_meta"] = meta;
            modern(self.id, method, params)
        } else {
            legacy(self.id, method, &params)
        };
        self.script.send(&line);
        self.id
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        let line = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.script.send(&line.to_string());
    }

    /// The next message.
    pub(crate) fn receive(&mut self) -> Value {
        self.script.receive()
    }

    /// The next message that is no notification.
    pub(crate) fn receive_answer(&mut self) -> Value {
        loop {
            let message = self.receive();
            if message.get("id").is_some() {
                return message;
            }
        }
    }

    /// Sends a request, and gives the answer to it.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The result of a request, without what every modern result has.
    #[track_caller]
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        result(answer)
    }

    /// The items of a list.
    #[track_caller]
    pub(crate) fn list(&mut self, method: &str, key: &str) -> Value {
        self.result(method, json!({}))[key].take()
    }

    /// The result of a call of a tool.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.result(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    /// The text that a tool answers with.
    #[track_caller]
    pub(crate) fn text(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result.get("isError"), None, "{result}");
        text(&result)
    }

    /// The text of the error that a tool answers with.
    #[track_caller]
    pub(crate) fn tool_error(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        text(&result)
    }

    /// Calls a tool that asks the client for one thing, and answers. What was asked for, and the
    /// text of the tool in the end.
    #[track_caller]
    pub(crate) fn asked(&mut self, tool: &str, arguments: Value, answer: Value) -> (Value, String) {
        let mut params = json!({ "name": tool, "arguments": arguments });
        self.send("tools/call", params.clone());
        let mut first = self.receive();
        let (asked, last) = if self.is_modern() {
            let mut result = first["result"].take();
            assert_eq!(result["resultType"], "input_required", "{result}");
            let requests = result["inputRequests"].as_object().expect("what is asked");
            let (key, asked) = requests.iter().next().expect("one thing is asked");
            let asked = asked.clone();
            params["inputResponses"] = json!({ key: answer });
            if let Some(state) = result.get_mut("requestState") {
                params["requestState"] = state.take();
            }
            (asked, self.ask("tools/call", params))
        } else {
            let asked = json!({ "method": first["method"], "params": first["params"] });
            let response = json!({ "jsonrpc": "2.0", "id": first["id"], "result": answer });
            self.script.send(&response.to_string());
            (asked, self.receive())
        };
        (asked, text(&result(last)))
    }

    /// Whether nothing comes for a while.
    pub(crate) fn is_silent(&self) -> bool {
        self.script.is_silent_for(Duration::from_millis(50))
    }

    /// The next line of stderr.
    pub(crate) fn next_error(&mut self) -> String {
        self.script.next_error()
    }

    /// Closes stdin and waits for the end, which must be a good one. What is left of stderr.
    #[track_caller]
    pub(crate) fn end(self) -> Vec<String> {
        let exit = self.script.finish();
        assert_eq!(exit.status.code(), Some(0), "{:?}", exit.stderr);
        assert_eq!(exit.answers, Vec::<Value>::new());
        exit.stderr
    }
}

/// The result in an answer, without what every modern result has.
#[track_caller]
pub(crate) fn result(mut answer: Value) -> Value {
    let mut result = answer["result"].take();
    let members = result.as_object_mut();
    let members = members.unwrap_or_else(|| panic!("no result: {answer}"));
    if let Some(kind) = members.remove("resultType") {
        assert_eq!(kind, "complete");
        members.remove("_meta");
    }
    result
}

/// The first text of a result.
#[track_caller]
pub(crate) fn text(result: &Value) -> String {
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {result}"))
        .to_owned()
}
