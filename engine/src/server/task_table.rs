//! The tasks that are at work in this process, and how they end.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use tightwire_codec::JsonWriter;

use super::{
    client::Client,
    context::{NoticeKind, notices_max},
    handler::guard,
    hook::{Ending, Finished, Hooks},
    log::Log,
    registry::Registry,
    reply::{Continuation, write_error_object},
    ticket::{Cancellation, Completion, CompletionKind, Completions},
};
use crate::{
    error::RpcError,
    model::{
        input::Input,
        task::{TaskRecord, TaskState, relate},
    },
    protocol::{
        method::Method,
        version::{Era, ProtocolVersion},
    },
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
    pub(super) caller: Caller,
    pub(super) told: Told,
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

/// On whose behalf the function of a task is called.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) version: ProtocolVersion,
    pub(super) client: Arc<Client>,
    /// The mailbox of the session that the task belongs to, if it belongs to one.
    pub(super) session: Weak<Completions>,
}

/// What the session of a task was told while its function works.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// How many notices of each kind.
    sent: [u32; 2],
    progress: Option<f64>,
}

/// Something for the session of a task.
pub(super) type Letter = (Weak<Completions>, CompletionKind);

impl Caller {
    /// Somebody who brings with each request what is to be known.
    pub(super) fn modern() -> Self {
        Self {
            version: ProtocolVersion::LATEST,
            client: Arc::new(Client::unknown()),
            session: Weak::new(),
        }
    }

    pub(super) fn is_session(&self) -> bool {
        self.version.era() == Era::Legacy
    }
}

impl Running {
    /// A task whose function is about to be called.
    pub(super) fn new(id: String, tool: String, created: u64, caller: Caller) -> Self {
        Self {
            id,
            tool,
            created,
            caller,
            told: Told::default(),
            cancellation: Cancellation::default(),
            timeout: None,
            deadline: None,
            inputs: Vec::new(),
            delay: None,
        }
    }

    /// Whether its function has taken too long: not where it waits for a delay that was over in
    /// time.
    pub(super) fn is_late(&self, now: u64) -> bool {
        let delay = self.delay.as_ref().map(|(at, _)| *at);
        self.deadline
            .is_some_and(|end| end <= now && delay.is_none_or(|at| at >= end))
    }

    /// Tells the session that the task is not at work any more, and what it has ended as, if it has.
    pub(super) fn stopped(&self, end: Option<TaskRecord>) -> Option<Letter> {
        self.caller.is_session().then(|| {
            let kind = CompletionKind::Task {
                id: Arc::from(self.id.as_str()),
                end: end.map(Box::new),
                is_told: false,
            };
            (Weak::clone(&self.caller.session), kind)
        })
    }

    /// Passes a notification on to the session, unless it has had too many by now.
    pub(super) fn pass_on(
        &mut self,
        kind: NoticeKind,
        mut notice: Vec<u8>,
        now: u64,
        registry: &Registry,
    ) -> Option<Letter> {
        let elapsed = Duration::from_millis(now.saturating_sub(self.created));
        let sent = &mut self.told.sent[kind as usize];
        if !self.caller.is_session() || *sent >= notices_max(registry, kind, elapsed) {
            return None;
        }
        *sent += 1;
        relate(&mut notice, &self.id);
        let session = Weak::clone(&self.caller.session);
        let id = Arc::from(self.id.as_str());
        Some((session, CompletionKind::OfTask(id, kind, notice)))
    }

    /// The same for progress, which must grow however often the function is called.
    pub(super) fn pass_on_progress(
        &mut self,
        progress: f64,
        notice: Vec<u8>,
        now: u64,
        registry: &Registry,
    ) -> Option<Letter> {
        let grows = self.told.progress.is_none_or(|last| progress > last);
        if notice.is_empty() || !grows {
            return None;
        }
        let letter = self.pass_on(NoticeKind::Progress, notice, now, registry)?;
        self.told.progress = Some(progress);
        Some(letter)
    }
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

