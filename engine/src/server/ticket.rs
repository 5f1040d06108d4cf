//! Deferred answers: [`Ticket`], which any thread may answer, and how the answer comes back to the
//! loop.
//!
//! A ticket writes its answer into a buffer of its own and leaves it with [`Completions`], which
//! wakes the loop; the loop sends it if the request still waits for it. A request that was
//! cancelled, or whose time is up, waits for nothing: its late answer is thrown away.

use std::{
    fmt,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tightwire_codec::Verbatim;

use super::{
    ask::{InputRequired, Stop},
    changes::Changes,
    context::{NoticeKind, Outbox},
    handler::guard,
    hook::Ending,
    output::OutputSchema,
    registry::Registry,
    reply::{Answer, Answering, Continuation, Outcome, Reply, UNANSWERED, unanswered, write_error},
};
use crate::{
    model::task::TaskRecord,
    protocol::{pending::IdBuf, version::ProtocolVersion},
};

/// The right and duty to answer one deferred call, from any thread.
///
/// A ticket that is dropped unanswered answers -32603.
///
/// ```
/// use tightwire::{Call, Reply, Server, Tool};
///
/// let lookup = Tool::new("lookup", |call: Call<'_>, reply: Reply<'_>| {
///     let city = call.arguments().find("city").and_then(|city| city.as_str());
///     let city = city.unwrap_or("nowhere").to_owned();
///     let ticket = reply.defer();
///     std::thread::spawn(move || {
///         // … ask a slow database …
///         ticket.answer(|reply| reply.text(&city));
///     });
/// });
/// let server = Server::new("demo", "1.0.0").tool(lookup);
/// ```
pub struct Ticket {
    id: IdBuf,
    version: ProtocolVersion,
    serial: u64,
    registry: Arc<Registry>,
    completions: Arc<Completions>,
    cancellation: Cancellation,
    output: Option<Arc<OutputSchema>>,
    done: bool,
}

impl Ticket {
    pub(crate) fn new(
        id: IdBuf,
        version: ProtocolVersion,
        serial: u64,
        registry: Arc<Registry>,
        completions: Arc<Completions>,
        cancellation: Cancellation,
    ) -> Self {
        Self {
            id,
            version,
            serial,
            registry,
            completions,
            cancellation,
            output: None,
            done: false,
        }
    }

    /// The same ticket, whose answer is checked against an output schema.
    pub(super) fn checked(mut self, output: Option<Arc<OutputSchema>>) -> Self {
        self.output = output;
        self
    }

    /// The same ticket, of a handler that may have asked before it deferred.
    pub(super) fn stopped(self, stop: Option<Stop>) -> Self {
        *lock(&self.cancellation.0.stop) = stop.map(Box::new);
        self
    }

    /// Answers the call: `answer` gets the reply, and may use it up in any way.
    pub fn answer(self, answer: impl FnOnce(Reply<'_>)) {
        let output = self.output.clone();
        let outbox = self.outbox();
        self.answer_from(outbox.as_ref(), |place| {
            answer(Reply::new(place).checked(output.as_ref()));
        });
    }

    /// Where the handler has left why it stopped, if it did.
    fn outbox(&self) -> Option<Mutex<Outbox>> {
        let stop = lock(&self.cancellation.0.stop).take()?;
        Some(Mutex::new(Outbox::stopped(*stop)))
    }

    /// The same, for a handler that may have left in its outbox that the client is to be asked.
    pub(super) fn answer_from(
        mut self,
        outbox: Option<&Mutex<Outbox>>,
        answer: impl FnOnce(Answer<'_>),
    ) {
        let mut out = Vec::new();
        let mut outcome = Outcome::Answered(UNANSWERED);
        answer(Answer::new(&mut out, self.answering(outbox), &mut outcome));
        self.done = true;
        self.end(out, outcome);
    }

    /// Leaves for the connection what has become of the call.
    fn end(&self, out: Vec<u8>, outcome: Outcome) {
        match outcome {
            Outcome::Answered(_) if out.is_empty() => self.complete_unanswered(),
            Outcome::Answered(ending) => {
                self.complete(CompletionKind::Answer(out.into(), ending));
            }
            Outcome::After(delay, then) => self.complete(CompletionKind::After(delay, then)),
            Outcome::Ask(required) => self.complete(CompletionKind::Ask(required)),
            // A ticket made of this one holds the call.
            Outcome::Deferred(_) => {}
        }
    }

    /// Whether the call was cancelled or timed out: its answer will be thrown away.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// The cancellation of the call, to hand to whoever works on it.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    pub(super) fn serial(&self) -> u64 {
        self.serial
    }

    pub(super) fn completions(&self) -> Arc<Completions> {
        Arc::clone(&self.completions)
    }

    fn answering<'a>(&'a self, outbox: Option<&'a Mutex<Outbox>>) -> Answering<'a> {
        Answering {
            id: self.id.as_id(),
            version: self.version,
            serial: self.serial,
            registry: &self.registry,
            completions: &self.completions,
            cancellation: Some(&self.cancellation),
            outbox,
            verbatim: Verbatim::default(),
        }
    }

    fn complete_unanswered(&self) {
        let mut out = Vec::new();
        write_error(
            &mut out,
            Some(&self.id.as_id()),
            self.version,
            &unanswered(),
        );
        self.complete(CompletionKind::Answer(out.into(), UNANSWERED));
    }

    fn complete(&self, kind: CompletionKind) {
        self.completions.push(Completion {
            serial: self.serial,
            kind,
        });
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let outbox = self.outbox();
        let mut out = Vec::new();
        let mut outcome = Outcome::Answered(UNANSWERED);
        // It answers as a reply does that is dropped.
        let answering = self.answering(outbox.as_ref());
        drop(Answer::new(&mut out, answering, &mut outcome));
        self.end(out, outcome);
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("id", &self.id.as_id())
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// Tells whoever works on a call that nobody waits for it any more.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<CancellationState>);

#[derive(Default)]
struct CancellationState {
    cancelled: AtomicBool,
    lock: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
    changed: Condvar,
    /// Why the handler stopped that has deferred the call, before or after it did: what it shares
    /// with its ticket, wherever that is.
    stop: Mutex<Option<Box<Stop>>>,
}

impl Cancellation {
    /// Whether the call was cancelled, or timed out.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// Waits until the call is cancelled, at most for `timeout`. Whether it was.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> bool {
        let guard = lock(&self.0.lock);
        let waited = self
            .0
            .changed
            .wait_timeout_while(guard, timeout, |_| !self.is_cancelled());
        drop(waited);
        self.is_cancelled()
    }

    /// Calls `f` when the call is cancelled, in the thread that learns of it, or at once if it was
    /// already. `f` must be short, since that thread is the loop.
    pub fn on_cancel(&self, f: impl FnOnce() + Send + 'static) {
        let mut callbacks = lock(&self.0.lock);
        if self.is_cancelled() {
            drop(callbacks);
            f();
        } else {
            callbacks.push(Box::new(f));
        }
    }

    /// Has the ticket of the call tell why its handler stopped.
    pub(super) fn stop(&self, stop: Stop) {
        *lock(&self.0.stop) = Some(Box::new(stop));
    }

    pub(crate) fn cancel(&self) {
        let callbacks = {
            let mut callbacks = lock(&self.0.lock);
            self.0.cancelled.store(true, Ordering::Release);
            std::mem::take(&mut *callbacks)
        };
        self.0.changed.notify_all();
        for callback in callbacks {
            // A panic in it is its own: the call is over, so there is nobody to tell.
            let _ = guard(callback);
        }
    }
}

impl Drop for CancellationState {
    /// What was to be called is dropped where the last of the call is, perhaps in the loop. A panic
    /// in that is its own.
    fn drop(&mut self) {
        for callback in std::mem::take(&mut *lock(&self.lock)) {
            let _ = guard(|| drop(callback));
        }
    }
}

impl fmt::Debug for CancellationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancellationState")
            .field("cancelled", &self.cancelled)
            .finish_non_exhaustive()
    }
}

/// Something that happened to a call outside of the loop.
pub(crate) struct Completion {
    pub(crate) serial: u64,
    pub(crate) kind: CompletionKind,
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion")
            .field("serial", &self.serial)
            .finish_non_exhaustive()
    }
}

