//! What the driver needs of a transport: bytes both ways, a wait, and a clock.
//!
//! The stream is the one of the stdio binding, a JSON-RPC message a line, whatever carries it: a
//! transport that frames messages in another way (HTTP) cuts the lines itself and gives lines
//! back. The clock belongs to the transport so that a test can bring a time of its own.

use std::{io, time::Duration};

/// Moves bytes between the driver and one server. It never blocks except in [`Transport::wait`].
pub trait Transport {
    /// Writes what there is room for.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is no room; `BrokenPipe` if the server has gone.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Reads what is there; 0 at the end of the stream.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if nothing is there.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Waits until there is something to read, or room to write if that is asked for, or the time
    /// is over. It may return early.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn wait(&mut self, interest: Interest, timeout: Duration) -> io::Result<()>;

    /// Lets a moment pass without sleeping. False if the server could not use it, having no other
    /// core: then waiting is better.
    fn pause(&mut self) -> bool {
        false
    }

    /// Nanoseconds since the server was started.
    fn now(&self) -> u64;

    /// The process that serves, where it runs on this machine.
    fn pid(&self) -> Option<u32> {
        None
    }

    /// What the server said last outside the protocol (its standard error, its exit), for an
    /// error message.
    fn last_words(&mut self) -> String {
        String::new()
    }
}

/// What [`Transport::wait`] waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Something to read.
    Read,
    /// Something to read, or room to write.
    ReadOrWrite,
}
