//! Reads that block: while nothing but the input can give the loop anything to do, it need not ask
//! first whether there is something to read. That saves a system call a message, and a part of
//! the wake-up.
//!
//! ```text
//!   loop    reading = true ─▶ alarmed? no ─▶ read(2), blocks ─▶ reading = false
//!   thread  poll(2): a signal, or the reader of the output is gone
//!             ─▶ alarmed = true ─▶ reading? yes ─▶ writes one byte into the input
//! ```
//!
//! A signal does not end a read, since handlers are installed with `SA_RESTART`. So a thread waits
//! for what would have been an event, and gives the reader a byte to come back with: one that no
//! text in UTF-8 has. The writing end is open for that moment only, so the end of the input is told
//! as ever. Whatever is in the input from that byte on is not served, as after any signal.
//!
//! Only pipes are read like this. What shutting down a socket tells its peer cannot be taken back,
//! and a terminal is slow anyway.

use std::{
    io::{self, ErrorKind},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{Access, Mode, OFlags},
};

use super::{fd::Fd, signals::Signals};

/// The reads of a loop that may block.
#[derive(Debug)]
pub(super) enum Blocking {
    /// After so many more waits.
    After(u32),
    Ready(Reader),
    /// The input is no pipe, or one that we may not write into.
    Never,
}

/// The input, and the thread that watches while it is read.
#[derive(Debug)]
pub(super) struct Reader {
    /// A description of our own without `O_NONBLOCK`.
    fd: OwnedFd,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Shut down to end the thread.
    end: UnixStream,
}

#[derive(Debug, Default)]
struct Shared {
    /// The loop is in a read, or about to be.
    reading: AtomicBool,
    /// There is something to do besides reading. Never taken back.
    alarmed: AtomicBool,
}

impl Blocking {
    /// A short conversation needs no thread.
    const WAITS: u32 = 64;

    pub(super) fn new(input: &Fd) -> Self {
        if input.is_private_pipe() {
            Self::After(Self::WAITS)
        } else {
            Self::Never
        }
    }

    /// Counts a wait, and starts when there have been enough. Those count too in which the next
    /// request was found by looking, so that the start is no matter of chance.
    #[inline]
    pub(super) fn count_wait(&mut self, input: &Fd, output: &Fd, signals: &Signals) {
        match self {
            Self::After(0) => {
                *self = Reader::start(input, output, signals).map_or(Self::Never, Self::Ready);
            }
            Self::After(waits) => *waits -= 1,
            Self::Ready(_) | Self::Never => {}
        }
    }

    /// The reader, if it was started.
    #[inline]
    pub(super) fn reader(&mut self) -> Option<&mut Reader> {
        match self {
            Self::Ready(reader) => Some(reader),
            Self::After(_) | Self::Never => None,
        }
    }
}

impl Reader {
    /// No text in UTF-8 has this byte.
    const ALARM: u8 = 0xFF;
    /// The thread calls a few functions, and may be the one that a signal interrupts.
    const STACK_BYTES: usize = 64 * 1024;
    /// Where somebody else has read the byte, there will be another one.
    const AGAIN_AFTER: Duration = Duration::from_millis(10);

    fn start(input: &Fd, output: &Fd, signals: &Signals) -> io::Result<Self> {
        let fd = input.reopen_blocking()?;
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        rustix::fs::access(&*path, Access::WRITE_OK)?;
        let shared = Arc::<Shared>::default();
        let (end, ended) = UnixStream::pair()?;
        let watch = Watch {
            shared: Arc::clone(&shared),
            signals: signals.receiver.try_clone()?,
            output: output.duplicate()?,
            ended,
            path,
        };
        let thread = thread::Builder::new()
            .name("tightwire-watch".to_owned())
            .stack_size(Self::STACK_BYTES)
            .spawn(move || watch.run())?;
        Ok(Self {
            fd,
            shared,
            thread: Some(thread),
            end,
        })
    }

    /// Reads, and waits for something to read. `None`, at once, if there has been an alarm; an
    /// alarm while it waits is `Interrupted`, or the bytes that were there before.
    #[inline]
    pub(super) fn read(
        &mut self,
        signals: &Signals,
        buffer: &mut [u8],
    ) -> Option<io::Result<usize>> {
        // In this order, and the other way round in the thread: one of the two sees the other.
        self.shared.reading.store(true, SeqCst);
        let result = if self.shared.alarmed.load(SeqCst) || signals.arrived() {
            None
        } else {
            Some(rustix::io::read(&self.fd, &mut *buffer).map_err(io::Error::from))
        };
        self.shared.reading.store(false, SeqCst);
        if self.shared.alarmed.load(SeqCst) {
            return self.after_alarm(result, buffer);
        }
        result
    }

    /// Takes the byte of the alarm out of what was read.
    #[cold]
    fn after_alarm(
        &mut self,
        result: Option<io::Result<usize>>,
        buffer: &[u8],
    ) -> Option<io::Result<usize>> {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
        let Some(Ok(count)) = result else {
            return result;
        };
        let before = memchr_alarm(&buffer[..count]).unwrap_or(count);
        Some(if before == 0 && count > 0 {
            Err(ErrorKind::Interrupted.into())
        } else {
            Ok(before)
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // A child that was forked has a copy of it: closing it would not be enough.
        let _ = self.end.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // Its output must be closed before we go on, or the peer would not see the end.
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Watch {
    shared: Arc<Shared>,
    signals: UnixStream,
    output: OwnedFd,
    ended: UnixStream,
    /// The way to the writing end of the input.
    path: String,
}

impl Watch {
    fn run(self) {
        let mut fds = [
            PollFd::new(&self.signals, PollFlags::IN),
            // Errors and the hang-up of the reader are told unasked.
            PollFd::new(&self.output, PollFlags::empty()),
            PollFd::new(&self.ended, PollFlags::IN),
        ];
        while matches!(poll(&mut fds, None), Err(rustix::io::Errno::INTR)) {}
        self.shared.alarmed.store(true, SeqCst);
        let Self {
            shared,
            signals,
            output,
            ended,
            path,
        } = self;
        // Makes room for the one to open now.
        drop((signals, output, ended));
        while shared.reading.load(SeqCst) {
            // Where it fails there may be room the next time.
            let _ = ring(&path);
            thread::park_timeout(Reader::AGAIN_AFTER);
        }
    }
}

/// Writes the byte of the alarm into the input.
fn ring(path: &str) -> io::Result<()> {
    // A pipe that is full has woken its reader.
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let input = rustix::fs::open(path, flags, Mode::empty())?;
    rustix::io::write(&input, &[Reader::ALARM])?;
    Ok(())
}

fn memchr_alarm(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| byte == Reader::ALARM)
}
