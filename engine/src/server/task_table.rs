//! The tasks that are at work in this process, and how they end.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tightwire_codec::JsonWriter;

use super::{
    handler::guard,
    hook::{Ending, Finished, Hooks},
    log::Log,
    reply::{Continuation, write_error_object},
    ticket::Cancellation,
};
use crate::{
    error::RpcError,
    model::{input::Input, task::TaskState},
    protocol::method::Method,
};

/// The tasks of this process that have not ended.
#[derive(Default)]
pub(super) struct Table {
    pub(super) serial: u64,
    pub(super) by_serial: HashMap<u64, Running>,
    pub(super) serials: HashMap<String, u64>,
}

pub(super) struct Running {
    pub(super) id: String,
    pub(super) tool: String,
    /// When the task was made.
    pub(super) created: u64,
    pub(super) cancellation: Cancellation,
    /// How long its function may take, where that is limited.
    pub(super) timeout: Option<Duration>,
    /// When that time is up.
    pub(super) deadline: Option<u64>,
    /// What the client is asked.
    pub(super) inputs: Vec<(String, Input)>,
    /// When it goes on, and how.
    pub(super) delay: Option<(u64, Continuation)>,
}

impl Table {
    pub(super) fn find(&self, id: &str) -> Option<&Running> {
        self.by_serial.get(self.serials.get(id)?)
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Running> {
        let serial = self.serials.remove(id)?;
        self.by_serial.remove(&serial)
    }

    pub(super) fn remove_serial(&mut self, serial: u64) -> Option<Running> {
        let running = self.by_serial.remove(&serial)?;
        self.serials.remove(&running.id);
        Some(running)
    }

    /// Takes what goes on by now, in the order in which it was begun.
    pub(super) fn take_due(&mut self, now: u64) -> Vec<Due> {
        let mut due: Vec<Due> = Vec::new();
        for (serial, running) in &mut self.by_serial {
            if let Some((_, then)) = running.delay.take_if(|(at, _)| *at <= now) {
                due.push(Due {
                    serial: *serial,
                    cancellation: running.cancellation.clone(),
                    then,
                });
            }
        }
        due.sort_by_key(|due| due.serial);
        due
    }

    pub(super) fn next_due(&self) -> Option<u64> {
        let running = self.by_serial.values();
        let moments = running.flat_map(|running| {
            let delay = running.delay.as_ref().map(|(at, _)| *at);
            running.deadline.into_iter().chain(delay)
        });
        moments.min()
    }
}

/// A task that goes on after a delay.
pub(super) struct Due {
    pub(super) serial: u64,
    pub(super) cancellation: Cancellation,
    pub(super) then: Continuation,
}

/// What is told and dropped once the table is unlocked, since it is the user's.
#[derive(Default)]
pub(super) struct Gone {
    /// How they ended.
    pub(super) running: Vec<(Running, Ending)>,
    pub(super) forgotten: Vec<Continuation>,
}

impl Gone {
    pub(super) fn add(&mut self, running: Option<Running>, ending: Ending) {
        self.running
            .extend(running.map(|running| (running, ending)));
    }

    pub(super) fn tell(self, now: u64, hooks: &Hooks) {
        for (running, ending) in &self.running {
            // What has answered does not work any more.
            if !matches!(ending, Ending::Result | Ending::ToolError) {
                running.cancellation.cancel();
            }
            let finished = Finished {
                method: Method::ToolsCall.as_str(),
                name: &running.tool,
                ending: *ending,
                took: Duration::from_millis(now.saturating_sub(running.created)),
            };
            hooks.after(&finished, &mut Log::default());
        }
        // A panic in it is its own: the task is over.
        let _ = guard(|| drop(self));
    }
}

/// What a line that answers a call means for its task: what `result` or `error` is in it.
pub(super) fn read_answer(answer: &[u8]) -> (TaskState, Option<String>) {
    let answer = String::from_utf8_lossy(answer);
    let inner = |start: &str| answer.strip_prefix(start)?.strip_suffix(ANSWER_END);
    if let Some(result) = inner(RESULT_START) {
        return (TaskState::Completed(result.into()), None);
    }
    match inner(ERROR_START) {
        Some(error) => (TaskState::Failed(error.into()), message_of(error)),
        None => failed(&RpcError::internal("the answer of the tool was lost")),
    }
}

pub(super) fn failed(error: &RpcError) -> (TaskState, Option<String>) {
    let mut json = Vec::new();
    write_error_object(&mut JsonWriter::new(&mut json), error);
    let json = String::from_utf8_lossy(&json);
    (
        TaskState::Failed(Arc::from(json)),
        Some(error.message().to_owned()),
    )
}

/// The message of an error.
fn message_of(error: &str) -> Option<String> {
    let error: serde_json::Value = serde_json::from_str(error).ok()?;
    Some(error.get("message")?.as_str()?.to_owned())
}

/// A moment after a time, at least a millisecond later if the time is not nothing.
pub(super) fn later(now: u64, time: Duration) -> u64 {
    let ms = time.as_nanos().div_ceil(1_000_000);
    now.saturating_add(u64::try_from(ms).unwrap_or(u64::MAX))
}

/// How answers of tasks begin in the mailbox, where ids mean nothing.
const RESULT_START: &str = "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":";
const ERROR_START: &str = "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":";
const ANSWER_END: &str = "}\n";
