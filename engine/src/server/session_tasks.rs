//! The tasks of a session of 2025-11-25: the client makes one of a call, asks what has become of
//! it, and waits for its result.
//!
//! ```text
//!   tools/call, params.task ─▶ task ── input required ─▶ elicitation/create …, once the client waits
//!                               │ ▲                          │
//!   tasks/get, tasks/list ◀─────┤ └── called again ◀─────────┘ its answers
//!   tasks/result, which waits ◀─┴─ its end ─▶ notifications/tasks/status
//! ```
//!
//! The tasks are those of the server, in the same store. That they are a session's alone is in their
//! principal, which no other connection has; what the session is to be told comes through its
//! mailbox, in order. At its end they are cancelled and forgotten, since nobody can ask for them. What
//! they ask their client is in the sibling `task_question`.
//!
//! Specification: 2025-11-25, `basic/utilities/tasks`.

use std::{sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use tightwire_codec::{Id, JsonWriter, Object, Value};

use super::{
    connection::{Core, Now},
    context::{NoticeKind, notification},
    deferred::{Awaited, Expiry},
    dispatch::Serving,
    excerpt, method_not_found,
    registry::ToolEntry,
    reply::{begin_result, write_error},
    run::Run,
    task::{TaskOptions, task_id},
    task_question::AskedOfTask,
    task_table::Caller,
    tasks::{Start, Tasks, no_such_task},
    ticket::{Completion, CompletionKind},
};
use crate::{
    error::RpcError,
    model::task::{TaskRecord, TaskState, TaskSupport, write_related},
    protocol::{
        hash::hash,
        method::{Method, TASK_STATUS},
        params::{Params, only, optional_object},
        pending::Entry,
        version::ProtocolVersion,
    },
    schema::describe,
};

/// The one revision that has such tasks.
pub(super) const VERSION: ProtocolVersion = ProtocolVersion::V2025_11_25;
/// How many tasks a page of their list has, unless the server's lists have pages of their own size.
const PAGE_SIZE: usize = 100;

/// What a session knows of its tasks.
#[derive(Debug, Default)]
pub(super) struct SessionTasks {
    /// Whether the handshake told the client that calls may become tasks.
    declared: bool,
    /// Whose they are in the store. Empty before there is one.
    pub(super) principal: String,
    /// The number of the connection in the store. 0 before there is a task.
    number: u64,
    /// In the order in which they were made.
    list: Vec<SessionTask>,
    /// How long that may be before it is looked through for tasks that are not there any more.
    len_max: usize,
    /// What the client was asked for them, and has not answered.
    pub(super) asked: Vec<AskedOfTask>,
}

#[derive(Debug)]
struct SessionTask {
    id: Arc<str>,
    /// Grows from one to the next.
    serial: u64,
    /// Whether the session has still to be told of its end.
    is_live: bool,
    /// Whether the client has learnt of its end, if only since it asked.
    is_over: bool,
}

/// What a client wants of the task that a call becomes: `params.task`.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    task: Value<'a>,
    ttl_ms: Option<u64>,
}

impl<'a> Wanted<'a> {
    /// Reads it, if it is there.
    fn read(params: Object<'a>) -> Result<Option<Self>, RpcError> {
        let task = only(params, "params", "task")?;
        let (Some(task), Some(members)) = (task, optional_object(task, "task")?) else {
            return Ok(None);
        };
        let ttl = only(members, "params.task", "ttl")?.filter(|ttl| !ttl.is_null());
        let ill_typed =
            || RpcError::invalid_params("params.task.ttl must be a whole number of milliseconds");
        let ttl_ms = ttl.map(|ttl| whole_ms(ttl).ok_or_else(ill_typed));
        Ok(Some(Self {
            task,
            ttl_ms: ttl_ms.transpose()?,
        }))
    }
}

/// A whole number of milliseconds. There is no longest time that may be asked for.
fn whole_ms(value: Value<'_>) -> Option<u64> {
    let number = value.as_number()?;
    let is_huge = number.is_integer() && number.as_f64() > 0.0;
    number.as_u64().or(is_huge.then_some(u64::MAX))
}

