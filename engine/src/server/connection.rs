//! [`ServerConnection`]: a server's side of one connection, as a state machine without I/O.
//!
//! The transport hands in lines and the time, and sends what is appended to `out`. Between lines
//! it asks what else there is to do:
//!
//! ```text
//!   handle_line ────────▶ out            poll_timeout ─▶ when to call handle_timeout
//!   handle_timeout ─────▶ out            poll_job ─────▶ calls to run on other threads
//!   handle_completions ─▶ out            poll_log ─────▶ lines for the log
//! ```
//!
//! This file decides, by method and era, what a message means; what each era asks of a request is
//! in the sibling files `modern` and `legacy`.

use std::{collections::VecDeque, fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use tightwire_codec::{
    Array, Id, InvalidMessage, InvalidMessageKind, JsonWriter, Line, LineTooLong, Message,
    Notification, Object, ParseError, ParseErrorKind, Parser, ParserLimits, Request, Value,
    WideIntegers,
};

use super::{
    batch::{BatchKey, Batches, end_with_comma},
    excerpt,
    handler::{Call, guard},
    job::Job,
    legacy::Session,
    method_not_found, modern,
    prompt::{GetPrompt, PromptReply, check_arguments},
    registry::{PerVersion, Registry},
    reply::{
        Answer, Answering, Continuation, Outcome, Reply, begin_result, parse_error, write_error,
    },
    resource::{Read, ReadHandler, ReadReply, not_found},
    ticket::{Cancellation, Completion, CompletionKind, Completions},
    tool::Execution,
};
use crate::{
    error::RpcError,
    limits::Limits,
    protocol::{
        meta::Meta,
        method::{ClientNotification, DISCOVER, Method},
        params::{Params, optional_object, required_str},
        pending::{Entry, IdBuf, Pending},
        version::{Era, ProtocolVersion},
    },
    schema::describe,
};

/// The time, as a connection sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The time since any fixed moment, on a clock that never goes back.
    pub monotonic: Duration,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub unix_ms: u64,
}

/// A server's side of one connection: bytes in, bytes out.
///
/// [`Memory`](crate::Memory) shows how it is driven.
#[derive(Debug)]
pub struct ServerConnection {
    parser: Parser,
    core: Core,
}

impl ServerConnection {
    pub(crate) fn new(registry: Arc<Registry>) -> Self {
        let limits = &registry.limits;
        Self {
            parser: Parser::new(ParserLimits {
                nesting_max: limits.nesting_max,
                values_max: limits.values_max,
            }),
            core: Core {
                session: Session::default(),
                pending: Pending::new(limits.in_flight_max),
                batches: Batches::default(),
                completions: Arc::default(),
                jobs: VecDeque::new(),
                log: Log::default(),
                serial: 0,
                last_tool: None,
                registry,
            },
        }
    }

    /// Serves one line, and appends to `out` what it is answered with at once: complete lines.
    ///
    /// A blank line is no message and is not answered.
    pub fn handle_line(&mut self, now: Now, mut line: Line<'_>, out: &mut Vec<u8>) {
        if line.is_blank() {
            return;
        }
        self.core.last_tool = None;
        let len = line.len();
        let parsed = match self.parser.parse(&mut line) {
            Ok(document) => match self.core.handle_root(now, document.root(), None, out) {
                Root::Handled => Parsed::Handled,
                Root::WideId => Parsed::WideId(document.to_line()),
            },
            Err(error) => Parsed::Refused(error),
        };
        match parsed {
            Parsed::Handled => {}
            Parsed::WideId((copy, copy_len, places)) => {
                let wide = self.parser.wide_integers(&line, &places);
                self.handle_wide_id(now, copy, copy_len, &wide, out);
            }
            Parsed::Refused(error) => {
                let id = self.parser.recover_id(&mut line);
                self.core.refuse_line(error, id, out);
            }
        }
        self.parser.release(len);
    }

    /// Answers a line that is over the limit.
    pub fn handle_too_long(&mut self, error: LineTooLong, out: &mut Vec<u8>) {
        let error = RpcError::invalid_request(format!("Invalid request: {error}"));
        self.core.error(None, &error, out);
    }