impl Completion {
    fn bytes(&self) -> usize {
        match &self.kind {
            CompletionKind::Answer(answer, _) => answer.len(),
            CompletionKind::Notice(_, notice) | CompletionKind::OfTask(_, _, notice) => {
                notice.len()
            }
            CompletionKind::Progress {
                message, notice, ..
            } => message.as_ref().map_or(0, Vec::len) + notice.len(),
            CompletionKind::Ask(required) => required.bytes(),
            CompletionKind::Task { end, .. } => end.as_ref().map_or(0, |end| end.bytes()),
            CompletionKind::After(..) | CompletionKind::Log(_) => 0,
        }
    }

    /// Whether it is one of many that nobody misses.
    fn is_notice(&self) -> bool {
        matches!(
            self.kind,
            CompletionKind::Notice(..)
                | CompletionKind::Progress { .. }
                | CompletionKind::OfTask(..)
        )
    }
}

pub(crate) enum CompletionKind {
    Answer(Bytes, Ending),
    After(Duration, Continuation),
    /// The client is to be asked.
    Ask(Box<InputRequired>),
    /// A notification; the call goes on.
    Notice(NoticeKind, Vec<u8>),
    /// How far a task is; it goes on.
    Progress {
        progress: f64,
        /// What is told with its status.
        message: Option<Vec<u8>>,
        /// What its session is sent; empty if it is sent nothing.
        notice: Vec<u8>,
    },
    /// A notification of the task of this id, for its session.
    OfTask(Arc<str>, NoticeKind, Vec<u8>),
    /// A task is not at work any more, for its session.
    Task {
        id: Arc<str>,
        /// What it has ended as: the store may have forgotten it by the time this is read.
        end: Option<Box<TaskRecord>>,
        /// Whether its session has told so, and has only those to answer who wait for the result.
        is_told: bool,
    },
    /// A line for the log; the call goes on.
    Log(String),
}

