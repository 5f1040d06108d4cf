//! The loop that serves one peer: one mio `Poll`, and around it reading, serving, writing.
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
    rc::Rc,
    thread,
    time::Duration,
};

use mio::{Events, Interest, Poll, Token, Waker, unix::SourceFd};
use rustix::io::Errno;
use tightwire_codec::Ring;

use super::{
    blocking::Blocking,
    fd::{Fd, Kind},
    log::Log,
    memory::Clock,
    peer::Peer,
    pool::Pool,
    signals::{SIGNAL, Signals},
    spin::Spin,
};
use crate::{
    error::{Error, Result},
    server::connection::ServerConnection,
};

const INPUT: Token = Token(0);
const OUTPUT: Token = Token(1);
const WAKER: Token = Token(2);

/// Lines are served for so long before timers, answers and signals have their turn.
const TURN_MAX: Duration = Duration::from_millis(10);

pub(super) struct EventLoop {
    poll: Poll,
    peer: Peer,
    pool: Pool,
    log: Log,
    spin: Spin,
    blocking: Blocking,
    /// Whether the input makes events.
    listening: bool,
    /// Whether a read was made ahead of its turn.
    has_read: bool,
    signals: Signals,
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
        let ring = Ring::new(limits.line_bytes_max);
        Ok(Self {
            poll,
            blocking: Blocking::new(&input),
            pool: Pool::new(limits),
            spin: Spin::new(
                Duration::from_micros(limits.spin_us_max),
                thread::available_parallelism().map_or(1, NonZero::get),
            ),
            listening: true,
            has_read: false,
            log,
            signals,
            peer: Peer::new(
                connection,
                Rc::new(input),
                Rc::new(output),
                Some(ring),
                TURN_MAX,
                Clock::start(),
            ),
        })
    }

    pub(super) fn run(mut self) -> Result<()> {
        let mut events = Events::with_capacity(16);
        loop {
            let peer = &mut self.peer;
            if !std::mem::take(&mut self.has_read) {
                peer.read();
            }
            peer.serve_lines(&mut self.pool, &self.signals)?;
            if self.signals.arrived() {
                peer.stop();
            }
            peer.look_after(&mut self.pool, &mut self.log);
            peer.output.write(peer.clock)?;
            if peer.is_done() {
                break;
            }
            self.wait(&mut events)?;
        }
        self.peer.close(&mut self.log)
    }

    /// Reads, and waits for something to read. `None` if that is not possible.
    fn read_blocking(&mut self) -> Option<bool> {
        let reader = self.blocking.reader()?;
        let spare = self.peer.spare()?;
        let result = reader.read(&self.signals, spare)?;
        let asked = spare.len();
        // A clock that was read for the line before is good enough.
        let now = self.peer.served_at();
        Some(self.peer.take_read(result, asked, now))
    }

    /// Has the input make events, or not. One that nobody waits for costs the peer time with each
    /// of its writes.
    #[inline]
    fn listen(&mut self, on: bool) -> Result<()> {
        if self.listening == on {
            return Ok(());
        }
        self.listening = on;
        let (registry, fd) = (self.poll.registry(), self.peer.input.fd.as_raw_fd());
        if on {
            // What is there already makes an event.
            registry
                .register(&mut SourceFd(&fd), INPUT, Interest::READABLE)
                .map_err(Error::io("registering the input"))
        } else {
            registry
                .deregister(&mut SourceFd(&fd))
                .map_err(Error::io("deregistering the input"))
        }
    }

    /// Waits for events, unless there is more to do at once.
    fn wait(&mut self, events: &mut Events) -> Result<()> {
        let peer = &self.peer;
        let has_work = peer.has_work();
        if has_work && peer.output.writable {
            return Ok(());
        }
        if peer.served {
            self.blocking
                .count_wait(&peer.input.fd, &peer.output.fd, &self.signals);
            if self.spin() {
                return Ok(());
            }
        }
        if self.peer.may_block_in_read() && self.blocking.reader().is_some() {
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
            self.peer.timeout()
        };
        match self.poll.poll(events, timeout) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(Error::io("waiting for events")(error)),
        }
        let peer = &mut self.peer;
        for event in events.iter() {
            match event.token() {
                INPUT => {
                    peer.input.readable = true;
                    if event.is_read_closed() {
                        let now = peer.clock.monotonic();
                        peer.input.hung_up.get_or_insert(now);
                    }
                }
                OUTPUT => {
                    peer.output.writable = true;
                    peer.output.closed |= event.is_error() || event.is_write_closed();
                }
                SIGNAL => self.signals.clear(),
                _ => {}
            }
        }
        peer.after_wait();
        Ok(())
    }

    /// Looks for the next request for a moment. Whether there is anything to do.
    fn spin(&mut self) -> bool {
        let peer = &mut self.peer;
        if peer.output.waiting() > 0 || peer.input.ended.is_some() {
            return false;
        }
        let Some(time) = self.spin.before_wait() else {
            return false;
        };
        let end = peer.clock.monotonic() + time;
        loop {
            peer.input.readable = true;
            if peer.read() {
                self.spin.paid();
                self.has_read = true;
                return true;
            }
            if peer.connection.has_completions() || self.signals.arrived() {
                return true;
            }
            if peer.clock.monotonic() >= end {
                self.spin.was_in_vain();
                return false;
            }
            // Where the peer waits for this very core, it gets it.
            thread::yield_now();
        }
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
