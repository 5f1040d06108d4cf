//! Signals that end the server.

use std::{
    io,
    os::{fd::AsRawFd, unix::net::UnixStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use mio::{Interest, Poll, Token, unix::SourceFd};
use signal_hook::{
    SigId,
    consts::{SIGINT, SIGTERM},
};

pub(super) const SIGNAL: Token = Token(3);

/// SIGTERM and SIGINT: the first drains and ends, a second ends at once.
pub(super) struct Signals {
    /// Set by the first signal; while set, a signal does what it does by default.
    pub(super) arrived: Arc<AtomicBool>,
    pub(super) receiver: UnixStream,
    pub(super) ids: Vec<SigId>,
}

impl Signals {
    pub(super) fn register(poll: &Poll) -> io::Result<Self> {
        let (sender, receiver) = UnixStream::pair()?;
        receiver.set_nonblocking(true)?;
        let mut signals = Self {
            arrived: Arc::default(),
            receiver,
            ids: Vec::new(),
        };
        poll.registry().register(
            &mut SourceFd(&signals.receiver.as_raw_fd()),
            SIGNAL,
            Interest::READABLE,
        )?;
        for signal in [SIGTERM, SIGINT] {
            // In this order: the default action of the second signal must not see the first.
            let arrived = &signals.arrived;
            let ids = [
                signal_hook::flag::register_conditional_default(signal, Arc::clone(arrived))?,
                signal_hook::flag::register(signal, Arc::clone(arrived))?,
                signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?,
            ];
            signals.ids.extend(ids);
        }
        Ok(signals)
    }

    #[inline]
    pub(super) fn arrived(&self) -> bool {
        self.arrived.load(Ordering::Relaxed)
    }

    pub(super) fn clear(&mut self) {
        let mut bytes = [0; 16];
        while matches!(io::Read::read(&mut self.receiver, &mut bytes), Ok(1..)) {}
    }
}

impl Drop for Signals {
    /// From here on the signals do what they do by default.
    fn drop(&mut self) {
        self.arrived.store(true, Ordering::Relaxed);
        // The first action of each signal stays: it is the default one.
        for pair in self.ids.chunks(3) {
            for id in pair.iter().skip(1) {
                signal_hook::low_level::unregister(*id);
            }
        }
    }
}