/// Where other threads leave what they have for the loop.
#[derive(Default)]
pub(crate) struct Completions {
    queue: Mutex<Queue>,
    /// What changed of what is served.
    changes: Mutex<Changes>,
    ready: AtomicBool,
    /// Of the answers here, and of the jobs that wait for a thread or run.
    bytes: AtomicUsize,
    /// How many notifications are here.
    notices: AtomicUsize,
    /// And how many bytes they have.
    notice_bytes: AtomicUsize,
    waker: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// Whether the calls are those of tasks, which no connection waits for.
    pub(super) for_tasks: bool,
    /// The wall clock, in milliseconds.
    clock: OnceLock<fn() -> u64>,
}

#[derive(Default)]
struct Queue {
    list: Vec<Completion>,
    /// When each came in, where they are those of tasks and there is a clock.
    moments: Vec<u64>,
}

impl Completions {
    /// So many notifications may wait for the loop.
    const NOTICES_MAX: usize = 4096;

    /// Where the functions of tasks leave their answers.
    pub(super) fn of_tasks() -> Self {
        Self {
            for_tasks: true,
            ..Self::default()
        }
    }

    /// What wakes the loop. To be set once, before the first line.
    pub(crate) fn set_waker(&self, waker: impl Fn() + Send + Sync + 'static) {
        // A second waker would be for a second loop, which nothing has.
        let _ = self.waker.set(Box::new(waker));
    }

    /// What tells the wall time. To be set once.
    pub(super) fn set_clock(&self, unix_ms: fn() -> u64) {
        let _ = self.clock.set(unix_ms);
    }

    /// The same for others, whose calls are those of tasks.
    pub(super) fn share_clock(&self, tasks: &Self) {
        if let Some(clock) = self.clock.get() {
            tasks.set_clock(*clock);
        }
    }

    pub(crate) fn push(&self, completion: Completion) {
        self.count(&completion);
        let mut queue = lock(&self.queue);
        queue.list.push(completion);
        if self.for_tasks {
            // Nobody may be there to notice when this came in.
            queue.moments.extend(self.clock.get().map(|clock| clock()));
        }
        drop(queue);
        self.notify();
    }

    /// Tells the loop that there is something here.
    pub(super) fn notify(&self) {
        if !self.ready.swap(true, Ordering::AcqRel)
            && let Some(wake) = self.waker.get()
        {
            wake();
        }
    }

