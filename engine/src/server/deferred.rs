//! Requests in flight: what their handlers deferred, until it is answered, cancelled or given up.

use std::{fmt, sync::Arc, time::Duration};

use super::{
    batch::BatchKey,
    connection::{Core, Now},
    context::{NoticeKind, notices_max},
    dispatch::Serving,
    handler::guard,
    hook::{Ending, Finished},
    question::{Asking, take_back_questions},
    registry::Registry,
    reply::{Answer, Continuation, Outcome, Reply, UNANSWERED, unanswered, write_error},
    run::Ran,
    ticket::{Cancellation, Completion, CompletionKind},
};
use crate::{
    error::RpcError,
    protocol::{
        method::Method,
        pending::{Entry, IdBuf},
        version::ProtocolVersion,
    },
};

/// What a request in flight waits for.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) version: ProtocolVersion,
    pub(super) origin: Origin,
    pub(super) batch: Option<BatchKey>,
    expiry: Expiry,
    /// Since when it waits, on the monotonic clock.
    began: Duration,
    /// How many notices of each kind it has sent since.
    sent: [u32; 2],
    pub(super) what: Awaited,
}

/// When the time is up for what a request waits for.
///
/// A handler has its time each time that it is called, as it has in 2026-07-28, where the client asks
/// again by a request of its own: what people take to answer is not the handler's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expiry {
    /// On the monotonic clock.
    at: Duration,
    within: Duration,
}

impl Expiry {
    pub(super) fn after(now: Now, within: Duration) -> Self {
        Self {
            at: now.monotonic.saturating_add(within),
            within,
        }
    }
}

/// What a request in flight is, and since when.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) method: Method,
    /// For the hooks, if there are any.
    name: Option<Box<str>>,
    /// When it came, on the monotonic clock.
    started: Duration,
}

impl Origin {
    pub(super) fn new(serving: &Serving<'_>, registry: &Registry) -> Self {
        Self {
            method: serving.method,
            // What waits for a task runs no handler, so the hooks do not learn of it.
            name: (!registry.hooks.is_empty() && serving.method != Method::TasksResult)
                .then(|| serving.name.into()),
            started: serving.since,
        }
    }

    /// The request as it is served on.
    pub(super) fn serving<'a>(
        &'a self,
        now: Now,
        id: &'a IdBuf,
        version: ProtocolVersion,
        batch: Option<BatchKey>,
    ) -> Serving<'a> {
        Serving {
            now,
            since: self.started,
            id: id.as_id(),
            version,
            method: self.method,
            name: self.name.as_deref().unwrap_or_default(),
            batch,
            again: None,
        }
    }
}

pub(super) enum Awaited {
    Ticket(Cancellation),
    Delay {
        due: Duration,
        then: Continuation,
        cancellation: Option<Cancellation>,
    },
    /// The client's answers to what it was asked.
    Answers(Box<Asking>),
    /// The end of the task of this id.
    Task(Arc<str>),
}

impl Waiting {
    pub(super) fn new(
        serving: &Serving<'_>,
        registry: &Registry,
        expiry: Expiry,
        what: Awaited,
    ) -> Self {
        Self {
            version: serving.version,
            origin: Origin::new(serving, registry),
            batch: serving.batch,
            expiry,
            began: serving.now.monotonic,
            sent: [0; 2],
            what,
        }
    }

    /// Gives up the request: whoever works on it is told, and what would continue it is dropped.
    pub(super) fn give_up(self) {
        let cancellation = match self.what {
            Awaited::Ticket(cancellation) => Some(cancellation),
            Awaited::Delay { cancellation, .. } => cancellation,
            Awaited::Answers(_) | Awaited::Task(_) => None,
        };
        if let Some(cancellation) = cancellation {
            cancellation.cancel();
        }
    }

    /// Whether it may send one more notice by now.
    fn may_send(&mut self, kind: NoticeKind, now: Now, registry: &Registry) -> bool {
        let elapsed = now.monotonic.saturating_sub(self.began);
        let sent = &mut self.sent[kind as usize];
        let may = *sent < notices_max(registry, kind, elapsed);
        *sent += u32::from(may);
        may
    }
}

impl fmt::Debug for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ticket(_) => f.write_str("Ticket"),
            Self::Delay { due, .. } => f.debug_tuple("Delay").field(due).finish(),
            Self::Answers(_) => f.write_str("Answers"),
            Self::Task(id) => f.debug_tuple("Task").field(id).finish(),
        }
    }
}

impl Waiting {
    pub(super) fn deadline(&self) -> Duration {
        match &self.what {
            Awaited::Ticket(_) | Awaited::Answers(_) | Awaited::Task(_) => self.expiry.at,
            Awaited::Delay { due, .. } => self.expiry.at.min(*due),
        }
    }

    /// A ticket was answered with a delay.
    fn wait_for(&mut self, due: Duration, then: Continuation) {
        let cancellation = match &self.what {
            Awaited::Ticket(cancellation) => Some(cancellation.clone()),
            Awaited::Delay { cancellation, .. } => cancellation.clone(),
            Awaited::Answers(_) | Awaited::Task(_) => None,
        };
        self.what = Awaited::Delay {
            due,
            then,
            cancellation,
        };
    }
}

impl Core {
    /// Keeps what a handler deferred.
    #[inline]
    pub(super) fn settle(
        &mut self,
        outcome: Outcome,
        serving: &Serving<'_>,
        expiry: Expiry,
        cancellation: Option<Cancellation>,
        out: &mut Vec<u8>,
    ) {
        let what = match outcome {
            Outcome::Answered(_) => return,
            Outcome::Deferred(cancellation) => Awaited::Ticket(cancellation),
            Outcome::After(delay, then) => Awaited::Delay {
                due: serving.now.monotonic.saturating_add(delay),
                then,
                cancellation,
            },
            Outcome::Ask(required) => {
                return self.ask_client(*required, serving, out);
            }
        };
        self.wait(serving, expiry, what);
    }