    /// When [`ServerConnection::handle_timeout`] is to be called, on the monotonic clock.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.core.pending.next_deadline()
    }

    /// Does what is due: continues what waited for a delay, gives up what took too long.
    pub fn handle_timeout(&mut self, now: Now, out: &mut Vec<u8>) {
        // What waits again for no time at all has its turn after the next lines.
        let last = self.core.serial;
        while let Some(entry) = self.core.pending.remove_due(now.monotonic, last) {
            self.core.handle_due(now, entry, out);
        }
    }

    /// Sends the deferred answers that have come in since.
    pub fn handle_completions(&mut self, now: Now, out: &mut Vec<u8>) {
        for completion in self.core.completions.take() {
            self.core.handle_completion(now, completion, out);
        }
    }

    /// Whether [`ServerConnection::handle_completions`] has anything to do.
    #[must_use]
    #[inline]
    pub fn has_completions(&self) -> bool {
        self.core.completions.is_ready()
    }

    /// Sets what is called, from any thread, when a deferred answer comes in. To be set once.
    pub fn set_waker(&self, waker: impl Fn() + Send + Sync + 'static) {
        self.core.completions.set_waker(waker);
    }

    /// The next call to run on another thread, or to refuse.
    pub fn poll_job(&mut self) -> Option<Job> {
        self.core.jobs.pop_front()
    }

    /// The next line for the log, without a newline.
    pub fn poll_log(&mut self) -> Option<String> {
        self.core.log.next()
    }

    /// Tells how long the last line took; a function that held the loop too long is named in the
    /// log.
    #[inline]
    pub fn line_took(&mut self, took: Duration) {
        if took >= Duration::from_millis(self.core.registry.limits.inline_ms_warn) {
            self.core.warn_of_held_loop(took);
        }
    }

    /// How many requests wait for a deferred answer.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.core.pending.len()
    }

    /// Gives up all that is unanswered: whoever works on it sees a cancellation, and no answer is
    /// sent any more.
    pub fn abort(&mut self) {
        self.core.jobs.clear();
        self.core.batches.clear();
        let cancelled: Vec<Cancellation> = self
            .core
            .pending
            .drain()
            .filter_map(|entry| entry.state.cancellation())
            .collect();
        for cancellation in cancelled {
            cancellation.cancel();
        }
    }

    /// The limits of the server.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.core.registry.limits
    }

    /// Serves a line in which an id is beyond 64 bits.
    #[cold]
    fn handle_wide_id(
        &mut self,
        now: Now,
        mut copy: Vec<u8>,
        copy_len: usize,
        wide: &WideIntegers,
        out: &mut Vec<u8>,
    ) {
        // The limits were kept by the line it is a copy of.
        let mut parser = Parser::new(ParserLimits {
            nesting_max: self.core.registry.limits.nesting_max,
            values_max: usize::MAX,
        });
        let line = Line::padded(&mut copy, copy_len);
        if let Some(mut line) = line
            && let Ok(document) = parser.parse(&mut line)
        {
            self.core.handle_root(now, document.root(), Some(wide), out);
        }
    }
}

/// What became of a line, once its document is gone.
enum Parsed {
    Handled,
    WideId((Vec<u8>, usize, Vec<usize>)),
    Refused(ParseError),
}

/// What became of the value that a line is.
enum Root {
    Handled,
    /// An id in it is beyond 64 bits, and nothing was handled yet. Its digits are in the source
    /// alone, which is free again once the document is gone.
    WideId,
}

/// Whether an id in a message, its own or one to cancel, may be beyond 64 bits.
#[inline]
fn has_wide_id(message: &Result<Message<'_>, InvalidMessage<'_>>) -> bool {
    match message {
        Err(invalid) => invalid.kind == InvalidMessageKind::WideId,
        Ok(Message::Notification(notification)) => {
            let id = notification
                .params
                .and_then(|params| params.find("requestId"));
            id.is_some_and(|id| Id::read(id) == Err(InvalidMessageKind::WideId))
        }
        Ok(_) => false,
    }
}

/// What a request in flight waits for.
#[derive(Debug)]
struct Waiting {
    version: ProtocolVersion,
    batch: Option<BatchKey>,
    /// When the time of a deferred answer is up, on the monotonic clock.
    expires: Duration,
    what: Awaited,
}

