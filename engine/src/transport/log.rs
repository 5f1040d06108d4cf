//! The engine's own log: lines on stderr that never block and never fail.
//!
//! A host may leave stderr unread, or close it. A line is written whole, at most `PIPE_BUF` bytes,
//! or it is dropped and counted.

use super::fd::{Direction, Fd};

/// The log of one transport.
#[derive(Debug)]
pub(super) struct Log {
    /// `None` if stderr cannot be used at all.
    fd: Option<Fd>,
    dropped: u64,
}

impl Log {
    /// POSIX's least `PIPE_BUF` is 512; Linux has 4,096. Up to it a write to a pipe is all or
    /// nothing.
    const LINE_BYTES_MAX: usize = 4096;

    /// Opens stderr for writing without blocking.
    pub(super) fn open() -> Self {
        Self {
            fd: Fd::open_private(rustix::stdio::stderr(), Direction::Out).ok(),
            dropped: 0,
        }
    }

    /// Writes one line, or drops it.
    pub(super) fn line(&mut self, text: &str) {
        let mut line = String::with_capacity(text.len() + 64);
        line.push_str("tightwire: ");
        if self.dropped > 0 {
            line.push_str(&format!("({} lines were dropped) ", self.dropped));
        }
        line.push_str(text);
        let mut end = line.len().min(Self::LINE_BYTES_MAX - 1);
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        line.truncate(end);
        line.push('\n');
        let written = self.fd.as_ref().map(|fd| fd.write(line.as_bytes()));
        if matches!(written, Some(Ok(_))) {
            self.dropped = 0;
        } else {
            self.dropped += 1;
        }
    }
}
