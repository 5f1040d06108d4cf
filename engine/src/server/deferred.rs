//! Requests in flight: what their handlers deferred, until it is answered, cancelled or given up.

use std::{fmt, time::Duration};

use super::{
    batch::BatchKey,
    connection::{Core, Now},
    dispatch::{Context, Ran},
    handler::guard,
    reply::{Answer, Answering, Continuation, Outcome, Reply, unanswered, write_error},
    ticket::{Cancellation, Completion, CompletionKind},
};
use crate::{
    error::RpcError,
    protocol::{
        pending::{Entry, IdBuf},
        version::ProtocolVersion,
    },
};

/// What a request in flight waits for.
#[derive(Debug)]
pub(super) struct Waiting {
    version: ProtocolVersion,
    pub(super) batch: Option<BatchKey>,
    /// When the time of a deferred answer is up, on the monotonic clock.
    expires: Duration,
    what: Awaited,
}

pub(super) enum Awaited {
    Ticket(Cancellation),
    Delay {
        due: Duration,
        then: Continuation,
        cancellation: Option<Cancellation>,
    },
}

impl Waiting {
    /// Gives up the request: whoever works on it is told, and what would continue it is dropped.
    pub(super) fn give_up(self) {
        let cancellation = match self.what {
            Awaited::Ticket(cancellation) => Some(cancellation),
            Awaited::Delay {
                then, cancellation, ..
            } => {
                forget(then);
                cancellation
            }
        };
        if let Some(cancellation) = cancellation {
            cancellation.cancel();
        }
    }
}

/// Drops what a handler left. A panic in that is its own: the call is over.
fn forget(then: Continuation) {
    let _ = guard(|| drop(then));
}

impl fmt::Debug for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ticket(_) => f.write_str("Ticket"),
            Self::Delay { due, .. } => f.debug_tuple("Delay").field(due).finish(),
        }
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

impl Core {
    /// Keeps what a handler deferred; answers for one that left its reply lying about.
    #[inline]
    pub(super) fn settle(
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
                    self.error(Some(&context.id), &unanswered(), out);
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
    pub(super) fn handle_due(&mut self, now: Now, entry: Entry<Waiting>, out: &mut Vec<u8>) {
        let Entry { id, state, .. } = entry;
        let batch = state.batch;
        let mut answer = Vec::new();
        // Straight into the output, unless it has to wait for the rest of a batch.
        let target = if batch.is_some() {
            &mut answer
        } else {
            &mut *out
        };
        let kept = self.continue_or_give_up(now, &id, state, target);
        if let Some(key) = batch
            && !kept
        {
            self.batches.settle(key, Some(&answer), out);
        }
    }

    /// Whether it is deferred once more.
    fn continue_or_give_up(
        &mut self,
        now: Now,
        id: &IdBuf,
        state: Waiting,
        out: &mut Vec<u8>,
    ) -> bool {
        let Waiting {
            version,
            batch,
            expires,
            what,
        } = state;
        let context = Context {
            now,
            id: id.as_id(),
            version,
            batch,
        };
        let (then, cancellation) = match what {
            Awaited::Delay {
                due,
                then,
                cancellation,
            } if due <= now.monotonic => (then, cancellation),
            what => {
                let given_up = Waiting {
                    version,
                    batch,
                    expires,
                    what,
                };
                given_up.give_up();
                self.cancelled = true;
                let error = RpcError::internal(format!(
                    "no answer within {} ms",
                    self.registry.limits.deferred_ms_max
                ));
                write_error(out, Some(&context.id), version, &error);
                return false;
            }
        };
        self.serial += 1;
        self.ran = Some(Ran::Delayed);
        let start = out.len();
        let mut outcome = Outcome::Answered;
        let answering = Answering {
            id: context.id,
            version,
            serial: self.serial,
            registry: &self.registry,
            completions: &self.completions,
            cancellation: cancellation.as_ref(),
        };
        let result = guard(|| then(Reply::new(Answer::new(out, answering, &mut outcome))));
        if let Err(message) = result {
            self.log
                .push(&format!("a delayed answer panicked: {message}"));
        }
        let kept = !matches!(outcome, Outcome::Answered);
        self.settle(outcome, &context, expires, cancellation, start, out);
        kept
    }

    pub(super) fn handle_completion(
        &mut self,
        now: Now,
        completion: Completion,
        out: &mut Vec<u8>,
    ) {
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
                let mut then = Some(then);
                self.pending.change(serial, |waiting| {
                    if let Some(then) = then.take() {
                        waiting.wait_for(due, then);
                    }
                    waiting.deadline()
                });
                if let Some(then) = then {
                    forget(then);
                }
            }
        }
    }
}
