//! The tasks of a server: the calls that are answered with a handle, and what becomes of them.
//!
//! ```text
//!   tools/call ─▶ create ─▶ store ◀── advance ◀── mailbox ◀── Ticket ◀── the tool's function
//!                             │          ▲                                  ▲
//!   tasks/get ◀───────────────┘          └─ time: expiry, delays            │
//!   tasks/update ─▶ answer ── all is answered: called again ────────────────┘
//! ```
//!
//! A task belongs to the server and not to a connection. So its function answers into a mailbox
//! that all tasks share, and whichever connection has a reason to look, a request or a moment that
//! has come, moves what it finds there into the store, with the time that it has brought.
//! Connections that have had to do with tasks are woken when there is something to find.
//!
//! Time is wall time here, since that is what a task's life is told in.
//!
//! Specification: extension `io.modelcontextprotocol/tasks`.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac_sha256::HMAC;
use tightwire_codec::{JsonWriter, Value};

use super::{
    ask::InputRequired,
    excerpt,
    hook::{Ending, Hooks},
    log::Log,
    registry::{Registry, random_key},
    reply::UNANSWERED,
    task_store::{TaskStore, TaskStoreFull},
    task_table::{Caller, Due, Gone, Running, Table, failed, later, read_answer},
    task_watch::Homes,
    ticket::{Cancellation, Completion, CompletionKind, Completions, lock},
};
use crate::{
    error::{Error, RpcError},
    model::{
        input::Input,
        task::{TaskRecord, TaskState},
    },
    protocol::version::ProtocolVersion,
};

/// No moment.
const NEVER: u64 = u64::MAX;

/// The tasks of a server. Shared by its connections, whatever registry they have.
pub(crate) struct Tasks {
    started: OnceLock<Started>,
    table: Mutex<Table>,
    /// Where the functions of tasks leave their answers.
    mailbox: Arc<Completions>,
    /// Whom the mailbox wakes, and who is told of changes.
    homes: Arc<Homes>,
    /// When there is something to do, in milliseconds of wall time; it may be earlier than that.
    next_due: AtomicU64,
}

struct Started {
    store: Arc<dyn TaskStore>,
    /// Of the ids.
    key: [u8; 32],
}

/// A task whose function is to be called.
pub(super) struct Start {
    pub(super) id: String,
    pub(super) serial: u64,
    pub(super) caller: Caller,
    pub(super) cancellation: Cancellation,
    pub(super) tool: String,
    /// The parameters, a JSON object.
    pub(super) call: Vec<u8>,
}

impl Default for Tasks {
    fn default() -> Self {
        let homes = Arc::<Homes>::default();
        let mailbox = Completions::of_tasks();
        let woken = Arc::clone(&homes);
        mailbox.set_waker(move || woken.wake());
        Self {
            started: OnceLock::new(),
            table: Mutex::default(),
            mailbox: Arc::new(mailbox),
            homes,
            next_due: AtomicU64::new(NEVER),
        }
    }
}

impl Tasks {
    /// Makes tasks possible, if they are not already.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system has no random numbers.
    pub(super) fn start(&self, store: impl FnOnce() -> Arc<dyn TaskStore>) -> Result<(), Error> {
        if self.started.get().is_none() {
            let key = random_key()?;
            self.started.get_or_init(|| Started {
                store: store(),
                key,
            });
        }
        Ok(())
    }

    /// Whether there can be tasks.
    pub(super) fn is_started(&self) -> bool {
        self.started.get().is_some()
    }

    /// Where the functions of tasks leave their answers.
    pub(super) fn mailbox(&self) -> &Arc<Completions> {
        &self.mailbox
    }

    /// Has a connection woken when there is something to do.
    pub(super) fn add_home(&self, home: &Arc<Completions>) {
        home.share_clock(&self.mailbox);
        self.homes.add(home);
    }

    /// Tells those that are subscribed what has changed.
    pub(super) fn tell(&self) {
        self.homes.tell();
    }

    /// When there is something to do, in milliseconds of wall time.
    pub(super) fn next_due(&self) -> Option<u64> {
        let due = self.next_due.load(Ordering::Relaxed);
        (due != NEVER).then_some(due)
    }

    /// A number that nobody else has.
    pub(super) fn unique_number(&self) -> u64 {
        let mut table = self.table();
        table.serial += 1;
        table.serial
    }

    /// A name that nobody else has, for whose tasks are to be told from those of others.
    pub(super) fn unique_name(&self) -> String {
        let number = self.unique_number();
        let started = self.started.get();
        started.map(|tasks| tasks.id(number)).unwrap_or_default()
    }

    /// Whether there is room for a task.
    pub(super) fn has_room(&self, record: &TaskRecord) -> bool {
        let started = self.started.get();
        started.is_some_and(|tasks| tasks.store.has_room(record))
    }

