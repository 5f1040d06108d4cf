//! How handlers are run: guarded, in the loop or elsewhere, and what becomes of what they leave.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tightwire_codec::{Id, Object};

use super::{
    ask::Given,
    batch::BatchKey,
    connection::Core,
    context::{Asked, Context, Outbox},
    deferred::{Expiry, Origin},
    dispatch::Serving,
    excerpt,
    handler::guard,
    hook::{Ending, metered_name},
    job::{Job, Target},
    reply::{Answer, Answering, Outcome, UNANSWERED, unanswered},
    ticket::Cancellation,
    tool::Execution,
};
use crate::error::RpcError;

/// A handler about to run.
pub(super) struct Run<'a> {
    pub(super) what: Ran,
    pub(super) asked: Asked<'a>,
    pub(super) meta: Option<Object<'a>>,
    pub(super) given: Given<'a>,
    pub(super) execution: Execution,
    /// How long it may take, where that is its own.
    pub(super) timeout: Option<Duration>,
}

/// What of the user's ran in the loop last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ran {
    /// By its place in the table.
    Tool(usize),
    Resource,
    Prompt,
    Completion,
    /// One of the server's own.
    Method,
    /// What [`Reply::after`](super::reply::Reply::after) was given.
    Delayed,
    /// Several.
    Batch,
}

impl Ran {
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Tool(_) => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
            Self::Completion => "completion",
            Self::Method => "method",
            Self::Delayed => "a delayed answer",
            Self::Batch => "a batch",
        }
    }
}

/// An id up to this many bytes is not worth counting.
const ID_BYTES_SHORT: usize = 4096;

impl Core {
    /// Refuses a call when as many as may be are in flight, or as much memory is kept for them as
    /// may be and this one would keep more.
    pub(super) fn check_room(&self, id: &Id<'_>, keeps_arguments: bool) -> Result<(), RpcError> {
        if self.pending.is_full() {
            return Err(RpcError::internal(format!(
                "Too many requests in flight: {} wait for an answer",
                self.pending.len()
            )));
        }
        let is_long = matches!(id, Id::String(id) | Id::Source(id) if id.len() > ID_BYTES_SHORT);
        if (keeps_arguments || is_long) && self.held_bytes() > self.registry.limits.held_bytes_max {
            return Err(RpcError::internal(format!(
                "The requests in flight hold {} bytes; try again later",
                self.held_bytes()
            )));
        }
        Ok(())
    }

    /// Runs a handler, guarded, and keeps what it deferred.
    #[inline]
    pub(super) fn run(
        &mut self,
        serving: &Serving<'_>,
        run: &Run<'_>,
        out: &mut Vec<u8>,
        handler: impl FnOnce(&Context<'_>, Answer<'_>),
    ) {
        let is_here = run.execution == Execution::Inline;
        self.run_alone(serving, run, out, |context, answer| {
            let hooks = &context.registry.hooks;
            if hooks.is_empty() {
                handler(context, answer);
            } else {
                hooks.run(context, answer, is_here, handler);
            }
        });
    }

    /// The same without the hooks around it.
    #[inline]
    pub(super) fn run_alone(
        &mut self,
        serving: &Serving<'_>,
        run: &Run<'_>,
        out: &mut Vec<u8>,
        handler: impl FnOnce(&Context<'_>, Answer<'_>),
    ) {
        self.serial += 1;
        self.ran = Some(run.what);
        let start = out.len();
        let mut outcome = Outcome::Answered(UNANSWERED);
        let answering = self.answering(serving, None, Some(&self.outbox));
        let context = self.context(serving, run);
        let result = guard(|| handler(&context, Answer::new(out, answering, &mut outcome)));
        if let Err(message) = result {
            self.log_panic(run, &message);
        }
        if out.len() == start && matches!(outcome, Outcome::Answered(_)) {
            self.error(Some(&serving.id), &unanswered(), out);
            outcome = Outcome::Answered(UNANSWERED);
        }
        let outbox = self
            .outbox
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if outbox.is_used {
            let notices = std::mem::take(outbox).notices;
            self.send_notices(&notices, serving.batch, start, out);
        }
        if let Outcome::Answered(ending) = outcome {
            if !self.registry.hooks.is_empty() {
                self.note_finished(serving, run, ending);
            }
            return;
        }
        let timeout = self.registry.limits.deferred_within(run.timeout);
        let expiry = Expiry::after(serving.now, timeout);
        let serving = Serving {
            name: metered_name(serving.method, run.asked.name),
            ..*serving
        };
        self.settle(outcome, &serving, expiry, None, out);
    }

