//! Calls of blocking tools: what a thread of the pool runs.

use std::{fmt, sync::Arc};

use tightwire_codec::{JsonWriter, LINE_PADDING, Line, Object, Parser, ParserLimits, Value};

use super::{
    handler::{Call, guard},
    registry::Registry,
    ticket::{Completion, CompletionKind, JobBytes, Ticket},
};
use crate::error::RpcError;

/// A call of a blocking tool, with a copy of its arguments. To be run on another thread, or
/// refused.
///
/// Dropped instead, it answers -32603.
pub struct Job {
    registry: Arc<Registry>,
    tool: usize,
    /// `{"arguments":…,"_meta":…}` and the padding after it.
    line: Vec<u8>,
    len: usize,
    ticket: Ticket,
    serial: u64,
    _bytes: JobBytes,
}

impl Job {
    pub(crate) fn new(
        registry: &Arc<Registry>,
        tool: usize,
        call: &Call<'_>,
        ticket: Ticket,
        serial: u64,
    ) -> Self {
        let mut line = Vec::new();
        let mut writer = JsonWriter::new(&mut line);
        writer.raw(b"{\"arguments\":");
        writer.value(call.arguments);
        if let Some(meta) = call.meta {
            writer.raw(b",\"_meta\":{");
            for (index, (key, value)) in meta.iter().enumerate() {
                writer.raw(if index > 0 { b"," } else { b"" });
                writer.key(key);
                writer.value(value);
            }
            writer.raw(b"}");
        }
        writer.raw(b"}");
        let len = line.len();
        line.resize(len + LINE_PADDING, 0);
        Self {
            _bytes: JobBytes::new(ticket.completions(), line.len()),
            registry: Arc::clone(registry),
            tool,
            line,
            len,
            ticket,
            serial,
        }
    }

    /// Runs the tool and leaves its answer for the loop. A panic in the tool answers -32603. A
    /// call that was cancelled while it waited for a thread is not run.
    pub fn run(mut self) {
        if self.ticket.is_cancelled() {
            return;
        }
        let Some(tool) = self.registry.tools.get(self.tool) else {
            return;
        };
        let mut parser = Parser::new(ParserLimits {
            // Two levels deeper than the line that was taken apart.
            nesting_max: self.registry.limits.nesting_max.saturating_add(2),
            values_max: usize::MAX,
        });
        let Some(mut line) = Line::padded(&mut self.line, self.len) else {
            return;
        };
        let Ok(document) = parser.parse(&mut line) else {
            return;
        };
        let members = document.root().as_object().unwrap_or(Object::EMPTY);
        let cancellation = self.ticket.cancellation().clone();
        let completions = self.ticket.completions();
        self.ticket.answer(|reply| {
            let call = Call {
                name: &tool.name,
                arguments: members.find("arguments").unwrap_or(Value::EMPTY_OBJECT),
                meta: members.find("_meta").and_then(Value::as_object),
                cancellation: Some(&cancellation),
            };
            // Told before the answer is out, after which the process may end.
            if let Err(message) = guard(|| tool.handler.call(call, reply)) {
                completions.push(Completion {
                    serial: self.serial,
                    kind: CompletionKind::Log(format!("tool `{}` panicked: {message}", tool.name)),
                });
            }
        });
    }

    /// Whether the call was cancelled: running the job does nothing.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.ticket.is_cancelled()
    }

    /// Answers -32603, since there is no room for the call.
    pub fn refuse(self) {
        self.ticket.answer(|reply| {
            reply.protocol_error(&RpcError::internal(
                "Too many blocking calls are waiting; try again later",
            ));
        });
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("ticket", &self.ticket)
            .finish_non_exhaustive()
    }
}