impl SessionTasks {
    /// Notes what the handshake of a session in this revision told of tasks.
    pub(super) fn declare(&mut self, version: ProtocolVersion, has_tasks: bool) {
        self.declared = has_tasks && version == VERSION;
    }

    /// Whether a request in this revision is one of a session that knows tasks.
    pub(super) fn are_known(&self, version: ProtocolVersion) -> bool {
        self.declared && version == VERSION
    }

    /// Whether there is a task whose end the session has still to be told.
    pub(super) fn may_change(&self) -> bool {
        self.list.iter().any(|task| task.is_live)
    }

    fn principal(&mut self, tasks: &Tasks) -> String {
        if self.principal.is_empty() {
            self.principal = tasks.unique_name();
        }
        self.principal.clone()
    }

    /// The number of the connection, as which no other one has its tasks.
    pub(super) fn number(&mut self, tasks: &Tasks) -> u64 {
        if self.number == 0 {
            self.number = tasks.unique_number();
        }
        self.number
    }

    fn add(&mut self, start: &Start, tasks: &Tasks) {
        const LEN_MIN: usize = 64;
        if self.list.len() >= self.len_max.max(LEN_MIN) {
            let principal = &self.principal;
            self.list
                .retain(|task| task.is_live || tasks.load(&task.id, principal).is_ok());
            self.len_max = self.list.len() * 2;
        }
        self.list.push(SessionTask {
            id: start.id.as_str().into(),
            serial: start.serial,
            is_live: true,
            is_over: false,
        });
    }

    fn find(&self, id: &str) -> Option<&SessionTask> {
        self.list.iter().find(|task| *task.id == *id)
    }

    /// Notes that the session is told of the end of a task. Whether it was not before.
    fn settle(&mut self, id: &str) -> bool {
        let task = self.list.iter_mut().find(|task| *task.id == *id);
        task.is_some_and(|task| std::mem::take(&mut task.is_live))
    }

    /// Notes what the client learns of a task.
    fn learn(&mut self, id: &str, record: &TaskRecord) {
        let task = self.list.iter_mut().find(|task| *task.id == *id);
        if let Some(task) = task.filter(|_| record.state.is_terminal()) {
            task.is_over = true;
        }
    }

    /// Whether a notification of a task may be sent that came in before.
    ///
    /// Specification: 2025-11-25, `basic/utilities/progress`, Behavior Requirements.
    pub(super) fn may_be_told(&self, id: &str, kind: NoticeKind) -> bool {
        kind != NoticeKind::Progress || !self.find(id).is_some_and(|task| task.is_over)
    }

    /// What goes on after the task of this serial number: opaque to the client.
    fn cursor(&self, serial: u64) -> String {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&serial.to_be_bytes());
        let check = hash(self.principal.as_bytes(), serial);
        bytes[8..].copy_from_slice(&check.to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The serial number after which a list goes on.
    fn place(&self, cursor: Option<Value<'_>>) -> Result<u64, RpcError> {
        let Some(cursor) = cursor else {
            return Ok(0);
        };
        // As much as the decoder may ask for, which is a little more than it needs.
        let mut bytes = [0; 19];
        let text = cursor.as_str().unwrap_or_default();
        let len = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes);
        let serial = bytes.first_chunk().copied().map(u64::from_be_bytes);
        serial
            .filter(|serial| len.is_ok() && self.cursor(*serial) == text)
            .filter(|_| !self.principal.is_empty())
            .ok_or_else(|| {
                RpcError::invalid_params("params.cursor is not one that this session was given")
            })
    }
}