    /// Has a request wait.
    pub(super) fn wait(&mut self, serving: &Serving<'_>, expiry: Expiry, what: Awaited) {
        let waiting = Waiting::new(serving, &self.registry, expiry, what);
        self.pending.insert(Entry {
            id: IdBuf::new(&serving.id),
            serial: self.serial,
            deadline: waiting.deadline(),
            state: waiting,
        });
    }

    /// A request in flight whose time has come: to continue, or to be given up.
    pub(super) fn handle_due(&mut self, now: Now, entry: Entry<Waiting>, out: &mut Vec<u8>) {
        let Entry { id, state, .. } = entry;
        self.answer_in_batch(state.batch, out, |core, out| {
            core.continue_or_give_up(now, &id, state, out);
        });
    }

    /// Has `answer` write the answer to a request straight into the output, unless it has to wait
    /// for the rest of a batch. Where nothing is written, the request is in flight once more.
    pub(super) fn answer_in_batch(
        &mut self,
        batch: Option<BatchKey>,
        out: &mut Vec<u8>,
        answer: impl FnOnce(&mut Self, &mut Vec<u8>),
    ) {
        let Some(key) = batch else {
            return answer(self, out);
        };
        let mut written = Vec::new();
        answer(self, &mut written);
        out.append(&mut self.notices);
        if !written.is_empty() {
            self.batches.settle(key, Some(&written), out);
        }
    }

    fn continue_or_give_up(&mut self, now: Now, id: &IdBuf, state: Waiting, out: &mut Vec<u8>) {
        let Waiting { version, batch, .. } = state;
        let origin = state.origin.clone();
        let serving = origin.serving(now, id, version, batch);
        let expiry = state.expiry;
        let (then, cancellation) = match state.what {
            Awaited::Delay {
                due,
                then,
                cancellation,
            } if due <= now.monotonic => (then, cancellation),
            Awaited::Task(task) => return self.answer_with_task(&task, &serving, out),
            what => {
                return self.give_up_late(Waiting { what, ..state }, &serving, out);
            }
        };
        self.serial += 1;
        self.ran = Some(Ran::Delayed);
        let start = out.len();
        let mut outcome = Outcome::Answered(UNANSWERED);
        let answering = self.answering(&serving, cancellation.as_ref(), None);
        let result = guard(|| then.call(Reply::new(Answer::new(out, answering, &mut outcome))));
        if let Err(message) = result {
            self.log
                .push(&format!("a delayed answer panicked: {message}"));
        }
        if let Outcome::Answered(ending) = outcome {
            let is_forgotten = out.len() == start;
            if is_forgotten {
                self.error(Some(&serving.id), &unanswered(), out);
            }
            let ending = if is_forgotten { UNANSWERED } else { ending };
            self.tell_finished(now, &origin, ending);
        }
        self.settle(outcome, &serving, expiry, cancellation, out);
    }

    /// Tells the hooks of a request that was in flight.
    pub(super) fn tell_finished(&mut self, now: Now, origin: &Origin, ending: Ending) {
        if let Some(name) = &origin.name {
            let finished = Finished {
                method: origin.method.as_str(),
                name,
                ending,
                took: now.monotonic.saturating_sub(origin.started),
            };
            self.registry.hooks.after(&finished, &mut self.log);
        }
    }

    /// Gives up a request whose time is up, and says so.
    fn give_up_late(&mut self, state: Waiting, serving: &Serving<'_>, out: &mut Vec<u8>) {
        let ms = state.expiry.within.as_millis();
        let is_question = matches!(state.what, Awaited::Answers(_));
        let origin = state.origin.clone();
        let questions = match serving.batch {
            Some(_) => &mut self.notices,
            None => &mut *out,
        };
        take_back_questions(&state, questions);
        state.give_up();
        self.cancelled = true;
        if is_question {
            let text = format!("the client did not answer within {ms} ms");
            let ending = self.fail(serving, &text, out);
            return self.tell_finished(serving.now, &origin, ending);
        }
        let error = RpcError::internal(format!("no answer within {ms} ms"));
        write_error(out, Some(&serving.id), serving.version, &error);
        self.tell_finished(serving.now, &origin, UNANSWERED);
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
            CompletionKind::Notice(kind, notice) => {
                let waiting = self.pending.state_mut(serial);
                if waiting.is_some_and(|waiting| waiting.may_send(kind, now, &self.registry)) {
                    out.extend_from_slice(&notice);
                }
            }
            CompletionKind::Ask(required) => {
                if let Some(Entry { id, state, .. }) = self.pending.remove_serial(serial) {
                    let Waiting { version, batch, .. } = state;
                    let serving = state.origin.serving(now, &id, version, batch);
                    self.answer_in_batch(batch, out, |core, out| {
                        core.ask_client(*required, &serving, out);
                    });
                }
            }
            CompletionKind::Answer(answer, ending) => {
                let Some(entry) = self.pending.remove_serial(serial) else {
                    // Cancelled, or given up.
                    return;
                };
                self.tell_finished(now, &entry.state.origin, ending);
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
            }
            CompletionKind::OfTask(task, kind, notice) => {
                if self.session_tasks.may_be_told(&task, kind) {
                    out.extend_from_slice(&notice);
                }
            }
            CompletionKind::Task { id, end, is_told } => {
                self.handle_task(now, id, end, is_told, out);
            }
            // To be found in the mailbox of tasks alone.
            CompletionKind::Progress { .. } => {}
        }
    }
}
