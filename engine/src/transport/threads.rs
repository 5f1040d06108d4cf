//! Serving on stdin and stdout where mio cannot poll them: a thread reads, and the loop waits for
//! what it hands over.
//!
//! ```text
//!   reader thread:  read ─▶ channel of two pieces ──┐
//!   pool, tickets:  waker ─▶ the same channel ──────┤
//!                                                   ▼
//!   this thread:    recv_timeout(poll_timeout) ─▶ serve ─▶ look after ─▶ write
//! ```
//!
//! Writing waits for the reader of the output, and with it everything else.

use std::{
    io::{self, ErrorKind, Read, Write},
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::Duration,
};

use tightwire_codec::Ring;

use super::{
    memory::{Clock, serve_timed},
    pool::Pool,
};
use crate::{
    error::{Error, Result},
    server::connection::ServerConnection,
};

/// So much is read at once.
const READ_BYTES: usize = 64 * 1024;
/// Output is written at the latest when so many bytes wait.
const WRITE_BYTES: usize = 64 * 1024;
/// So many pieces and wake-ups may wait. A wake-up that finds no room is not needed: the loop looks
/// after everything when it takes what is there.
const WAITING_MAX: usize = 2;

/// What the loop is woken with.
enum Event {
    Read(Vec<u8>),
    Woken,
    /// There is no more input, and why if it was not the end.
    Ended(Option<io::Error>),
}

#[cfg(not(unix))]
impl crate::server::FrozenServer {
    /// Serves on stdin and stdout until the input has ended, or the output is closed. What was read by
    /// then is answered, within [`Limits::drain_ms_max`](crate::Limits::drain_ms_max).
    ///
    /// Here stdout stays what it is: what a tool prints gets into the conversation. Panics in
    /// handlers are told in a line on stderr; the panic hook of the process is called for all others.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if reading or writing fails in another way than by the peer's going away.
    pub fn serve_stdio(&self) -> Result<()> {
        super::panics::install_panic_hook();
        serve_streams(self.connect(), io::stdin(), io::stdout(), |line| {
            // There is nobody else to tell.
            let _ = writeln!(io::stderr(), "tightwire: {line}");
        })
    }
}

struct Threads<W> {
    connection: ServerConnection,
    output: W,
    log: fn(&str),
    out: Vec<u8>,
    ring: Ring,
    pool: Pool,
    clock: Clock,
    /// When the input ended.
    ended: Option<Duration>,
    failed: Option<io::Error>,
}

/// Serves until the input has ended and what was asked is answered, or the output is closed. The
/// thread that reads ends with the input, or with the process.
pub(super) fn serve_streams(
    connection: ServerConnection,
    input: impl Read + Send + 'static,
    output: impl Write,
    log: fn(&str),
) -> Result<()> {
    let (sender, receiver) = sync_channel(WAITING_MAX);
    let waker = sender.clone();
    connection.set_waker(move || {
        let _ = waker.try_send(Event::Woken);
    });
    thread::Builder::new()
        .name("tightwire-read".to_owned())
        .spawn(move || read(input, &sender))
        .map_err(Error::io("starting the thread that reads"))?;
    let limits = connection.limits();
    Threads {
        output,
        log,
        out: Vec::new(),
        ring: Ring::new(limits.line_bytes_max),
        pool: Pool::new(limits),
        clock: Clock::start(),
        ended: None,
        failed: None,
        connection,
    }
    .run(&receiver)
}

