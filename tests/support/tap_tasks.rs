//! [`ToldTasks`]: what a server tells of its tasks is a task, and does not contradict itself.
//!
//! Specification: extension `io.modelcontextprotocol/tasks`. Its schema is not among those of the
//! revisions, so what it asks for is written down here.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::{schemas::Schemas, tap::LATEST};

pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// What is known of the tasks that were told of, by their ids.
#[derive(Debug, Default)]
pub(crate) struct ToldTasks(HashMap<String, Told>);

#[derive(Debug)]
struct Told {
    created: String,
    /// The status and what it came with, once that is the end.
    end: Option<Value>,
    /// What was asked, by its key.
    requests: HashMap<String, Value>,
}

impl ToldTasks {
    /// Checks a `CreateTaskResult`.
    ///
    /// # Panics
    ///
    /// If it is none.
    #[track_caller]
    pub(crate) fn check_created(&mut self, result: &Value, message: &Value) {
        let is_new = !self.0.contains_key(text(result, "taskId", message));
        assert!(is_new, "the id of another task: {message}");
        for name in ["inputRequests", "result", "error"] {
            assert_eq!(result.get(name), None, "{name}: {message}");
        }
        self.note(result, message);
        // A task may have ended by then, which is told without what it came to.
        let id = text(result, "taskId", message);
        self.0.get_mut(id).expect("it was noted just now").end = None;
    }

    /// Checks a `DetailedTask`.
    ///
    /// # Panics
    ///
    /// If it is none, or if something else was told of the task before.
    #[track_caller]
    pub(crate) fn check(&mut self, task: &Value, message: &Value) {
        let comes_with = match text(task, "status", message) {
            "input_required" => Some("inputRequests"),
            "completed" => Some("result"),
            "failed" => Some("error"),
            _ => None,
        };
        for name in ["inputRequests", "result", "error"] {
            let is_object = task.get(name).map(Value::is_object);
            let expected = (comes_with == Some(name)).then_some(true);
            assert_eq!(is_object, expected, "{name}: {message}");
        }
        if let Some(error) = task.get("error") {
            assert!(error["code"].is_i64(), "error.code: {message}");
            text(error, "message", message);
        }
        for (key, request) in members(task, "inputRequests") {
            let method = text(request, "method", message);
            let definition = match method {
                "elicitation/create" => "ElicitRequest",
                "sampling/createMessage" => "CreateMessageRequest",
                "roots/list" => "ListRootsRequest",
                _ => panic!("{key}: {method} asks a client for nothing: {message}"),
            };
            if let Some(schemas) = Schemas::get() {
                schemas.check(LATEST, definition, request);
            }
        }
        if let (Some(result), Some(schemas)) = (task.get("result"), Schemas::get()) {
            schemas.check(LATEST, "CallToolResult", result);
        }
        self.note(task, message);
    }

    /// Checks a result that says no more than that something was done.
    ///
    /// # Panics
    ///
    /// If it says more.
    #[track_caller]
    pub(crate) fn check_empty(result: &Value, message: &Value) {
        let all = result.as_object().into_iter().flatten();
        let mut others = all.filter(|(name, _)| !["resultType", "_meta"].contains(&name.as_str()));
        assert_eq!(others.next(), None, "{message}");
    }

    /// Checks the members of a `Task`, and compares them with what was told before.
    #[track_caller]
    fn note(&mut self, task: &Value, message: &Value) {
        let status = text(task, "status", message);
        let is_end = match status {
            "working" | "input_required" => false,
            "completed" | "failed" | "cancelled" => true,
            _ => panic!("status: {message}"),
        };
        if task.get("statusMessage").is_some() {
            text(task, "statusMessage", message);
        }
        let created = moment(task, "createdAt", message);
        let updated = moment(task, "lastUpdatedAt", message);
        assert!(created <= updated, "changed before it was made: {message}");
        let ttl = task.get("ttlMs").expect("there is a ttlMs");
        assert!(ttl.is_null() || ttl.is_u64(), "ttlMs: {message}");
        let interval = task.get("pollIntervalMs");
        assert!(
            interval.is_none_or(Value::is_u64),
            "pollIntervalMs: {message}"
        );
        let id = text(task, "taskId", message);
        let told = self.0.entry(id.to_owned()).or_insert_with(|| Told {
            created: created.to_owned(),
            end: None,
            requests: HashMap::new(),
        });
        assert_eq!(
            told.created, created,
            "it was made at another time: {message}"
        );
        let now = Value::from_iter(
            ["status", "result", "error"].map(|name| (name, task.get(name).cloned())),
        );
        if let Some(end) = &told.end {
            assert_eq!(*end, now, "it had ended otherwise: {message}");
        }
        told.end = is_end.then_some(now);
        for (key, request) in members(task, "inputRequests") {
            let same = told.requests.entry(key.clone()).or_insert(request.clone());
            assert_eq!(same, request, "{key} was another request: {message}");
        }
    }
}