    /// Makes a task of a call, before which somebody may have kept a state.
    ///
    /// # Errors
    ///
    /// -32603 if there is no room for it.
    pub(super) fn create(
        &self,
        record: TaskRecord,
        kept: Option<&str>,
        caller: Caller,
        timeout: Option<Duration>,
        now: u64,
    ) -> Result<Start, RpcError> {
        let no_room = || RpcError::internal("Too many tasks; try again later");
        let started = self.started.get().ok_or_else(no_room)?;
        let call = record.call(kept);
        let tool = record.tool.clone();
        let expiry = record.expires_unix_ms();
        let created = record.created_unix_ms;
        let mut table = self.table();
        let id = started.id(table.serial + 1);
        started.store.insert(&id, record).map_err(|_| no_room())?;
        self.note_due(expiry);
        let running = Running::new(id, tool, created, caller);
        Ok(self.begin(&mut table, running, timeout, call, now))
    }

    /// The task of this id, if it is this principal's.
    ///
    /// # Errors
    ///
    /// -32602 if there is none.
    pub(super) fn load(&self, id: &str, principal: &str) -> Result<TaskRecord, RpcError> {
        let record = self.started.get().and_then(|tasks| tasks.store.load(id));
        record
            .filter(|record| record.principal == principal)
            .ok_or_else(no_such_task)
    }

