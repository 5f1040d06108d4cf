//! What a connection does for tasks: it makes them of calls, and serves those who ask for them. How
//! sessions of 2025-11-25 ask for them is in the sibling `session_tasks`.
//!
//! Specification: extension `io.modelcontextprotocol/tasks`.

use std::{
    fmt,
    sync::{Arc, PoisonError},
    time::Duration,
};

use tightwire_codec::{Id, JsonWriter, Object, Value};

use super::{
    ask::{Ask, Given, write_object},
    connection::{Core, Now},
    context::Context,
    dispatch::Serving,
    excerpt,
    extension::Extension,
    handler::{Call, guard},
    job::Job,
    milliseconds,
    registry::{Parts, ToolEntry},
    reply::{Reply, begin_result},
    run::{Ran, Run},
    seal::PRINCIPAL,
    task_memory::MemoryTaskStore,
    task_table::{Caller, Due},
    tasks::{Start, Tasks},
    ticket::{Cancellation, Ticket},
    tool::Execution,
};
use crate::{
    error::{Error, RpcError},
    model::task::{TASKS_EXTENSION, TaskRecord, TaskState, TaskSupport},
    protocol::{
        meta::client_extension,
        method::Method,
        params::{Params, only, optional_object, required_str},
        pending::IdBuf,
        version::{Era, ProtocolVersion},
    },
};

/// How calls of a tool become tasks: see [`Tool::task`](crate::Tool::task).
#[derive(Clone)]
pub struct TaskOptions {
    pub(crate) support: TaskSupport,
    pub(crate) ttl: Option<Duration>,
    poll_interval: Duration,
    decide: Option<Arc<Decide>>,
}

type Decide = dyn Fn(Call<'_>) -> Result<bool, Ask> + Send + Sync;

impl TaskOptions {
    /// Those that a tool has which says no more than this.
    #[must_use]
    pub fn new(support: TaskSupport) -> Self {
        Self {
            support,
            ttl: None,
            poll_interval: Duration::from_secs(1),
            decide: None,
        }
    }

    /// Sets how long a task lives from when it is made, if that is less than
    /// [`Limits::task_ms_max`](crate::Limits::task_ms_max). After it the task is forgotten, and
    /// cancelled if it has not ended.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Sets how often clients should ask what has become of a task. Without this, once a second.
    #[must_use]
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Sets what decides, for each call of a client that knows tasks, whether it becomes one. It
    /// runs in the loop, so it must be short. In 2025-11-25 the client decides, and this is not
    /// called.
    ///
    /// It may ask the client, with [`Context::ask`](crate::Context::ask), for what is to be known
    /// before there is a task: the client is then asked as it is for a call that does not become
    /// one. The tool's function finds the answers under the same keys.
    #[must_use]
    pub fn when(
        mut self,
        decide: impl Fn(Call<'_>) -> Result<bool, Ask> + Send + Sync + 'static,
    ) -> Self {
        self.decide = Some(Arc::new(decide));
        self
    }
}

impl From<TaskSupport> for TaskOptions {
    fn from(support: TaskSupport) -> Self {
        Self::new(support)
    }
}

impl fmt::Debug for TaskOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskOptions")
            .field("support", &self.support)
            .field("ttl", &self.ttl)
            .field("poll_interval", &self.poll_interval)
            .finish_non_exhaustive()
    }
}

impl Parts {
    /// Makes tasks possible, if calls of a tool may become some, and declares the extension.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system has no random numbers.
    pub(super) fn start_tasks(&mut self) -> Result<Option<Arc<Tasks>>, Error> {
        if self.tools.iter().any(|tool| tool.task.is_some()) {
            let limits = &self.limits;
            let store = self.task_store.clone();
            self.tasks.start(|| {
                store.unwrap_or_else(|| {
                    let store = MemoryTaskStore::new(limits.tasks_max, limits.task_bytes_max);
                    Arc::new(store)
                })
            })?;
        }
        // Also where the tool is gone, and its tasks are not.
        Ok(self.tasks.is_started().then(|| {
            self.extensions.push(Extension {
                identifier: TASKS_EXTENSION.to_owned(),
                settings: "{}".to_owned(),
                is_legacy: false,
            });
            Arc::clone(&self.tasks)
        }))
    }
}

