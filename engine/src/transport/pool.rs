//! A bounded pool of threads for blocking tools.
//!
//! A thread is started when a job finds none idle, up to the limit; then jobs wait, up to their
//! limit; then they are refused. Without blocking tools there is no thread at all.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use crate::{
    limits::Limits,
    server::{handler::guard, job::Job},
};

#[derive(Debug)]
pub(super) struct Pool {
    shared: Arc<Shared>,
    threads: usize,
    threads_max: usize,
    queue_max: usize,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether a panic is to be told of.
    has_panicked: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    idle: usize,
    closed: bool,
    /// The message of the last panic.
    panicked: Option<String>,
}

impl Pool {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            shared: Arc::default(),
            threads: 0,
            threads_max: limits.pool_threads_max,
            queue_max: limits.pool_queue_max,
        }
    }

    /// Has a job run, or refused.
    pub(super) fn submit(&mut self, job: Job) {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        if state.jobs.len() >= state.idle {
            // Every idle thread has a job coming: another thread, or the queue.
            if self.threads < self.threads_max && self.start_thread() {
                state.idle += 1;
            } else if state.jobs.len() >= state.idle + self.queue_max {
                // Perhaps with calls that nobody waits for any more.
                drop(state);
                self.drop_cancelled();
                state = shared.lock();
                if state.jobs.len() >= state.idle + self.queue_max {
                    drop(state);
                    return shared.guard(|| job.refuse());
                }
            }
        }
        if self.threads == 0 {
            drop(state);
            return shared.guard(|| job.refuse());
        }
        state.jobs.push_back(job);
        drop(state);
        shared.changed.notify_one();
    }

    /// Drops the jobs whose calls were cancelled while they waited.
    pub(super) fn drop_cancelled(&self) {
        let mut cancelled = Vec::new();
        let mut state = self.shared.lock();
        for _ in 0..state.jobs.len() {
            if let Some(job) = state.jobs.pop_front() {
                if job.is_cancelled() {
                    cancelled.push(job);
                } else {
                    state.jobs.push_back(job);
                }
            }
        }
        drop(state);
        // Outside of the lock: it takes its time.
        for job in cancelled {
            self.shared.guard(move || drop(job));
        }
    }

    /// What a job panicked with besides its handler, when what it held was dropped: the last one.
    pub(super) fn take_panic(&self) -> Option<String> {
        if !self.shared.has_panicked.load(Ordering::Relaxed) {
            return None;
        }
        self.shared.has_panicked.store(false, Ordering::Relaxed);
        self.shared.lock().panicked.take()
    }

    fn start_thread(&mut self) -> bool {
        let shared = Arc::clone(&self.shared);
        let started = thread::Builder::new()
            .name(format!("tightwire-{}", self.threads))
            .spawn(move || shared.work());
        self.threads += usize::from(started.is_ok());
        started.is_ok()
    }
}

impl Drop for Pool {
    /// Idle threads end. One that is held by its tool ends when the tool does, or with the
    /// process.
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a panic that is not the handler's, but of a value that is dropped with its job.
    fn guard(&self, end: impl FnOnce()) {
        if let Err(message) = guard(end) {
            self.lock().panicked = Some(message);
            self.has_panicked.store(true, Ordering::Relaxed);
        }
    }

    /// What a thread does. It was counted as idle when it was started.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.idle -= 1;
                drop(state);
                self.guard(|| job.run());
                state = self.lock();
                state.idle += 1;
            } else if state.closed {
                return;
            } else {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}
