//! A task: what a client sees of it, and what a store keeps.
//!
//! Specification: extension `io.modelcontextprotocol/tasks`, Tasks; 2025-11-25,
//! `basic/utilities/tasks`, Data Types.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tightwire_codec::JsonWriter;

use crate::protocol::{
    meta::RELATED_TASK,
    version::{Era, ProtocolVersion},
};

/// The name under which both peers declare that they know tasks.
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Which calls of a tool become tasks: see [`Tool::task`](crate::Tool::task).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskSupport {
    /// Those of clients that know tasks. Others get the answer itself, and so do these while there
    /// is no room for one more task: see [`Limits::tasks_max`](crate::Limits::tasks_max). In
    /// 2025-11-25, where the client decides, that is answered with -32603.
    Optional,
    /// All. A client that does not know tasks is refused, with -32021; one of 2025-11-25 that wants
    /// the answer itself, with -32601; any while there is no room for one more task, with -32603.
    Required,
}

impl TaskSupport {
    /// The name of it in a tool's `execution.taskSupport`, in 2025-11-25.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Optional => "optional",
            Self::Required => "required",
        }
    }
}

/// A task as it is kept: what the client sees of it, and what its function needs to be called
/// again.
///
/// See [`TaskStore`](crate::TaskStore). One that does not keep tasks in memory writes and reads them
/// with serde.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Who made the call, and who alone may ask for it. Empty where nobody is told apart; for a
    /// session of 2025-11-25, a name that no other session has.
    pub principal: String,
    /// The name of the tool.
    pub tool: String,
    /// What has become of the task.
    pub state: TaskState,
    /// What a person may be told about it.
    pub status_message: Option<String>,
    /// When the task was made, in milliseconds since 1970-01-01T00:00:00Z.
    pub created_unix_ms: u64,
    /// When the task changed last, likewise.
    pub updated_unix_ms: u64,
    /// How long the task lives from when it was made, in milliseconds. Once it has ended, a store may
    /// forget it before, to make room.
    pub ttl_ms: u64,
    /// How often the client should ask, in milliseconds.
    pub poll_interval_ms: u64,
    /// The call, a JSON object with `name`, `arguments` and `_meta`. Empty once the task has ended.
    pub request: Arc<str>,
    /// What the client has answered so far, each JSON under its key. Empty once the task has ended.
    pub answers: Vec<(String, Arc<str>)>,
    /// The state that the function keeps between its calls: see
    /// [`Context::keep`](crate::Context::keep).
    pub kept: Option<String>,
    /// The number of the connection that made the call, within its process: no two have the same.
    /// A store may share its room out by it.
    #[serde(default)]
    pub connection: u64,
}

/// What has become of a task.
///
/// ```text
///   Working ◀──▶ InputRequired
///      │               │
///      └───────┬───────┘
///              ▼
///   Completed, ToolError, Failed or Cancelled: the end
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskState {
    /// Its function runs, or waits to be run.
    Working,
    /// The client is to answer these requests, each JSON under its key.
    InputRequired(Vec<(String, Arc<str>)>),
    /// This is the result, a JSON object.
    Completed(Arc<str>),
    /// This is the result, a JSON object that tells of a tool execution error.
    ToolError(Arc<str>),
    /// This is the JSON-RPC error, a JSON object.
    Failed(Arc<str>),
    /// The client wanted no more of it.
    Cancelled,
}

