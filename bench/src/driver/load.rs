//! The loop: starts what is due, writes, waits, reads, checks.
//!
//! ```text
//!        ┌──────────────────────────────────────────────────────────────┐
//!        ▼                                                              │
//!   what is due ─▶ ids patched ─▶ write ─▶ wait ─▶ read ─▶ each line checked
//!   closed: N less those in flight         poll             right: latency recorded
//!   open:   intended starts until now                       else:  a fault
//! ```
//!
//! One thread, at most two clock readings a round. In an **open loop** a call has an intended
//! start, and its latency is counted from there: whatever keeps the call from starting (a full
//! pipe, a server that stands still, the driver itself) is in the figure. In a **closed loop** the
//! latency is counted from the write that the call is part of.
//!
//! A run begins and ends with nothing in flight, so what the server used in between it used for
//! the calls of the run.

use std::{io, ops::Range, time::Duration};

use super::{
    answers::{Answers, Verdict},
    error::{Error, Result},
    in_flight::InFlight,
    look::{Look, SPIN_IN_FLIGHT_MAX},
    recorder::{Latencies, Timeline},
    requests::{Call, Requests},
    session::Session,
    timers::ExactTimers,
    transport::{Interest, Transport},
    usage::{Usage, thread_cpu_ns},
    window::{Faults, Window},
    workload::Workload,
};

/// When calls start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Closed loop: so many in flight; one starts when one was answered.
    InFlight(usize),
    /// Open loop: so many a second, whatever the server does.
    Rate(f64),
}

/// One run of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// When calls start.
    pub pace: Pace,
    /// How long calls are started.
    pub duration: Duration,
    /// How many calls are started at most.
    pub calls: Option<u64>,
    /// After so long without a byte, what is in flight counts as lost.
    pub patience: Duration,
    /// In a closed loop with few calls in flight: how long the driver looks for an answer before it
    /// sleeps, where the server has another core. Zero switches it off; waking the driver is then
    /// in the latency.
    pub spin: Duration,
}

/// Puts load on one server.
#[derive(Debug)]
pub struct Driver<T> {
    pub(super) session: Session<T>,
    requests: Requests,
    answers: Answers,
    calls: InFlight,
    /// The part of the requests that is staged and not yet written.
    outgoing: Range<usize>,
    /// Answers to requests of the server.
    replies: Vec<u8>,
    look: Look,
}

impl<T: Transport> Driver<T> {
    /// How many calls of an open loop are in flight at most.
    pub const OPEN_MAX: usize = 65_536;
    /// The longest wait: progress is told and patience looked at so often.
    const TICK: Duration = Duration::from_millis(100);

    /// Makes a driver for a conversation.
    #[must_use]
    pub fn new(session: Session<T>, workload: &Workload) -> Self {
        let mut driver = Self {
            session,
            requests: Requests::new(&[]),
            answers: Answers::new([]),
            calls: InFlight::new(1),
            outgoing: 0..0,
            replies: Vec::new(),
            look: Look::default(),
        };
        driver.load(workload);
        driver
    }

    /// Takes another workload. Between runs only.
    pub fn load(&mut self, workload: &Workload) {
        let calls: Vec<_> = workload
            .calls
            .iter()
            .map(|(call, _)| Call::new(&*call.method, self.session.params(call.params.clone())))
            .collect();
        self.requests = Requests::new(&calls);
        self.answers = Answers::new(workload.calls.iter().map(|(_, rule)| rule.clone()));
    }

    /// The conversation.
    #[must_use]
    pub fn session(&self) -> &Session<T> {
        &self.session
    }

    /// The bytes of a request of the workload, on average.
    #[must_use]
    pub fn request_bytes(&self) -> f64 {
        self.requests.bytes_mean()
    }

