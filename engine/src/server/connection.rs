//! [`ServerConnection`]: a server's side of one connection, as a state machine without I/O.
//!
//! The transport hands in lines and the time, and sends what is appended to `out`. Between lines
//! it asks what else there is to do:
//!
//! ```text
//!   handle_line ────────▶ out            poll_timeout ─▶ when to call handle_timeout
//!   handle_timeout ─────▶ out            poll_job ─────▶ calls to run on other threads
//!   handle_completions ─▶ out            poll_log ─────▶ lines for the log
//!   handle_end ─────────▶ out
//! ```
//!
//! This file tells what kind of message a line is. Which requests are served is in `admission`; what
//! each era asks of one, in the siblings `modern` and `legacy`; what each method does, in `dispatch`;
//! how handlers are run, in `run`; what becomes of requests whose answer is deferred, in `deferred`;
//! who is told of changes, in `subscriptions`.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use tightwire_codec::{
    Document, Id, InvalidMessage, InvalidMessageKind, Line, LineTooLong, Message, Notification,
    Object, ParseError, ParseErrorKind, Parser, ParserLimits, Value, Verbatim, WideIntegers,
};

use super::{
    admission::AdmittedLines,
    batch::{BatchKey, Batches},
    context::Outbox,
    deferred::Waiting,
    excerpt,
    hook::{Ending, FinishedLine},
    hub::Hub,
    job::Job,
    legacy::Session,
    log::Log,
    question::take_back_questions,
    registry::Registry,
    reply::{parse_error, write_error},
    run::Ran,
    session_tasks::SessionTasks,
    subscriptions::Subscriptions,
    ticket::{Completion, Completions},
};
use crate::{
    error::RpcError,
    limits::Limits,
    protocol::{
        method::ClientNotification,
        names,
        params::Params,
        pending::{IdBuf, Pending},
        version::ProtocolVersion,
    },
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
    pub(super) core: Core,
}