    /// Takes the client's answers to what a task asks. Those to what it does not ask, or does not
    /// ask any more, are ignored. What is to be called, if all is answered now. Whether answers of
    /// a session are valid is for the function to find, when it is called again.
    ///
    /// # Errors
    ///
    /// -32602 if there is no such task, or an answer is not valid: then none of them is taken.
    /// -32603 if there is no room for them.
    pub(super) fn answer<'a>(
        &self,
        id: &str,
        principal: &str,
        responses: impl IntoIterator<Item = (&'a str, Value<'a>)>,
        timeout: impl FnOnce(&str) -> Option<Duration>,
        now: u64,
    ) -> Result<Option<Start>, RpcError> {
        let mut table = self.table();
        let mut record = self.load(id, principal)?;
        let TaskState::InputRequired(outstanding) = &mut record.state else {
            return Ok(None);
        };
        let running = table.find(id);
        let checked = running.filter(|running| !running.caller.is_session());
        let mut answers = Vec::new();
        for (key, response) in responses {
            let Some(at) = outstanding.iter().position(|(name, _)| name == key) else {
                continue;
            };
            let asked = checked.and_then(|running| running.inputs.iter().find(|(k, _)| k == key));
            if let Some(Err(problem)) = asked.map(|(_, input)| input.check(response)) {
                let key = excerpt(key);
                return Err(RpcError::invalid_params(format!(
                    "params.inputResponses[{key}]{problem}"
                )));
            }
            outstanding.remove(at);
            let mut json = Vec::new();
            JsonWriter::new(&mut json).value(response);
            let json = String::from_utf8_lossy(&json);
            answers.push((key.to_owned(), Arc::from(json)));
        }
        if answers.is_empty() {
            return Ok(None);
        }
        let is_complete = outstanding.is_empty();
        record.answers.extend(answers);
        record.updated_unix_ms = now;
        if is_complete {
            record.state = TaskState::Working;
        }
        let (tool, call) = (record.tool.clone(), record.call(None));
        let created = record.created_unix_ms;
        self.keep(id, record)
            .map_err(|_| RpcError::internal("there is no room for the answers; try again later"))?;
        if !is_complete {
            return Ok(None);
        }
        let timeout = timeout(&tool);
        let before = table.remove(id);
        let caller = before.as_ref().map(|running| running.caller.clone());
        let caller = caller.unwrap_or_else(Caller::modern);
        let running = Running {
            told: before.map(|running| running.told).unwrap_or_default(),
            ..Running::new(id.to_owned(), tool, created, caller)
        };
        let start = self.begin(&mut table, running, timeout, call, now);
        Ok(Some(start))
    }

    /// What a task asks, each under its key.
    pub(super) fn inputs(&self, id: &str) -> Vec<(String, Input)> {
        let table = self.table();
        let running = table.find(id);
        running.map_or_else(Vec::new, |running| running.inputs.clone())
    }

    /// What may answer for the function of a task: the number of its call, and its cancellation.
    pub(super) fn at_work(&self, id: &str) -> Option<(u64, Cancellation)> {
        let table = self.table();
        let serial = *table.serials.get(id)?;
        let running = table.by_serial.get(&serial)?;
        Some((serial, running.cancellation.clone()))
    }

    /// Cancels a task, unless it has ended: its function is told, and what it answers is of no use
    /// any more. What has become of it, and whether that came of this.
    ///
    /// # Errors
    ///
    /// -32602 if there is no such task.
    pub(super) fn cancel(
        &self,
        id: &str,
        principal: &str,
        now: u64,
        hooks: &Hooks,
        log: &mut Log,
    ) -> Result<(TaskRecord, bool), RpcError> {
        let mut gone = Gone::default();
        let (record, is_new) = {
            let mut table = self.table();
            let mut record = self.load(id, principal)?;
            let is_new = !record.state.is_terminal();
            if is_new {
                record.end(TaskState::Cancelled, None);
                record.updated_unix_ms = now;
                let _ = self.keep(id, record.clone());
            }
            let end = Some(record.clone());
            gone.add(table.remove(id), end, Ending::Cancelled, now);
            (record, is_new)
        };
        self.homes.tell();
        gone.tell(hooks, log);
        Ok((record, is_new))
    }

    /// Has tasks expire by now, since nobody can ask for them any more.
    pub(super) fn forget<'a>(&self, ids: impl Iterator<Item = &'a str>, principal: &str, now: u64) {
        let _table = self.table();
        for id in ids {
            if let Ok(mut record) = self.load(id, principal) {
                record.ttl_ms = 0;
                // The wall clock may have gone back since.
                record.created_unix_ms = record.created_unix_ms.min(now);
                self.note_due(record.expires_unix_ms());
                let _ = self.keep(id, record);
            }
        }
    }

    /// Moves what is in the mailbox into the store, and ends what has expired by now. Whether there
    /// was anything to do, and so may be more.
    pub(super) fn advance(&self, now: u64, registry: &Registry, log: &mut Log) -> bool {
        if !self.mailbox.is_ready() && self.next_due().is_none_or(|next| next > now) {
            return false;
        }
        let mut gone = Gone::default();
        {
            let mut table = self.table();
            for (at, completion) in self.mailbox.take_until(now) {
                self.mailbox.settle(&completion);
                if let CompletionKind::Log(line) = &completion.kind {
                    log.push(line);
                }
                self.take_in(&mut table, completion, at, registry, &mut gone);
            }
            let Some(started) = self.started.get() else {
                return false;
            };
            for id in started.store.sweep(now) {
                gone.add(table.remove(&id), None, Ending::Cancelled, now);
            }
            self.end_late(&mut table, now, &mut gone);
            let expiry = started.store.next_expiry_unix_ms();
            let next = table.next_due().into_iter().chain(expiry).min();
            self.next_due
                .store(next.unwrap_or(NEVER), Ordering::Relaxed);
        }
        self.homes.tell();
        gone.tell(&registry.hooks, log);
        true
    }

    /// Takes what goes on by now, after a delay.
    pub(super) fn take_due(&self, now: u64) -> Vec<Due> {
        self.table().take_due(now)
    }

    /// What a function left for its task.
    fn take_in(
        &self,
        table: &mut Table,
        completion: Completion,
        now: u64,
        registry: &Registry,
        gone: &mut Gone,
    ) {
        let Completion { serial, kind } = completion;
        let running = table.by_serial.get_mut(&serial);
        match (kind, running) {
            (CompletionKind::After(_, then), None) => gone.forgotten.push(then),
            // Cancelled, or expired.
            (_, None) => {}
            (CompletionKind::After(delay, then), Some(running)) => {
                running.delay = Some((later(now, delay), then));
            }
            (
                CompletionKind::Progress {
                    progress,
                    message,
                    notice,
                },
                Some(running),
            ) => {
                if let Some(message) = message {
                    let message = String::from_utf8_lossy(&message).into_owned();
                    self.change(&running.id, now, |record| {
                        record.status_message = Some(message);
                    });
                }
                let letter = running.pass_on_progress(progress, notice, now, registry);
                gone.letters.extend(letter);
            }
            (CompletionKind::Notice(kind, notice), Some(running)) => {
                let letter = running.pass_on(kind, notice, now, registry);
                gone.letters.extend(letter);
            }
            (CompletionKind::Ask(required), Some(running)) => {
                if self.park(running, *required, now).is_ok() {
                    gone.letters.extend(running.stopped(None));
                } else {
                    let error = RpcError::internal("there is no room for what the task asks");
                    let end = self.end(&running.id, now, failed(&error));
                    gone.add(table.remove_serial(serial), end, UNANSWERED, now);
                }
            }
            (CompletionKind::Answer(answer, ending), Some(running)) => {
                let end = read_answer(&answer, ending, &running.caller);
                let end = self.end(&running.id, now, end);
                gone.add(table.remove_serial(serial), end, ending, now);
            }
            // Told already, or for sessions.
            (
                CompletionKind::Log(_) | CompletionKind::OfTask(..) | CompletionKind::Task { .. },
                Some(_),
            ) => {}
        }
    }

    /// Has the client asked for what a function wants to know.
    fn park(
        &self,
        running: &mut Running,
        required: InputRequired,
        now: u64,
    ) -> Result<(), TaskStoreFull> {
        let InputRequired { inputs, state, .. } = required;
        running.deadline = None;
        running.inputs = inputs.into_list();
        let requests = running.inputs.iter().map(|(key, input)| {
            let mut json = Vec::new();
            let mut writer = JsonWriter::new(&mut json);
            writer.raw(b"{");
            input.write(&mut writer, ProtocolVersion::LATEST);
            writer.raw(b"}");
            (key.clone(), Arc::from(String::from_utf8_lossy(&json)))
        });
        let requests = requests.collect();
        let Some(mut record) = self.live(&running.id) else {
            return Ok(());
        };
        record.state = TaskState::InputRequired(requests);
        record.status_message = None;
        record.kept = state;
        record.updated_unix_ms = now;
        self.keep(&running.id, record)
    }

    /// Ends the tasks whose function has taken too long.
    fn end_late(&self, table: &mut Table, now: u64, gone: &mut Gone) {
        let late: Vec<u64> = table
            .by_serial
            .iter()
            .filter(|(_, running)| running.is_late(now))
            .map(|(serial, _)| *serial)
            .collect();
        for serial in late {
            if let Some(running) = table.remove_serial(serial) {
                let ms = running.timeout.unwrap_or_default().as_millis();
                let error = RpcError::internal(format!("no answer within {ms} ms"));
                let deadline = running.deadline.unwrap_or(now);
                let end = self.end(&running.id, deadline, failed(&error));
                gone.add(Some(running), end, UNANSWERED, deadline);
            }
        }
    }

    /// Ends a task, unless it has ended. What it has ended as.
    fn end(
        &self,
        id: &str,
        now: u64,
        (state, message): (TaskState, Option<String>),
    ) -> Option<TaskRecord> {
        let mut record = self.live(id)?;
        record.end(state, message);
        record.updated_unix_ms = now;
        if self.keep(id, record.clone()).is_err() {
            let error = RpcError::internal("there is no room for the result");
            let (state, message) = failed(&error);
            record.end(state, message);
            let _ = self.keep(id, record.clone());
        }
        Some(record)
    }

    /// Changes a task that has not ended, where there is room for it.
    fn change(&self, id: &str, now: u64, change: impl FnOnce(&mut TaskRecord)) {
        if let Some(mut record) = self.live(id) {
            change(&mut record);
            record.updated_unix_ms = now;
            let _ = self.keep(id, record);
        }
    }

    /// A task that has not ended.
    fn live(&self, id: &str) -> Option<TaskRecord> {
        let record = self.started.get()?.store.load(id)?;
        (!record.state.is_terminal()).then_some(record)
    }

    /// Keeps what has become of a task: it is here alone that one changes.
    fn keep(&self, id: &str, record: TaskRecord) -> Result<(), TaskStoreFull> {
        if let Some(started) = self.started.get() {
            started.store.store(id, record)?;
            self.homes.note(id);
        }
        Ok(())
    }

    /// Notes that the function of a task is called, for the first time or once more.
    fn begin(
        &self,
        table: &mut Table,
        mut running: Running,
        timeout: Option<Duration>,
        call: Vec<u8>,
        now: u64,
    ) -> Start {
        table.serial += 1;
        let serial = table.serial;
        running.timeout = timeout;
        running.deadline = timeout.map(|timeout| later(now, timeout));
        if let Some(deadline) = running.deadline {
            self.note_due(deadline);
        }
        let start = Start {
            id: running.id.clone(),
            serial,
            caller: running.caller.clone(),
            cancellation: running.cancellation.clone(),
            tool: running.tool.clone(),
            call,
        };
        table.serials.insert(running.id.clone(), serial);
        table.by_serial.insert(serial, running);
        start
    }

    /// With the table locked, so that nobody overwrites it with what was true before.
    fn note_due(&self, due: u64) {
        self.next_due.fetch_min(due, Ordering::Relaxed);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }
}

/// -32602, for an id of nothing.
pub(super) fn no_such_task() -> RpcError {
    RpcError::invalid_params("params.taskId names no task, or one that has expired: Task not found")
}

impl Started {
    /// An id that nobody can guess: what the key makes of a number that is used once.
    fn id(&self, number: u64) -> String {
        const ID_BYTES: usize = 24;
        let mac = HMAC::mac(number.to_le_bytes(), self.key);
        URL_SAFE_NO_PAD.encode(&mac[..ID_BYTES])
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks")
            .field("next_due", &self.next_due)
            .finish_non_exhaustive()
    }
}
