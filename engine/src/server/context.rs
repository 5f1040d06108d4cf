//! [`Context`]: what a handler may know of the request it serves, and say about it before it
//! answers.
//!
//! A handler that runs in the loop leaves its notices in the [`Outbox`] of the connection, from
//! where they go out before its answer. One that runs elsewhere sends them to the loop, which
//! passes them on as long as the request is in flight.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use serde::Serialize;
use tightwire_codec::{JsonWriter, Object, Value};

use super::{
    ask::{Ask, Given, Stop},
    client::Client,
    milliseconds,
    registry::Registry,
    task_table::status_message,
    ticket::{Cancellation, Completion, CompletionKind, Completions, notice_fits},
};
use crate::{
    error::{RpcError, one_line},
    model::form::write_number,
    protocol::{
        capabilities::ClientCapabilities,
        log_level::LogLevel,
        meta,
        method::{LOG_MESSAGE, Method, PROGRESS},
        version::{Era, ProtocolVersion},
    },
};

/// One request as its handler sees it: who asks, with which metadata, and the means to report
/// progress, to log, and to ask the client back.
///
/// The handler is the same for all revisions: what the request's revision lacks is left out, or is
/// an error that says so.
pub struct Context<'a> {
    pub(crate) version: ProtocolVersion,
    pub(crate) request: Asked<'a>,
    pub(crate) meta: Option<Object<'a>>,
    pub(crate) given: Given<'a>,
    /// When the request came, in milliseconds of wall time.
    pub(crate) unix_ms: u64,
    pub(crate) client: &'a Client,
    pub(crate) registry: &'a Registry,
    pub(crate) outbox: &'a Mutex<Outbox>,
    /// What is left there reaches the connection; or the tasks of the server, if this is one.
    pub(crate) completions: &'a Arc<Completions>,
    /// Of a task, the mailbox of its session, which may be gone or never have been.
    pub(crate) session: Option<&'a Weak<Completions>>,
    pub(crate) remote: Option<Remote<'a>>,
}

/// What is asked for: of which method, under which name or URI, with which arguments.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) method: Method,
    pub(crate) name: &'a str,
    pub(crate) arguments: Option<Value<'a>>,
}

/// The way back to the loop, for a handler that runs elsewhere.
#[derive(Clone, Copy)]
pub(crate) struct Remote<'a> {
    pub(crate) serial: u64,
    pub(crate) cancellation: &'a Cancellation,
    /// Whether the handler runs in the loop after all, where it must not wait.
    pub(crate) in_loop: bool,
    pub(crate) time_limit: Option<Duration>,
}

/// What a handler leaves besides its answer.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Whether a handler has used it.
    pub(crate) is_used: bool,
    /// Notifications, to go out before the answer.
    pub(crate) notices: Vec<u8>,
    sent: [u32; 2],
    pub(super) progress: Option<f64>,
    /// Why the handler cannot answer yet, or at all.
    stop: Option<Stop>,
    /// That of the call, if the handler has deferred it: its ticket knows no outbox.
    deferred: Option<Cancellation>,
    /// The state that it keeps for the next round.
    pub(super) kept: Option<String>,
}

impl Outbox {
    /// That of a handler elsewhere, before which somebody has kept a state.
    pub(super) fn keeping(request: Object<'_>) -> Self {
        let kept = request.find("kept").and_then(Value::as_str);
        Self {
            kept: kept.map(str::to_owned),
            ..Self::default()
        }
    }

    /// That of a handler which has asked, and answers later.
    pub(super) fn stopped(stop: Stop) -> Self {
        Self {
            stop: Some(stop),
            ..Self::default()
        }
    }

    /// The handler cannot answer: its reply is told why, or the ticket that it has made of it.
    pub(super) fn stop(&mut self, stop: Stop) {
        match &self.deferred {
            Some(cancellation) => cancellation.stop(stop),
            None => self.stop = Some(stop),
        }
    }

    /// Why the handler stopped.
    pub(super) fn take_stop(&mut self) -> Option<Stop> {
        self.stop.take()
    }

    /// The handler has deferred the call. Why it stopped, if it did by now.
    pub(super) fn defer(&mut self, cancellation: &Cancellation) -> Option<Stop> {
        self.is_used = true;
        self.deferred = Some(cancellation.clone());
        self.stop.take()
    }

