//! [`Reply`]: the answer to one call, consumed exactly once.
//!
//! A handler gets it by value and must use it up: with an answer, a tool error, a protocol error,
//! or by deferring. What is dropped unused, by a forgetful handler or a panicking one, answers
//! -32603 on its way out; what a handler had begun to write by then is taken back.
//!
//! ```text
//!            ┌─ text / error / write ──▶ a result
//!   Reply ───┼─ protocol_error ────────▶ an error
//!            ├─ after(delay, f) ───────▶ f gets a new Reply when the time has come
//!            ├─ defer ─▶ Ticket ───────▶ any thread answers it, later
//!            └─ dropped ───────────────▶ -32603
//! ```

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use tightwire_codec::{ErrorCode, Id, JsonWriter, Verbatim};

use super::{
    ask::{InputRequired, Stop},
    context::Outbox,
    handler::guard,
    hook::Ending,
    output::OutputSchema,
    registry::Registry,
    ticket::{Cancellation, Completions, Ticket, lock},
};
use crate::{
    error::RpcError,
    protocol::{
        pending::IdBuf,
        version::{Era, ProtocolVersion},
    },
};

/// What to do when the delay of [`Reply::after`] is over.
///
/// Wherever it is dropped instead, since nobody waits for it any more, a panic in that is its own.
pub(crate) struct Continuation(Option<Then>);

type Then = Box<dyn FnOnce(Reply<'_>) + Send>;

impl Continuation {
    fn new(then: impl FnOnce(Reply<'_>) + Send + 'static) -> Self {
        Self(Some(Box::new(then)))
    }

    pub(crate) fn call(mut self, reply: Reply<'_>) {
        if let Some(then) = self.0.take() {
            then(reply);
        }
    }
}

impl Drop for Continuation {
    fn drop(&mut self) {
        let then = self.0.take();
        let _ = guard(|| drop(then));
    }
}

/// What became of a reply.
pub(crate) enum Outcome {
    /// It is in the output.
    Answered(Ending),
    /// A ticket holds it.
    Deferred(Cancellation),
    /// It continues after a delay.
    After(Duration, Continuation),
    /// The client is to be asked, by requests of their own or by way of a task, and the call to be
    /// served again.
    Ask(Box<InputRequired>),
}

/// The call that is answered: what every reply needs to know of it.
#[derive(Clone, Copy)]
pub(crate) struct Answering<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) version: ProtocolVersion,
    pub(crate) serial: u64,
    pub(crate) registry: &'a Arc<Registry>,
    pub(crate) completions: &'a Arc<Completions>,
    /// The cancellation of a call that was deferred before.
    pub(crate) cancellation: Option<&'a Cancellation>,
    /// Where the handler may have left that the client is to be asked.
    pub(crate) outbox: Option<&'a Mutex<Outbox>>,
    /// Of the line that is served, if this is one.
    pub(crate) verbatim: Verbatim,
}

/// The private part of all replies: one place in the output, one call.
pub(crate) struct Answer<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    call: Answering<'a>,
    outcome: &'a mut Outcome,
    done: bool,
}