    /// Whether the server is still there for another run.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.session.closed
    }

    /// Runs the workload once. `progress` is told the share that is done, now and then.
    ///
    /// # Errors
    ///
    /// What the system says, and [`Error::Closed`] if the server had gone before the run. A
    /// server that goes in the middle leaves missing answers.
    pub fn run(&mut self, run: &Run, progress: &mut dyn FnMut(f64)) -> Result<Window> {
        if self.session.closed {
            return Err(Error::Closed {
                during: "another run".to_owned(),
                last_words: self.session.transport.last_words(),
            });
        }
        self.calls.resize(match run.pace {
            Pace::InFlight(count) => count.max(1),
            Pace::Rate(_) => Self::OPEN_MAX,
        });
        let pid = self.session.transport.pid();
        let used = pid.map(Usage::of).unwrap_or_default();
        let _timers = matches!(run.pace, Pace::Rate(_)).then(ExactTimers::new);
        let cpu = thread_cpu_ns();
        let mut state = State::new(run, self.session.transport.now());
        let mut told = state.now;
        while !state.is_done(&self.calls, &self.outgoing) {
            self.send(&mut state)?;
            if !state.buffer_was_full {
                self.wait(&mut state)?;
            }
            self.receive(&mut state)?;
            if state.now - told >= nanos(Self::TICK) {
                told = state.now;
                progress(state.share_done());
            }
            let waits = self.calls.len() > 0 || !self.outgoing.is_empty();
            let lost = waits && state.now.saturating_sub(state.heard) >= nanos(run.patience);
            if lost || self.session.closed {
                self.give_up(&mut state);
                break;
            }
        }
        let driver_cpu_ns = thread_cpu_ns() - cpu;
        let server = pid.map(Usage::of).unwrap_or_default().since(&used);
        Ok(state.into_window(server, driver_cpu_ns))
    }

    /// Starts and writes what is due, as far as there is room.
    fn send(&mut self, state: &mut State) -> Result<()> {
        loop {
            let bytes = if !self.outgoing.is_empty() {
                self.requests.bytes(self.outgoing.clone())
            } else if !self.replies.is_empty() {
                &self.replies
            } else if self.stage(state) {
                continue;
            } else {
                return Ok(());
            };
            match self.session.transport.write(bytes) {
                Ok(count) => {
                    state.heard = state.heard.max(state.now);
                    if self.outgoing.is_empty() {
                        self.replies.drain(..count);
                    } else {
                        self.outgoing.start += count;
                        state.bytes_out += count as u64;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    self.session.closed = true;
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Stages what is due. False if nothing is.
    #[inline]
    fn stage(&mut self, state: &mut State) -> bool {
        let room = match state.run.pace {
            Pace::InFlight(count) => count.max(1).saturating_sub(self.calls.len()),
            Pace::Rate(_) => self.calls.max() - self.calls.len(),
        };
        let closed = matches!(state.run.pace, Pace::InFlight(_));
        if state.stopped || (room == 0 && closed) {
            return false;
        }
        state.now = self.session.transport.now();
        let due = state.due(room);
        if due == 0 {
            return false;
        }
        if self.calls.len() == 0 {
            state.heard = state.now;
        }
        let calls = &mut self.calls;
        self.outgoing = self
            .requests
            .stage(due, |entry| calls.start(entry, state.start_call()));
        true
    }

    fn wait(&mut self, state: &mut State) -> Result<()> {
        let interest = if self.outgoing.is_empty() && self.replies.is_empty() {
            if self.calls.len() == 0 && state.stopped {
                return Ok(());
            }
            if self.looks(state) {
                return Ok(());
            }
            Interest::Read
        } else {
            Interest::ReadOrWrite
        };
        let timeout = match state.run.pace {
            Pace::InFlight(_) => Self::TICK,
            Pace::Rate(_) if self.calls.len() == self.calls.max() => Self::TICK,
            Pace::Rate(_) => {
                let next = state.next_intended().unwrap_or(u64::MAX);
                let rest = next.saturating_sub(self.session.transport.now());
                Duration::from_nanos(rest).min(Self::TICK)
            }
        };
        Ok(self.session.transport.wait(interest, timeout)?)
    }

    /// Whether it looks for an answer once more before it waits for one.
    #[inline]
    fn looks(&mut self, state: &State) -> bool {
        let few = matches!(state.run.pace, Pace::InFlight(count) if count <= SPIN_IN_FLIGHT_MAX);
        let quiet = state.now.saturating_sub(state.heard);
        few && self.look.goes_on(quiet, state.run.spin) && self.session.transport.pause()
    }

    fn receive(&mut self, state: &mut State) -> Result<()> {
        let spare = self.session.lines.spare();
        let room = spare.len();
        let count = match self.session.transport.read(spare) {
            Ok(0) => {
                self.session.closed = true;
                return Ok(());
            }
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                state.buffer_was_full = false;
                state.now = self.session.transport.now();
                state.look_at_the_clock();
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        state.buffer_was_full = count == room;
        self.look.found();
        state.bytes_in += count as u64;
        state.now = self.session.transport.now();
        state.heard = state.now;
        self.session.lines.commit(count);
        let before = state.answered;
        while let Some(line) = self.session.lines.next() {
            if let Some((id, slot)) = self.answers.quick(line, &self.calls) {
                self.calls.finish(id);
                state.right(slot.since);
            } else if !line.is_empty() {
                let verdict = self.answers.full(line, &self.calls);
                state.take(verdict, &mut self.calls, &mut self.replies);
            }
        }
        state
            .timeline
            .add(state.now - state.start, state.answered - before);
        state.look_at_the_clock();
        Ok(())
    }

    /// Counts what is in flight as missing.
    fn give_up(&mut self, state: &mut State) {
        let missing = self.calls.len() as u64;
        if missing > 0 {
            let id = self.calls.oldest().unwrap_or_default();
            let why = if self.session.closed {
                let words = self.session.transport.last_words();
                format!("the server closed its output\n{words}")
                    .trim_end()
                    .to_owned()
            } else {
                format!("nothing came for {:?}", state.run.patience)
            };
            let text = format!("missing: no answer to id {id}: {why}");
            fault(
                &mut state.faults.missing,
                missing,
                &mut state.faults.first,
                || text,
            );
        }
        self.calls.clear();
        // Half a request cannot be taken back, and a late answer would belong to no run.
        self.session.closed |= !self.outgoing.is_empty();
        self.outgoing = 0..0;
    }
}

/// What one run has come to.
struct State<'a> {
    run: &'a Run,
    start: u64,
    /// The last reading of the clock.
    now: u64,
    /// When something last moved.
    heard: u64,
    /// The last right answer.
    last_answer: u64,
    started: u64,
    answered: u64,
    /// No call is started any more.
    stopped: bool,
    buffer_was_full: bool,
    bytes_in: u64,
    bytes_out: u64,
    notifications: u64,
    latencies: Latencies,
    late: Option<Latencies>,
    timeline: Timeline,
    faults: Faults,
}

impl<'a> State<'a> {
    fn new(run: &'a Run, start: u64) -> Self {
        Self {
            run,
            start,
            now: start,
            heard: start,
            last_answer: start,
            started: 0,
            answered: 0,
            stopped: false,
            buffer_was_full: false,
            bytes_in: 0,
            bytes_out: 0,
            notifications: 0,
            latencies: Latencies::new(),
            late: matches!(run.pace, Pace::Rate(_)).then(Latencies::new),
            timeline: Timeline::new(),
            faults: Faults::default(),
        }
    }

    fn is_done(&self, calls: &InFlight, outgoing: &Range<usize>) -> bool {
        self.stopped && calls.len() == 0 && outgoing.is_empty()
    }

    /// How many calls may start now.
    #[inline]
    fn due(&mut self, room: usize) -> usize {
        let left = self
            .run
            .calls
            .map_or(u64::MAX, |calls| calls.saturating_sub(self.started));
        let due = match self.run.pace {
            Pace::InFlight(_) => room as u64,
            Pace::Rate(rate) => {
                // What is due by the end is started even if it became late.
                self.stopped |= self.is_over();
                let elapsed = (self.now - self.start) as f64 / 1e9;
                let mut intended = (elapsed * rate) as u64;
                // The product may have been rounded down; the clock decides.
                while self.intended(intended) <= self.now {
                    intended += 1;
                }
                intended
                    .min(self.planned(rate))
                    .saturating_sub(self.started)
            }
        };
        due.min(left).min(room as u64) as usize
    }

    /// Enters a call and gives the time from which its latency counts.
    #[inline]
    fn start_call(&mut self) -> u64 {
        let since = match self.run.pace {
            Pace::InFlight(_) => self.now,
            Pace::Rate(_) => self.intended(self.started),
        };
        if let Some(late) = &mut self.late {
            late.record(self.now.saturating_sub(since));
        }
        self.started += 1;
        self.stopped |= self.run.calls.is_some_and(|calls| self.started >= calls);
        since
    }

    fn intended(&self, call: u64) -> u64 {
        match self.run.pace {
            Pace::InFlight(_) => self.now,
            Pace::Rate(rate) => self.start + (call as f64 * 1e9 / rate) as u64,
        }
    }

    /// When the next call should start, if any is to.
    fn next_intended(&self) -> Option<u64> {
        (!self.stopped).then(|| self.intended(self.started))
    }

    fn is_over(&self) -> bool {
        self.now - self.start >= nanos(self.run.duration)
    }

    /// Ends a closed loop. At least one call is made however short the time.
    fn look_at_the_clock(&mut self) {
        let closed = matches!(self.run.pace, Pace::InFlight(_));
        self.stopped |= closed && self.is_over() && self.started > 0;
    }

    /// How many calls an open loop should start in all.
    fn planned(&self, rate: f64) -> u64 {
        let planned = ((self.run.duration.as_secs_f64() * rate) as u64).max(1);
        self.run.calls.map_or(planned, |calls| calls.min(planned))
    }

    fn share_done(&self) -> f64 {
        let time = (self.now - self.start) as f64 / nanos(self.run.duration) as f64;
        let calls = self
            .run
            .calls
            .map_or(0.0, |calls| self.started as f64 / calls as f64);
        time.max(calls).min(1.0)
    }

    #[inline]
    fn right(&mut self, since: u64) {
        self.answered += 1;
        self.last_answer = self.now;
        self.latencies.record(self.now.saturating_sub(since));
    }

    /// Takes the verdict on a line that went the long way.
    #[cold]
    fn take(&mut self, verdict: Verdict, calls: &mut InFlight, replies: &mut Vec<u8>) {
        let first = &mut self.faults.first;
        match verdict {
            Verdict::Right { id, slot } => {
                calls.finish(id);
                self.right(slot.since);
            }
            Verdict::Wrong { id, why } => {
                calls.finish(id);
                fault(&mut self.faults.wrong, 1, first, || format!("wrong: {why}"));
            }
            Verdict::Duplicate(why) => {
                fault(&mut self.faults.duplicate, 1, first, || {
                    format!("duplicate: {why}")
                });
            }
            Verdict::Unknown(why) => {
                fault(&mut self.faults.unknown, 1, first, || {
                    format!("unknown: {why}")
                });
            }
            Verdict::Notification => self.notifications += 1,
            Verdict::Request(reply) => {
                replies.extend_from_slice(reply.to_string().as_bytes());
                replies.push(b'\n');
            }
        }
    }

    fn into_window(self, server: Usage, driver_cpu_ns: u64) -> Window {
        let not_started = match self.run.pace {
            Pace::InFlight(_) => 0,
            Pace::Rate(rate) => self.planned(rate).saturating_sub(self.started),
        };
        Window {
            calls: self.answered,
            seconds: (self.last_answer - self.start) as f64 / 1e9,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            latency: self.latencies.into_histogram(),
            late: self.late.map(Latencies::into_histogram),
            timeline: self.timeline.into_steps(),
            faults: self.faults,
            not_started,
            notifications: self.notifications,
            server,
            driver_cpu_ns,
        }
    }
}

/// Counts faults, and keeps the first of its kind.
fn fault(count: &mut u64, more: u64, first: &mut Vec<String>, text: impl FnOnce() -> String) {
    if *count == 0 {
        first.push(text());
    }
    *count += more;
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 4)
}