    /// Forgets what was to be told, but not the state that is kept.
    pub(super) fn forget_notices(&mut self) {
        let kept = self.kept.take();
        *self = Self {
            is_used: kept.is_some(),
            kept,
            ..Self::default()
        };
    }
}

/// What a notice tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoticeKind {
    Progress,
    Log,
}

/// How many notices of a kind a request may have sent by now: so many at once, and so many more
/// each second.
pub(crate) fn notices_max(registry: &Registry, kind: NoticeKind, elapsed: Duration) -> u32 {
    let rate = match kind {
        NoticeKind::Progress => registry.limits.progress_per_second_max,
        NoticeKind::Log => registry.limits.log_messages_per_second_max,
    };
    let more = u128::from(rate) * elapsed.as_millis() / 1000;
    rate.saturating_add(u32::try_from(more).unwrap_or(u32::MAX))
}

impl<'a> Context<'a> {
    /// The revision in which the request is served.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// The metadata of the request: `_meta`.
    #[must_use]
    pub fn meta(&self) -> Option<Object<'a>> {
        self.meta
    }

    /// Who the client says it is.
    #[must_use]
    pub fn client_info(&self) -> ClientInfo<'a> {
        match self.version.era() {
            Era::Modern => {
                let info = self
                    .modern_meta(meta::CLIENT_INFO)
                    .and_then(Value::as_object);
                let text = |name: &str| info.and_then(|info| info.find(name)?.as_str());
                ClientInfo {
                    name: text("name"),
                    version: text("version"),
                    title: text("title"),
                }
            }
            Era::Legacy => ClientInfo {
                name: self.client.name.as_deref(),
                version: self.client.version.as_deref(),
                title: self.client.title.as_deref(),
            },
        }
    }

    /// What the client can do.
    #[must_use]
    pub fn capabilities(&self) -> ClientCapabilities {
        match self.version.era() {
            Era::Modern => self
                .declared()
                .map(ClientCapabilities::read)
                .unwrap_or_default(),
            Era::Legacy => self.client.capabilities,
        }
    }

    /// The settings of an extension that the client declared with this request, by the
    /// extension's identifier. There are none before 2026-07-28.
    #[must_use]
    pub fn client_extension(&self, identifier: &str) -> Option<Object<'a>> {
        meta::client_extension(self.meta, identifier)
    }

    /// Refuses, with -32021, to serve a client that has not declared an extension.
    ///
    /// Specification: 2026-07-28, `basic/versioning`, Extension Negotiation.
    ///
    /// # Errors
    ///
    /// [`Ask`], to be returned from the handler, if it has not.
    pub fn require_extension(&self, identifier: &str) -> Result<(), Ask> {
        if self.client_extension(identifier).is_some() {
            return Ok(());
        }
        Err(self.refuse(RpcError::missing_extension(identifier)))
    }

    /// The trace that the request is part of.
    ///
    /// Specification: 2026-07-28, `basic/index`, `_meta`.
    #[must_use]
    pub fn trace_context(&self) -> TraceContext<'a> {
        let text = |name: &str| self.meta.and_then(|meta| meta.find(name)?.as_str());
        TraceContext {
            traceparent: text("traceparent"),
            tracestate: text("tracestate"),
            baggage: text("baggage"),
        }
    }

    /// Whether the client has cancelled the request, or its time is up: seen by handlers that run
    /// outside of the loop. One in the loop holds up what would learn of it.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancellation().is_some_and(Cancellation::is_cancelled)
    }

    /// The cancellation of the request, for a handler that runs outside of the loop.
    #[must_use]
    pub fn cancellation(&self) -> Option<&'a Cancellation> {
        self.remote.map(|remote| remote.cancellation)
    }

    /// When the time of the request is up, in milliseconds since 1970-01-01T00:00:00Z, for a handler
    /// that runs outside of the loop. There is no such time for a task whose tool has no
    /// [`Tool::timeout`](crate::Tool::timeout).
    #[must_use]
    pub fn deadline_unix_ms(&self) -> Option<u64> {
        let limit = self.remote?.time_limit?;
        let limit_ms = milliseconds(limit);
        Some(self.unix_ms.saturating_add(limit_ms))
    }

    /// Waits, outside of the loop, until the request is cancelled, at most for `timeout`. Whether
    /// it was. A handler in the loop must not wait, and gets `false` at once.
    #[must_use]
    pub fn wait_cancelled(&self, timeout: Duration) -> bool {
        self.remote
            .filter(|remote| !remote.in_loop)
            .is_some_and(|remote| remote.cancellation.wait(timeout))
    }

    /// Whether the request has become a task, which no connection waits for.
    ///
    /// Specification: extension `io.modelcontextprotocol/tasks`; 2025-11-25,
    /// `basic/utilities/tasks`.
    #[must_use]
    pub fn is_task(&self) -> bool {
        self.completions.for_tasks
    }

    /// Tells the client how far the work is, if it asked to be told. `progress` must grow from
    /// call to call: what does not is not sent, nor is what comes too often (see
    /// [`Limits::progress_per_second_max`](crate::Limits::progress_per_second_max)).
    ///
    /// A handler that runs outside of the loop is told of while it works. What one in the loop tells,
    /// as a plain function does, goes out only when it returns, all at once, right before its answer:
    /// what takes long is `blocking` or an `async fn`.
    ///
    /// Of a task, `message` becomes what its client is told with its status; the client of a session
    /// is told the progress too, from 2026-07-28 on nothing is sent.
    ///
    /// Specification: 2026-07-28, `basic/patterns/progress`; 2025-11-25, `basic/utilities/tasks`,
    /// Task Progress Notifications.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let token = self.meta.and_then(|meta| meta.find(meta::PROGRESS_TOKEN));
        if let Some(remote) = self.remote.filter(|_| self.is_task()) {
            let token = token.filter(|_| self.version.era() == Era::Legacy && progress.is_finite());
            let notice = token.map(|token| self.progress_notice(token, progress, total, message));
            let message = message.map(|message| status_message(message).as_bytes().to_vec());
            if message.is_some() || notice.is_some() {
                self.completions.push_notice(Completion {
                    serial: remote.serial,
                    kind: CompletionKind::Progress {
                        progress,
                        message,
                        notice: notice.unwrap_or_default(),
                    },
                });
            }
            return;
        }
        let Some(token) = token else {
            return;
        };
        {
            let mut outbox = self.outbox();
            let last = outbox.progress.or(self.given.progress);
            let grows = last.is_none_or(|last| progress > last);
            if !progress.is_finite() || !grows {
                return;
            }
            outbox.progress = Some(progress);
        }
        let notice = self.progress_notice(token, progress, total, message);
        self.send(NoticeKind::Progress, notice);
    }

    /// Sends a log message to the client, if the server has
    /// [`Server::logging`](crate::Server::logging) and the client wants messages of this level.
    /// Data that cannot be written as JSON is not sent, nor is what comes too often (see
    /// [`Limits::log_messages_per_second_max`](crate::Limits::log_messages_per_second_max)). Tasks
    /// send none but to the client of a session, which 2025-11-25 has.
    ///
    /// What a handler in the loop logs, as a plain function does, goes out only when it returns, right
    /// before its answer.
    ///
    /// Specification: 2026-07-28, `server/utilities/logging`: deprecated there, in favour of
    /// stderr.
    pub fn log(&self, level: LogLevel, logger: Option<&str>, data: impl Serialize) {
        if !self.registry.logging
            || self.is_task() && self.version.era() == Era::Modern
            || self.log_level().is_none_or(|least| level < least)
        {
            return;
        }
        let Some(data) = to_line(&data) else {
            return;
        };
        let notice = notification(LOG_MESSAGE, |writer| {
            writer.raw(b"\"level\":");
            writer.string(level.as_str());
            if let Some(logger) = logger {
                writer.raw(b",\"logger\":");
                writer.string(logger);
            }
            writer.raw(b",\"data\":");
            writer.raw(&data);
        });
        self.send(NoticeKind::Log, notice);
    }

    /// Tells the client that what its user does at the URL of an elicitation is done, if it was sent
    /// one with this id in its session and was not told so before: see
    /// [`UrlElicitation::id`](crate::UrlElicitation::id). Where it is not the call that learns of it,
    /// [`Handle::elicitation_complete`](crate::Handle::elicitation_complete) tells it. Sent in
    /// 2025-11-25, to clients that can be asked to open a URL; in all other revisions nothing is sent.
    ///
    /// Specification: 2025-11-25, `client/elicitation`, Completion Notifications for URL Mode
    /// Elicitation.
    pub fn elicitation_complete(&self, id: &str) {
        if let Some(mailbox) = self.mailbox() {
            mailbox.complete_elicitation(id);
        }
    }

    /// That of the connection whose client is asked, also where a task asks it. A task whose session
    /// is gone, or that is nobody's in particular, has none.
    pub(super) fn mailbox(&self) -> Option<Arc<Completions>> {
        match self.session {
            Some(session) => session.upgrade(),
            None => Some(Arc::clone(self.completions)),
        }
    }

    fn progress_notice(
        &self,
        token: Value<'_>,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
    ) -> Vec<u8> {
        notification(PROGRESS, |writer| {
            writer.raw(b"\"progressToken\":");
            writer.value(token);
            writer.raw(b",\"progress\":");
            write_number(writer, progress);
            if let Some(total) = total.filter(|total| total.is_finite()) {
                writer.raw(b",\"total\":");
                write_number(writer, total);
            }
            if let Some(message) = message.filter(|_| self.version >= ProtocolVersion::V2025_03_26)
            {
                writer.raw(b",\"message\":");
                writer.string(message);
            }
        })
    }

    /// The least grave level that the client wants messages of.
    fn log_level(&self) -> Option<LogLevel> {
        match self.version.era() {
            Era::Modern => LogLevel::parse(self.modern_meta(meta::LOG_LEVEL)?.as_str()?),
            Era::Legacy => Some(self.client.log_level()),
        }
    }

    fn modern_meta(&self, key: &str) -> Option<Value<'a>> {
        self.meta.and_then(|meta| meta.find(key))
    }

    fn declared(&self) -> Option<Object<'a>> {
        let declared = self.modern_meta(meta::CLIENT_CAPABILITIES);
        declared.and_then(Value::as_object)
    }

    fn send(&self, kind: NoticeKind, notice: Vec<u8>) {
        match self.remote {
            Some(remote) => self.completions.push_notice(Completion {
                serial: remote.serial,
                kind: CompletionKind::Notice(kind, notice),
            }),
            None => {
                let most = notices_max(self.registry, kind, Duration::ZERO);
                let mut outbox = self.outbox();
                if outbox.sent[kind as usize] < most
                    && notice_fits(outbox.notices.len(), notice.len())
                {
                    outbox.sent[kind as usize] += 1;
                    outbox.notices.extend_from_slice(&notice);
                }
            }
        }
    }

    pub(super) fn outbox(&self) -> MutexGuard<'a, Outbox> {
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        outbox.is_used = true;
        outbox
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("version", &self.version)
            .field("name", &self.request.name)
            .finish_non_exhaustive()
    }
}

/// Who a client says it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientInfo<'a> {
    /// Its name.
    pub name: Option<&'a str>,
    /// Its version.
    pub version: Option<&'a str>,
    /// Its name for people to read.
    pub title: Option<&'a str>,
}

/// The trace that a request is part of, as W3C Trace Context and W3C Baggage write it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceContext<'a> {
    /// `traceparent`.
    pub traceparent: Option<&'a str>,
    /// `tracestate`.
    pub tracestate: Option<&'a str>,
    /// `baggage`.
    pub baggage: Option<&'a str>,
}

/// The JSON of a value on one line: it may have brought JSON along that is on several.
fn to_line(value: &impl Serialize) -> Option<Vec<u8>> {
    let json = serde_json::to_string(value).ok()?;
    Some(one_line(json).into_bytes())
}

/// A notification on a line: what `write` writes are the members of its `params`.
pub(crate) fn notification(method: &str, write: impl FnOnce(&mut JsonWriter<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = JsonWriter::new(&mut bytes);
    writer.raw(b"{\"jsonrpc\":\"2.0\",\"method\":");
    writer.string(method);
    writer.raw(b",\"params\":{");
    write(&mut writer);
    writer.raw(b"}}\n");
    bytes
}
