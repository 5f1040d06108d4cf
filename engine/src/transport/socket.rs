//! Serving on sockets: many peers, one loop, one mio `Poll`, one pool.
//!
//! ```text
//!        ┌─────────────────────────────────────────────────────────────┐
//!        ▼                                                             │
//!   wait (epoll) ─▶ events, timers, ─▶ queue ─▶ a turn for each ─▶ done? close
//!        ▲          wakers, accept     once     that is in it          │ more to do? queue
//!        └──────────────────────────────────── at once if not empty ◀──┘
//! ```
//!
//! A peer is looked at only when there is something for it: an event of its socket, a deferred
//! answer (its waker leaves its index), or a timer. A turn is one read and its lines for a bounded
//! time, so that no peer holds the others up for longer than its slowest line takes.

use std::{
    collections::{BTreeSet, VecDeque},
    io::{self, ErrorKind},
    net::ToSocketAddrs,
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use mio::{Events, Interest, Poll, Token, Waker, event::Event, unix::SourceFd};

use super::{
    fd::Fd,
    listener::Listener,
    log::Log,
    memory::{Clock, unix_ms},
    panics::install_panic_hook,
    peer::Peer,
    pool::Pool,
    rings::Rings,
    signals::{SIGNAL, Signals},
};
use crate::{
    error::{Error, Result},
    server::{FrozenServer, Server, handler::guard},
};

const LISTENER: Token = Token(0);
const WAKER: Token = Token(2);
/// The token of the first peer.
const PEERS: usize = SIGNAL.0 + 1;

/// Lines of one peer are served for so long before the others have their turn.
const TURN_MAX: Duration = Duration::from_millis(2);
/// So many peers are taken in a row before those that are there have their turn.
const ACCEPTS_MAX: usize = 64;
/// When no peer can be taken, since there are no descriptors left, it is tried again so much later.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// That is told so often.
const COMPLAIN_AFTER: Duration = Duration::from_secs(60);

impl Server {
    /// Freezes the server and serves it on a Unix socket: see [`FrozenServer::serve_unix`].
    ///
    /// # Errors
    ///
    /// As [`Server::freeze`] and [`FrozenServer::serve_unix`].
    pub fn serve_unix(self, path: impl AsRef<Path>) -> Result<()> {
        self.freeze()?.serve_unix(path)
    }

    /// Freezes the server and serves it on a TCP address: see [`FrozenServer::serve_tcp`].
    ///
    /// # Errors
    ///
    /// As [`Server::freeze`] and [`FrozenServer::serve_tcp`].
    pub fn serve_tcp(self, address: impl ToSocketAddrs) -> Result<()> {
        self.freeze()?.serve_tcp(address)
    }
}

impl FrozenServer {
    /// Serves on a Unix socket at `path`, which only its owner can connect to: see
    /// [`Listener::unix`] and [`FrozenServer::serve`].
    ///
    /// # Errors
    ///
    /// As these two.
    pub fn serve_unix(&self, path: impl AsRef<Path>) -> Result<()> {
        self.serve(Listener::unix(path)?)
    }

    /// Serves on a TCP address that only this machine reaches: see [`Listener::tcp`] and
    /// [`FrozenServer::serve`].
    ///
    /// # Errors
    ///
    /// As these two.
    pub fn serve_tcp(&self, address: impl ToSocketAddrs) -> Result<()> {
        self.serve(Listener::tcp(address)?)
    }

    /// Serves all that connect, each a peer of its own with the same framing as stdio, until SIGTERM or
    /// SIGINT arrives. Then nobody is taken any more, and what was read by then is answered, within
    /// [`Limits::drain_ms_max`](crate::Limits::drain_ms_max). Who was answered so short a time ago is
    /// given the rest of it to close its side, so that no answer is lost on its way. A second signal
    /// ends the process at once.
    ///
    /// A connection whose first line is no JSON object is closed without an answer, and so is one whose
    /// first line does not come within [`Limits::opening_ms_max`](crate::Limits::opening_ms_max). Blank
    /// lines before it are passed over. When a peer closes its side for writing, what it asked for is
    /// still answered, within the time to drain. Who has been admitted may be silent as long as it
    /// likes; who takes nothing of its answers is waited for for
    /// [`Limits::stall_ms_max`](crate::Limits::stall_ms_max).
    ///
    /// Most limits hold for each connection by itself; those of the pool, of tasks,
    /// [`Limits::connections_max`](crate::Limits::connections_max) and
    /// [`Limits::connections_bytes_max`](crate::Limits::connections_bytes_max) for all together.
    ///
    /// Panics in handlers are told in a line on stderr that cannot block; the panic hook of the
    /// process is called for all others.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the loop cannot be set up, or cannot wait. What goes wrong with one
    /// connection ends that one.
    // By value: it is closed before the last answers are waited for.
    #[allow(clippy::needless_pass_by_value)]
    pub fn serve(&self, listener: Listener) -> Result<()> {
        install_panic_hook();
        SocketLoop::new(self, listener)?.run()
    }
}

struct SocketLoop<'a> {
    server: &'a FrozenServer,
    poll: Poll,
    /// Until a signal arrives.
    listener: Option<Listener>,
    /// Whether somebody may be there to be taken.
    acceptable: bool,
    /// When it is to be tried again.
    accept_again: Option<Duration>,
    /// When it was last told that it failed.
    complained: Option<Duration>,
    seats: Vec<Option<Seat>>,
    /// The empty ones.
    free: Vec<usize>,
    /// The seats that have a turn coming.
    queue: VecDeque<usize>,
    timers: BTreeSet<(Duration, usize)>,
    /// How many bytes all peers hold together.
    held: usize,
    woken: Arc<Woken>,
    rings: Rings,
    pool: Pool,
    log: Log,
    signals: Signals,
    clock: Clock,
}

