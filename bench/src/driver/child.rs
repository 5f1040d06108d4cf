//! A server as a child process: its standard input and output as two pipes.
//!
//! ```text
//!   driver ── write ─▶ pipe, 1 MiB ─▶ stdin   ┌────────┐
//!   driver ◀─ read ─── pipe, 1 MiB ◀─ stdout  │ server │
//!   last words ◀────── pipe ◀──────── stderr  └────────┘
//! ```
//!
//! One thread, non-blocking ends, `poll(2)` for the waits: it has nothing to register, so it is
//! the cheapest wait for two descriptors. The last part of a timed wait is spun where there is a
//! second CPU for the server: a timer would end tens of microseconds late. What the server says on stderr is kept (its end, for
//! error messages) and otherwise ignored, as the specification has it.

use std::{
    ffi::OsString,
    io,
    os::fd::AsFd,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::OFlags,
};

use super::transport::{Interest, Transport};

/// A child process that serves over its standard streams. Dropping it ends it: its input is
/// closed, and what has not gone two seconds later is killed.
#[derive(Debug)]
pub struct ChildServer {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    stderr: Option<ChildStderr>,
    stderr_tail: Vec<u8>,
    started: Instant,
    may_spin: bool,
}

impl ChildServer {
    /// How long a server may take to exit after its input was closed.
    const GRACE: Duration = Duration::from_secs(2);
    /// Larger pipes mean fewer switches; without the right to them the default does too.
    const PIPE_BYTES: usize = 1 << 20;
    /// How much of a timed wait is spun.
    const SPIN: Duration = Duration::from_micros(200);
    /// How much of the end of stderr is kept.
    const STDERR_KEPT: usize = 4096;

    /// Starts `command`, its words already split. `show_stderr` passes its stderr through.
    ///
    /// # Errors
    ///
    /// What the system says, `NotFound` if there is no such program.
    pub fn spawn(command: &[OsString], show_stderr: bool) -> io::Result<Self> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command was given"))?;
        let started = Instant::now();
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(if show_stderr {
                Stdio::inherit()
            } else {
                Stdio::piped()
            })
            .spawn()?;
        let missing = || io::Error::other("the child has no pipe");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take();
        prepare(&stdin, Some(Self::PIPE_BYTES))?;
        prepare(&stdout, Some(Self::PIPE_BYTES))?;
        if let Some(stderr) = &stderr {
            prepare(stderr, None)?;
        }
        Ok(Self {
            child,
            stdin: Some(stdin),
            stdout,
            stderr,
            stderr_tail: Vec::new(),
            started,
            may_spin: thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1),
        })
    }

    /// Closes the server's input and waits until it exits; kills it if that takes too long.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn finish(&mut self) -> io::Result<ExitStatus> {
        self.stdin = None;
        let closed = Instant::now();
        while closed.elapsed() < Self::GRACE {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            self.drain_stderr();
            thread::sleep(Duration::from_millis(1));
        }
        self.child.kill()?;
        self.child.wait()
    }

    /// Keeps the end of what stderr holds. Without this a talkative server would block on it.
    fn drain_stderr(&mut self) {
        let mut buffer = [0; 16 * 1024];
        while let Some(stderr) = &self.stderr {
            match rustix::io::read(stderr, &mut buffer) {
                Ok(0) => self.stderr = None,
                Ok(count) => {
                    self.stderr_tail.extend_from_slice(&buffer[..count]);
                    let excess = self.stderr_tail.len().saturating_sub(Self::STDERR_KEPT);
                    self.stderr_tail.drain(..excess);
                }
                Err(_) => return,
            }
        }
    }
}

impl Transport for ChildServer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let stdin = self.stdin.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(rustix::io::write(stdin, bytes)?)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.stdout, buffer)?)
    }

    fn wait(&mut self, interest: Interest, timeout: Duration) -> io::Result<()> {
        // With no time left to sleep it looks once and returns: the caller comes again.
        let sleep = if self.may_spin {
            timeout.saturating_sub(Self::SPIN)
        } else {
            timeout
        };
        let timeout = Timespec::try_from(sleep).map_err(io::Error::other)?;
        // The second and the third stand for the first where they are not wanted: `poll` takes a
        // descriptor twice, and no list is built.
        let out = PollFd::new(&self.stdout, PollFlags::IN);
        let err = match &self.stderr {
            Some(stderr) => PollFd::new(stderr, PollFlags::IN),
            None => out.clone(),
        };
        let (input, count) = match (&self.stdin, interest) {
            (Some(stdin), Interest::ReadOrWrite) => (PollFd::new(stdin, PollFlags::OUT), 3),
            _ => (out.clone(), 2),
        };
        let mut fds = [out, err, input];
        match poll(&mut fds[..count], Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if self.stderr.is_some() && !fds[1].revents().is_empty() {
            self.drain_stderr();
        }
        Ok(())
    }

    fn pause(&mut self) -> bool {
        // Where the server waits for this very core, it gets it.
        if self.may_spin {
            thread::yield_now();
        }
        self.may_spin
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn pid(&self) -> Option<u32> {
        Some(self.child.id())
    }

    fn last_words(&mut self) -> String {
        // A server that has just closed its output says why a moment before or after.
        let mut status = None;
        for _ in 0..50 {
            status = self.child.try_wait().ok().flatten();
            if status.is_some() {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.drain_stderr();
        let mut words = String::from_utf8_lossy(&self.stderr_tail).trim().to_owned();
        if let Some(status) = status {
            if !words.is_empty() {
                words.push('\n');
            }
            words += &format!("the server has ended: {status}");
        }
        words
    }
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.finish();
    }
}

/// Makes our end of a pipe non-blocking. A pipe made by `spawn` has a description of its own at
/// each end, so the server's end stays as it is.
fn prepare(end: impl AsFd, pipe_bytes: Option<usize>) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&end)?;
    rustix::fs::fcntl_setfl(&end, flags | OFlags::NONBLOCK)?;
    #[cfg(target_os = "linux")]
    if let Some(bytes) = pipe_bytes {
        // Refused where a user's pipes may hold no more: then the default has to do.
        let _ = rustix::pipe::fcntl_setpipe_size(&end, bytes);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = pipe_bytes;
    Ok(())
}
