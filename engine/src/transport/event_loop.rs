//! The loop that serves one connection: one mio `Poll`, and around it reading, serving, writing.
//!
//! ```text
//!        ┌───────────────────────────────────────────────────────────┐
//!        ▼                                                           │
//!   serve the lines ─▶ completions, ─▶ write ─▶ done? ─▶ more to ────┤ yes
//!   of one read        timers, jobs                      read now?   │
//!                                                            │ no    │
//!                                                            ▼       │
//!                                                       wait (epoll) ┘
//! ```
//!
//! Data first, wait second: it reads until it would block before it asks for events, and a read
//! that does not fill its buffer has taken all there was. So one call at a time costs one wait,
//! one read and one write; many together are answered by one write. Where nothing else can wake the
//! loop, the wait is the next read: see `blocking`.

use std::{
    io::{self, ErrorKind},
    num::NonZero,
    os::fd::AsRawFd,
    thread,
    time::Duration,
};

use mio::{Events, Interest, Poll, Token, Waker, unix::SourceFd};
use rustix::io::Errno;
use tightwire_codec::Ring;

use super::{
    blocking::Blocking,
    fd::{Fd, Kind, is_gone},
    input::{Guess, Input},
    log::Log,
    memory::{Clock, coarse_time, serve},
    output::Output,
    pool::Pool,
    signals::Signals,
    spin::Spin,
};
use crate::{
    error::{Error, Result},
    server::connection::ServerConnection,
};

const INPUT: Token = Token(0);
const OUTPUT: Token = Token(1);
const WAKER: Token = Token(2);
pub(super) const SIGNAL: Token = Token(3);

/// When nothing has come for so long, there is time to look whether anything was missed.
pub(super) const QUIET_AFTER: Duration = Duration::from_millis(20);
/// When no line has been served for so long, memory that long ones needed is given back.
const RELEASE_AFTER: Duration = Duration::from_millis(250);
/// Lines are served for so long before timers, answers and signals have their turn.
const TURN_MAX: Duration = Duration::from_millis(10);
/// Memory that long lines needed is kept for so many rounds, if it does not get quiet before.
const ROUNDS_LARGE_MAX: u32 = 1000;
/// Output is written at the latest when so many bytes wait.
const WRITE_BYTES: usize = 64 * 1024;

pub(super) struct EventLoop {
    poll: Poll,
    connection: ServerConnection,
    input: Input,
    output: Output,
    ring: Ring,
    pool: Pool,
    log: Log,
    spin: Spin,
    blocking: Blocking,
    /// Whether the input makes events.
    listening: bool,
    /// Whether a read was made ahead of its turn.
    has_read: bool,
    /// Whether a line was served since the last wait.
    served: bool,
    /// When the last line was served, on the coarse clock.
    served_at: Duration,
    /// For how many rounds memory has been kept that long lines needed.
    rounds_large: u32,
    signals: Signals,
    /// When the first signal was seen.
    signalled: Option<Duration>,
    clock: Clock,
}

impl EventLoop {
    pub(super) fn new(
        connection: ServerConnection,
        mut input: Fd,
        mut output: Fd,
        log: Log,
    ) -> Result<Self> {
        let poll = Poll::new().map_err(Error::io("creating the poll"))?;
        register(&poll, &mut input, INPUT, Interest::READABLE)
            .map_err(Error::io("registering the input"))?;
        register(&poll, &mut output, OUTPUT, Interest::WRITABLE)
            .map_err(Error::io("registering the output"))?;
        let waker = Waker::new(poll.registry(), WAKER).map_err(Error::io("creating the waker"))?;
        connection.set_waker(move || {
            // It fails only without a poll to wake.
            let _ = waker.wake();
        });
        let signals = Signals::register(&poll).map_err(Error::io("registering the signals"))?;
        let limits = connection.limits();
        Ok(Self {
            poll,
            blocking: Blocking::new(&input),
            input: Input {
                gives_all: input.gives_all(),
                fd: input,
                readable: true,
                guess: Guess::None,
                hung_up: None,
                ended: None,
                error: None,
                distrust: 0,
                guessed: Duration::ZERO,
                wrong_guesses: 0,
                finished: false,
                lines_left: false,
            },
            output: Output {
                fd: output,
                bytes: Vec::new(),
                written: 0,
                writable: true,
                closed: false,
                progress: Duration::ZERO,
                unread: None,
                bytes_max: limits.output_bytes_max,
            },
            ring: Ring::new(limits.line_bytes_max),
            pool: Pool::new(limits),
            spin: Spin::new(
                Duration::from_micros(limits.spin_us_max),
                thread::available_parallelism().map_or(1, NonZero::get),
            ),
            listening: true,
            has_read: false,
            served: false,
            served_at: Duration::ZERO,
            rounds_large: 0,
            log,
            signals,
            signalled: None,
            clock: Clock::start(),
            connection,
        })
    }

