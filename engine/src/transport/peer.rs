//! One peer: its connection, what is read of it and written to it, and when it is done. The loops
//! decide when each has its turn: `event_loop` serves one, `socket` many.
//!
//! ```text
//!   read ─▶ serve_lines ─▶ look_after ─▶ output.write ─▶ is_done? has_work? timeout
//!   once    of one read    completions,
//!                          timers, jobs
//! ```

use std::{
    io::{self, ErrorKind},
    rc::Rc,
    time::Duration,
};

use tightwire_codec::Ring;

use super::{
    fd::{Fd, is_gone},
    input::{Guess, Input, QUIET_AFTER},
    log::Log,
    memory::{Clock, coarse_time, serve},
    opening::Opening,
    output::Output,
    pool::Pool,
    rings::Rings,
    signals::Signals,
};
use crate::{
    error::{Error, Result},
    server::connection::ServerConnection,
};

/// When no line has been served for so long, memory that long ones needed is given back.
const RELEASE_AFTER: Duration = Duration::from_millis(250);
/// Memory that long lines needed is kept for so many rounds, if it does not get quiet before.
const ROUNDS_LARGE_MAX: u32 = 1000;
/// Output is written at the latest when so many bytes wait.
const WRITE_BYTES: usize = 64 * 1024;
/// So much is read at once of what is thrown away.
const READ_AWAY_BYTES: usize = 16 * 1024;
/// So much of its buffers does a peer keep that is alone, and one of many: what output takes that
/// is written at every [`WRITE_BYTES`], and doubled when it grew.
const BYTES_KEPT_ALONE: usize = 1024 * 1024;
const BYTES_KEPT_OF_MANY: usize = 4 * WRITE_BYTES;
/// What a peer holds whose answers wait for its reader, while other threads may add to them, is
/// looked at so often.
const WEIGH_AFTER: Duration = Duration::from_millis(100);

pub(super) struct Peer {
    pub(super) connection: ServerConnection,
    pub(super) input: Input,
    pub(super) output: Output,
    /// Whether there are others in its loop: it shares their rings, and is not waited for for ever.
    is_of_many: bool,
    /// `None` while one of many has nothing in it.
    ring: Option<Ring>,
    /// When it came.
    connected: Duration,
    /// Whether its ring may be throwing away the rest of a line that is too long.
    is_skipping: bool,
    /// What is known of its first line.
    opening: Opening,
    /// Lines are served for so long before all else has its turn.
    turn_max: Duration,
    /// Whether a line was served in this turn.
    pub(super) served: bool,
    /// When the last line was served, on the coarse clock.
    served_at: Duration,
    /// For how many rounds memory has been kept that long lines needed.
    rounds_large: u32,
    /// When it was stopped by a signal.
    stopped: Option<Duration>,
    /// When it last had anything to write, on the coarse clock; of one of many.
    wrote_at: Duration,
    leave: Leave,
    pub(super) clock: Clock,
}

/// How one of many goes that was stopped by a signal.
///
/// To close a socket in which something is unread, or to which something is sent afterwards, is to
/// reset it, and a reset throws away the answers that are still on their way. So first it is told
/// that no more comes, and what it sends is thrown away, until it has closed its side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// Not before it has closed its side, and if all is answered.
    Unhurried,
    /// When all is answered.
    Due,
    /// When it has closed its side.
    Taking,
    Taken,
}

impl Peer {
    /// A peer that has a ring is alone. One of many is lent one, and its first line is looked at.
    pub(super) fn new(
        mut connection: ServerConnection,
        input: Rc<Fd>,
        output: Rc<Fd>,
        ring: Option<Ring>,
        turn_max: Duration,
        clock: Clock,
    ) -> Self {
        let (bytes_kept, opening) = if ring.is_some() {
            (BYTES_KEPT_ALONE, Opening::Admitted)
        } else {
            (BYTES_KEPT_OF_MANY, Opening::Blank)
        };
        connection.keep(bytes_kept);
        let bytes_max = connection.limits().output_bytes_max;
        Self {
            input: Input::new(input),
            output: Output::new(output, bytes_max, bytes_kept),
            is_of_many: ring.is_none(),
            ring,
            connected: clock.monotonic(),
            is_skipping: false,
            opening,
            turn_max,
            served: false,
            served_at: Duration::ZERO,
            rounds_large: 0,
            stopped: None,
            wrote_at: Duration::ZERO,
            leave: Leave::Unhurried,
            clock,
            connection,
        }
    }

