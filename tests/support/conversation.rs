//! [`Conversation`]: with a server process, in one revision.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{REVISIONS, Script, legacy, modern, modern_meta};

/// A conversation with a server process, in one revision.
#[derive(Debug)]
pub struct Conversation {
    /// The revision.
    pub version: &'static str,
    script: Script,
    capabilities: Value,
    id: u64,
}

impl Conversation {
    /// The newest revision.
    pub const MODERN: &str = REVISIONS[4];
    /// The newest one that begins with a handshake.
    pub const LEGACY: &str = REVISIONS[3];

    /// Starts a program.
    ///
    /// # Panics
    ///
    /// If it cannot be started, or does not serve the revision.
    #[must_use]
    pub fn start(program: &str, version: &'static str) -> Self {
        Self::with(program, version, json!({}))
    }

    /// Starts it, twice: to speak with it in each era.
    ///
    /// # Panics
    ///
    /// As [`Conversation::start`].
    pub fn each(program: &str) -> impl Iterator<Item = Self> {
        Self::each_with(program, json!({}))
    }

    /// The same as a client with these capabilities.
    ///
    /// # Panics
    ///
    /// As [`Conversation::start`].
    pub fn each_with(program: &str, capabilities: Value) -> impl Iterator<Item = Self> {
        [Self::MODERN, Self::LEGACY]
            .into_iter()
            .map(move |version| Self::with(program, version, capabilities.clone()))
    }

    fn with(program: &str, version: &'static str, capabilities: Value) -> Self {
        Self::over(Script::start(program), version, capabilities)
    }

    /// Speaks with a process.
    ///
    /// # Panics
    ///
    /// If it does not serve the revision.
    #[must_use]
    pub fn over(script: Script, version: &'static str, capabilities: Value) -> Self {
        let mut conversation = Self {
            version,
            script,
            capabilities,
            id: 0,
        };
        if version != Self::MODERN {
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

    /// Whether the revision is the newest.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        self.version == Self::MODERN
    }

    /// Sends a request. Its id.
    ///
    /// # Panics
    ///
    /// If the server does not read.
    pub fn send(&mut self, method: &str, mut params: Value) -> u64 {
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
    ///
    /// # Panics
    ///
    /// If the server does not read.
    pub fn notify(&mut self, method: &str, params: &Value) {
        let line = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.script.send(&line.to_string());
    }

    /// Answers a request of the server's.
    ///
    /// # Panics
    ///
    /// If the server does not read.
    pub fn answer(&mut self, id: &Value, result: &Value) {
        let response = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        self.script.send(&response.to_string());
    }

    /// The next message.
    ///
    /// # Panics
    ///
    /// If none comes.
    pub fn receive(&mut self) -> Value {
        self.script.receive()
    }

    /// The next message that is no notification.
    ///
    /// # Panics
    ///
    /// If none comes.
    pub fn receive_answer(&mut self) -> Value {
        loop {
            let message = self.receive();
            if message.get("id").is_some() {
                return message;
            }
        }
    }

    /// Sends a request, and gives the answer to it.
    ///
    /// # Panics
    ///
    /// If something else comes.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The result of a request, without what every modern result has.
    ///
    /// # Panics
    ///
    /// If it is an error.
    #[track_caller]
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        Self::result_of(answer)
    }

    /// The items of a list.
    ///
    /// # Panics
    ///
    /// If the answer is an error.
    #[track_caller]
    pub fn list(&mut self, method: &str, key: &str) -> Value {
        self.result(method, json!({}))[key].take()
    }

    /// The result of a call of a tool.
    ///
    /// # Panics
    ///
    /// If the answer is an error.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut params = json!({ "name": tool });
        params["arguments"] = arguments;
        self.result("tools/call", params)
    }

    /// The text that a tool answers with.
    ///
    /// # Panics
    ///
    /// If it fails.
    #[track_caller]
    pub fn text(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result.get("isError"), None, "{result}");
        Self::text_of(&result)
    }

    /// The text of the error that a tool answers with.
    ///
    /// # Panics
    ///
    /// If it does not fail.
    #[track_caller]
    pub fn tool_error(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        Self::text_of(&result)
    }

    /// Calls a tool that asks the client for one thing, and answers. What was asked for, and the
    /// text of the tool in the end.
    ///
    /// # Panics
    ///
    /// If it does not ask.
    #[track_caller]
    pub fn asked(&mut self, tool: &str, arguments: Value, answer: Value) -> (Value, String) {
        let mut params = json!({ "name": tool });
        params["arguments"] = arguments;
        self.send("tools/call", params.clone());
        let mut first = self.receive();
        let (asked, last) = if self.is_modern() {
            let mut result = first["result"].take();
            assert_eq!(result["resultType"], "input_required", "{result}");
            let requests = result["inputRequests"].as_object().expect("it asks");
            let (key, asked) = requests.iter().next().expect("one thing is asked");
            let asked = asked.clone();
            params["inputResponses"][key] = answer;
            if let Some(state) = result.get_mut("requestState") {
                params["requestState"] = state.take();
            }
            (asked, self.ask("tools/call", params))
        } else {
            let asked = json!({ "method": first["method"], "params": first["params"] });
            self.answer(&first["id"], &answer);
            (asked, self.receive())
        };
        (asked, Self::text_of(&Self::result_of(last)))
    }

    /// Whether nothing comes for a while.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.script.is_silent_for(Duration::from_millis(50))
    }

    /// The next line of stderr.
    ///
    /// # Panics
    ///
    /// If none comes.
    pub fn next_error(&mut self) -> String {
        self.script.next_error()
    }

    /// Closes stdin and waits for the end, which must be a good one. What is left of stderr.
    ///
    /// # Panics
    ///
    /// If it is not, or if there is an answer that nobody waited for.
    #[track_caller]
    pub fn end(self) -> Vec<String> {
        let exit = self.script.finish();
        assert_eq!(exit.status.code(), Some(0), "{:?}", exit.stderr);
        assert_eq!(exit.answers, Vec::<Value>::new());
        exit.stderr
    }

    /// The result in an answer, without what every modern result has.
    ///
    /// # Panics
    ///
    /// If there is none, or if it is not complete.
    #[must_use]
    #[track_caller]
    pub fn result_of(mut answer: Value) -> Value {
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
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    #[track_caller]
    pub fn text_of(result: &Value) -> String {
        let text = result["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text: {result}"))
            .to_owned()
    }
}