    pub(super) fn run(mut self) -> Result<()> {
        let mut events = Events::with_capacity(16);
        loop {
            if !std::mem::take(&mut self.has_read) {
                self.read();
            }
            self.serve_lines()?;
            self.look_after();
            self.output.write(self.clock)?;
            if self.is_done() {
                break;
            }
            self.wait(&mut events)?;
        }
        self.connection.abort(&mut self.output.bytes);
        self.output.write(self.clock)?;
        self.write_log();
        match self.input.error.take() {
            None => Ok(()),
            Some(error) => Err(Error::io("reading the input")(error)),
        }
    }

    /// Reads once, if there may be something to read and it may be served. Whether it learnt
    /// anything: bytes, or that there will be no more.
    fn read(&mut self) -> bool {
        // First what has been read: the ring holds one read, not all that a peer can send.
        let input = &self.input;
        if !input.readable
            || input.lines_left
            || input.ended.is_some()
            || self.output.is_over_limit()
        {
            return false;
        }
        let spare = self.ring.spare();
        let result = self.input.fd.read(spare);
        let asked = spare.len();
        self.take_read(result, asked)
    }

    /// Reads, and waits for something to read. `None` if that is not possible.
    fn read_blocking(&mut self) -> Option<bool> {
        let reader = self.blocking.reader()?;
        let spare = self.ring.spare();
        let result = reader.read(&self.signals, spare)?;
        let asked = spare.len();
        Some(self.take_read(result, asked))
    }

    /// Has the input make events, or not. One that nobody waits for costs the peer time with each
    /// of its writes.
    #[inline]
    fn listen(&mut self, on: bool) -> Result<()> {
        if self.listening == on {
            return Ok(());
        }
        self.listening = on;
        if on {
            // What is there already makes an event.
            return register(&self.poll, &mut self.input.fd, INPUT, Interest::READABLE)
                .map_err(Error::io("registering the input"));
        }
        self.poll
            .registry()
            .deregister(&mut SourceFd(&self.input.fd.as_raw_fd()))
            .map_err(Error::io("deregistering the input"))
    }