    /// Has the hooks told of what a handler in the loop answered.
    fn note_finished(&mut self, serving: &Serving<'_>, run: &Run<'_>, ending: Ending) {
        if serving.again.is_none() {
            return self.finished.push(run.asked, ending);
        }
        let serving = Serving {
            name: metered_name(serving.method, run.asked.name),
            ..*serving
        };
        let origin = Origin::new(&serving, &self.registry);
        self.tell_finished(serving.now, &origin, ending);
    }

    /// What the reply to a request that is served now needs to know of it.
    #[inline]
    pub(super) fn answering<'a>(
        &'a self,
        serving: &Serving<'a>,
        cancellation: Option<&'a Cancellation>,
        outbox: Option<&'a Mutex<Outbox>>,
    ) -> Answering<'a> {
        Answering {
            id: serving.id,
            version: serving.version,
            serial: self.serial,
            registry: &self.registry,
            completions: &self.completions,
            cancellation,
            outbox,
            verbatim: self.verbatim,
        }
    }

    /// What a handler in the loop is handed.
    #[inline]
    pub(super) fn context<'a>(&'a self, serving: &Serving<'_>, run: &Run<'a>) -> Context<'a> {
        Context {
            version: serving.version,
            request: run.asked,
            meta: run.meta,
            given: run.given,
            unix_ms: serving.now.unix_ms,
            client: self.session.client(),
            registry: &self.registry,
            outbox: &self.outbox,
            completions: &self.completions,
            session: None,
            remote: None,
        }
    }

    #[cold]
    pub(super) fn log_panic(&mut self, run: &Run<'_>, message: &str) {
        let name = excerpt(run.asked.name);
        self.log
            .push(&format!("{} {name} panicked: {message}", run.what.kind()));
    }

    /// Sends what a handler had to tell, before its answer at `start`. What comes of a batch does
    /// not wait for the rest of it.
    #[cold]
    fn send_notices(
        &mut self,
        notices: &[u8],
        batch: Option<BatchKey>,
        start: usize,
        out: &mut Vec<u8>,
    ) {
        if batch.is_some() {
            self.notices.extend_from_slice(notices);
        } else {
            out.splice(start..start, notices.iter().copied());
        }
    }

    /// Has a handler run outside of the loop, with a copy of the request.
    pub(super) fn run_elsewhere(
        &mut self,
        serving: &Serving<'_>,
        run: &Run<'_>,
        target: Target,
        out: &mut Vec<u8>,
    ) {
        let registry = Arc::clone(&self.registry);
        let client = Arc::clone(self.session.client());
        let mut job = None;
        self.run(serving, run, out, |context, answer| {
            job = Some(Job::new(
                &registry,
                &client,
                target,
                context,
                answer.defer(),
            ));
        });
        self.ran = None;
        if let Some(job) = job {
            self.start_job(job, run.execution);
        }
    }

    /// Hands a job to the executor, or to whoever polls for it.
    pub(super) fn start_job(&mut self, job: Job, execution: Execution) {
        let registry = Arc::clone(&self.registry);
        match (&registry.executor, execution) {
            (Some(executor), Execution::Async) => {
                if let Err(message) = guard(|| executor.spawn(Box::pin(job.run_async()))) {
                    self.log.push(&format!("the executor panicked: {message}"));
                }
            }
            _ => self.jobs.push_back(job),
        }
    }
}