    /// Passes on a notification, unless so many wait that one more is one too many.
    pub(crate) fn push_notice(&self, notice: Completion) {
        let bytes = notice.bytes();
        let count = self.notices.fetch_add(1, Ordering::Relaxed);
        let waiting = self.notice_bytes.fetch_add(bytes, Ordering::Relaxed);
        if count < Self::NOTICES_MAX && notice_fits(waiting, bytes) {
            self.push(notice);
        } else {
            self.notices.fetch_sub(1, Ordering::Relaxed);
            self.notice_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Passes on what is for the session of a task. Where too much waits for it, what a task has
    /// ended as is left to the store.
    pub(super) fn push_letter(&self, mut letter: Completion) {
        let fits = notice_fits(self.bytes(), letter.bytes());
        if let CompletionKind::Task { end, .. } = &mut letter.kind
            && !fits
        {
            *end = None;
        }
        if letter.is_notice() {
            self.push_notice(letter);
        } else {
            self.push(letter);
        }
    }

    pub(super) fn changes(&self) -> &Mutex<Changes> {
        &self.changes
    }

    /// Has the client told that an elicitation is complete, if it was sent it.
    pub(super) fn complete_elicitation(&self, id: &str) {
        if lock(&self.changes).complete_elicitation(id) {
            self.notify();
        }
    }

    /// How many bytes are kept for calls that are not done.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Notes what is kept until it is taken.
    pub(super) fn count(&self, completion: &Completion) {
        self.bytes.fetch_add(completion.bytes(), Ordering::Relaxed);
    }

    /// What was taken is kept no longer.
    pub(crate) fn settle(&self, completion: &Completion) {
        if completion.is_notice() {
            self.notices.fetch_sub(1, Ordering::Relaxed);
            self.notice_bytes
                .fetch_sub(completion.bytes(), Ordering::Relaxed);
        }
        self.bytes.fetch_sub(completion.bytes(), Ordering::Relaxed);
    }

    /// Whether there is anything to take.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Takes all there is.
    pub(crate) fn take(&self) -> Vec<Completion> {
        // First the flag: what comes after it is taken now or wakes the loop again.
        self.ready.store(false, Ordering::Release);
        std::mem::take(&mut lock(&self.queue).list)
    }

    /// The same with when each came in, as far as that is known, and now at the latest.
    pub(super) fn take_until(&self, now: u64) -> impl Iterator<Item = (u64, Completion)> {
        self.ready.store(false, Ordering::Release);
        let Queue { list, moments } = std::mem::take(&mut *lock(&self.queue));
        let moments = moments.into_iter().chain(std::iter::repeat(now));
        moments.map(move |moment| moment.min(now)).zip(list)
    }
}

impl fmt::Debug for Completions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completions")
            .field("ready", &self.ready)
            .finish_non_exhaustive()
    }
}

/// Whether a notification may wait besides others that have so many bytes. A first one always may.
pub(super) fn notice_fits(waiting: usize, bytes: usize) -> bool {
    /// Far more than anybody reads.
    const WAITING_MAX: usize = 16 << 20;
    waiting == 0 || waiting.saturating_add(bytes) <= WAITING_MAX
}

/// Counts the memory of a job as long as it lives.
#[derive(Debug)]
pub(super) struct JobBytes {
    completions: Arc<Completions>,
    bytes: usize,
}

impl JobBytes {
    pub(super) fn new(completions: Arc<Completions>, bytes: usize) -> Self {
        completions.bytes.fetch_add(bytes, Ordering::Relaxed);
        Self { completions, bytes }
    }
}

impl JobBytes {
    /// More is kept.
    pub(super) fn grow(&mut self, bytes: usize) {
        self.completions.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
    }
}

impl Drop for JobBytes {
    fn drop(&mut self) {
        self.completions
            .bytes
            .fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Locks, whatever a panicking thread left: all that is behind these locks is whole at any time.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::task::TaskState;

    /// Tells of a task that has ended with so much.
    fn letter(bytes: usize) -> Completion {
        let end = TaskRecord {
            principal: String::new(),
            tool: String::new(),
            state: TaskState::Completed("x".repeat(bytes).into()),
            status_message: None,
            created_unix_ms: 0,
            updated_unix_ms: 0,
            ttl_ms: 1,
            poll_interval_ms: 1,
            request: Arc::from(""),
            answers: Vec::new(),
            kept: None,
            connection: 0,
        };
        let kind = CompletionKind::Task {
            id: Arc::from("task"),
            end: Some(Box::new(end)),
            is_told: false,
        };
        Completion { serial: 0, kind }
    }

    #[test]
    fn what_tasks_have_ended_as_is_counted_and_limited() {
        let mailbox = Completions::default();
        for _ in 0..2 {
            mailbox.push_letter(letter(9 << 20));
        }
        assert!((9 << 20..10 << 20).contains(&mailbox.bytes()));
        let letters = mailbox.take();
        let has_end =
            |letter: &Completion| matches!(letter.kind, CompletionKind::Task { end: Some(_), .. });
        let ends: Vec<bool> = letters.iter().map(has_end).collect();
        assert_eq!(ends, [true, false]);
        letters.iter().for_each(|letter| mailbox.settle(letter));
        assert_eq!(mailbox.bytes(), 0);
    }
}
