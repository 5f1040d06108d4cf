//! Looking for an answer for a moment before waiting for it.
//!
//! A driver that sleeps is woken by the answer, and what that takes on an idle core (20 to 80 us) is
//! in the latency of the call, though no part of the server. So with few calls in flight it looks
//! for the answer a bounded time, and where that was in vain some times in a row, as with a server
//! that takes longer, it pauses.

use std::time::Duration;

/// With more calls in flight the driver does not look but sleep: it is woken by many answers at once.
pub const SPIN_IN_FLIGHT_MAX: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Look {
    /// How often in a row it was in vain.
    misses: u32,
    /// For how many waits it pauses.
    pause: u32,
    /// Whether it has been looking since the last wait.
    looking: bool,
}

impl Look {
    const MISSES_MAX: u32 = 4;
    const PAUSE: u32 = 64;

    /// Whether to look once more, and not yet to wait, when nothing has moved for `quiet`
    /// nanoseconds.
    #[inline]
    pub(super) fn goes_on(&mut self, quiet: u64, longest: Duration) -> bool {
        if longest.is_zero() {
            return false;
        }
        if self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        if u128::from(quiet) < longest.as_nanos() {
            self.looking = true;
            return true;
        }
        if std::mem::take(&mut self.looking) {
            self.misses += 1;
            if self.misses >= Self::MISSES_MAX {
                self.misses = 0;
                self.pause = Self::PAUSE;
            }
        }
        false
    }

    /// Something came.
    #[inline]
    pub(super) fn found(&mut self) {
        if std::mem::take(&mut self.looking) {
            self.misses = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_micros(50);

    #[test]
    fn it_looks_for_so_long_and_goes_on_while_that_pays() {
        let mut look = Look::default();
        for _ in 0..100 {
            assert!(look.goes_on(0, LONGEST) && look.goes_on(49_999, LONGEST));
            assert!(!look.goes_on(50_000, LONGEST));
            assert!(look.goes_on(0, LONGEST));
            look.found();
        }
        assert!(!look.goes_on(0, Duration::ZERO));
    }

    #[test]
    fn it_pauses_where_it_is_in_vain() {
        let mut look = Look::default();
        let mut looked = 0;
        for _ in 0..680 {
            looked += u32::from(look.goes_on(0, LONGEST));
            look.goes_on(50_000, LONGEST);
            // What woke it from its wait was not found by looking.
            look.found();
        }
        assert!((40..=80).contains(&looked), "{looked}");
    }
}