/// The place of a peer in the loop.
struct Seat {
    peer: Peer,
    fd: Rc<Fd>,
    /// How many bytes it held after its last turn.
    held: usize,
    queued: bool,
    /// When it has a turn at the latest.
    timer: Option<Duration>,
    /// Whether its socket makes an event when it takes more.
    awaits_writable: bool,
}

/// Which peers have deferred answers.
struct Woken {
    waker: Waker,
    seats: Mutex<Vec<usize>>,
}

impl Woken {
    fn wake(&self, seat: usize) {
        let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = seats.is_empty();
        seats.push(seat);
        drop(seats);
        if is_first {
            // It fails only without a poll to wake.
            let _ = self.waker.wake();
        }
    }

    fn take(&self) -> Vec<usize> {
        std::mem::take(&mut *self.seats.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<'a> SocketLoop<'a> {
    fn new(server: &'a FrozenServer, listener: Listener) -> Result<Self> {
        let poll = Poll::new().map_err(Error::io("creating the poll"))?;
        poll.registry()
            .register(
                &mut SourceFd(&listener.as_raw_fd()),
                LISTENER,
                Interest::READABLE,
            )
            .map_err(Error::io("registering the listener"))?;
        let waker = Waker::new(poll.registry(), WAKER).map_err(Error::io("creating the waker"))?;
        let signals = Signals::register(&poll).map_err(Error::io("registering the signals"))?;
        Ok(Self {
            server,
            poll,
            listener: Some(listener),
            acceptable: true,
            accept_again: None,
            complained: None,
            seats: Vec::new(),
            free: Vec::new(),
            queue: VecDeque::new(),
            timers: BTreeSet::new(),
            held: 0,
            woken: Arc::new(Woken {
                waker,
                seats: Mutex::default(),
            }),
            rings: Rings::new(server.limits().line_bytes_max),
            pool: Pool::new(server.limits()),
            log: Log::open(),
            signals,
            clock: Clock::start(),
        })
    }

    fn run(mut self) -> Result<()> {
        let mut events = Events::with_capacity(1024);
        while self.listener.is_some() || self.count() > 0 {
            self.wait(&mut events)?;
            if self.signals.arrived() && self.listener.is_some() {
                self.stop();
            }
            self.accept();
            for seat in self.woken.take() {
                self.enqueue(seat);
            }
            self.ring_timers();
            for _ in 0..self.queue.len() {
                if let Some(seat) = self.queue.pop_front() {
                    self.guarded_turn(seat);
                    self.relieve();
                }
                if self.signals.arrived() && self.listener.is_some() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// How many peers there are.
    fn count(&self) -> usize {
        self.seats.len() - self.free.len()
    }

    /// Waits for events, unless there is more to do at once, and notes what they tell.
    fn wait(&mut self, events: &mut Events) -> Result<()> {
        match self.poll.poll(events, self.timeout()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(Error::io("waiting for events")(error)),
        }
        for event in events.iter() {
            match event.token() {
                LISTENER => self.acceptable = true,
                WAKER => {}
                SIGNAL => self.signals.clear(),
                Token(token) => self.note(token - PEERS, event),
            }
        }
        Ok(())
    }

    fn timeout(&self) -> Option<Duration> {
        if !self.queue.is_empty() {
            return Some(Duration::ZERO);
        }
        let accept = if self.may_accept() {
            self.accept_again.or(Some(Duration::ZERO))
        } else {
            None
        };
        let timer = self.timers.first().map(|(time, _)| *time);
        let next = [accept, timer].into_iter().flatten().min()?;
        Some(next.saturating_sub(self.clock.monotonic()))
    }

    fn note(&mut self, seat: usize, event: &Event) {
        if let Some(Some(Seat { peer, .. })) = self.seats.get_mut(seat) {
            peer.input.readable |= event.is_readable() || event.is_read_closed();
            if event.is_read_closed() {
                let now = peer.clock.monotonic();
                peer.input.hung_up.get_or_insert(now);
            }
            peer.output.writable |= event.is_writable();
            peer.output.closed |= event.is_error() || event.is_write_closed();
            self.enqueue(seat);
        }
    }

    fn enqueue(&mut self, seat: usize) {
        if let Some(Some(found)) = self.seats.get_mut(seat)
            && !found.queued
        {
            found.queued = true;
            self.queue.push_back(seat);
        }
    }

    fn ring_timers(&mut self) {
        if self.timers.is_empty() {
            return;
        }
        let now = self.clock.monotonic();
        while let Some(&(time, seat)) = self.timers.first()
            && time <= now
        {
            self.timers.pop_first();
            if let Some(Some(found)) = self.seats.get_mut(seat) {
                found.timer = None;
            }
            self.enqueue(seat);
        }
    }

    /// After a signal: takes nobody any more, and has all end.
    fn stop(&mut self) {
        self.listener = None;
        for seat in 0..self.seats.len() {
            if let Some(found) = &mut self.seats[seat] {
                found.peer.stop();
                self.enqueue(seat);
            }
        }
    }

    /// Lets a peer have its turn. What panics besides its handlers, such as a value of theirs that is
    /// dropped, ends its connection alone.
    fn guarded_turn(&mut self, seat: usize) {
        if let Err(message) = guard(|| self.turn(seat)) {
            self.log.line(&format!("a connection panicked: {message}"));
            self.close(seat, Ok(()));
        }
    }

    /// Lets a peer have its turn.
    fn turn(&mut self, seat: usize) {
        let Some(Some(found)) = self.seats.get_mut(seat) else {
            return;
        };
        found.queued = false;
        let peer = &mut found.peer;
        let bytes_max = self.server.limits().connections_bytes_max;
        peer.hold_back(self.held > bytes_max / 2);
        peer.after_wait();
        peer.lend(&mut self.rings);
        peer.read();
        let result = peer.serve_lines(&mut self.pool, &self.signals);
        peer.look_after(&mut self.pool, &mut self.log);
        let result = result.and_then(|()| peer.write());
        if result.is_err() || peer.is_done() {
            return self.close(seat, result);
        }
        peer.give_back(&mut self.rings);
        let held = peer.bytes();
        self.held = self.held - found.held + held;
        found.held = held;
        let has_work = peer.has_work();
        let timeout = peer.timeout();
        if let Err(error) = found.await_writable(&self.poll, seat) {
            return self.close(seat, Err(Error::io("registering a peer")(error)));
        }
        if has_work {
            return self.enqueue(seat);
        }
        self.set_timer(seat, timeout);
    }

    /// Gives a peer a turn after so long.
    fn set_timer(&mut self, seat: usize, timeout: Option<Duration>) {
        let (Some(timeout), Some(Some(found))) = (timeout, self.seats.get_mut(seat)) else {
            return;
        };
        let time = self.clock.monotonic().saturating_add(timeout);
        // One that comes too early is set anew: cheaper than to move it after each turn.
        if found.timer.is_none_or(|timer| timer > time) {
            if let Some(timer) = found.timer.replace(time) {
                self.timers.remove(&(timer, seat));
            }
            self.timers.insert((time, seat));
        }
    }

    /// Ends the connections that hold the most, as long as all together hold too much.
    fn relieve(&mut self) {
        let max = self.server.limits().connections_bytes_max;
        while self.held > max {
            let held = |seat: &Option<Seat>| seat.as_ref().map_or(0, |seat| seat.held);
            let seats = self.seats.iter().enumerate();
            let heaviest = seats.map(|(place, seat)| (held(seat), place)).max();
            let Some((bytes @ 1.., seat)) = heaviest else {
                return;
            };
            self.log.line(&format!(
                "a connection was closed: all together held {} bytes, and it the most, {bytes}",
                self.held
            ));
            self.close(seat, Ok(()));
        }
    }

    fn may_accept(&self) -> bool {
        self.listener.is_some()
            && self.acceptable
            && self.count() < self.server.limits().connections_max
    }

    /// Takes those who have connected.
    fn accept(&mut self) {
        if !self.may_accept() {
            return;
        }
        if let Some(again) = self.accept_again {
            if again > self.clock.monotonic() {
                return;
            }
            self.accept_again = None;
        }
        for _ in 0..ACCEPTS_MAX {
            if !self.may_accept() {
                return;
            }
            let Some(listener) = &self.listener else {
                return;
            };
            let failed = match listener.accept() {
                Ok(fd) => self.seat(fd).err(),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => {
                        self.acceptable = false;
                        return;
                    }
                    // It is gone again.
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => None,
                    _ => Some(error),
                },
            };
            if let Some(error) = failed {
                return self.accept_later(&error);
            }
        }
    }

    /// Tries again later: whatever it was, nothing else will tell when it is over.
    fn accept_later(&mut self, error: &io::Error) {
        let now = self.clock.monotonic();
        self.accept_again = Some(now.saturating_add(ACCEPT_AGAIN_AFTER));
        let told = self.complained.map(|at| now.saturating_sub(at));
        if told.is_none_or(|ago| ago >= COMPLAIN_AFTER) {
            self.complained = Some(now);
            self.log.line(&format!(
                "accepting a connection: {error}; it is tried again"
            ));
        }
    }

    /// Gives a peer a seat.
    fn seat(&mut self, fd: OwnedFd) -> io::Result<()> {
        let seat = self.free.last().copied().unwrap_or(self.seats.len());
        let interest = Interest::READABLE;
        self.poll
            .registry()
            .register(&mut SourceFd(&fd.as_raw_fd()), token(seat), interest)?;
        let connection = self.server.connect();
        let woken = Arc::clone(&self.woken);
        connection.set_waker(move || woken.wake(seat));
        connection.set_clock(unix_ms);
        let fd = Rc::new(Fd::from_socket(fd));
        let peer = Peer::new(
            connection,
            Rc::clone(&fd),
            Rc::clone(&fd),
            None,
            TURN_MAX,
            self.clock,
        );
        let timeout = peer.timeout();
        let seated = Some(Seat {
            peer,
            fd,
            held: 0,
            queued: false,
            timer: None,
            awaits_writable: false,
        });
        if self.free.pop().is_some() {
            self.seats[seat] = seated;
        } else {
            self.seats.push(seated);
        }
        self.set_timer(seat, timeout);
        Ok(())
    }

    /// Ends the connection of a peer, and tells what was wrong with it.
    fn close(&mut self, seat: usize, result: Result<()>) {
        let Some(mut closed) = self.seats[seat].take() else {
            return;
        };
        self.free.push(seat);
        self.held -= closed.held;
        if let Some(timer) = closed.timer {
            self.timers.remove(&(timer, seat));
        }
        // A child process that is being started may have a copy of the descriptor.
        let fd = closed.fd.as_raw_fd();
        let _ = self.poll.registry().deregister(&mut SourceFd(&fd));
        let peer = &closed.peer;
        if peer.has_stalled() {
            let ms = self.server.limits().stall_ms_max;
            self.log.line(&format!(
                "a connection was closed: its reader took nothing for {ms} ms"
            ));
        }
        let log = &mut self.log;
        let mut ended = result;
        let panicked = guard(|| {
            let peer = &mut closed.peer;
            peer.connection.handle_end(&mut peer.output.bytes);
            let closed = peer.close(log);
            ended = std::mem::replace(&mut ended, Ok(())).and(closed);
        });
        if closed.peer.connection.take_cancelled() {
            self.pool.drop_cancelled();
        }
        let dropped = guard(move || drop(closed));
        if let Err(error) = ended {
            self.log.line(&format!("a connection failed: {error}"));
        }
        for message in [panicked.err(), dropped.err()].into_iter().flatten() {
            self.log.line(&format!(
                "a value panicked when it was dropped with its connection: {message}"
            ));
        }
        // There is a descriptor again.
        self.accept_again = None;
    }
}

impl Seat {
    /// Has the socket make an event when it takes more, as long as something waits for that. A Unix
    /// socket would make one each time its reader takes anything.
    fn await_writable(&mut self, poll: &Poll, seat: usize) -> io::Result<()> {
        let awaits = self.peer.output.waiting() > 0;
        if awaits == self.awaits_writable {
            return Ok(());
        }
        self.awaits_writable = awaits;
        let interest = if awaits {
            Interest::READABLE | Interest::WRITABLE
        } else {
            Interest::READABLE
        };
        let fd = self.fd.as_raw_fd();
        poll.registry()
            .reregister(&mut SourceFd(&fd), token(seat), interest)
    }
}

fn token(seat: usize) -> Token {
    Token(PEERS + seat)
}