/// What the thread does that reads.
fn read(mut input: impl Read, events: &SyncSender<Event>) {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let event = match input.read(&mut buffer) {
            Ok(0) => Event::Ended(None),
            Ok(count) => Event::Read(buffer[..count].to_vec()),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Event::Ended(None),
            Err(error) => Event::Ended(Some(error)),
        };
        let is_last = matches!(event, Event::Ended(_));
        // Where nobody takes it any more, nobody needs it.
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

impl<W: Write> Threads<W> {
    fn run(mut self, events: &Receiver<Event>) -> Result<()> {
        while !self.is_done() {
            match events.recv_timeout(self.timeout()) {
                Ok(Event::Read(bytes)) => {
                    if !self.take(&bytes)? {
                        break;
                    }
                }
                Ok(Event::Ended(error)) => {
                    self.failed = error;
                    self.end();
                }
                // Without a sender the thread that reads is gone, which tells before it goes.
                Ok(Event::Woken)
                | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            self.look_after();
            if !self.write()? {
                break;
            }
        }
        let now = self.clock.now();
        self.connection.abort(now, &mut self.out);
        self.write()?;
        self.write_log();
        match self.failed {
            None => Ok(()),
            Some(error) => Err(Error::io("reading the input")(error)),
        }
    }

    /// Serves the lines that are complete, and writes before their answers are many: short requests
    /// may have long ones. Whether anybody takes them.
    fn take(&mut self, mut bytes: &[u8]) -> Result<bool> {
        while !bytes.is_empty() {
            self.ring.feed(&mut bytes);
            while let Some(line) = self.ring.next_line() {
                serve_timed(&mut self.connection, &mut self.clock, line, &mut self.out);
                self.submit_jobs();
                if self.out.len() >= WRITE_BYTES && !self.write()? {
                    return Ok(false);
                }
            }
        }
        self.ring.release();
        self.connection.release();
        Ok(true)
    }

    /// Serves the last line, which has no newline.
    fn end(&mut self) {
        self.ended = Some(self.clock.monotonic());
        if let Some(line) = self.ring.last_line() {
            serve_timed(&mut self.connection, &mut self.clock, line, &mut self.out);
        }
    }

    fn look_after(&mut self) {
        if let Some(ended) = self.ended {
            self.connection.handle_end(&mut self.out);
            if self.clock.monotonic() >= ended.saturating_add(self.drain_max()) {
                let now = self.clock.now();
                self.connection.abort(now, &mut self.out);
            }
        }
        let now = self.clock.now();
        if self.connection.has_completions() {
            self.connection.handle_completions(now, &mut self.out);
        }
        if self
            .connection
            .poll_timeout()
            .is_some_and(|due| due <= now.monotonic)
        {
            let before = self.clock.monotonic();
            self.connection.handle_timeout(now, &mut self.out);
            let took = self.clock.monotonic().saturating_sub(before);
            self.connection.line_took(took);
        }
        if self.connection.take_cancelled() {
            self.pool.drop_cancelled();
        }
        self.submit_jobs();
        self.write_log();
        if let Some(message) = self.pool.take_panic() {
            (self.log)(&format!("a value panicked when it was dropped: {message}"));
        }
    }

    fn submit_jobs(&mut self) {
        while let Some(job) = self.connection.poll_job() {
            self.pool.submit(job);
        }
    }

    fn write_log(&mut self) {
        while let Some(line) = self.connection.poll_log() {
            (self.log)(&line);
        }
    }

    /// Writes what there is. Whether anybody takes it.
    fn write(&mut self) -> Result<bool> {
        let written = self
            .output
            .write_all(&self.out)
            .and_then(|()| self.output.flush());
        self.out.clear();
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Error::io("writing the output")(error)),
        }
    }

    fn is_done(&self) -> bool {
        self.ended.is_some()
            && self.connection.in_flight() == 0
            && !self.connection.has_completions()
    }

    fn drain_max(&self) -> Duration {
        Duration::from_millis(self.connection.limits().drain_ms_max)
    }

    /// How long to wait at most: for ever, so to say, when nothing is due.
    fn timeout(&self) -> Duration {
        const FOR_EVER: Duration = Duration::from_secs(3600);
        if self.connection.has_completions() {
            return Duration::ZERO;
        }
        let drain = self
            .ended
            .map(|ended| ended.saturating_add(self.drain_max()));
        let due = [self.connection.poll_timeout(), drain];
        let due = due.into_iter().flatten().min();
        due.map_or(FOR_EVER, |due| due.saturating_sub(self.clock.monotonic()))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader, PipeReader, PipeWriter, pipe},
        sync::mpsc,
        thread::JoinHandle,
    };

    use super::*;
    use crate::{Call, Finished, Hook, Limits, Reply, Server, Tool};

    /// A server on two pipes.
    struct Piped {
        input: PipeWriter,
        output: BufReader<PipeReader>,
        server: JoinHandle<Result<()>>,
    }

    impl Piped {
        fn start() -> Self {
            let limits = Limits {
                drain_ms_max: 300,
                ..Limits::default()
            };
            let server = Server::new("piped", "1")
                .limits(limits)
                .tool(Tool::new("now", |_: Call<'_>, reply: Reply<'_>| {
                    reply.text("now");
                }))
                .tool(Tool::new("later", |_: Call<'_>, reply: Reply<'_>| {
                    reply.after(Duration::from_millis(50), |reply| reply.text("later"));
                }))
                .tool(
                    Tool::new("blocking", |_: Call<'_>, reply: Reply<'_>| {
                        thread::sleep(Duration::from_millis(100));
                        reply.text("blocking");
                    })
                    .blocking(),
                )
                .tool(Tool::new("never", |_: Call<'_>, reply: Reply<'_>| {
                    std::mem::forget(reply.defer());
                }))
                .freeze()
                .unwrap();
            let (input, sent) = pipe().unwrap();
            let (answers, output) = pipe().unwrap();
            let server =
                thread::spawn(move || serve_streams(server.connect(), input, output, |_| {}));
            Self {
                input: sent,
                output: BufReader::new(answers),
                server,
            }
        }

        fn call(&mut self, tool: &str) {
            let line = line(tool);
            self.input.write_all(line.as_bytes()).unwrap();
        }

        fn receive(&mut self) -> String {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            line
        }

        fn text(&mut self) -> String {
            let line = self.receive();
            let (_, text) = line.split_once(r#""text":""#).unwrap();
            text.split('"').next().unwrap().to_owned()
        }
    }

    fn line(tool: &str) -> String {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"{tool}\",\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\
             \"_meta\":{{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
             \"io.modelcontextprotocol/clientCapabilities\":{{}}}}}}}}\n"
        )
    }

    #[test]
    fn answers_come_from_the_loop_from_timers_and_from_the_pool() {
        let mut piped = Piped::start();
        piped.call("now");
        assert_eq!(piped.text(), "now");
        for tool in ["blocking", "later", "now"] {
            piped.call(tool);
        }
        assert_eq!([(); 3].map(|()| piped.text()), ["now", "later", "blocking"]);
        // Many, in pieces of a read.
        let many = line("now").repeat(2_000);
        let mut input = piped.input.try_clone().unwrap();
        let sender = thread::spawn(move || input.write_all(many.as_bytes()));
        for _ in 0..2_000 {
            assert_eq!(piped.text(), "now");
        }
        sender.join().unwrap().unwrap();
    }

    #[test]
    fn the_end_of_the_input_waits_for_answers_as_long_as_it_may() {
        let mut piped = Piped::start();
        piped.call("blocking");
        piped.call("never");
        let last = line("now");
        piped.input.write_all(last.trim_end().as_bytes()).unwrap();
        drop(piped.input);
        let mut rest = Vec::new();
        piped.output.read_to_end(&mut rest).unwrap();
        let rest = String::from_utf8(rest).unwrap();
        let ids: Vec<bool> = rest.lines().map(|line| line.contains("\"now\"")).collect();
        assert_eq!(ids, [true, false], "{rest}");
        piped.server.join().unwrap().unwrap();
    }

    #[test]
    fn hooks_are_told_of_the_last_line_too_and_how_long_it_took() {
        struct Took(mpsc::Sender<Duration>);
        impl Hook for Took {
            fn after(&self, finished: &Finished<'_>) {
                self.0.send(finished.took()).unwrap();
            }
        }
        let (told, times) = mpsc::channel();
        let server = Server::new("timed", "1")
            .hook(Took(told))
            .tool(Tool::new("now", |_: Call<'_>, reply: Reply<'_>| {
                thread::sleep(Duration::from_millis(5));
                reply.text("now");
            }))
            .freeze()
            .unwrap();
        let (input, mut sent) = pipe().unwrap();
        let lines = line("now").repeat(2);
        sent.write_all(lines.trim_end().as_bytes()).unwrap();
        drop(sent);
        serve_streams(server.connect(), input, io::sink(), |_| {}).unwrap();
        drop(server);
        let times: Vec<Duration> = times.iter().collect();
        assert_eq!(times.len(), 2);
        assert!(times.iter().all(|took| *took >= Duration::from_millis(5)));
    }

    #[test]
    fn long_answers_to_what_was_read_at_once_are_written_one_by_one() {
        /// Remembers the longest piece that it was given.
        struct Longest(usize);
        impl Write for &mut Longest {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 = self.0.max(bytes.len());
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let server = Server::new("long", "1")
            .tool(Tool::new("long", |_: Call<'_>, reply: Reply<'_>| {
                reply.text(&"x".repeat(100_000));
            }))
            .freeze()
            .unwrap();
        let (input, mut sent) = pipe().unwrap();
        sent.write_all(line("long").repeat(100).as_bytes()).unwrap();
        drop(sent);
        let mut output = Longest(0);
        serve_streams(server.connect(), input, &mut output, |_| {}).unwrap();
        assert!((100_000..200_000).contains(&output.0), "{}", output.0);
    }

    #[test]
    fn a_closed_output_ends_it_quietly() {
        let mut piped = Piped::start();
        piped.call("never");
        drop(piped.output);
        let line = line("now");
        piped.input.write_all(line.as_bytes()).unwrap();
        piped.server.join().unwrap().unwrap();
    }
}