enum Awaited {
    Ticket(Cancellation),
    Delay {
        due: Duration,
        then: Continuation,
        cancellation: Option<Cancellation>,
    },
}

impl Waiting {
    fn cancellation(self) -> Option<Cancellation> {
        match self.what {
            Awaited::Ticket(cancellation) => Some(cancellation),
            Awaited::Delay { cancellation, .. } => cancellation,
        }
    }
}

impl fmt::Debug for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ticket(_) => f.write_str("Ticket"),
            Self::Delay { due, .. } => f.debug_tuple("Delay").field(due).finish(),
        }
    }
}

/// A request on its way through dispatch.
#[derive(Clone, Copy)]
struct Context<'a> {
    now: Now,
    id: Id<'a>,
    version: ProtocolVersion,
    batch: Option<BatchKey>,
}

/// All of a connection but its parser, which a message borrows while it is handled.
#[derive(Debug)]
struct Core {
    registry: Arc<Registry>,
    session: Session,
    pending: Pending<Waiting>,
    batches: Batches,
    completions: Arc<Completions>,
    jobs: VecDeque<Job>,
    log: Log,
    /// Of the last call.
    serial: u64,
    /// The tool that the last line called in the loop.
    last_tool: Option<usize>,
}

impl Core {
    fn handle_root<'a>(
        &mut self,
        now: Now,
        root: Value<'a>,
        wide: Option<&'a WideIntegers>,
        out: &mut Vec<u8>,
    ) -> Root {
        let Some(items) = root.as_array() else {
            let message = read(root, wide);
            if wide.is_none() && has_wide_id(&message) {
                return Root::WideId;
            }
            self.handle_message(now, message, wide, None, out);
            return Root::Handled;
        };
        if self.session.version() == Some(ProtocolVersion::V2025_03_26) {
            if wide.is_none() && items.iter().any(|item| has_wide_id(&Message::read(item))) {
                return Root::WideId;
            }
            self.handle_batch(now, items, wide, out);
        } else {
            let error = RpcError::invalid_request(
                "Invalid request: a message must be an object; only 2025-03-26 has batches",
            );
            self.error(None, &error, out);
        }
        Root::Handled
    }

    fn handle_batch<'a>(
        &mut self,
        now: Now,
        items: Array<'a>,
        wide: Option<&'a WideIntegers>,
        out: &mut Vec<u8>,
    ) {
        let max = self.registry.limits.batch_max;
        if items.is_empty() || items.len() > max {
            let error = RpcError::invalid_request(format!(
                "Invalid request: a batch holds 1 to {max} messages, not {}",
                items.len()
            ));
            self.error(None, &error, out);
            return;
        }
        let key = self.batches.next_key();
        let mut answers = Vec::new();
        for item in items {
            match read(item, wide) {
                // What it settles is not this batch's, so it goes straight out.
                Ok(Message::Notification(notification)) => {
                    self.handle_notification(&notification, wide, out);
                }
                message => self.handle_message(now, message, wide, Some(key), &mut answers),
            }
            end_with_comma(&mut answers);
        }
        // A batch may cancel what it asked for itself: what is left of it is in the table.
        let outstanding = self.pending.count(|waiting| waiting.batch == Some(key));
        self.batches.close(key, answers, outstanding, out);
    }

    #[inline]
    fn handle_message(
        &mut self,
        now: Now,
        message: Result<Message<'_>, InvalidMessage<'_>>,
        wide: Option<&WideIntegers>,
        batch: Option<BatchKey>,
        out: &mut Vec<u8>,
    ) {
        match message {
            Ok(Message::Request(request)) => self.handle_request(now, &request, batch, out),
            Ok(Message::Notification(notification)) => {
                self.handle_notification(&notification, wide, out);
            }
            // It answers nothing that was asked: no request of ours is open.
            Ok(Message::Response(_)) => {}
            Err(invalid) => {
                let error = RpcError::invalid_request(format!("Invalid request: {}", invalid.kind));
                self.error(invalid.id.as_ref(), &error, out);
            }
        }
    }

    #[inline]
    fn handle_request(
        &mut self,
        now: Now,
        request: &Request<'_>,
        batch: Option<BatchKey>,
        out: &mut Vec<u8>,
    ) {
        if self.pending.contains(&request.id) {
            let error =
                RpcError::invalid_request("Invalid request: a request with this id is in flight");
            return self.error(Some(&request.id), &error, out);
        }
        let params = Params::read(request.params);
        let admitted = self
            .admit(request.method, &params, batch)
            .and_then(|admitted| {
                params.check_duplicates()?;
                Ok(admitted)
            });
        let served = admitted.and_then(|(version, method)| {
            let context = Context {
                now,
                id: request.id,
                version,
                batch,
            };
            self.dispatch(method, &params, &context, out)
        });
        if let Err(error) = served {
            self.error(Some(&request.id), &error, out);
        }
    }

    /// Tells the era of a request, and asks that era whether to serve it.
    ///
    /// Specification: 2026-07-28, `basic/versioning`, Backward Compatibility.
    #[inline]
    fn admit(
        &self,
        method: &str,
        params: &Params<'_>,
        batch: Option<BatchKey>,
    ) -> Result<(ProtocolVersion, Method), RpcError> {
        let meta = optional_object(params.meta, "_meta")?.map(Meta::read);
        let meta = meta.unwrap_or_default();
        if meta.is_modern() || method == DISCOVER {
            if batch.is_some() {
                return Err(RpcError::invalid_request(format!(
                    "Invalid request: {} has no batches",
                    ProtocolVersion::LATEST
                )));
            }
            modern::admit(&meta)?;
            let method =
                Method::find(method, Era::Modern).ok_or_else(|| method_not_found(method))?;
            return Ok((ProtocolVersion::LATEST, method));
        }
        meta.check_common()?;
        let (version, method) = self.session.admit(method)?;
        if method == Method::Initialize && batch.is_some() {
            return Err(RpcError::invalid_request(
                "Invalid request: `initialize` must not be part of a batch",
            ));
        }
        Ok((version, method))
    }

    #[inline]
    fn dispatch(
        &mut self,
        method: Method,
        params: &Params<'_>,
        context: &Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let features = self.registry.features();
        match method {
            Method::Initialize => {
                let version = self.session.initialize(params)?;
                constant(&self.registry.initialize[version.index()], context, out);
                Ok(())
            }
            Method::Ping => {
                constant(b"{}}\n", context, out);
                Ok(())
            }
            Method::Discover => {
                constant(&self.registry.discover, context, out);
                Ok(())
            }
            Method::ToolsList | Method::ToolsCall if !features.tools => Err(no_feature("tools")),
            Method::ResourcesList | Method::ResourceTemplatesList | Method::ResourcesRead
                if !features.resources =>
            {
                Err(no_feature("resources"))
            }
            Method::PromptsList | Method::PromptsGet if !features.prompts => {
                Err(no_feature("prompts"))
            }
            Method::ToolsList => list(&self.registry.tools_list, params, context, out),
            Method::ToolsCall => self.call_tool(params, context, out),
            Method::ResourcesList => list(&self.registry.resources_list, params, context, out),
            Method::ResourceTemplatesList => {
                list(&self.registry.templates_list, params, context, out)
            }
            Method::ResourcesRead => self.read_resource(params, context, out),
            Method::PromptsList => list(&self.registry.prompts_list, params, context, out),
            Method::PromptsGet => self.get_prompt(params, context, out),
        }
    }

    /// Specification: `server/tools`, Calling Tools.
    #[inline]
    fn call_tool(
        &mut self,
        params: &Params<'_>,
        context: &Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let name = required_str(params.name, "name")?;
        let arguments = match optional_object(params.arguments, "arguments")? {
            Some(_) => params.arguments.unwrap_or(Value::EMPTY_OBJECT),
            None => Value::EMPTY_OBJECT,
        };
        let registry = Arc::clone(&self.registry);
        let Some((place, tool)) = registry.tools.find(name) else {
            return Err(RpcError::invalid_params(format!(
                "Unknown tool: {}",
                excerpt(name)
            )));
        };
        self.check_room()?;
        let call = Call {
            name: &tool.name,
            arguments,
            meta: params.meta.and_then(Value::as_object),
            cancellation: None,
        };
        if !tool.schema.is_valid(arguments) {
            let text = describe(&tool.name, &tool.schema.problems(arguments));
            self.run(context, "tool", name, out, |answer| {
                Reply::new(answer).error(text);
            });
            return Ok(());
        }
        match tool.execution {
            Execution::Inline => {
                self.last_tool = Some(place);
                self.run(context, "tool", name, out, |answer| {
                    tool.handler.call(call, Reply::new(answer));
                });
            }
            Execution::Blocking => {
                let mut job = None;
                let serial = self.serial + 1;
                self.run(context, "tool", name, out, |answer| {
                    let ticket = Reply::new(answer).defer();
                    job = Some(Job::new(&registry, place, &call, ticket, serial));
                });
                self.jobs.extend(job);
            }
        }
        Ok(())
    }

    /// Specification: `server/resources`, Reading Resources.
    fn read_resource(
        &mut self,
        params: &Params<'_>,
        context: &Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let uri = required_str(params.uri, "uri")?;
        self.check_room()?;
        let registry = Arc::clone(&self.registry);
        if let Some((_, resource)) = registry.resources.find(uri) {
            let read = Read {
                uri,
                variables: &[],
            };
            self.read(
                context,
                &resource.handler,
                read,
                resource.mime_type.as_deref(),
                out,
            );
            return Ok(());
        }
        for template in &registry.templates {
            if let Some(variables) = template.template.matches(uri) {
                let read = Read {
                    uri,
                    variables: &variables,
                };
                self.read(
                    context,
                    &template.handler,
                    read,
                    template.mime_type.as_deref(),
                    out,
                );
                return Ok(());
            }
        }
        Err(not_found(context.version, uri))
    }

    fn read(
        &mut self,
        context: &Context<'_>,
        handler: &ReadHandler,
        read: Read<'_>,
        mime_type: Option<&str>,
        out: &mut Vec<u8>,
    ) {
        self.run(context, "resource", read.uri, out, |answer| {
            let reply = ReadReply {
                answer,
                uri: read.uri,
                mime_type,
            };
            handler(read, reply);
        });
    }

    /// Specification: `server/prompts`, Getting a Prompt.
    fn get_prompt(
        &mut self,
        params: &Params<'_>,
        context: &Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let name = required_str(params.name, "name")?;
        let arguments = optional_object(params.arguments, "arguments")?.unwrap_or(Object::EMPTY);
        let registry = Arc::clone(&self.registry);
        let Some((_, prompt)) = registry.prompts.find(name) else {
            return Err(RpcError::invalid_params(format!(
                "Unknown prompt: {}",
                excerpt(name)
            )));
        };
        check_arguments(&prompt.definition, arguments)?;
        self.check_room()?;
        self.run(context, "prompt", name, out, |answer| {
            let reply = PromptReply {
                answer,
                description: prompt.definition.description.as_deref(),
            };
            (prompt.handler)(GetPrompt { arguments }, reply);
        });
        Ok(())
    }

    /// Refuses a call when as many as may be are in flight.
    fn check_room(&self) -> Result<(), RpcError> {
        if self.pending.is_full() {
            return Err(RpcError::internal(format!(
                "Too many requests in flight: {} wait for an answer",
                self.pending.len()
            )));
        }
        Ok(())
    }

    /// Runs a handler, guarded, and keeps what it deferred.
    #[inline]
    fn run(
        &mut self,
        context: &Context<'_>,
        kind: &str,
        name: &str,
        out: &mut Vec<u8>,
        handler: impl FnOnce(Answer<'_>),
    ) {
        self.serial += 1;
        let start = out.len();
        let mut outcome = Outcome::Answered;
        let answering = Answering {
            id: context.id,
            version: context.version,
            serial: self.serial,
            registry: &self.registry,
            completions: &self.completions,
            cancellation: None,
        };
        let result = guard(|| handler(Answer::new(out, answering, &mut outcome)));
        if let Err(message) = result {
            self.log
                .push(&format!("{kind} {} panicked: {message}", excerpt(name)));
        }
        let expires = context.now.monotonic + self.registry.limits.deferred_max();
        self.settle(outcome, context, expires, None, start, out);
    }

    /// Keeps what a handler deferred; answers for one that left its reply lying about.
    #[inline]
    fn settle(
        &mut self,
        outcome: Outcome,
        context: &Context<'_>,
        expires: Duration,
        cancellation: Option<Cancellation>,
        start: usize,
        out: &mut Vec<u8>,
    ) {
        let what = match outcome {
            Outcome::Answered => {
                if out.len() == start {
                    let error = RpcError::internal("the handler gave no answer");
                    self.error(Some(&context.id), &error, out);
                }
                return;
            }
            Outcome::Deferred(cancellation) => Awaited::Ticket(cancellation),
            Outcome::After(delay, then) => Awaited::Delay {
                due: context.now.monotonic.saturating_add(delay),
                then,
                cancellation,
            },
        };
        let waiting = Waiting {
            version: context.version,
            batch: context.batch,
            expires,
            what,
        };
        self.pending.insert(Entry {
            id: IdBuf::new(&context.id),
            serial: self.serial,
            deadline: waiting.deadline(),
            state: waiting,
        });
    }

    /// A request in flight whose time has come: to continue, or to be given up.
    fn handle_due(&mut self, now: Now, entry: Entry<Waiting>, out: &mut Vec<u8>) {
        let Waiting {
            version,
            batch,
            expires,
            what,
        } = entry.state;
        let id = entry.id;
        let mut answer = Vec::new();
        // Straight into the output, unless it has to wait for the rest of a batch.
        let target = if batch.is_some() {
            &mut answer
        } else {
            &mut *out
        };
        let start = target.len();
        let mut kept = false;
        match what {
            Awaited::Delay {
                due,
                then,
                cancellation,
            } if due <= now.monotonic => {
                self.serial += 1;
                let mut outcome = Outcome::Answered;
                let answering = Answering {
                    id: id.as_id(),
                    version,
                    serial: self.serial,
                    registry: &self.registry,
                    completions: &self.completions,
                    cancellation: cancellation.as_ref(),
                };
                let result =
                    guard(|| then(Reply::new(Answer::new(target, answering, &mut outcome))));
                if let Err(message) = result {
                    self.log
                        .push(&format!("a delayed answer panicked: {message}"));
                }
                kept = !matches!(outcome, Outcome::Answered);
                let context = Context {
                    now,
                    id: id.as_id(),
                    version,
                    batch,
                };
                self.settle(outcome, &context, expires, cancellation, start, target);
            }
            what => {
                if let Awaited::Ticket(cancellation)
                | Awaited::Delay {
                    cancellation: Some(cancellation),
                    ..
                } = what
                {
                    cancellation.cancel();
                }
                let error = RpcError::internal(format!(
                    "no answer within {} ms",
                    self.registry.limits.deferred_ms_max
                ));
                write_error(target, Some(&id.as_id()), version, &error);
            }
        }
        if let Some(key) = batch
            && !kept
        {
            self.batches.settle(key, Some(&answer), out);
        }
    }

    fn handle_completion(&mut self, now: Now, completion: Completion, out: &mut Vec<u8>) {
        let Completion { serial, kind } = completion;
        match kind {
            CompletionKind::Log(line) => self.log.push(&line),
            CompletionKind::Answer(answer) => {
                let Some(entry) = self.pending.remove_serial(serial) else {
                    // Cancelled, or given up.
                    return;
                };
                match entry.state.batch {
                    Some(key) => self.batches.settle(key, Some(&answer), out),
                    None => out.extend_from_slice(&answer),
                }
            }
            CompletionKind::After(delay, then) => {
                let due = now.monotonic.saturating_add(delay);
                self.pending.change(serial, |waiting| {
                    waiting.wait_for(due, then);
                    waiting.deadline()
                });
            }
        }
    }

    /// Specification: `basic/patterns/cancellation` and, before 2026-07-28,
    /// `basic/utilities/cancellation`. What is malformed or unknown is ignored.
    fn handle_notification(
        &mut self,
        notification: &Notification<'_>,
        wide: Option<&WideIntegers>,
        out: &mut Vec<u8>,
    ) {
        match ClientNotification::find(notification.method) {
            Some(ClientNotification::Cancelled) => {
                let params = Params::read(notification.params);
                if params.check_duplicates().is_err() {
                    return;
                }
                let id = params
                    .request_id
                    .and_then(|id| Id::read_wide(id, wide).ok());
                if let Some(entry) = id.and_then(|id| self.pending.remove(&id)) {
                    if let Some(key) = entry.state.batch {
                        self.batches.settle(key, None, out);
                    }
                    if let Some(cancellation) = entry.state.cancellation() {
                        cancellation.cancel();
                    }
                }
            }
            // The session is open since `initialize` was answered.
            Some(ClientNotification::Initialized) | None => {}
        }
    }

    /// Answers a line that is not acceptable JSON.
    fn refuse_line(&mut self, error: ParseError, id: Option<Id<'_>>, out: &mut Vec<u8>) {
        let error = match error.kind {
            ParseErrorKind::TooManyValues | ParseErrorKind::TooLong => {
                RpcError::invalid_request(format!("Invalid request: {error}"))
            }
            _ => parse_error(format!("Parse error: {error}")),
        };
        self.error(id.as_ref(), &error, out);
    }

    fn error(&self, id: Option<&Id<'_>>, error: &RpcError, out: &mut Vec<u8>) {
        write_error(out, id, self.session.version_for_errors(), error);
    }

    #[cold]
    fn warn_of_held_loop(&mut self, took: Duration) {
        let Some(tool) = self
            .last_tool
            .and_then(|place| self.registry.tools.get(place))
        else {
            return;
        };
        self.log.push(&format!(
            "tool {} held the loop for {} ms: make it `blocking`, or defer its answer",
            excerpt(&tool.name),
            took.as_millis()
        ));
    }
}