#[track_caller]
fn text<'a>(object: &'a Value, name: &str, message: &Value) -> &'a str {
    let text = object.get(name).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("{name} must be a text: {message}"))
}

/// A moment as ISO 8601 has it: in UTC, to the millisecond, as the server writes them, so that they
/// compare as texts.
#[track_caller]
fn moment<'a>(task: &'a Value, name: &str, message: &Value) -> &'a str {
    let moment = text(task, name, message);
    let digits = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let shape: String = moment.chars().map(digits).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{name}: {message}");
    moment
}

fn members<'a>(task: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let members = task.get(name).and_then(Value::as_object);
    members.into_iter().flat_map(Map::iter)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn task(status: &str, more: &Value) -> Value {
        let moment = "2026-07-28T00:00:00.000Z";
        let mut task = json!({
            "taskId": "a", "status": status, "createdAt": moment, "lastUpdatedAt": moment,
            "ttlMs": 1, "pollIntervalMs": 1,
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            task[name] = value.clone();
        }
        task
    }

    fn is_taken(tasks: &[Value]) -> bool {
        let tasks = tasks.to_vec();
        std::panic::catch_unwind(move || {
            let mut told = ToldTasks::default();
            tasks.iter().for_each(|task| told.check(task, task));
        })
        .is_ok()
    }

    #[test]
    fn what_is_no_task_is_found() {
        let error = json!({ "error": { "code": -1, "message": "" } });
        let roots = json!({ "inputRequests": { "k": { "method": "roots/list" } } });
        for (is_good, task) in [
            (true, task("working", &json!({}))),
            (
                true,
                task("working", &json!({ "ttlMs": null, "statusMessage": "" })),
            ),
            (true, task("failed", &error)),
            (true, task("input_required", &roots)),
            (true, task("cancelled", &json!({}))),
            (false, task("other", &json!({}))),
            (false, task("working", &json!({ "ttlMs": -1 }))),
            (false, task("working", &json!({ "pollIntervalMs": "1" }))),
            (false, task("working", &json!({ "createdAt": "today" }))),
            (
                false,
                task(
                    "working",
                    &json!({ "createdAt": "2027-07-28T00:00:00.000Z" }),
                ),
            ),
            (false, task("working", &json!({ "taskId": 1 }))),
            (false, task("working", &error)),
            (false, task("failed", &json!({}))),
            (
                false,
                task(
                    "failed",
                    &json!({ "error": { "code": "-1", "message": "" } }),
                ),
            ),
            (false, task("input_required", &json!({}))),
            (
                false,
                task(
                    "input_required",
                    &json!({ "inputRequests": { "k": { "method": "ping" } } }),
                ),
            ),
            (false, task("completed", &json!({ "result": [] }))),
        ] {
            assert_eq!(is_taken(std::slice::from_ref(&task)), is_good, "{task}");
        }
    }

    #[test]
    fn what_contradicts_what_was_told_before_is_found() {
        let working = task("working", &json!({}));
        let cancelled = task("cancelled", &json!({}));
        let asks = |cursor: &str| {
            let request = json!({ "method": "roots/list", "params": { "x": cursor } });
            task(
                "input_required",
                &json!({ "inputRequests": { "k": request } }),
            )
        };
        let moment = "2026-07-27T00:00:00.000Z";
        let older = task("working", &json!({ "createdAt": moment }));
        for (is_good, tasks) in [
            (true, [working.clone(), cancelled.clone()]),
            (true, [cancelled.clone(), cancelled.clone()]),
            (true, [asks("a"), asks("a")]),
            (false, [cancelled, working.clone()]),
            (false, [asks("a"), asks("b")]),
            (false, [working, older]),
        ] {
            assert_eq!(is_taken(&tasks), is_good, "{tasks:?}");
        }
    }
}
