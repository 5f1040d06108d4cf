//! Signals that end the servers of the process.
//!
//! The actions of a signal are the process's, and so is whether it is ending: from the first signal
//! until no loop is left that heard of it. Another signal in that time, or one when nothing is served,
//! does what it does by default.

use std::{
    io,
    os::{fd::AsRawFd, unix::net::UnixStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use mio::{Interest, Poll, Token, unix::SourceFd};
use signal_hook::{
    SigId,
    consts::{SIGINT, SIGTERM},
};

pub(super) const SIGNAL: Token = Token(3);
const ENDING: [i32; 2] = [SIGTERM, SIGINT];

/// SIGTERM and SIGINT for one loop: the first drains and ends it, a second ends the process at once.
pub(super) struct Signals {
    /// Of the process: set by the first signal; while set, a signal does what it does by default.
    arrived: Arc<AtomicBool>,
    pub(super) receiver: UnixStream,
    ids: Vec<SigId>,
}

/// What all loops of the process share.
struct Process {
    /// How many there are.
    loops: usize,
    /// Set where there are none, too. `None` before the first.
    arrived: Option<Arc<AtomicBool>>,
}

static PROCESS: Mutex<Process> = Mutex::new(Process {
    loops: 0,
    arrived: None,
});

impl Signals {
    pub(super) fn register(poll: &Poll) -> io::Result<Self> {
        let (sender, receiver) = UnixStream::pair()?;
        receiver.set_nonblocking(true)?;
        poll.registry().register(
            &mut SourceFd(&receiver.as_raw_fd()),
            SIGNAL,
            Interest::READABLE,
        )?;
        let mut signals = Self {
            arrived: Process::lock().enter()?,
            receiver,
            ids: Vec::new(),
        };
        // After those of the process, so that whoever is woken sees that it arrived.
        for signal in ENDING {
            let id = signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
            signals.ids.push(id);
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
    /// From here on the signals do what they do by default, if it was the last.
    fn drop(&mut self) {
        Process::lock().leave();
        for id in &self.ids {
            signal_hook::low_level::unregister(*id);
        }
    }
}

impl Process {
    fn lock() -> MutexGuard<'static, Self> {
        PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One loop more: it ends with the others, if they are ending.
    fn enter(&mut self) -> io::Result<Arc<AtomicBool>> {
        let arrived = match &self.arrived {
            Some(arrived) => Arc::clone(arrived),
            None => Self::register()?,
        };
        if self.loops == 0 {
            arrived.store(false, Ordering::Relaxed);
        }
        self.loops += 1;
        self.arrived = Some(Arc::clone(&arrived));
        Ok(arrived)
    }

    fn leave(&mut self) {
        self.loops -= 1;
        if self.loops == 0
            && let Some(arrived) = &self.arrived
        {
            arrived.store(true, Ordering::Relaxed);
        }
    }

    /// Registers the actions of the process, which stay as long as it does.
    fn register() -> io::Result<Arc<AtomicBool>> {
        // Where the second signal fails, the first does what it does by default.
        let arrived = Arc::new(AtomicBool::new(true));
        for signal in ENDING {
            // In this order: the default action of the second signal must not see the first.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&arrived))?;
            signal_hook::flag::register(signal, Arc::clone(&arrived))?;
        }
        Ok(arrived)
    }
}
