//! [`Tap`]: what a server writes answers what it was asked, once, and is valid in its revision.
//!
//! Where the specification's [schemas](crate::schemas) are not there, all but that is checked.

use std::collections::HashMap;

use serde_json::Value;

use crate::{
    schemas::{
        Schemas, message_definition, response_definition, result_definition, task_definition,
    },
    tap_tasks::{TASKS_EXTENSION, ToldTasks},
};

pub(crate) const LATEST: &str = "2026-07-28";
/// What is asked before there is a session is answered in.
pub(crate) const LATEST_LEGACY: &str = "2025-11-25";
/// The one revision that has tasks in its schema.
const TASKS: &str = "2025-11-25";
const PREFIX: &str = "io.modelcontextprotocol/";

/// Follows a conversation, and checks each line of the server's.
#[derive(Debug, Default)]
pub struct Tap {
    session: Option<String>,
    /// What was asked under each id and has no answer, oldest first.
    asked: HashMap<String, Vec<Asked>>,
    /// The start of a line of the client's: at its end, the last line.
    unfinished: Vec<u8>,
    /// Whether there was a line.
    is_open: bool,
    /// How many messages of the client's are none, and may be refused under any id.
    unreadable: usize,
    /// How many are deeper than can be read here, and may be answered under any id.
    too_deep: usize,
    tasks: ToldTasks,
}

#[derive(Debug)]
struct Asked {
    revision: String,
    method: String,
    /// Whether the client declares that it knows tasks.
    knows_tasks: bool,
    /// Whether it does not want the answer any more.
    is_cancelled: bool,
}

impl Tap {
    /// Takes a line of the client's, without its newline.
    pub fn sent(&mut self, line: &[u8]) {
        self.sent_bytes(line);
        self.sent_bytes(b"\n");
    }