    /// Takes what goes on by now, in the order in which it was begun. How late that is does not count
    /// as time that its function took.
    pub(super) fn take_due(&mut self, now: u64) -> Vec<Due> {
        let mut due: Vec<Due> = Vec::new();
        for (serial, running) in &mut self.by_serial {
            if let Some((at, then)) = running.delay.take_if(|(at, _)| *at <= now) {
                let late = now - at;
                running.deadline = running.deadline.map(|end| end.saturating_add(late));
                due.push(Due {
                    serial: *serial,
                    version: running.caller.version,
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
    pub(super) version: ProtocolVersion,
    pub(super) cancellation: Cancellation,
    pub(super) then: Continuation,
}

/// What is told and dropped once the table is unlocked, since it is the user's.
#[derive(Default)]
pub(super) struct Gone {
    /// How they ended, and when.
    pub(super) running: Vec<(Running, Ending, u64)>,
    pub(super) forgotten: Vec<Continuation>,
    /// For the sessions, in their order.
    pub(super) letters: Vec<Letter>,
}

impl Gone {
    pub(super) fn add(
        &mut self,
        running: Option<Running>,
        end: Option<TaskRecord>,
        ending: Ending,
        now: u64,
    ) {
        if let Some(running) = running {
            self.letters.extend(running.stopped(end));
            self.running.push((running, ending, now));
        }
    }

    pub(super) fn tell(mut self, hooks: &Hooks, log: &mut Log) {
        for (session, kind) in self.letters.drain(..) {
            if let Some(session) = session.upgrade() {
                session.push_letter(Completion { serial: 0, kind });
            }
        }
        for (running, ending, at) in &self.running {
            // What has answered does not work any more.
            if !matches!(ending, Ending::Result | Ending::ToolError) {
                running.cancellation.cancel();
            }
            let finished = Finished {
                method: Method::ToolsCall.as_str(),
                name: &running.tool,
                ending: *ending,
                took: Duration::from_millis(at.saturating_sub(running.created)),
            };
            hooks.after(&finished, log);
        }
        // A panic in it is its own: the task is over.
        let _ = guard(|| drop(self));
    }
}

/// What a line that answers a call means for its task: what `result` or `error` is in it. The
/// message is what a client is told with the status `failed`.
pub(super) fn read_answer(
    answer: &[u8],
    ending: Ending,
    caller: &Caller,
) -> (TaskState, Option<String>) {
    let answer = String::from_utf8_lossy(answer);
    let inner = |start: &str| answer.strip_prefix(start)?.strip_suffix(ANSWER_END);
    if let Some(result) = inner(RESULT_START) {
        if ending != Ending::ToolError {
            return (TaskState::Completed(result.into()), None);
        }
        let message = caller.is_session().then(|| text_of(result)).flatten();
        return (TaskState::ToolError(result.into()), message);
    }
    match inner(ERROR_START) {
        Some(error) => (TaskState::Failed(error.into()), message_of(error)),
        None => failed(&RpcError::internal("the answer of the tool was lost")),
    }
}

pub(super) fn failed(error: &RpcError) -> (TaskState, Option<String>) {
    let mut json = Vec::new();
    // Of the engine's own, which are the same in all revisions.
    write_error_object(
        &mut JsonWriter::new(&mut json),
        error,
        ProtocolVersion::LATEST,
    );
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

/// The text of a tool execution error, as long as a status may be.
fn text_of(result: &str) -> Option<String> {
    let result: serde_json::Value = serde_json::from_str(result).ok()?;
    let text = result.pointer("/content/0/text")?.as_str()?;
    Some(status_message(text).to_owned())
}

/// As much of a text as is told with a status.
pub(super) fn status_message(text: &str) -> &str {
    /// More is cut off.
    const BYTES_MAX: usize = 1024;
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| *end <= BYTES_MAX).last();
    &text[..end.unwrap_or_default()]
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