impl ServerConnection {
    pub(crate) fn new(registry: Arc<Registry>, hub: Option<Arc<Hub>>) -> Self {
        let limits = &registry.limits;
        let mut parser = Parser::new(ParserLimits {
            nesting_max: limits.nesting_max,
            values_max: limits.values_max,
            lines_remembered: limits.lines_remembered_max,
        });
        parser.expect(names::find);
        Self {
            parser,
            core: Core {
                session: Session::default(),
                pending: Pending::new(limits.in_flight_max),
                batches: Batches::default(),
                completions: Arc::default(),
                completed: VecDeque::new(),
                jobs: VecDeque::new(),
                outbox: Mutex::default(),
                notices: Vec::new(),
                questions: 0,
                finished: FinishedLine::default(),
                tasks_seen: None,
                verbatim: Verbatim::default(),
                admitted_lines: AdmittedLines::default(),
                session_tasks: SessionTasks::default(),
                log: Log::default(),
                seen: Now::default(),
                serial: 0,
                ran: None,
                cancelled: false,
                subscriptions: Subscriptions::default(),
                registry,
                hub,
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
        self.core.begin_step(now);
        // What a handler changed holds for the next line.
        if self.core.hub.is_some() && self.core.completions.is_ready() {
            self.core.renew();
        }
        let parsed = match self.parser.parse(&mut line) {
            Ok(document) => match self.core.handle_document(now, &document, out) {
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
    }

    /// Answers a line that is over the limit.
    pub fn handle_too_long(&mut self, error: LineTooLong, out: &mut Vec<u8>) {
        self.core.ran = None;
        let error = RpcError::invalid_request(format!("Invalid request: {error}"));
        self.core.error(None, &error, out);
    }

    /// When [`ServerConnection::handle_timeout`] is to be called, on the monotonic clock.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let deadlines = [
            self.core.pending.next_deadline(),
            self.core.subscriptions.due(),
            self.core.next_task_due(),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Does what is due, as far as there is room for the answers: continues what waited for a delay,
    /// gives up what took too long.
    pub fn handle_timeout(&mut self, now: Now, out: &mut Vec<u8>) {
        self.core.begin_step(now);
        if self.core.tasks_seen.is_some() {
            self.core.advance_tasks(now);
        }
        // What waits again for no time at all has its turn after the next lines.
        let last = self.core.serial;
        let room = self.core.output_room(out);
        while out.len() <= room
            && let Some(entry) = self.core.pending.remove_due(now.monotonic, last)
        {
            self.core.handle_due(now, entry, out);
        }
        self.core.tell_changes(now, out);
    }

    /// Sends the deferred answers that have come in since, as many as there is room for, and tells
    /// what changed. Changes wait while more than 64 KiB are in `out`.
    pub fn handle_completions(&mut self, now: Now, out: &mut Vec<u8>) {
        // Once more, for what tasks of the session have for it.
        for _ in 0..2 {
            if self.core.completions.is_ready() {
                self.core.completed.extend(self.core.completions.take());
                if self.core.tasks_seen.is_some() {
                    self.core.advance_tasks(now);
                }
                self.core.renew();
            }
        }
        let room = self.core.output_room(out);
        while out.len() <= room
            && let Some(completion) = self.core.completed.pop_front()
        {
            self.core.completions.settle(&completion);
            self.core.handle_completion(now, completion, out);
        }
        self.core.tell_changes(now, out);
    }

    /// Whether [`ServerConnection::handle_completions`] has anything to do.
    #[must_use]
    #[inline]
    pub fn has_completions(&self) -> bool {
        self.core.completions.is_ready() || !self.core.completed.is_empty()
    }

    /// Sets what is called, from any thread, when a deferred answer comes in. To be set once.
    pub fn set_waker(&self, waker: impl Fn() + Send + Sync + 'static) {
        self.core.completions.set_waker(waker);
    }

    /// Sets what tells the wall time, in milliseconds since 1970-01-01T00:00:00Z, to any thread. To
    /// be set once. It is asked when a task's function has news, and tells when that was, even if no
    /// connection looked for it then; without it, that is when one looks.
    pub fn set_clock(&self, unix_ms: fn() -> u64) {
        self.core.completions.set_clock(unix_ms);
    }

    /// The next call to run on another thread, or to refuse.
    pub fn poll_job(&mut self) -> Option<Job> {
        self.core.jobs.pop_front()
    }

    /// The next line for the log, without a newline.
    pub fn poll_log(&mut self) -> Option<String> {
        self.core.log.next()
    }

    /// Whether [`ServerConnection::line_took`] is to be told exactly: the server has hooks, which
    /// learn of it. Without, a clock with a resolution of milliseconds is enough.
    #[must_use]
    #[inline]
    pub fn times_lines(&self) -> bool {
        !self.core.registry.hooks.is_empty()
    }

    /// Tells how long the last line, or the last call of [`ServerConnection::handle_timeout`], took;
    /// a function that held the loop too long is named in the log.
    #[inline]
    pub fn line_took(&mut self, took: Duration) {
        if !self.core.finished.is_empty() {
            self.core.tell_finished_line(took);
        }
        if took >= Duration::from_millis(self.core.registry.limits.inline_ms_warn) {
            self.core.warn_of_held_loop(took);
        }
    }

    /// How many requests wait for a deferred answer.
    #[must_use]
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.core.pending.len()
    }

    /// Gives up all that is unanswered, and the tasks of the session: whoever works on it sees a
    /// cancellation, the hooks are told that it was cancelled, and no answer is sent any more. What is
    /// ready of a batch is sent.
    pub fn abort(&mut self, now: Now, out: &mut Vec<u8>) {
        self.core.begin_step(now);
        self.core.jobs.clear();
        self.core.batches.close_all(out);
        self.core.give_up_all(now);
        self.core.end_session_tasks();
    }

    /// Whether calls were cancelled or given up since this was asked last: jobs that wait for a
    /// thread may be among them, and are to be dropped.
    pub fn take_cancelled(&mut self) -> bool {
        std::mem::take(&mut self.core.cancelled)
    }

    /// Whether long lines have made the buffers grow past what is kept of them.
    #[must_use]
    #[inline]
    pub fn is_large(&self) -> bool {
        self.parser.is_large()
    }

    /// Gives back what long lines made the buffers grow to. To be called when no more of them are
    /// at hand.
    pub fn release(&mut self) {
        self.parser.release();
    }

    /// Has less kept of the buffers than 1 MiB: for one connection of many.
    #[cfg(unix)]
    pub(crate) fn keep(&mut self, bytes: usize) {
        self.parser.keep(bytes);
    }

    /// How many bytes it holds: its buffers, and what is kept of the client and for requests in flight.
    #[cfg(unix)]
    pub(crate) fn bytes(&self) -> usize {
        self.parser.bytes() + self.core.session.client().bytes() + self.core.held_bytes()
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
            ..ParserLimits::default()
        });
        let line = Line::padded(&mut copy, copy_len);
        if let Some(mut line) = line
            && let Ok(document) = parser.parse(&mut line)
        {
            self.core.handle_root(now, document.root(), Some(wide), out);
        } else {
            let error = RpcError::internal("the line could not be read again");
            self.core.error(None, &error, out);
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

/// All of a connection but its parser, which a message borrows while it is handled.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) registry: Arc<Registry>,
    /// Kept alive for the handles that change what is served.
    pub(super) hub: Option<Arc<Hub>>,
    pub(super) session: Session,
    pub(super) pending: Pending<Waiting>,
    pub(super) subscriptions: Subscriptions,
    pub(super) batches: Batches,
    pub(super) completions: Arc<Completions>,
    /// Taken from there, and still to be sent.
    pub(super) completed: VecDeque<Completion>,
    pub(super) jobs: VecDeque<Job>,
    pub(super) log: Log,
    /// When the last step was made.
    seen: Now,
    /// Of the last call.
    pub(super) serial: u64,
    /// What of the user's the last step ran in the loop.
    pub(super) ran: Option<Ran>,
    /// Whether a call was cancelled or given up since that was asked for.
    pub(super) cancelled: bool,
    /// What the handler that runs leaves besides its answer.
    pub(super) outbox: Mutex<Outbox>,
    /// Notifications and requests that come of a batch, and do not wait for the rest of it.
    pub(super) notices: Vec<u8>,
    /// How many requests the client was sent: the id of the last.
    pub(super) questions: u64,
    /// Of the line that is being served; of none in between.
    pub(super) verbatim: Verbatim,
    /// Lines that requests of the modern era are like.
    pub(super) admitted_lines: AdmittedLines,
    /// For the hooks.
    pub(super) finished: FinishedLine,
    /// When this connection last looked after tasks, if it ever had to do with them.
    pub(super) tasks_seen: Option<Now>,
    pub(super) session_tasks: SessionTasks,
}

impl Drop for Core {
    /// Nobody waits for what is unanswered, or can ask for the tasks of the session, any more.
    fn drop(&mut self) {
        self.give_up_all(self.seen);
        self.end_session_tasks();
    }
}

impl Core {
    /// Nothing has run yet of what comes now; how long the last step took will not be told any
    /// more.
    #[inline]
    fn begin_step(&mut self, now: Now) {
        self.ran = None;
        self.seen = now;
        if !self.finished.is_empty() {
            self.tell_finished_line(Duration::ZERO);
        }
    }

    /// Gives up all that is unanswered.
    fn give_up_all(&mut self, now: Now) {
        let given_up: Vec<_> = self.pending.drain().collect();
        for entry in given_up {
            self.tell_finished(now, &entry.state.origin, Ending::Cancelled);
            entry.state.give_up();
            self.cancelled = true;
        }
    }

    /// Tells the hooks of what was answered at once, now that it is known how long it took.
    fn tell_finished_line(&mut self, took: Duration) {
        self.finished
            .tell(&self.registry.hooks, took, &mut self.log);
    }

    #[inline]
    fn handle_document(&mut self, now: Now, document: &Document<'_>, out: &mut Vec<u8>) -> Root {
        if self.handle_like_admitted(now, document, out) {
            return Root::Handled;
        }
        self.verbatim = document.verbatim();
        let root = self.handle_root(now, document.root(), None, out);
        self.verbatim = Verbatim::default();
        self.learn_admitted(document);
        root
    }

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

    #[inline]
    pub(super) fn handle_message(
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
                self.handle_notification(now, &notification, wide, out);
            }
            Ok(Message::Response(response)) => self.handle_response(now, &response, out),
            Err(invalid) => {
                let error = RpcError::invalid_request(format!("Invalid request: {}", invalid.kind));
                self.error(invalid.id.as_ref(), &error, out);
            }
        }
    }

    /// Specification: `basic/patterns/cancellation` and, before 2026-07-28,
    /// `basic/utilities/cancellation`. What is malformed or unknown is ignored.
    pub(super) fn handle_notification(
        &mut self,
        now: Now,
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
                    self.log_reason(&entry.id, notification.params);
                    take_back_questions(&entry.state, out);
                    self.tell_finished(now, &entry.state.origin, Ending::Cancelled);
                    if let Some(key) = entry.state.batch {
                        self.batches.settle(key, None, out);
                    }
                    entry.state.give_up();
                    self.cancelled = true;
                } else if let Some(id) = id {
                    self.cancel_subscription(&id);
                }
            }
            // Requests are served since `initialize` was answered.
            Some(ClientNotification::Initialized) if self.session.version().is_some() => {
                self.session.client().set_initialized();
                self.subscriptions.open_session();
            }
            Some(ClientNotification::Initialized) => {}
            Some(ClientNotification::Progress | ClientNotification::RootsListChanged) | None => {}
        }
    }

    /// Logs why the client has cancelled a request, if it says so.
    fn log_reason(&mut self, id: &IdBuf, params: Option<Object<'_>>) {
        let reason = params.and_then(|params| params.find("reason")?.as_str());
        if let Some(reason) = reason {
            let id = String::from_utf8_lossy(id.as_bytes());
            let (id, reason) = (excerpt(&id), excerpt(reason));
            self.log
                .push(&format!("request {id} was cancelled: {reason}"));
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

    pub(super) fn error(&self, id: Option<&Id<'_>>, error: &RpcError, out: &mut Vec<u8>) {
        write_error(out, id, self.session.version_for_errors(), error);
    }

    /// The length up to which the output may grow before the next answer is written.
    fn output_room(&self, out: &[u8]) -> usize {
        let max = self.registry.limits.output_bytes_max;
        out.len().saturating_add(max)
    }

    /// How many bytes are kept for requests in flight.
    pub(super) fn held_bytes(&self) -> usize {
        self.pending.bytes()
            + self.batches.bytes()
            + self.completions.bytes()
            + self.subscriptions.bytes()
    }

    #[cold]
    fn warn_of_held_loop(&mut self, took: Duration) {
        let Some(ran) = self.ran else {
            return;
        };
        let ms = took.as_millis();
        self.log.push(&match ran {
            Ran::Tool(place) => {
                let name = self.registry.tools.get(place).map_or("", |tool| &tool.name);
                let name = excerpt(name);
                format!("tool {name} held the loop for {ms} ms: make it `blocking`, or defer")
            }
            ran => format!("{} held the loop for {ms} ms", ran.kind()),
        });
    }
}

#[inline]
pub(super) fn read<'a>(
    value: Value<'a>,
    wide: Option<&'a WideIntegers>,
) -> Result<Message<'a>, InvalidMessage<'a>> {
    match wide {
        None => Message::read(value),
        Some(wide) => Message::read_wide(value, wide),
    }
}