    /// Reads once, if there may be something to read and it may be served. Whether it learnt
    /// anything: bytes, or that there will be no more.
    pub(super) fn read(&mut self) -> bool {
        // First what has been read: the ring holds one read, not all that a peer can send.
        let input = &self.input;
        if !input.readable
            || input.lines_left
            || input.ended.is_some()
            || self.output.is_over_limit()
        {
            return false;
        }
        let Some(ring) = &mut self.ring else {
            return false;
        };
        let spare = ring.spare();
        let result = self.input.fd.read(spare);
        let asked = spare.len();
        if let Ok(count) = result {
            self.opening.look_at(&spare[..count]);
        }
        self.take_read(result, asked, coarse_time())
    }

    /// When the last line was served, on the coarse clock.
    pub(super) fn served_at(&self) -> Duration {
        self.served_at
    }

    /// The place to read into, for a read that is made elsewhere.
    pub(super) fn spare(&mut self) -> Option<&mut [u8]> {
        self.ring.as_mut().map(Ring::spare)
    }

    /// Takes a ring, unless it has one.
    pub(super) fn lend(&mut self, rings: &mut Rings) {
        if self.ring.is_none() {
            self.ring = Some(if self.opening == Opening::Admitted {
                rings.take()
            } else {
                rings.make()
            });
        }
    }

    /// Gives its ring back where nothing is in it, nor will the next bytes be the middle of a line.
    pub(super) fn give_back(&mut self, rings: &mut Rings) {
        let is_free = |ring: &mut Ring| ring.is_empty() && !ring.is_large();
        if self.opening == Opening::Admitted && !self.is_skipping && !self.input.lines_left {
            rings.give_back(self.ring.take_if(is_free));
        }
    }

    /// Has little output wait, or as much as may: little where all peers together hold much.
    pub(super) fn hold_back(&mut self, is_tight: bool) {
        let max = self.connection.limits().output_bytes_max;
        self.output.bytes_max = if is_tight { max.min(WRITE_BYTES) } else { max };
    }

    /// How many bytes it holds.
    pub(super) fn bytes(&self) -> usize {
        let ring = self.ring.as_ref().map_or(0, Ring::capacity);
        ring + self.output.bytes.capacity() + self.connection.bytes()
    }