impl TaskRecord {
    /// When the task may be forgotten, in milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn expires_unix_ms(&self) -> u64 {
        self.created_unix_ms.saturating_add(self.ttl_ms)
    }

    /// How many bytes the task takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        const SELF_BYTES: usize = 512;
        const PAIR_BYTES: usize = 64;
        let pairs = |pairs: &[(String, Arc<str>)]| {
            let bytes = pairs
                .iter()
                .map(|(key, json)| PAIR_BYTES + key.len() + json.len());
            bytes.sum()
        };
        let state = match &self.state {
            TaskState::Working | TaskState::Cancelled => 0,
            TaskState::InputRequired(requests) => pairs(requests),
            TaskState::Completed(json) | TaskState::ToolError(json) | TaskState::Failed(json) => {
                json.len()
            }
        };
        let texts = [Some(&self.tool), Some(&self.principal)]
            .into_iter()
            .chain([self.status_message.as_ref(), self.kept.as_ref()]);
        let texts: usize = texts.flatten().map(String::len).sum();
        SELF_BYTES + texts + state + self.request.len() + pairs(&self.answers)
    }

    /// Ends the task. What is only of use to its function is given up.
    pub(crate) fn end(&mut self, state: TaskState, message: Option<String>) {
        self.state = state;
        self.status_message = message;
        self.request = Arc::from("");
        self.answers = Vec::new();
        self.kept = None;
    }

    /// Writes the members of a `Task`, without the braces.
    pub(crate) fn write(&self, writer: &mut JsonWriter<'_>, id: &str, version: ProtocolVersion) {
        let (ttl, poll_interval): (&[u8], &[u8]) = match version.era() {
            Era::Modern => (b",\"ttlMs\":", b",\"pollIntervalMs\":"),
            Era::Legacy => (b",\"ttl\":", b",\"pollInterval\":"),
        };
        writer.raw(b"\"taskId\":");
        writer.string(id);
        writer.raw(b",\"status\":");
        writer.string(self.state.name_in(version));
        if let Some(message) = &self.status_message {
            writer.raw(b",\"statusMessage\":");
            writer.string(message);
        }
        writer.raw(b",\"createdAt\":");
        writer.string(&timestamp(self.created_unix_ms));
        writer.raw(b",\"lastUpdatedAt\":");
        writer.string(&timestamp(self.updated_unix_ms));
        writer.raw(ttl);
        writer.u64(self.ttl_ms);
        writer.raw(poll_interval);
        writer.u64(self.poll_interval_ms);
    }

    /// Writes the members of a `DetailedTask`, without the braces: those of a `Task`, and what its
    /// status comes with.
    pub(crate) fn write_detailed(&self, writer: &mut JsonWriter<'_>, id: &str) {
        self.write(writer, id, ProtocolVersion::LATEST);
        match &self.state {
            TaskState::Working | TaskState::Cancelled => {}
            TaskState::InputRequired(requests) => {
                writer.raw(b",\"inputRequests\":");
                write_pairs(writer, requests);
            }
            TaskState::Completed(result) | TaskState::ToolError(result) => {
                writer.raw(b",\"result\":");
                writer.raw(result.as_bytes());
            }
            TaskState::Failed(error) => {
                writer.raw(b",\"error\":");
                writer.raw(error.as_bytes());
            }
        }
    }

    /// The parameters of the call and what is known besides, one JSON object; with the state that was
    /// kept before the call became a task, of which its function learns in the round after.
    pub(crate) fn call(&self, kept_before: Option<&str>) -> Vec<u8> {
        let mut bytes = self.request.as_bytes().to_vec();
        // Its closing brace.
        bytes.pop();
        let mut writer = JsonWriter::new(&mut bytes);
        writer.raw(b",\"responses\":");
        write_pairs(&mut writer, &self.answers);
        for (key, text) in [("state", self.kept.as_deref()), ("kept", kept_before)] {
            if let Some(text) = text {
                writer.raw(b",");
                writer.key(key);
                writer.string(text);
            }
        }
        writer.raw(b"}");
        bytes
    }
}

impl TaskState {
    /// The status, by its name in the extension: with a tool execution error, a task is completed.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired(_) => "input_required",
            Self::Completed(_) | Self::ToolError(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether this is the end of a task, which does not change any more.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Working | Self::InputRequired(_) => false,
            Self::Completed(_) | Self::ToolError(_) | Self::Failed(_) | Self::Cancelled => true,
        }
    }

    /// The status, by its name in a revision: in 2025-11-25 a task with a tool execution error has
    /// failed.
    pub(crate) fn name_in(&self, version: ProtocolVersion) -> &'static str {
        match (self, version.era()) {
            (Self::ToolError(_), Era::Legacy) => "failed",
            _ => self.name(),
        }
    }
}

/// Says in a message which task it belongs to. The message is a line; its `params` come last in it,
/// and have no `_meta`.
///
/// Specification: 2025-11-25, `basic/utilities/tasks`, Related Task Metadata.
pub(crate) fn relate(message: &mut Vec<u8>, task: &str) {
    const END: &[u8] = b"}}\n";
    let open = message.strip_suffix(END).map_or(message.len(), <[u8]>::len);
    message.truncate(open);
    let is_empty = message.ends_with(b"{");
    let mut writer = JsonWriter::new(message);
    writer.raw(if is_empty { b"" } else { b"," });
    write_related(&mut writer, task);
    writer.raw(END);
}

/// Writes the `_meta` of a message that belongs to a task, a member.
pub(crate) fn write_related(writer: &mut JsonWriter<'_>, task: &str) {
    writer.raw(b"\"_meta\":{");
    writer.key(RELATED_TASK);
    writer.raw(b"{\"taskId\":");
    writer.string(task);
    writer.raw(b"}}");
}

fn write_pairs(writer: &mut JsonWriter<'_>, pairs: &[(String, Arc<str>)]) {
    writer.raw(b"{");
    writer.items(pairs.iter(), |writer, (key, json)| {
        writer.key(key);
        writer.raw(json.as_bytes());
    });
    writer.raw(b"}");
}

/// A moment as ISO 8601 has it, in UTC.
fn timestamp(unix_ms: u64) -> String {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    /// The last that has a year of four digits.
    const LAST: u64 = 253_402_300_799_999;
    let unix_ms = unix_ms.min(LAST);
    let (mut days, time) = (unix_ms / DAY_MS, unix_ms % DAY_MS);
    let mut year = 1970;
    while days >= year_days(year) {
        days -= year_days(year);
        year += 1;
    }
    let mut month = 1;
    while days >= month_days(year, month) {
        days -= month_days(year, month);
        month += 1;
    }
    let (seconds, ms) = (time / 1000, time % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let day = days + 1;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

fn year_days(year: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    365 + u64::from(is_leap)
}

fn month_days(year: u64, month: u64) -> u64 {
    match month {
        2 => year_days(year) - 337,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_iso_8601() {
        for (unix_ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (1_785_196_800_001, "2026-07-28T00:00:00.001Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (u64::MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(timestamp(unix_ms), text);
        }
    }
}
