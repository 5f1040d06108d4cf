//! [`Memory`]: a server in the caller's own loop, bytes in and bytes out, in one thread.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tightwire_codec::{LineTooLong, Ring};

use crate::server::{
    FrozenServer,
    connection::{Now, ServerConnection},
    milliseconds,
};

/// A connection to a server in memory: the embedding API at its simplest.
///
/// It runs what it is told to when it is told to, and nothing else: no thread, no waiting. This
/// is a complete loop of an agent that has its tools in its own process:
///
/// ```
/// use std::{thread, time::Duration};
/// use tightwire::{Call, Memory, Reply, Server, Tool, schemars, serde};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// #[serde(crate = "tightwire::serde")]
/// #[schemars(crate = "tightwire::schemars")]
/// struct Add {
///     a: f64,
///     b: f64,
/// }
///
/// # fn main() -> tightwire::Result<()> {
/// let lookup = Tool::new("lookup", |_: Call<'_>, reply: Reply<'_>| {
///     let ticket = reply.defer();
///     thread::spawn(move || {
///         thread::sleep(Duration::from_millis(5)); // … a slow database …
///         ticket.answer(|reply| reply.text("found"));
///     });
/// });
/// let server = Server::new("in-process", "1.0.0")
///     .tool_fn("add", "Add two numbers", |args: Add| args.a + args.b)
///     .tool(lookup)
///     .freeze()?;
///
/// // A deferred answer wakes the thread that waits for it.
/// let mut memory = Memory::new(&server);
/// let agent = thread::current();
/// memory.connection().set_waker(move || agent.unpark());
///
/// // Ask: any number of requests, each on a line.
/// for (id, call) in [
///     r#""name":"add","arguments":{"a":2,"b":3}"#,
///     r#""name":"lookup""#,
/// ]
/// .iter()
/// .enumerate()
/// {
///     let request = format!(
///         r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{call},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
///     );
///     memory.feed(request.as_bytes());
///     memory.feed(b"\n");
/// }
///
/// // Work, until nothing is in flight any more.
/// while memory.in_flight() > 0 {
///     if let Some(wait) = memory.poll() {
///         thread::park_timeout(wait);
///     }
/// }
///
/// // Take the answers, each on a line.
/// let answers = String::from_utf8_lossy(memory.output()).into_owned();
/// memory.consume(answers.len());
/// let texts: Vec<&str> = answers
///     .lines()
///     .map(|line| line.split(r#""text":""#).nth(1).unwrap())
///     .map(|rest| rest.split('"').next().unwrap())
///     .collect();
/// assert_eq!(texts, ["5", "found"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Memory {
    connection: ServerConnection,
    ring: Ring,
    out: Vec<u8>,
    clock: Clock,
}

impl Memory {
    /// Connects to a server.
    #[must_use]
    pub fn new(server: &FrozenServer) -> Self {
        Self {
            connection: server.connect(),
            ring: Ring::new(server.limits().line_bytes_max),
            out: Vec::new(),
            clock: Clock::start(),
        }
    }

    /// Takes bytes from the peer, cut anywhere, and serves the lines that they complete. Tools
    /// marked as blocking run here and now.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.ring.feed(&mut bytes);
            while let Some(line) = self.ring.next_line() {
                serve_timed(&mut self.connection, &mut self.clock, line, &mut self.out);
                self.run_jobs();
            }
        }
        self.ring.release();
        self.connection.release();
    }

    /// The peer will send no more: what came after the last newline is served as a line, and
    /// subscriptions end.
    pub fn finish(&mut self) {
        if let Some(line) = self.ring.last_line() {
            serve_timed(&mut self.connection, &mut self.clock, line, &mut self.out);
            self.run_jobs();
        }
        self.connection.handle_end(&mut self.out);
    }

    /// Does what is due, and sends the deferred answers that came in. How long until something
    /// else is due, if anything is: a deferred answer may come in before, and then calls what
    /// [`ServerConnection::set_waker`] was given.
    pub fn poll(&mut self) -> Option<Duration> {
        let now = self.clock.now();
        if self.connection.has_completions() {
            self.connection.handle_completions(now, &mut self.out);
        }
        let before = self.clock.monotonic();
        self.connection.handle_timeout(now, &mut self.out);
        let took = self.clock.monotonic().saturating_sub(before);
        self.connection.line_took(took);
        let due = self.connection.poll_timeout()?;
        Some(due.saturating_sub(self.clock.now().monotonic))
    }

    /// What there is for the peer: complete lines.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.out
    }

    /// Forgets the first `count` bytes of the output, or all of it if that is less.
    pub fn consume(&mut self, count: usize) {
        self.out.drain(..count.min(self.out.len()));
    }

    /// How many requests wait for a deferred answer.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.connection.in_flight()
    }

    /// The connection, for what is not offered here.
    pub fn connection(&mut self) -> &mut ServerConnection {
        &mut self.connection
    }

    fn run_jobs(&mut self) {
        while let Some(job) = self.connection.poll_job() {
            job.run();
        }
        if self.connection.has_completions() {
            let now = self.clock.now();
            self.connection.handle_completions(now, &mut self.out);
        }
    }
}

/// Hands a line, or that it was too long, to a connection.
#[inline]
pub(super) fn serve(
    connection: &mut ServerConnection,
    now: Now,
    line: Result<tightwire_codec::Line<'_>, LineTooLong>,
    out: &mut Vec<u8>,
) {
    match line {
        Ok(line) => connection.handle_line(now, line, out),
        Err(error) => connection.handle_too_long(error, out),
    }
}

/// The same, and tells the connection how long it took.
pub(super) fn serve_timed(
    connection: &mut ServerConnection,
    clock: &mut Clock,
    line: Result<tightwire_codec::Line<'_>, LineTooLong>,
    out: &mut Vec<u8>,
) {
    let now = clock.now();
    serve(connection, now, line, out);
    connection.line_took(clock.monotonic().saturating_sub(now.monotonic));
}

/// The clocks of the system, for a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    start: Instant,
    /// The same moment on the coarse clock.
    #[cfg(unix)]
    start_coarse: Duration,
    /// The wall clock, and when it was read on the other one.
    unix: Duration,
    unix_read: Duration,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            start: Instant::now(),
            #[cfg(unix)]
            start_coarse: coarse_time(),
            unix: unix_time(),
            unix_read: Duration::ZERO,
        }
    }

    #[inline]
    pub(super) fn monotonic(self) -> Duration {
        self.start.elapsed()
    }

    /// What the coarse clock shows at a time, but for its own steps: one reading of a clock less.
    #[cfg(unix)]
    #[inline]
    pub(super) fn coarse_at(self, now: Now) -> Duration {
        self.start_coarse + now.monotonic
    }

    /// Both times. The wall clock is read once a second: it may have been set.
    pub(super) fn now(&mut self) -> Now {
        let monotonic = self.monotonic();
        if monotonic.saturating_sub(self.unix_read) >= Duration::from_secs(1) {
            self.unix = unix_time();
            self.unix_read = monotonic;
        }
        let unix = self.unix + monotonic.saturating_sub(self.unix_read);
        Now {
            monotonic,
            unix_ms: milliseconds(unix),
        }
    }
}

/// The wall time, in milliseconds.
#[cfg(unix)]
pub(super) fn unix_ms() -> u64 {
    milliseconds(unix_time())
}

fn unix_time() -> Duration {
    // A clock before 1970 is one that was never set.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// A clock that is cheap to read and right within some milliseconds: for what is suspiciously long.
#[cfg(unix)]
#[inline]
pub(super) fn coarse_time() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::MonotonicCoarse;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