    /// Takes what a read gave that asked for so much, at a time on the coarse clock. Whether anything
    /// was learnt.
    #[inline]
    pub(super) fn take_read(
        &mut self,
        result: io::Result<usize>,
        asked: usize,
        now: Duration,
    ) -> bool {
        match result {
            Ok(0) => self.input.end(self.clock),
            Ok(count) => {
                // What gave less than was asked for is taken for empty, since the next bytes make
                // an event. A hang-up has had its event, so the end must be read for.
                let short = count < asked;
                let drained = short && self.input.gives_all && self.input.hung_up.is_none();
                self.input.take_for_drained(drained, now);
                if let Some(ring) = &mut self.ring {
                    ring.commit(count);
                }
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

    /// Serves the lines that are complete, as long as there is room for their answers and its turn
    /// lasts.
    pub(super) fn serve_lines(&mut self, pool: &mut Pool, signals: &Signals) -> Result<()> {
        let mut now = self.clock.now();
        let exact = self.connection.times_lines();
        let start = self.clock.coarse_at(now);
        let mut before = if exact { now.monotonic } else { start };
        self.input.lines_left = true;
        self.served = false;
        while !self.output.is_over_limit() {
            let Some(ring) = &mut self.ring else {
                self.input.lines_left = false;
                self.input.finished |= self.input.ended.is_some();
                break;
            };
            let line = match ring.next_line() {
                Some(line) => line,
                None if self.input.ended.is_some() && !self.input.finished => {
                    self.input.finished = true;
                    match ring.last_line() {
                        Some(line) => line,
                        None => continue,
                    }
                }
                None => {
                    self.input.lines_left = false;
                    break;
                }
            };
            self.is_skipping = line.is_err();
            if !self.opening.admits(&line) {
                break;
            }
            serve(&mut self.connection, now, line, &mut self.output.bytes);
            self.served = true;
            let after = self.line_time();
            self.connection.line_took(after.saturating_sub(before));
            before = after;
            self.served_at = if exact { coarse_time() } else { after };
            self.submit_jobs(pool);
            if self.served_at.saturating_sub(start) >= self.turn_max || signals.arrived() {
                break;
            }
            if self.output.waiting() >= WRITE_BYTES {
                self.output.write(self.clock)?;
                now = self.clock.now();
                before = self.line_time();
            }
        }
        Ok(())
    }

    /// All that is to be done besides reading.
    pub(super) fn look_after(&mut self, pool: &mut Pool, log: &mut Log) {
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
                let before = self.line_time();
                self.connection.handle_timeout(now, &mut self.output.bytes);
                let took = self.line_time().saturating_sub(before);
                self.connection.line_took(took);
            }
        }
        if let Some(ended) = self.input.ended
            && self.clock.monotonic() >= ended.saturating_add(self.drain_max())
        {
            let now = self.clock.now();
            self.connection.abort(now, &mut self.output.bytes);
        }
        if self.connection.take_cancelled() {
            pool.drop_cancelled();
        }
        self.submit_jobs(pool);
        self.write_log(log);
        if let Some(message) = pool.take_panic() {
            log.line(&format!("a value panicked when it was dropped: {message}"));
        }
        if self.is_large() {
            self.rounds_large += 1;
            if self.rounds_large > ROUNDS_LARGE_MAX {
                self.release();
            }
        }
    }

    /// What is to be done when events were waited for, or might have been.
    pub(super) fn after_wait(&mut self) {
        self.input.doubt();
        if coarse_time().saturating_sub(self.served_at) >= RELEASE_AFTER {
            self.release();
        }
        if self.stall_deadline().is_some() {
            self.output.look_at_reader(self.clock);
        }
    }

    /// Ends the input after a signal: what has been read is answered, half a line is not served.
    pub(super) fn stop(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        self.stopped = Some(self.clock.monotonic());
        if self.input.ended.is_none() {
            self.input.end(self.clock);
            self.input.finished = true;
            if self.is_of_many {
                self.leave = Leave::Due;
            }
        }
    }

    /// Writes what one of many has to write.
    ///
    /// # Errors
    ///
    /// What writing failed with.
    pub(super) fn write(&mut self) -> Result<()> {
        if self.served || self.output.waiting() > 0 {
            self.wrote_at = coarse_time();
        }
        self.output.write(self.clock)?;
        self.take_leave();
        Ok(())
    }

    /// See [`Leave`]. Who was sent nothing for as long as it would be waited for has it all.
    fn take_leave(&mut self) {
        if self.leave == Leave::Due && self.is_answered() {
            let is_recent = coarse_time().saturating_sub(self.wrote_at) < self.drain_max();
            self.leave = if is_recent && self.output.fd.shut_down().is_ok() {
                self.input.readable = true;
                Leave::Taking
            } else {
                Leave::Taken
            };
        }
        if self.leave == Leave::Taking {
            match self.input.fd.read(&mut [0; READ_AWAY_BYTES]) {
                Ok(1..) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.input.readable = false,
                Ok(0) | Err(_) => self.leave = Leave::Taken,
            }
        }
    }

    /// Gives up what is unanswered, and writes what there is.
    ///
    /// # Errors
    ///
    /// What ended the input, if it was not its end; what writing failed with.
    pub(super) fn close(&mut self, log: &mut Log) -> Result<()> {
        let now = self.clock.now();
        self.connection.abort(now, &mut self.output.bytes);
        self.output.write(self.clock)?;
        self.write_log(log);
        match self.input.error.take() {
            None => Ok(()),
            Some(error) => Err(Error::io("reading the input")(error)),
        }
    }

    pub(super) fn write_log(&mut self, log: &mut Log) {
        while let Some(line) = self.connection.poll_log() {
            log.line(&line);
        }
    }

    fn submit_jobs(&mut self, pool: &mut Pool) {
        while let Some(job) = self.connection.poll_job() {
            pool.submit(job);
        }
    }

    pub(super) fn is_done(&self) -> bool {
        if self.output.closed || self.opening == Opening::Refused {
            return true;
        }
        let has_leave = matches!(self.leave, Leave::Unhurried | Leave::Taken);
        let answered = has_leave && self.is_answered();
        let deadlines = [self.stall_deadline(), self.opening_deadline()];
        let deadline = deadlines.into_iter().flatten().min();
        answered || deadline.is_some_and(|deadline| self.clock.monotonic() >= deadline)
    }

    /// Whether its input has ended, and all that came is answered and written.
    fn is_answered(&self) -> bool {
        self.input.ended.is_some()
            && self.input.finished
            && !self.input.lines_left
            && self.connection.in_flight() == 0
            && !self.connection.has_completions()
            && self.output.waiting() == 0
    }

    /// Whether its reader has taken nothing for so long that the others go on without it.
    pub(super) fn has_stalled(&self) -> bool {
        let deadline = self.stall_deadline().filter(|_| self.stopped.is_none());
        deadline.is_some_and(|deadline| self.clock.monotonic() >= deadline)
    }

    /// Whether there is more to do without any event.
    pub(super) fn has_work(&self) -> bool {
        let reads = self.input.ended.is_none() || self.leave == Leave::Taking;
        let more_input = self.input.readable && reads;
        !self.output.is_over_limit()
            && (more_input || self.input.lines_left || self.connection.has_completions())
    }

    /// Whether nothing but the input, a signal and the end of the output can give it anything to
    /// do. All else that wakes the loop has to be in here.
    pub(super) fn may_block_in_read(&self) -> bool {
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

    /// How long to wait for events at most.
    pub(super) fn timeout(&self) -> Option<Duration> {
        let drain = self
            .input
            .ended
            .filter(|_| self.connection.in_flight() > 0)
            .map(|ended| ended.saturating_add(self.drain_max()));
        let stall = self.stall_deadline();
        let deadlines = [self.due(), drain, stall, self.opening_deadline()];
        let deadline = deadlines.into_iter().flatten().min();
        let timeout = deadline.map(|deadline| deadline.saturating_sub(self.clock.monotonic()));
        let doubt = (self.input.guess == Guess::Drained).then_some(QUIET_AFTER);
        let release = self.is_large().then_some(RELEASE_AFTER);
        let grows = self.is_of_many && self.output.is_over_limit();
        let weigh = (grows && self.connection.in_flight() > 0).then_some(WEIGH_AFTER);
        let timeouts = [timeout, doubt, release, weigh];
        let timeout = timeouts.into_iter().flatten().min()?;
        // Whether a reader that is waited for takes anything has to be looked for: see
        // `Output::look_at_reader`.
        let waits_for_reader = stall.is_some() && self.output.waiting() > 0;
        Some(if waits_for_reader {
            timeout.min(self.patience() / 10)
        } else {
            timeout
        })
    }

    /// When a reader has been waited for long enough. After a signal that is any; before it, one of
    /// many that takes nothing, and of one that is alone only after the end of the input, or after
    /// the peer hung up where no room is left to read that end.
    fn stall_deadline(&self) -> Option<Duration> {
        let since = self.stopped.or_else(|| {
            if self.is_of_many {
                let waits = self.output.waiting() > 0;
                return waits.then_some(self.output.progress);
            }
            let hung_up = self.input.hung_up.filter(|_| self.output.is_over_limit());
            let ended = self.input.ended.or(hung_up)?;
            Some(ended.max(self.output.progress))
        });
        Some(since?.saturating_add(self.patience()))
    }

    /// How long a reader is waited for.
    fn patience(&self) -> Duration {
        if self.is_of_many && self.stopped.is_none() {
            Duration::from_millis(self.connection.limits().stall_ms_max)
        } else {
            self.drain_max()
        }
    }

    /// When the first line of one of many has been waited for long enough.
    fn opening_deadline(&self) -> Option<Duration> {
        let max = Duration::from_millis(self.connection.limits().opening_ms_max);
        let is_open = self.opening == Opening::Admitted;
        (!is_open).then(|| self.connected.saturating_add(max))
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

    /// The time to tell how long a line took: cheap, or exact where somebody measures.
    #[inline]
    fn line_time(&self) -> Duration {
        if self.connection.times_lines() {
            self.clock.monotonic()
        } else {
            coarse_time()
        }
    }

    /// Gives back what long lines made buffers grow to.
    fn release(&mut self) {
        self.rounds_large = 0;
        if let Some(ring) = &mut self.ring {
            ring.release();
        }
        self.connection.release();
        self.output.release();
    }

    fn is_large(&self) -> bool {
        let ring = self.ring.as_ref();
        ring.is_some_and(Ring::is_large) || self.connection.is_large() || self.output.is_large()
    }
}