impl Core {
    /// Makes a task of a call, unless the client does not know tasks, the tool decides against it, or
    /// it need not be one and has no room. Whether the call is answered.
    ///
    /// # Errors
    ///
    /// -32021 if the call must become a task, and the client does not know tasks.
    #[cold]
    pub(super) fn call_as_task(
        &mut self,
        tool: &ToolEntry,
        options: &TaskOptions,
        serving: &Serving<'_>,
        run: &Run<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, RpcError> {
        let is_required = options.support == TaskSupport::Required;
        if serving.version.era() == Era::Legacy {
            if is_required {
                self.run(serving, run, out, |_, answer| {
                    let name = excerpt(run.asked.name);
                    Reply::new(answer).error(format_args!(
                        "{name} takes long and runs as a task, and this session has no tasks"
                    ));
                });
            }
            return Ok(is_required);
        }
        if client_extension(run.meta, TASKS_EXTENSION).is_none() {
            return if is_required {
                Err(RpcError::missing_extension(TASKS_EXTENSION))
            } else {
                Ok(false)
            };
        }
        if let Some(decide) = &options.decide {
            let context = self.context(serving, run);
            let decision = decide_guarded(&**decide, &context);
            match decision {
                Ok(Ok(_)) => self.forget_notices(),
                Ok(Err(_)) => {}
                Err(_) => {
                    self.empty_outbox();
                }
            }
            match decision {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => return Ok(false),
                Ok(Err(ask)) => {
                    self.run(serving, run, out, |_, answer| {
                        Reply::new(answer).error(ask);
                    });
                    return Ok(true);
                }
                Err(message) => {
                    self.log_panic(run, &message);
                    return Err(RpcError::internal("the handler panicked"));
                }
            }
        }
        let registry = Arc::clone(&self.registry);
        let Some(tasks) = &registry.tasks else {
            return Ok(false);
        };
        self.advance_tasks(serving.now);
        let record = self.record(tasks, options, serving, run);
        if !is_required && !tasks.has_room(&record) {
            return Ok(false);
        }
        if let Err(error) = self.before_task(serving, run) {
            // A hook may ask the client, as before any other call.
            self.run_alone(serving, run, out, |_, answer| answer.error(&error));
            return Ok(true);
        }
        let kept = self.empty_outbox();
        let (caller, now_unix_ms) = (Caller::modern(), serving.now.unix_ms);
        let start = tasks.create(record, kept.as_deref(), caller, tool.timeout, now_unix_ms);
        let start = match start {
            Ok(start) => start,
            Err(error) => {
                // The hooks that were asked are told how it ended.
                self.run_alone(serving, run, out, |_, answer| answer.error(&error));
                return Ok(true);
            }
        };
        let id = start.id.clone();
        self.start_task(tasks, start, serving.now);
        let record = tasks.load(&id, PRINCIPAL)?;
        let mut writer = JsonWriter::new(out);
        begin_result(&mut writer, &serving.id);
        writer.raw(b"{\"resultType\":\"task\",");
        record.write(&mut writer, &id, serving.version);
        writer.raw(&registry.modern_end);
        Ok(true)
    }

    /// Asks the hooks whether a call may become a task.
    pub(super) fn before_task(
        &mut self,
        serving: &Serving<'_>,
        run: &Run<'_>,
    ) -> Result<(), RpcError> {
        let mut admitted = Ok(());
        let context = self.context(serving, run);
        let result = guard(|| admitted = self.registry.hooks.before(&context));
        if let Err(message) = result {
            self.empty_outbox();
            self.log_panic(run, &message);
            return Err(RpcError::internal("the handler panicked"));
        }
        admitted
    }

    /// Forgets what was said of a request before there was a reply to it: else the next request would
    /// be told it. The state that was kept.
    pub(super) fn empty_outbox(&mut self) -> Option<String> {
        let outbox = self.outbox.get_mut();
        let outbox = outbox.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(outbox).kept
    }

    /// Forgets what was said before it was known what a call becomes.
    fn forget_notices(&mut self) {
        let outbox = self.outbox.get_mut();
        let outbox = outbox.unwrap_or_else(PoisonError::into_inner);
        outbox.forget_notices();
    }

    /// Serves those who ask for a task.
    pub(super) fn serve_task(
        &mut self,
        members: Object<'_>,
        params: &Params<'_>,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let registry = Arc::clone(&self.registry);
        let Some(tasks) = &registry.tasks else {
            return Err(RpcError::method_not_found(
                "Method not found: this server has no tasks",
            ));
        };
        if serving.version.era() == Era::Legacy {
            return self.serve_session_task(tasks, members, params, serving, out);
        }
        let meta = params.meta.and_then(Value::as_object);
        if client_extension(meta, TASKS_EXTENSION).is_none() {
            return Err(RpcError::missing_extension(TASKS_EXTENSION));
        }
        let id = task_id(members)?;
        let now = serving.now;
        self.advance_tasks(now);
        let mut record = None;
        match serving.method {
            Method::TasksUpdate => {
                let responses = optional_object(params.input_responses, "inputResponses")?
                    .ok_or_else(|| RpcError::invalid_params("params.inputResponses is missing"))?;
                let timeout = |tool: &str| registry.tools.find(tool)?.1.timeout;
                let start = tasks.answer(id, PRINCIPAL, responses, timeout, now.unix_ms)?;
                tasks.tell();
                if let Some(start) = start {
                    self.start_task(tasks, start, now);
                }
            }
            Method::TasksCancel => {
                let hooks = &registry.hooks;
                tasks.cancel(id, PRINCIPAL, now.unix_ms, hooks, &mut self.log)?;
                self.cancelled = true;
            }
            _ => record = Some(tasks.load(id, PRINCIPAL)?),
        }
        let mut writer = JsonWriter::new(out);
        begin_result(&mut writer, &serving.id);
        writer.raw(b"{\"resultType\":\"complete\"");
        if let Some(record) = record {
            writer.raw(b",");
            record.write_detailed(&mut writer, id);
        }
        writer.raw(&registry.modern_end);
        Ok(())
    }

    /// When there is something to do for tasks, on the monotonic clock.
    pub(super) fn next_task_due(&self) -> Option<Duration> {
        let seen = self.tasks_seen?;
        let due = self.registry.tasks.as_ref()?.next_due()?;
        let wait = Duration::from_millis(due.saturating_sub(seen.unix_ms));
        Some(seen.monotonic.saturating_add(wait))
    }

    /// Does what has come in for tasks, and what is due. A connection that does so once is woken
    /// when there is more to do.
    pub(super) fn advance_tasks(&mut self, now: Now) {
        let registry = Arc::clone(&self.registry);
        let Some(tasks) = &registry.tasks else {
            return;
        };
        if self.tasks_seen.replace(now).is_none() {
            tasks.add_home(&self.completions);
        }
        if !tasks.advance(now.unix_ms, &registry, &mut self.log) {
            return;
        }
        // What waits again for no time at all has its turn after the next lines.
        for due in tasks.take_due(now.unix_ms) {
            let Due {
                serial,
                version,
                cancellation,
                then,
            } = due;
            self.ran = Some(Ran::Delayed);
            let ticket = self.task_ticket(tasks, serial, version, cancellation);
            ticket.answer_from(None, |answer| {
                if let Err(message) = guard(|| then.call(Reply::new(answer))) {
                    self.log
                        .push(&format!("a delayed answer panicked: {message}"));
                }
            });
        }
        tasks.advance(now.unix_ms, &registry, &mut self.log);
    }

    /// Calls the function of a task.
    pub(super) fn start_task(&mut self, tasks: &Arc<Tasks>, start: Start, now: Now) {
        let registry = Arc::clone(&self.registry);
        let (caller, now_unix_ms) = (start.caller, now.unix_ms);
        let ticket = self.task_ticket(tasks, start.serial, caller.version, start.cancellation);
        let Some((place, tool)) = registry.tools.find(&start.tool) else {
            ticket.answer(|reply| {
                reply.protocol_error(&RpcError::internal("the tool is not there any more"));
            });
            return self.advance_tasks(now);
        };
        let in_loop = tool.execution == Execution::Inline;
        let call = start.call;
        let job = Job::of_task(&registry, place, call, caller, now_unix_ms, in_loop, ticket);
        if in_loop {
            self.ran = Some(Ran::Tool(place));
            job.run();
            self.advance_tasks(now);
        } else {
            self.start_job(job, tool.execution);
        }
    }

    /// What answers for the function of a task.
    pub(super) fn task_ticket(
        &self,
        tasks: &Arc<Tasks>,
        serial: u64,
        version: ProtocolVersion,
        cancellation: Cancellation,
    ) -> Ticket {
        Ticket::new(
            IdBuf::new(&Id::Unsigned(0)),
            version,
            serial,
            Arc::clone(&self.registry),
            Arc::clone(tasks.mailbox()),
            cancellation,
        )
    }

    pub(super) fn record(
        &mut self,
        tasks: &Tasks,
        options: &TaskOptions,
        serving: &Serving<'_>,
        run: &Run<'_>,
    ) -> TaskRecord {
        let limit = Duration::from_millis(self.registry.limits.task_ms_max);
        let ttl = options.ttl.map_or(limit, |ttl| ttl.min(limit));
        let now = serving.now.unix_ms;
        TaskRecord {
            principal: PRINCIPAL.to_owned(),
            tool: run.asked.name.to_owned(),
            state: TaskState::Working,
            status_message: None,
            created_unix_ms: now,
            updated_unix_ms: now,
            ttl_ms: milliseconds(ttl).max(1),
            poll_interval_ms: milliseconds(options.poll_interval),
            request: request(run),
            answers: answers(&run.given),
            kept: run.given.state.map(str::to_owned),
            connection: self.session_tasks.number(tasks),
        }
    }
}

/// Which task is asked for.
pub(super) fn task_id(params: Object<'_>) -> Result<&str, RpcError> {
    required_str(only(params, "params", "taskId")?, "taskId")
}

/// What a call is about, one JSON object.
fn request(run: &Run<'_>) -> Arc<str> {
    let mut json = Vec::new();
    let mut writer = JsonWriter::new(&mut json);
    writer.raw(b"{\"name\":");
    writer.string(run.asked.name);
    if let Some(arguments) = run.asked.arguments {
        writer.raw(b",\"arguments\":");
        writer.value(arguments);
    }
    if let Some(meta) = run.meta {
        writer.raw(b",\"_meta\":");
        write_object(&mut writer, meta);
    }
    writer.raw(b"}");
    Arc::from(String::from_utf8_lossy(&json))
}

/// What the client has answered before there was a task.
fn answers(given: &Given<'_>) -> Vec<(String, Arc<str>)> {
    let json = |(key, answer): (&str, _)| {
        let mut json = Vec::new();
        JsonWriter::new(&mut json).value(answer);
        (key.to_owned(), Arc::from(String::from_utf8_lossy(&json)))
    };
    given.known().map(json).collect()
}

fn decide_guarded(decide: &Decide, context: &Context<'_>) -> Result<Result<bool, Ask>, String> {
    let mut decision = Ok(false);
    let call = Call {
        name: context.request.name,
        arguments: context.request.arguments.unwrap_or(Value::EMPTY_OBJECT),
        context,
    };
    guard(|| decision = decide(call))?;
    Ok(decision)
}