    /// Takes what a read gave that asked for so much. Whether anything was learnt.
    #[inline]
    fn take_read(&mut self, result: io::Result<usize>, asked: usize) -> bool {
        match result {
            Ok(0) => self.input.end(self.clock),
            Ok(count) => {
                // What gave less than was asked for is taken for empty, since the next bytes make
                // an event. A hang-up has had its event, so the end must be read for.
                let short = count < asked;
                let drained = short && self.input.gives_all && self.input.hung_up.is_none();
                self.input.take_for_drained(drained);
                self.ring.commit(count);
                return true;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.input.is_drained();
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // A terminal that was hung up, a socket whose peer was killed.
            Err(error) if is_gone(&error, self.input.fd.kind()) => self.input.end(self.clock),
            Err(error) => {
                // What was asked before is answered first.
                self.input.error = Some(error);
                self.input.end(self.clock);
            }
        }
        self.input.ended.is_some()
    }

    /// Serves the lines that are complete, as long as there is room for their answers.
    fn serve_lines(&mut self) -> Result<()> {
        let mut now = self.clock.now();
        let start = coarse_time();
        let mut before = start;
        self.input.lines_left = true;
        self.served = false;
        while !self.output.is_over_limit() {
            let line = match self.ring.next_line() {
                Some(line) => line,
                None if self.input.ended.is_some() && !self.input.finished => {
                    self.input.finished = true;
                    match self.ring.last_line() {
                        Some(line) => line,
                        None => continue,
                    }
                }
                None => {
                    self.input.lines_left = false;
                    break;
                }
            };
            serve(&mut self.connection, now, line, &mut self.output.bytes);
            self.served = true;
            let after = coarse_time();
            self.served_at = after;
            self.connection.line_took(after.saturating_sub(before));
            before = after;
            self.submit_jobs();
            if after.saturating_sub(start) >= TURN_MAX || self.signals.arrived() {
                break;
            }
            if self.output.waiting() >= WRITE_BYTES {
                self.output.write(self.clock)?;
                now = self.clock.now();
                before = coarse_time();
            }
        }
        Ok(())
    }

    /// All that is to be done besides reading.
    fn look_after(&mut self) {
        if self.signals.arrived() && self.signalled.is_none() {
            self.signalled = Some(self.clock.monotonic());
            if self.input.ended.is_none() {
                // What has been read is answered; half a line is not served.
                self.input.end(self.clock);
                self.input.finished = true;
            }
        }
        if self.input.ended.is_some() && self.input.finished && !self.input.lines_left {
            self.connection.handle_end(&mut self.output.bytes);
        }
        if self.connection.has_completions() && !self.output.is_over_limit() {
            self.connection
                .handle_completions(self.clock.now(), &mut self.output.bytes);
        }
        if let Some(due) = self.due() {
            let now = self.clock.now();
            if due <= now.monotonic {
                let before = coarse_time();
                self.connection.handle_timeout(now, &mut self.output.bytes);
                self.connection
                    .line_took(coarse_time().saturating_sub(before));
            }
        }
        if let Some(ended) = self.input.ended
            && self.clock.monotonic() >= ended.saturating_add(self.drain_max())
        {
            self.connection.abort(&mut self.output.bytes);
        }
        if self.connection.take_cancelled() {
            self.pool.drop_cancelled();
        }
        self.submit_jobs();
        self.write_log();
        if self.is_large() {
            self.rounds_large += 1;
            if self.rounds_large > ROUNDS_LARGE_MAX {
                self.release();
            }
        }
    }

    fn write_log(&mut self) {
        while let Some(line) = self.connection.poll_log() {
            self.log.line(&line);
        }
    }

    fn submit_jobs(&mut self) {
        while let Some(job) = self.connection.poll_job() {
            self.pool.submit(job);
        }
    }

    fn is_done(&self) -> bool {
        if self.output.closed {
            return true;
        }
        let answered = self.input.ended.is_some()
            && self.input.finished
            && !self.input.lines_left
            && self.connection.in_flight() == 0
            && !self.connection.has_completions()
            && self.output.waiting() == 0;
        answered
            || self
                .stall_deadline()
                .is_some_and(|deadline| self.clock.monotonic() >= deadline)
    }

    /// When a reader has been waited for long enough. After the end of the input, or after the
    /// peer hung up where no room is left to read that end, it is one that takes nothing; after a
    /// signal, any.
    fn stall_deadline(&self) -> Option<Duration> {
        let since = self.signalled.or_else(|| {
            let hung_up = self.input.hung_up.filter(|_| self.output.is_over_limit());
            let ended = self.input.ended.or(hung_up)?;
            Some(ended.max(self.output.progress))
        });
        Some(since?.saturating_add(self.drain_max()))
    }

    fn drain_max(&self) -> Duration {
        Duration::from_millis(self.connection.limits().drain_ms_max)
    }

    /// When the connection has something to do. What it then writes waits for room, too.
    fn due(&self) -> Option<Duration> {
        self.connection
            .poll_timeout()
            .filter(|_| !self.output.is_over_limit())
    }

    /// Whether there is more to do without any event.
    fn has_work(&self) -> bool {
        let more_input = self.input.readable && self.input.ended.is_none();
        !self.output.is_over_limit()
            && (more_input || self.input.lines_left || self.connection.has_completions())
    }

    /// Whether nothing but the input, a signal and the end of the output can give it anything to
    /// do. All else that wakes the loop has to be in here.
    fn may_block_in_read(&self) -> bool {
        self.input.ended.is_none()
            && self.input.hung_up.is_none()
            && !self.input.lines_left
            && self.output.waiting() == 0
            && !self.output.closed
            && self.connection.in_flight() == 0
            && !self.connection.has_completions()
            && self.connection.poll_timeout().is_none()
            && !self.connection.may_change()
            && !self.is_large()
    }

    /// Waits for events, unless there is more to do at once.
    fn wait(&mut self, events: &mut Events) -> Result<()> {
        let has_work = self.has_work();
        if has_work && self.output.writable {
            return Ok(());
        }
        if self.served {
            self.blocking
                .count_wait(&self.input.fd, &self.output.fd, &self.signals);
            if self.spin() {
                return Ok(());
            }
        }
        if self.may_block_in_read() && self.blocking.reader().is_some() {
            self.listen(false)?;
            if self.read_blocking().is_some() {
                self.has_read = true;
                return Ok(());
            }
        }
        self.listen(true)?;
        let timeout = if has_work {
            Some(Duration::ZERO)
        } else {
            self.timeout()
        };
        match self.poll.poll(events, timeout) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(Error::io("waiting for events")(error)),
        }
        for event in events.iter() {
            match event.token() {
                INPUT => {
                    self.input.readable = true;
                    if event.is_read_closed() {
                        let now = self.clock.monotonic();
                        self.input.hung_up.get_or_insert(now);
                    }
                }
                OUTPUT => {
                    self.output.writable = true;
                    self.output.closed |= event.is_error() || event.is_write_closed();
                }
                SIGNAL => self.signals.clear(),
                _ => {}
            }
        }
        self.input.doubt();
        if coarse_time().saturating_sub(self.served_at) >= RELEASE_AFTER {
            self.release();
        }
        if self.stall_deadline().is_some() {
            self.output.look_at_reader(self.clock);
        }
        Ok(())
    }

