//! Adaptive spinning: when it pays to look for the next request for a moment before asking the
//! system to sleep.
//!
//! Waking an idle core costs tens of microseconds, many times what a call costs. While a
//! conversation is brisk, the next request comes within a few; so the loop looks for it a bounded
//! time, and lets whoever waits for its core run in between. It does not on a single core, nor after a wait
//! that no request preceded; and when it has not paid for some times it pauses, longer and longer,
//! until it pays again.

use std::time::Duration;

#[derive(Debug)]
pub(super) struct Spin {
    /// How long to look. Zero: never.
    time: Duration,
    /// How often in a row it was in vain.
    misses: u32,
    /// For how many waits it pauses.
    pause: u32,
}

impl Spin {
    /// So many times it may be in vain before it pauses.
    const MISSES_MAX: u32 = 4;
    /// The longest pause is 2 to this power.
    const PAUSE_BITS_MAX: u32 = 10;

    /// `cores` is how many the process may run on.
    pub(super) fn new(time: Duration, cores: usize) -> Self {
        Self {
            time: if cores > 1 { time } else { Duration::ZERO },
            misses: 0,
            pause: 0,
        }
    }

    /// How long to look for the next request before this wait, if at all.
    #[inline]
    pub(super) fn before_wait(&mut self) -> Option<Duration> {
        if self.time.is_zero() {
            return None;
        }
        if self.pause > 0 {
            self.pause -= 1;
            return None;
        }
        Some(self.time)
    }

    /// The request came while it was looked for.
    #[inline]
    pub(super) fn paid(&mut self) {
        self.misses = 0;
    }

    /// It did not.
    pub(super) fn was_in_vain(&mut self) {
        self.misses = self.misses.saturating_add(1);
        if self.misses >= Self::MISSES_MAX {
            let bits = (self.misses - Self::MISSES_MAX + 4).min(Self::PAUSE_BITS_MAX);
            self.pause = 1 << bits;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_micros(30);

    fn spins(spin: &mut Spin, waits: u32) -> u32 {
        let mut count = 0;
        for _ in 0..waits {
            if spin.before_wait().is_some() {
                count += 1;
                spin.was_in_vain();
            }
        }
        count
    }

    #[test]
    fn it_never_spins_on_one_core_or_when_switched_off() {
        assert_eq!(spins(&mut Spin::new(TIME, 1), 100), 0);
        assert_eq!(spins(&mut Spin::new(Duration::ZERO, 8), 100), 0);
    }

    #[test]
    fn it_gives_up_when_it_does_not_pay_and_tries_again() {
        let mut spin = Spin::new(TIME, 2);
        assert_eq!(spins(&mut spin, 4), 4);
        assert_eq!(spins(&mut spin, 16), 0);
        assert_eq!(spins(&mut spin, 10_000), 14);
    }

    #[test]
    fn it_goes_on_while_it_pays() {
        let mut spin = Spin::new(TIME, 2);
        for _ in 0..100 {
            assert_eq!(spin.before_wait(), Some(TIME));
            spin.was_in_vain();
            assert_eq!(spin.before_wait(), Some(TIME));
            spin.paid();
        }
    }
}