impl<'a> Answer<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>, call: Answering<'a>, outcome: &'a mut Outcome) -> Self {
        *outcome = Outcome::Answered(Ending::Result);
        Self {
            start: out.len(),
            out,
            call,
            outcome,
            done: false,
        }
    }

    /// Writes a result: what `write` writes are its members, without the braces.
    #[inline]
    pub(super) fn result(self, write: impl FnOnce(&mut JsonWriter<'_>)) {
        self.result_from(
            b",\"result\":{\"resultType\":\"complete\",",
            b",\"result\":{",
            write,
        );
    }

    /// The same, with all that stands between the id and what is written given per era, to be
    /// copied at once.
    #[inline]
    fn result_from(
        mut self,
        start_modern: &[u8],
        start_legacy: &[u8],
        write: impl FnOnce(&mut JsonWriter<'_>),
    ) {
        let modern = self.call.version.era() == Era::Modern;
        let mut writer = JsonWriter::new(self.out).verbatim(self.call.verbatim);
        begin_answer(&mut writer, &self.call.id);
        writer.raw(if modern { start_modern } else { start_legacy });
        write(&mut writer);
        writer.raw(if modern {
            &self.call.registry.modern_end
        } else {
            b"}}\n"
        });
        self.done = true;
    }

    /// Writes a result of which the caller writes all, up to the end of the line, and is told what
    /// ends a modern one: its `_meta`, the braces and the newline.
    pub(super) fn whole(mut self, write: impl FnOnce(&mut JsonWriter<'_>, &[u8])) {
        let mut writer = JsonWriter::new(self.out);
        begin_result(&mut writer, &self.call.id);
        write(&mut writer, &self.call.registry.modern_end);
        self.done = true;
    }

    pub(super) fn error(mut self, error: &RpcError) {
        if self.stop() {
            return;
        }
        write_error(self.out, Some(&self.call.id), self.call.version, error);
        *self.outcome = Outcome::Answered(Ending::Error(error.code_in(self.call.version)));
        self.done = true;
    }

    /// Whether the handler stopped for want of the client's input. Then this is what the call is
    /// answered with, for now.
    #[cold]
    fn stop(&mut self) -> bool {
        let Some(stop) = self.take_stop() else {
            return false;
        };
        match stop {
            Stop::Error(error) => {
                write_error(self.out, Some(&self.call.id), self.call.version, &error);
                *self.outcome = Outcome::Answered(Ending::Error(error.code_in(self.call.version)));
            }
            Stop::Input(required)
                if self.call.version.era() == Era::Legacy || self.call.completions.for_tasks =>
            {
                *self.outcome = Outcome::Ask(required);
            }
            Stop::Input(required) => {
                let mut writer = JsonWriter::new(self.out);
                begin_answer(&mut writer, &self.call.id);
                writer.raw(b",\"result\":{\"resultType\":\"input_required\",");
                required.write(&mut writer);
                writer.raw(&self.call.registry.modern_end);
                *self.outcome = Outcome::Answered(Ending::InputRequired);
            }
        }
        self.done = true;
        true
    }

    /// Why the handler stopped, if it did: to be told with its error, whenever that comes.
    fn take_stop(&self) -> Option<Stop> {
        lock(self.call.outbox?).take_stop()
    }

    pub(super) fn version(&self) -> ProtocolVersion {
        self.call.version
    }

    pub(super) fn defer(mut self) -> Ticket {
        let cancellation = self.call.cancellation.cloned().unwrap_or_default();
        *self.outcome = Outcome::Deferred(cancellation.clone());
        self.done = true;
        let outbox = self.call.outbox.map(lock);
        let stop = outbox.and_then(|mut outbox| outbox.defer(&cancellation));
        Ticket::new(
            IdBuf::new(&self.call.id),
            self.call.version,
            self.call.serial,
            Arc::clone(self.call.registry),
            Arc::clone(self.call.completions),
            cancellation,
        )
        .stopped(stop)
    }

    fn after(mut self, delay: Duration, then: Continuation) {
        let then = match self.take_stop() {
            None => then,
            Some(stop) => Continuation::new(move |reply| {
                let outbox = Mutex::new(Outbox::stopped(stop));
                let mut reply = reply;
                reply.answer.call.outbox = Some(&outbox);
                then.call(reply);
            }),
        };
        *self.outcome = Outcome::After(delay, then);
        self.done = true;
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        self.out.truncate(self.start);
        if !std::thread::panicking() && self.stop() {
            return;
        }
        write_error(
            self.out,
            Some(&self.call.id),
            self.call.version,
            &unanswered(),
        );
        *self.outcome = Outcome::Answered(UNANSWERED);
    }
}

/// The answer to a tool call.
///
/// See the module for its ways. Text is escaped where JSON demands it.
#[derive(Debug)]
pub struct Reply<'a> {
    pub(super) answer: Answer<'a>,
    /// What the answer has to fit, where that is checked.
    pub(super) output: Option<&'a Arc<OutputSchema>>,
}

impl<'a> Reply<'a> {
    pub(crate) fn new(answer: Answer<'a>) -> Self {
        Self {
            answer,
            output: None,
        }
    }

    /// The same reply, checked against an output schema.
    pub(super) fn checked(self, output: Option<&'a Arc<OutputSchema>>) -> Self {
        Self { output, ..self }
    }

    /// Answers with one text.
    #[inline]
    pub fn text(self, text: &str) {
        self.content(false, |writer| writer.string(text));
    }

    /// Answers with what a value displays.
    pub fn display(self, value: impl fmt::Display) {
        self.content(false, |writer| writer.display(value));
    }

    /// Answers with a number in its shortest form: `5`, not `5.0`. Infinity and NaN are no numbers
    /// in JSON's eyes: they are a tool execution error.
    #[inline]
    pub fn number(self, value: f64) {
        if value.is_finite() {
            self.content(false, |writer| writer.f64_text(value));
        } else {
            self.error(format_args!("the result is not a finite number: {value}"));
        }
    }

    /// Answers with a tool execution error: a result with `isError`, whose text tells a model what
    /// to do better.
    ///
    /// Specification: 2026-07-28, `server/tools`, Error Handling.
    #[inline]
    pub fn error(mut self, message: impl fmt::Display) {
        if self.answer.stop() {
            return;
        }
        *self.answer.outcome = Outcome::Answered(Ending::ToolError);
        self.content(true, |writer| writer.display(message));
    }

    /// Answers with a JSON-RPC error: the request itself was wrong, or cannot be served.
    pub fn protocol_error(self, error: &RpcError) {
        self.answer.error(error);
    }

    /// Answers later, from any thread.
    #[must_use = "a ticket that is dropped answers with an error"]
    pub fn defer(self) -> Ticket {
        let output = self.output.cloned();
        self.answer.defer().checked(output)
    }

    /// Answers after a delay, without a thread: `then` is called in the loop with a new reply,
    /// unless the request was cancelled by then.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tightwire::{Call, Reply, Server, Tool};
    ///
    /// let wait = Tool::new("wait", |_: Call<'_>, reply: Reply<'_>| {
    ///     reply.after(Duration::from_millis(100), |reply| reply.text("waited"));
    /// });
    /// let server = Server::new("demo", "1.0.0").tool(wait);
    /// ```
    pub fn after(self, delay: Duration, then: impl FnOnce(Reply<'_>) + Send + 'static) {
        match self.output.cloned() {
            None => self.answer.after(delay, Continuation::new(then)),
            Some(output) => self.answer.after(
                delay,
                Continuation::new(move |reply| then(reply.checked(Some(&output)))),
            ),
        }
    }

    #[inline]
    fn content(self, is_error: bool, text: impl FnOnce(&mut JsonWriter<'_>)) {
        if let Some(output) = self.output
            && !is_error
        {
            return self.answer.error(&output.missing());
        }
        self.answer.result_from(
            b",\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":",
            b",\"result\":{\"content\":[{\"type\":\"text\",\"text\":",
            |writer| {
                text(writer);
                writer.raw(if is_error {
                    b"}],\"isError\":true"
                } else {
                    b"}]"
                });
            },
        );
    }
}

impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("id", &self.call.id)
            .field("version", &self.call.version)
            .finish_non_exhaustive()
    }
}

/// Writes the start of a result, up to its value.
#[inline]
pub(crate) fn begin_result(writer: &mut JsonWriter<'_>, id: &Id<'_>) {
    begin_answer(writer, id);
    writer.raw(b",\"result\":");
}

/// Writes the start of an answer, up to its id.
#[inline]
fn begin_answer(writer: &mut JsonWriter<'_>, id: &Id<'_>) {
    writer.raw(b"{\"jsonrpc\":\"2.0\",\"id\":");
    writer.id(id);
}

/// Writes an error. Without an id, it says so the way the revision wants it: 2025-06-18 and before
/// have null, the later ones leave it out.
///
/// Specification: `basic/index`, Error Responses.
pub(crate) fn write_error(
    out: &mut Vec<u8>,
    id: Option<&Id<'_>>,
    version: ProtocolVersion,
    error: &RpcError,
) {
    let mut writer = JsonWriter::new(out);
    writer.raw(b"{\"jsonrpc\":\"2.0\",");
    match id {
        Some(id) => {
            writer.raw(b"\"id\":");
            writer.id(id);
            writer.raw(b",");
        }
        None if version <= ProtocolVersion::V2025_06_18 => writer.raw(b"\"id\":null,"),
        None => {}
    }
    writer.raw(b"\"error\":");
    write_error_object(&mut writer, error, version);
    writer.raw(b"}\n");
}

/// Writes the error alone.
pub(crate) fn write_error_object(
    writer: &mut JsonWriter<'_>,
    error: &RpcError,
    version: ProtocolVersion,
) {
    writer.raw(b"{\"code\":");
    writer.i64(error.code_in(version).into());
    writer.raw(b",\"message\":");
    writer.string(error.message());
    if let Some(data) = error.data() {
        writer.raw(b",\"data\":");
        writer.raw(data.as_bytes());
    }
    writer.raw(b"}");
}

/// How a request ends whose handler did not use up its reply.
pub(crate) const UNANSWERED: Ending = Ending::Error(-32603);

/// -32603, for a handler that did not use up its reply.
pub(crate) fn unanswered() -> RpcError {
    RpcError::internal(if std::thread::panicking() {
        "the handler panicked"
    } else {
        "the handler gave no answer"
    })
}

/// -32700, for a line that is not JSON.
pub(crate) fn parse_error(message: String) -> RpcError {
    RpcError::new(ErrorCode::ParseError.as_i32(), message)
}