impl Waiting {
    fn deadline(&self) -> Duration {
        match &self.what {
            Awaited::Ticket(_) => self.expires,
            Awaited::Delay { due, .. } => self.expires.min(*due),
        }
    }

    /// A ticket was answered with a delay.
    fn wait_for(&mut self, due: Duration, then: Continuation) {
        let cancellation = match &self.what {
            Awaited::Ticket(cancellation) => Some(cancellation.clone()),
            Awaited::Delay { cancellation, .. } => cancellation.clone(),
        };
        self.what = Awaited::Delay {
            due,
            then,
            cancellation,
        };
    }
}

/// Lines for the log, kept until the transport asks for them: a bounded number, the rest counted.
#[derive(Debug, Default)]
struct Log {
    lines: VecDeque<String>,
    dropped: usize,
}

impl Log {
    const LINES_MAX: usize = 64;

    /// Keeps a text as one line, whatever a peer or a panic put into it.
    #[cold]
    fn push(&mut self, text: &str) {
        if self.lines.len() < Self::LINES_MAX {
            self.lines
                .push_back(text.replace(|c: char| c.is_control(), " "));
        } else {
            self.dropped += 1;
        }
    }

    #[inline]
    fn next(&mut self) -> Option<String> {
        let line = self.lines.pop_front();
        if line.is_none() && self.dropped > 0 {
            let dropped = std::mem::take(&mut self.dropped);
            return Some(format!("{dropped} more lines were dropped"));
        }
        line
    }
}

#[inline]
fn read<'a>(
    value: Value<'a>,
    wide: Option<&'a WideIntegers>,
) -> Result<Message<'a>, InvalidMessage<'a>> {
    match wide {
        None => Message::read(value),
        Some(wide) => Message::read_wide(value, wide),
    }
}

/// Answers with what was written at the freeze.
#[inline]
fn constant(result: &[u8], context: &Context<'_>, out: &mut Vec<u8>) {
    let mut writer = JsonWriter::new(out);
    begin_result(&mut writer, &context.id);
    writer.raw(result);
}

/// Answers with a list, all of it on one page.
///
/// Specification: `server/utilities/pagination`: a cursor that was never issued is -32602.
fn list(
    results: &PerVersion,
    params: &Params<'_>,
    context: &Context<'_>,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    if params.cursor.is_some() {
        return Err(RpcError::invalid_params(
            "params.cursor is not one that this server issued",
        ));
    }
    let result: &Bytes = &results[context.version.index()];
    constant(result, context, out);
    Ok(())
}

fn no_feature(name: &str) -> RpcError {
    RpcError::method_not_found(format!("Method not found: this server has no {name}"))
}
