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
use tightwire_codec::{JsonWriter, Object};

use super::{
    ask::InputRequired,
    context::NoticeKind,
    excerpt,
    hook::{Ending, Hooks},
    log::Log,
    registry::random_key,
    reply::UNANSWERED,
    task_store::{TaskStore, TaskStoreFull},
    task_table::{Due, Gone, Running, Table, failed, later, read_answer},
    task_watch::Homes,
    ticket::{Cancellation, Completion, CompletionKind, Completions, lock},
};
use crate::{
    error::{Error, RpcError},
    model::task::{TaskRecord, TaskState},
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

    /// Makes a task of a call.
    ///
    /// # Errors
    ///
    /// -32603 if there is no room for it.
    pub(super) fn create(
        &self,
        record: TaskRecord,
        timeout: Option<Duration>,
        now: u64,
    ) -> Result<Start, RpcError> {
        let no_room = || RpcError::internal("Too many tasks; try again later");
        let started = self.started.get().ok_or_else(no_room)?;
        let call = record.call();
        let tool = record.tool.clone();
        let expiry = record.expires_unix_ms();
        let created = record.created_unix_ms;
        let mut table = self.table();
        let id = started.id(table.serial + 1);
        started.store.insert(&id, record).map_err(|_| no_room())?;
        self.note_due(expiry);
        let call = (tool, call);
        Ok(self.begin(&mut table, id, created, timeout, call, now))
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
            .ok_or_else(|| {
                RpcError::invalid_params(
                    "params.taskId names no task, or one that has expired: Task not found",
                )
            })
    }

    /// Takes the client's answers to what a task asks. Those to what it does not ask, or does not
    /// ask any more, are ignored. What is to be called, if all is answered now.
    ///
    /// # Errors
    ///
    /// -32602 if there is no such task, or an answer is not valid: then none of them is taken.
    /// -32603 if there is no room for them.
    pub(super) fn answer(
        &self,
        id: &str,
        principal: &str,
        responses: Object<'_>,
        timeout: impl FnOnce(&str) -> Option<Duration>,
        now: u64,
    ) -> Result<Option<Start>, RpcError> {
        let mut table = self.table();
        let mut record = self.load(id, principal)?;
        let TaskState::InputRequired(outstanding) = &mut record.state else {
            return Ok(None);
        };
        let running = table.find(id);
        let mut answers = Vec::new();
        for (key, response) in responses {
            let Some(at) = outstanding.iter().position(|(name, _)| name == key) else {
                continue;
            };
            let asked = running.and_then(|running| running.inputs.iter().find(|(k, _)| k == key));
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
        let call = (record.tool.clone(), record.call());
        let created = record.created_unix_ms;
        self.keep(id, record)
            .map_err(|_| RpcError::internal("there is no room for the answers; try again later"))?;
        if !is_complete {
            return Ok(None);
        }
        let timeout = timeout(&call.0);
        let id = id.to_owned();
        let start = self.begin(&mut table, id, created, timeout, call, now);
        Ok(Some(start))
    }

    /// Cancels a task, unless it has ended: its function is told, and what it answers is of no use
    /// any more.
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
    ) -> Result<(), RpcError> {
        let mut gone = Gone::default();
        {
            let mut table = self.table();
            let mut record = self.load(id, principal)?;
            if !record.state.is_terminal() {
                record.end(TaskState::Cancelled, None);
                record.updated_unix_ms = now;
                let _ = self.keep(id, record);
            }
            gone.add(table.remove(id), Ending::Cancelled);
        }
        self.homes.tell();
        gone.tell(now, hooks);
        Ok(())
    }

    /// Moves what is in the mailbox into the store, and ends what has expired by now. Whether there
    /// was anything to do, and so may be more.
    pub(super) fn advance(&self, now: u64, log: &mut Log, hooks: &Hooks) -> bool {
        if !self.mailbox.is_ready() && self.next_due().is_none_or(|next| next > now) {
            return false;
        }
        let mut gone = Gone::default();
        {
            let mut table = self.table();
            for completion in self.mailbox.take() {
                self.mailbox.settle(&completion);
                self.take_in(&mut table, completion, now, log, &mut gone);
            }
            let Some(started) = self.started.get() else {
                return false;
            };
            for id in started.store.sweep(now) {
                gone.add(table.remove(&id), Ending::Cancelled);
            }
            self.end_late(&mut table, now, &mut gone);
            let expiry = started.store.next_expiry_unix_ms();
            let next = table.next_due().into_iter().chain(expiry).min();
            self.next_due
                .store(next.unwrap_or(NEVER), Ordering::Relaxed);
        }
        self.homes.tell();
        gone.tell(now, hooks);
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
        log: &mut Log,
        gone: &mut Gone,
    ) {
        let Completion { serial, kind } = completion;
        let running = table.by_serial.get_mut(&serial);
        match (kind, running) {
            (CompletionKind::Log(line), _) => log.push(&line),
            (CompletionKind::After(_, then), None) => gone.forgotten.push(then),
            // Cancelled, or expired.
            (_, None) => {}
            (CompletionKind::After(delay, then), Some(running)) => {
                running.delay = Some((later(now, delay), then));
            }
            (CompletionKind::Notice(NoticeKind::Progress, message), Some(running)) => {
                let message = String::from_utf8_lossy(&message).into_owned();
                self.change(&running.id, now, |record| {
                    record.status_message = Some(message);
                });
            }
            (CompletionKind::Notice(NoticeKind::Log, _), Some(_)) => {}
            (CompletionKind::Ask(required), Some(running)) => {
                if self.park(running, *required, now).is_err() {
                    let error = RpcError::internal("there is no room for what the task asks");
                    self.end(&running.id, now, failed(&error));
                    gone.add(table.remove_serial(serial), UNANSWERED);
                }
            }
            (CompletionKind::Answer(answer, ending), Some(running)) => {
                self.end(&running.id, now, read_answer(&answer));
                gone.add(table.remove_serial(serial), ending);
            }
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
            .filter(|(_, running)| running.deadline.is_some_and(|deadline| deadline <= now))
            .map(|(serial, _)| *serial)
            .collect();
        for serial in late {
            if let Some(running) = table.remove_serial(serial) {
                let ms = running.timeout.unwrap_or_default().as_millis();
                let error = RpcError::internal(format!("no answer within {ms} ms"));
                self.end(&running.id, now, failed(&error));
                gone.add(Some(running), UNANSWERED);
            }
        }
    }

    /// Ends a task.
    fn end(&self, id: &str, now: u64, (state, message): (TaskState, Option<String>)) {
        let Some(mut record) = self.live(id) else {
            return;
        };
        record.end(state, message);
        record.updated_unix_ms = now;
        if self.keep(id, record.clone()).is_err() {
            let error = RpcError::internal("there is no room for the result");
            let (state, message) = failed(&error);
            record.end(state, message);
            let _ = self.keep(id, record);
        }
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
        id: String,
        created: u64,
        timeout: Option<Duration>,
        (tool, call): (String, Vec<u8>),
        now: u64,
    ) -> Start {
        table.remove(&id);
        table.serial += 1;
        let serial = table.serial;
        let deadline = timeout.map(|timeout| later(now, timeout));
        if let Some(deadline) = deadline {
            self.note_due(deadline);
        }
        let cancellation = Cancellation::default();
        let running = Running {
            id: id.clone(),
            tool: tool.clone(),
            created,
            cancellation: cancellation.clone(),
            timeout,
            deadline,
            inputs: Vec::new(),
            delay: None,
        };
        table.by_serial.insert(serial, running);
        table.serials.insert(id.clone(), serial);
        Start {
            id,
            serial,
            cancellation,
            tool,
            call,
        }
    }

    /// With the table locked, so that nobody overwrites it with what was true before.
    fn note_due(&self, due: u64) {
        self.next_due.fetch_min(due, Ordering::Relaxed);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }
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