    /// Looks for the next request for a moment. Whether there is anything to do.
    fn spin(&mut self) -> bool {
        if self.output.waiting() > 0 || self.input.ended.is_some() {
            return false;
        }
        let Some(time) = self.spin.before_wait() else {
            return false;
        };
        let end = self.clock.monotonic() + time;
        loop {
            self.input.readable = true;
            if self.read() {
                self.spin.paid();
                self.has_read = true;
                return true;
            }
            if self.connection.has_completions() || self.signals.arrived() {
                return true;
            }
            if self.clock.monotonic() >= end {
                self.spin.was_in_vain();
                return false;
            }
            // Where the peer waits for this very core, it gets it.
            thread::yield_now();
        }
    }

    /// Gives back what long lines made buffers grow to.
    fn release(&mut self) {
        self.rounds_large = 0;
        self.ring.release();
        self.connection.release();
        self.output.release();
    }

    fn is_large(&self) -> bool {
        self.ring.is_large() || self.connection.is_large() || self.output.is_large()
    }

    /// How long to wait for events at most.
    fn timeout(&self) -> Option<Duration> {
        let drain = self
            .input
            .ended
            .filter(|_| self.connection.in_flight() > 0)
            .map(|ended| ended.saturating_add(self.drain_max()));
        let stall = self.stall_deadline();
        let deadlines = [self.due(), drain, stall];
        let deadline = deadlines.into_iter().flatten().min();
        let timeout = deadline.map(|deadline| deadline.saturating_sub(self.clock.monotonic()));
        let doubt = (self.input.guess == Guess::Drained).then_some(QUIET_AFTER);
        let release = self.is_large().then_some(RELEASE_AFTER);
        let timeout = [timeout, doubt, release].into_iter().flatten().min()?;
        // While the end waits for a reader, what it takes has to be looked for: see
        // `Output::look_at_reader`.
        let waits_for_reader = stall.is_some() && self.output.waiting() > 0;
        Some(if waits_for_reader {
            timeout.min(self.drain_max() / 10)
        } else {
            timeout
        })
    }
}

/// Registers a descriptor, unless epoll refuses it or need not be asked.
fn register(poll: &Poll, fd: &mut Fd, token: Token, interest: Interest) -> io::Result<()> {
    if fd.kind() == Kind::Direct {
        return Ok(());
    }
    match poll
        .registry()
        .register(&mut SourceFd(&fd.as_raw_fd()), token, interest)
    {
        Err(error) if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => {
            fd.make_direct();
            Ok(())
        }
        result => result,
    }
}