impl Core {
    /// Makes a task of a call, if the client wants one. Whether the call is answered.
    ///
    /// Specification: 2025-11-25, `basic/utilities/tasks`, Tool-Level Negotiation.
    ///
    /// # Errors
    ///
    /// -32601 if the tool does not run as a task and is to, or the other way round. -32602 if it
    /// cannot be told what is wanted.
    #[cold]
    pub(super) fn call_in_session(
        &mut self,
        tool: &ToolEntry,
        params: &Params<'_>,
        serving: &Serving<'_>,
        run: &Run<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, RpcError> {
        let wanted = Wanted::read(params.members.unwrap_or(Object::EMPTY))?;
        let not_so = |what: &str| {
            let name = excerpt(run.asked.name);
            Err(RpcError::method_not_found(format!(
                "Method not found: {name} {what}"
            )))
        };
        let (options, wanted) = match (&tool.task, wanted) {
            (Some(options), Some(wanted)) => (options, wanted),
            (Some(options), None) if options.support == TaskSupport::Required => {
                return not_so("runs as a task alone: `params.task` is missing");
            }
            (None, Some(_)) => return not_so("does not run as a task: `params.task` is there"),
            (_, None) => return Ok(false),
        };
        if let Err(error) = self.before_task(serving, run) {
            // A hook may ask the client, as before any other call.
            self.run_alone(serving, run, out, |_, answer| answer.error(&error));
            let waiting = self.pending.state_mut(self.serial);
            if let Some(Awaited::Answers(asking)) = waiting.map(|waiting| &mut waiting.what) {
                asking.add("task", wanted.task);
            }
            return Ok(true);
        }
        self.advance_tasks(serving.now);
        self.make_session_task(tool, options, wanted, serving, run, out)
    }

    /// Answers with a task, which is at work, and only then calls its function. Arguments that do
    /// not fit fail the task: the client waits for one.
    fn make_session_task(
        &mut self,
        tool: &ToolEntry,
        options: &TaskOptions,
        wanted: Wanted<'_>,
        serving: &Serving<'_>,
        run: &Run<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, RpcError> {
        let kept = self.empty_outbox();
        let registry = Arc::clone(&self.registry);
        let Some(tasks) = &registry.tasks else {
            return Ok(false);
        };
        let now = serving.now;
        let mut record = self.record(tasks, options, serving, run);
        record.principal = self.session_tasks.principal(tasks);
        let ttl_ms = wanted.ttl_ms.unwrap_or(record.ttl_ms);
        record.ttl_ms = record.ttl_ms.min(ttl_ms.max(1));
        let caller = Caller {
            version: serving.version,
            client: Arc::clone(self.session.client()),
            session: Arc::downgrade(&self.completions),
        };
        let start = tasks.create(
            record.clone(),
            kept.as_deref(),
            caller,
            tool.timeout,
            now.unix_ms,
        );
        let start = match start {
            Ok(start) => start,
            Err(error) => {
                // The hooks that were asked are told how it ended.
                self.run_alone(serving, run, out, |_, answer| answer.error(&error));
                return Ok(true);
            }
        };
        self.session_tasks.add(&start, tasks);
        let mut writer = JsonWriter::new(out);
        begin_result(&mut writer, &serving.id);
        writer.raw(b"{\"task\":{");
        record.write(&mut writer, &start.id, serving.version);
        writer.raw(b"}}}\n");
        let arguments = run.asked.arguments.unwrap_or(Value::EMPTY_OBJECT);
        if tool.schema.is_valid(arguments) {
            self.start_task(tasks, start, now);
        } else {
            let text = describe(&tool.name, &tool.schema.problems(arguments));
            self.fail_task(tasks, &start.id, &text, now);
        }
        Ok(true)
    }

    /// Serves a session that asks for its tasks.
    pub(super) fn serve_session_task(
        &mut self,
        tasks: &Arc<Tasks>,
        members: Object<'_>,
        params: &Params<'_>,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        if !self.session_tasks.are_known(serving.version) {
            return Err(method_not_found(serving.method.as_str()));
        }
        let now = serving.now;
        self.advance_tasks(now);
        if serving.method == Method::TasksList {
            return self.list_session_tasks(tasks, params.cursor, serving, out);
        }
        let id = task_id(members)?;
        let mut record = self.session_task(tasks, id)?;
        match serving.method {
            Method::TasksResult => return self.wait_for_task(tasks, id, &record, serving, out),
            Method::TasksCancel => {
                let principal = &self.session_tasks.principal;
                let hooks = &self.registry.hooks;
                let (cancelled, is_new) =
                    tasks.cancel(id, principal, now.unix_ms, hooks, &mut self.log)?;
                if !is_new {
                    self.session_tasks.learn(id, &cancelled);
                    return Err(RpcError::invalid_params(format!(
                        "Cannot cancel task: already in terminal status '{}'",
                        cancelled.state.name_in(VERSION)
                    )));
                }
                self.cancelled = true;
                record = cancelled;
            }
            _ => {}
        }
        self.session_tasks.learn(id, &record);
        let mut writer = JsonWriter::new(out);
        begin_result(&mut writer, &serving.id);
        writer.raw(b"{");
        record.write(&mut writer, id, VERSION);
        writer.raw(b"}}\n");
        Ok(())
    }

    /// A task of this session.
    fn session_task(&self, tasks: &Tasks, id: &str) -> Result<TaskRecord, RpcError> {
        self.session_tasks.find(id).ok_or_else(no_such_task)?;
        tasks.load(id, &self.session_tasks.principal)
    }

    /// Specification: 2025-11-25, `basic/utilities/tasks`, Task Listing.
    fn list_session_tasks(
        &mut self,
        tasks: &Tasks,
        cursor: Option<Value<'_>>,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let mut last = self.session_tasks.place(cursor)?;
        let size = match self.registry.tasks_page_size {
            0 => PAGE_SIZE,
            size => size,
        };
        let SessionTasks {
            principal, list, ..
        } = &mut self.session_tasks;
        let first = list.partition_point(|task| task.serial <= last);
        let left = list[first..].iter_mut();
        // What has expired is not there any more.
        let mut left = left.filter_map(|task| {
            let record = tasks.load(&task.id, principal).ok()?;
            Some((task, record))
        });
        let mut writer = JsonWriter::new(out);
        begin_result(&mut writer, &serving.id);
        writer.raw(b"{\"tasks\":[");
        writer.items(left.by_ref().take(size), |writer, (task, record)| {
            writer.raw(b"{");
            record.write(writer, &task.id, VERSION);
            writer.raw(b"}");
            task.is_over |= record.state.is_terminal();
            last = task.serial;
        });
        writer.raw(b"]");
        if left.next().is_some() {
            writer.raw(b",\"nextCursor\":");
            writer.string(&self.session_tasks.cursor(last));
        }
        writer.raw(b"}}\n");
        Ok(())
    }

    /// Answers with the result of a task, or has the request wait for it.
    ///
    /// Specification: 2025-11-25, `basic/utilities/tasks`, Result Retrieval.
    fn wait_for_task(
        &mut self,
        tasks: &Tasks,
        id: &str,
        record: &TaskRecord,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let task = self.session_tasks.find(id).ok_or_else(no_such_task)?;
        // What the task has said is told before its result.
        if record.state.is_terminal() && !task.is_live {
            write_result(out, &serving.id, id, record);
            return Ok(());
        }
        let task = Arc::clone(&task.id);
        self.check_room(&serving.id, false)?;
        if matches!(record.state, TaskState::InputRequired(_)) {
            self.ask_for_task(tasks, &task, serving.now, out);
        }
        self.serial += 1;
        let left = record.expires_unix_ms().saturating_sub(serving.now.unix_ms);
        let left = Duration::from_millis(left);
        let expiry = Expiry::after(serving.now, left);
        self.wait(serving, expiry, Awaited::Task(task));
        Ok(())
    }

    /// A task of the session is not at work any more: tells so, has the client asked, and answers
    /// one of those who wait for its result. The others have their turn when there is room.
    pub(super) fn handle_task(
        &mut self,
        now: Now,
        id: Arc<str>,
        end: Option<Box<TaskRecord>>,
        is_told: bool,
        out: &mut Vec<u8>,
    ) {
        let registry = Arc::clone(&self.registry);
        let Some(tasks) = &registry.tasks else {
            return;
        };
        // What has ended may have made room for others since.
        let record = end.map_or_else(|| self.session_task(tasks, &id), |end| Ok(*end));
        let is_over = (record.as_ref()).map_or(true, |record| record.state.is_terminal());
        let waits = self.waits_for(&id);
        if !is_told {
            let is_news = match &record {
                Err(_) => {
                    self.session_tasks.settle(&id);
                    false
                }
                Ok(_) if is_over => self.session_tasks.settle(&id),
                Ok(record) => record.state != TaskState::Working,
            };
            if let Ok(record) = &record
                && is_news
                && !self.subscriptions.is_ended()
            {
                out.extend_from_slice(&notification(TASK_STATUS, |writer| {
                    record.write(writer, &id, VERSION);
                }));
            }
            if is_over {
                self.take_back_asked(&id, out);
            } else if is_news && waits.is_some() {
                self.ask_for_task(tasks, &id, now, out);
            }
        }
        let waits = waits.filter(|_| is_over);
        if let Some(Entry { id: asked, .. }) =
            waits.and_then(|serial| self.pending.remove_serial(serial))
        {
            self.answer_with(&asked.as_id(), &id, record.as_ref(), out);
            if self.waits_for(&id).is_some() {
                let kind = CompletionKind::Task {
                    id,
                    end: record.ok().map(Box::new),
                    is_told: true,
                };
                let next = Completion { serial: 0, kind };
                self.completions.count(&next);
                self.completed.push_front(next);
            }
        }
    }

    /// Answers a request that has waited for a task as long as the task could live.
    pub(super) fn answer_with_task(&self, task: &str, serving: &Serving<'_>, out: &mut Vec<u8>) {
        let tasks = self.registry.tasks.as_ref();
        let record = tasks.ok_or_else(no_such_task);
        let record = record.and_then(|tasks| self.session_task(tasks, task));
        self.answer_with(&serving.id, task, record.as_ref(), out);
    }

    fn answer_with(
        &self,
        id: &Id<'_>,
        task: &str,
        record: Result<&TaskRecord, &RpcError>,
        out: &mut Vec<u8>,
    ) {
        match record {
            Ok(record) => write_result(out, id, task, record),
            Err(error) => self.error(Some(id), error, out),
        }
    }

    /// The serial number of a request that waits for a task.
    fn waits_for(&mut self, id: &str) -> Option<u64> {
        let waiting = self
            .pending
            .find_mut(|waiting| matches!(&waiting.what, Awaited::Task(task) if **task == *id));
        waiting.map(|entry| entry.serial)
    }

    /// Cancels and forgets the tasks of the session.
    pub(super) fn end_session_tasks(&mut self) {
        let SessionTasks {
            principal, list, ..
        } = std::mem::take(&mut self.session_tasks);
        let registry = Arc::clone(&self.registry);
        if let (Some(tasks), Some(seen)) = (&registry.tasks, self.tasks_seen)
            && !list.is_empty()
        {
            let ids = list.iter().map(|task| &*task.id);
            tasks.forget(ids, &principal, seen.unix_ms);
            tasks.advance(seen.unix_ms, &registry, &mut self.log);
            self.cancelled = true;
        }
    }
}

/// Writes the answer of the call that has become a task, to a request for it.
fn write_result(out: &mut Vec<u8>, id: &Id<'_>, task: &str, record: &TaskRecord) {
    let error = match &record.state {
        TaskState::Completed(result) | TaskState::ToolError(result) => {
            let mut writer = JsonWriter::new(out);
            begin_result(&mut writer, id);
            // All results of tools have members, and none of them is `_meta`.
            writer.raw(result.strip_suffix('}').unwrap_or(result).as_bytes());
            writer.raw(b",");
            write_related(&mut writer, task);
            return writer.raw(b"}}\n");
        }
        TaskState::Failed(error) => {
            let mut writer = JsonWriter::new(out);
            writer.raw(b"{\"jsonrpc\":\"2.0\",\"id\":");
            writer.id(id);
            writer.raw(b",\"error\":");
            writer.raw(error.as_bytes());
            return writer.raw(b"}\n");
        }
        TaskState::Cancelled => RpcError::internal("The task was cancelled"),
        TaskState::Working | TaskState::InputRequired(_) => no_such_task(),
    };
    write_error(out, Some(id), VERSION, &error);
}