    /// Takes bytes of the client's.
    pub fn sent_bytes(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.unfinished.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.unfinished);
                self.sent_line(&line);
            }
        }
    }

    fn sent_line(&mut self, mut line: &[u8]) {
        const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
        if !std::mem::replace(&mut self.is_open, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.trim_ascii().is_empty() {
            return;
        }
        match serde_json::from_slice(line) {
            Ok(Value::Array(messages)) if !messages.is_empty() => {
                messages
                    .iter()
                    .for_each(|message| self.sent_message(message));
            }
            Ok(message) => self.sent_message(&message),
            Err(error) if error.to_string().contains("recursion limit") => self.too_deep += 1,
            Err(_) => self.unreadable += 1,
        }
    }

    fn sent_message(&mut self, message: &Value) {
        let id = message.get("id").map(Value::to_string);
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            let is_response = message.get("result").or(message.get("error")).is_some();
            self.unreadable += usize::from(!is_response);
            return;
        };
        let params = &message["params"];
        let Some(id) = id else {
            if method == "notifications/cancelled" {
                let asked = self.asked.get_mut(&params["requestId"].to_string());
                for asked in asked.into_iter().flatten() {
                    asked.is_cancelled = true;
                }
            }
            return;
        };
        let revision = match &self.session {
            _ if is_modern(message) => LATEST,
            Some(session) => session,
            None => LATEST_LEGACY,
        };
        let capabilities = &params["_meta"][format!("{PREFIX}clientCapabilities")];
        let asked = Asked {
            revision: revision.to_owned(),
            method: method.to_owned(),
            knows_tasks: capabilities["extensions"].get(TASKS_EXTENSION).is_some(),
            is_cancelled: false,
        };
        let same = self.asked.entry(id).or_default();
        same.retain(|asked| !asked.is_cancelled);
        same.push(asked);
    }

    /// Takes a line of the server's.
    ///
    /// # Panics
    ///
    /// If it answers what was not asked, or was answered already. If it is not valid in its revision.
    #[track_caller]
    pub fn received(&mut self, line: &Value) {
        let messages = line
            .as_array()
            .map_or(std::slice::from_ref(line), |messages| messages);
        for message in messages {
            if let Some(method) = message.get("method").and_then(Value::as_str) {
                self.check_told(method, message);
            } else if let Some(result) = message.get("result") {
                self.check_result(message, result);
            } else {
                self.check_error(message);
            }
        }
    }

    /// Checks a notification, or a request to the client.
    #[track_caller]
    fn check_told(&mut self, method: &str, message: &Value) {
        let subscription = format!("{PREFIX}subscriptionId");
        let is_of_subscription = message["params"]["_meta"].get(subscription).is_some();
        let revision = if is_of_subscription {
            LATEST
        } else {
            self.revision()
        };
        if message.get("id").is_some() {
            assert_ne!(revision, LATEST, "clients are sent no requests: {message}");
        }
        if method == "notifications/tasks" {
            assert!(is_of_subscription, "nobody subscribed to it: {message}");
            return self.tasks.check(&message["params"], message);
        }
        let definition = message_definition(method);
        let definition = definition.unwrap_or_else(|| panic!("no message of servers: {message}"));
        if let Some(schemas) = Schemas::get() {
            schemas.check(revision, definition, message);
        }
    }

    #[track_caller]
    fn check_error(&mut self, message: &Value) {
        let asked = message.get("id").filter(|id| !id.is_null()).map(|id| {
            let asked = self.take_asked(id, true);
            if asked.is_none() {
                // What cannot be read here is read there as far as there is an id.
                let is_of_one = take_one(&mut self.unreadable) || take_one(&mut self.too_deep);
                assert!(is_of_one, "not asked: {message}");
            }
            asked
        });
        let revision = match asked.flatten() {
            Some(asked) => asked.revision,
            None => self.revision().to_owned(),
        };
        let Some(schemas) = Schemas::get() else {
            return;
        };
        schemas.check_error(&revision, message);
        let typed = match message["error"]["code"].as_i64() {
            Some(-32021) => "MissingRequiredClientCapabilityError",
            Some(-32022) => "UnsupportedProtocolVersionError",
            Some(-32042) => "URLElicitationRequiredError",
            _ => return,
        };
        schemas.check(&revision, typed, message);
    }

    #[track_caller]
    fn check_result(&mut self, message: &Value, result: &Value) {
        let Some(asked) = self.take_asked(&message["id"], false) else {
            let is_of_one = take_one(&mut self.too_deep);
            return assert!(is_of_one, "not asked, or answered already: {message}");
        };
        let method = asked.method.as_str();
        // The handshake is answered in the revision that it agrees on.
        let revision = if method == "initialize" {
            self.session = result["protocolVersion"].as_str().map(str::to_owned);
            self.revision().to_owned()
        } else {
            asked.revision.clone()
        };
        let definition = if revision == LATEST {
            self.modern_definition(&asked, message, result)
        } else {
            legacy_definition(&revision, method, message, result)
        };
        let Some(schemas) = Schemas::get() else {
            return;
        };
        schemas.check(&revision, response_definition(&revision), message);
        if let Some(definition) = definition {
            schemas.check(&revision, definition, result);
        }
    }

    /// What a result is to be, where the schema has a name for it. Those of tasks are checked.
    #[track_caller]
    fn modern_definition(
        &mut self,
        asked: &Asked,
        message: &Value,
        result: &Value,
    ) -> Option<&'static str> {
        let method = asked.method.as_str();
        let own = result_definition(method);
        match (result["resultType"].as_str(), method) {
            (Some("complete"), "tasks/get") => self.tasks.check(result, message),
            (Some("complete"), "tasks/update" | "tasks/cancel") => {
                ToldTasks::check_empty(result, message);
            }
            (Some("complete"), _) => return own,
            (Some("input_required"), "tools/call" | "prompts/get" | "resources/read") => {
                return Some("InputRequiredResult");
            }
            (Some("task"), "tools/call") => {
                assert!(asked.knows_tasks, "it knows no tasks: {message}");
                self.tasks.check_created(result, message);
            }
            // An extension's own method.
            (Some(_), method) if own.is_none() && !method.starts_with("tasks/") => {}
            _ => panic!("no such result of {method}: {message}"),
        }
        None
    }

    /// The request that a message answers: the oldest, but for an error, which may be that there is
    /// an older one.
    fn take_asked(&mut self, id: &Value, is_error: bool) -> Option<Asked> {
        let id = id.to_string();
        let is_asked = |tap: &Self| tap.asked.get(&id).is_some_and(|same| !same.is_empty());
        if !is_asked(self) && serde_json::from_slice::<Value>(&self.unfinished).is_ok() {
            // The last line needs no end.
            self.sent_bytes(b"\n");
        }
        let same = self.asked.get_mut(&id).filter(|same| !same.is_empty())?;
        let at = if is_error { same.len() - 1 } else { 0 };
        Some(same.remove(at))
    }

    fn revision(&self) -> &str {
        self.session.as_deref().unwrap_or(LATEST)
    }
}

