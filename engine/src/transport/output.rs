//! The writing end, and the answers that have not gone yet.

use std::{io, io::ErrorKind, rc::Rc, time::Duration};

use super::{
    fd::{Fd, is_gone},
    memory::Clock,
};
use crate::error::{Error, Result};

/// Where answers go, and those that have not gone yet.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) fd: Rc<Fd>,
    pub(super) bytes: Vec<u8>,
    /// How many of the bytes are written.
    pub(super) written: usize,
    pub(super) writable: bool,
    pub(super) closed: bool,
    /// When the reader last took something, or was given something to take.
    pub(super) progress: Duration,
    /// Whether anything waits that the reader did not take.
    is_blocked: bool,
    /// How much the reader of a pipe had not taken when it was last looked at.
    pub(super) unread: Option<u64>,
    pub(super) bytes_max: usize,
    /// A buffer grown past this is given back when it is quiet.
    bytes_kept: usize,
}

impl Output {
    /// A buffer that is larger than the text it has by so much is cut down.
    const SLACK_MIN: usize = 1024 * 1024;

    pub(super) fn new(fd: Rc<Fd>, bytes_max: usize, bytes_kept: usize) -> Self {
        Self {
            fd,
            bytes: Vec::new(),
            written: 0,
            writable: true,
            closed: false,
            progress: Duration::ZERO,
            is_blocked: false,
            unread: None,
            bytes_max,
            bytes_kept,
        }
    }

    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.bytes.len() - self.written
    }

    #[inline]
    pub(super) fn is_over_limit(&self) -> bool {
        self.waiting() > self.bytes_max
    }

    /// Writes as much as the reader takes.
    pub(super) fn write(&mut self, clock: Clock) -> Result<()> {
        while self.waiting() > 0 && self.writable && !self.closed {
            match self.fd.write(&self.bytes[self.written..]) {
                Ok(0) => {
                    let error = io::Error::from(ErrorKind::WriteZero);
                    return Err(Error::io("writing the output")(error));
                }
                Ok(count) => {
                    self.written += count;
                    if self.waiting() > 0 {
                        self.progress = clock.monotonic();
                        self.is_blocked = true;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.writable = false;
                    if !std::mem::replace(&mut self.is_blocked, true) {
                        self.progress = clock.monotonic();
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_gone(&error, self.fd.kind()) => self.closed = true,
                Err(error) => return Err(Error::io("writing the output")(error)),
            }
        }
        self.reclaim();
        Ok(())
    }

    /// Looks whether the reader goes on reading, be it too slowly for an event: a pipe makes one
    /// when a page of it is free, a socket when most of its buffer is.
    pub(super) fn look_at_reader(&mut self, clock: Clock) {
        self.writable = true;
        let unread = self.fd.unread();
        if unread.is_some() && unread != self.unread {
            self.progress = clock.monotonic();
        }
        self.unread = unread;
    }

    pub(super) fn is_large(&self) -> bool {
        self.bytes.capacity() > self.bytes_kept && self.bytes.is_empty()
    }

    pub(super) fn release(&mut self) {
        if self.is_large() {
            self.bytes = Vec::new();
        }
    }

    /// Gives up the room of what is written, and most of what doubling the buffer has taken too much.
    pub(super) fn reclaim(&mut self) {
        if self.waiting() == 0 {
            self.bytes.clear();
            self.written = 0;
            self.is_blocked = false;
            return;
        }
        if self.written > self.bytes_max / 4 && self.written > self.bytes.len() / 4 {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
        let len = self.bytes.len();
        if self.bytes.capacity() - len > Self::SLACK_MIN.max(len / 4) {
            self.bytes.shrink_to(len + len / 8);
        }
    }
}
