//! The reading end, and what is known of it.

use std::{io, rc::Rc, time::Duration};

use super::{
    fd::Fd,
    memory::{Clock, coarse_time},
};

/// When nothing has come for so long, there is time to look whether anything was missed.
pub(super) const QUIET_AFTER: Duration = Duration::from_millis(20);

/// Where requests come from.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) fd: Rc<Fd>,
    /// Whether a read that does not fill its buffer has taken all there was, as far as is known.
    pub(super) gives_all: bool,
    /// For how many reads that is not believed.
    pub(super) distrust: u32,
    /// Whether a read may give something.
    pub(super) readable: bool,
    pub(super) guess: Guess,
    /// When it was made, on the coarse clock.
    pub(super) guessed: Duration,
    /// How often in a row it was wrong.
    pub(super) wrong_guesses: u32,
    /// Since when the peer has closed its side: no further event will come.
    pub(super) hung_up: Option<Duration>,
    /// Since when there is nothing more to read.
    pub(super) ended: Option<Duration>,
    /// Why, if it was not the end.
    pub(super) error: Option<io::Error>,
    /// Whether the rest after the last newline was served, or will not be.
    pub(super) finished: bool,
    /// Whether lines were left in the ring, since there was no room for their answers.
    pub(super) lines_left: bool,
}

/// What is made of a read that did not fill its buffer.
///
/// That it took all there was spares a read per call, and is true of pipes and stream sockets as
/// hosts make them. It is false of some that give a packet a read (`O_DIRECT`, `SO_PASSCRED`), and
/// the reading end cannot tell. So a guess of some age is put to the test; when it was wrong twice
/// in a row, it is not made for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guess {
    None,
    /// The last read is taken to have been the last there was.
    Drained,
    /// The next read tells.
    Doubted,
}

impl Input {
    /// For so many reads no guess is made after wrong ones.
    pub(super) const DISTRUST: u32 = 1000;

    pub(super) fn new(fd: Rc<Fd>) -> Self {
        Self {
            gives_all: fd.gives_all(),
            fd,
            readable: true,
            guess: Guess::None,
            hung_up: None,
            ended: None,
            error: None,
            distrust: 0,
            guessed: Duration::ZERO,
            wrong_guesses: 0,
            finished: false,
            lines_left: false,
        }
    }

    /// A read gave something; whether it is taken to have given all.
    #[inline]
    pub(super) fn take_for_drained(&mut self, drained: bool) {
        if self.guess == Guess::Doubted {
            // Or the next bytes came just then; that rarely happens twice in a row.
            self.wrong_guesses += 1;
            if self.wrong_guesses >= 2 {
                self.distrust = Self::DISTRUST;
            }
        }
        self.distrust = self.distrust.saturating_sub(1);
        let drained = drained && self.distrust == 0;
        self.readable = !drained;
        self.guess = if drained { Guess::Drained } else { Guess::None };
        if drained {
            self.guessed = coarse_time();
        }
    }

    /// A read found nothing.
    pub(super) fn is_drained(&mut self) {
        self.readable = false;
        if self.guess == Guess::Doubted {
            self.wrong_guesses = 0;
        }
        self.guess = Guess::None;
    }

    /// Puts a guess to the test that is old enough.
    pub(super) fn doubt(&mut self) {
        if self.guess == Guess::Drained && coarse_time().saturating_sub(self.guessed) >= QUIET_AFTER
        {
            self.guess = Guess::Doubted;
            self.readable = true;
        }
    }

    pub(super) fn end(&mut self, clock: Clock) {
        self.ended = Some(clock.monotonic());
    }
}