/// Whether there was one, which is taken.
fn take_one(count: &mut usize) -> bool {
    let left = count.checked_sub(1);
    *count = left.unwrap_or_default();
    left.is_some()
}

/// What a result of a session is to be, where the schema has a name for it.
#[track_caller]
fn legacy_definition(
    revision: &str,
    method: &str,
    message: &Value,
    result: &Value,
) -> Option<&'static str> {
    let own = result_definition(method);
    let is_own = own.is_none() || result.get("resultType").is_none();
    assert!(is_own, "results have no types in sessions: {message}");
    if revision != TASKS {
        return own;
    }
    // A call that has become a task of the session.
    if method == "tools/call" && result.get("task").is_some() {
        return Some("CreateTaskResult");
    }
    task_definition(method).or(own)
}

fn is_modern(message: &Value) -> bool {
    let meta = message["params"]["_meta"].as_object();
    let has = |key: &str| meta.is_some_and(|meta| meta.contains_key(&format!("{PREFIX}{key}")));
    message["method"] == "server/discover"
        || [
            "protocolVersion",
            "clientCapabilities",
            "clientInfo",
            "logLevel",
        ]
        .into_iter()
        .any(has)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A tap that was asked to call a tool, under the id 1.
    fn asked() -> Tap {
        let mut tap = Tap::default();
        tap.sent(crate::call(1, "tool", &json!({})).as_bytes());
        tap
    }

    fn answer(id: u64, result: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "result": result })
    }

    fn complete() -> Value {
        json!({ "resultType": "complete", "content": [] })
    }

    #[test]
    fn what_was_asked_is_answered_once() {
        let mut tap = Tap::default();
        let line = crate::call(1, "tool", &json!({})) + "\n";
        let (start, end) = line.split_at(40);
        tap.sent_bytes(start.as_bytes());
        tap.sent_bytes(end.as_bytes());
        tap.sent(crate::cancelled(1).as_bytes());
        tap.sent(crate::call(1, "tool", &json!({})).as_bytes());
        tap.received(&answer(1, &complete()));
        assert!(tap.asked["1"].is_empty());
        // What is no message may be answered with what there is of its id.
        tap.sent(b"{\"id\":7,");
        tap.received(&json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": 1, "message": "" } }));
    }

    #[test]
    #[should_panic(expected = "answered already")]
    fn a_second_answer_is_found() {
        let mut tap = asked();
        tap.received(&answer(1, &complete()));
        tap.received(&answer(1, &complete()));
    }

    #[test]
    #[should_panic(expected = "not asked")]
    fn an_answer_to_nothing_is_found() {
        asked().received(&answer(2, &complete()));
    }

    #[test]
    #[should_panic(expected = "not asked")]
    fn an_error_for_nothing_is_found() {
        let error = json!({ "code": 1, "message": "" });
        asked().received(&json!({ "jsonrpc": "2.0", "id": 2, "error": error }));
    }

    #[test]
    #[should_panic(expected = "no such result")]
    fn an_unknown_type_of_result_is_found() {
        asked().received(&answer(1, &json!({ "resultType": "other", "content": [] })));
    }

    #[test]
    #[should_panic(expected = "it knows no tasks")]
    fn a_task_for_a_client_that_knows_none_is_found() {
        asked().received(&answer(1, &json!({ "resultType": "task" })));
    }

    #[test]
    #[should_panic(expected = "no message of servers")]
    fn an_unknown_notification_is_found() {
        asked().received(&json!({ "jsonrpc": "2.0", "method": "notifications/other" }));
    }

    #[test]
    #[should_panic(expected = "nobody subscribed to it")]
    fn a_notification_of_tasks_without_a_subscription_is_found() {
        asked().received(&json!({ "jsonrpc": "2.0", "method": "notifications/tasks" }));
    }
}
