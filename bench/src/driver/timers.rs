//! Waits that end when they should.
//!
//! Linux lets a timer of an ordinary thread end up to 50 us late, to wake the CPU less often. In
//! an open loop that would be in the latency of every call. A child inherits the setting, so it
//! is made for a run only, after the server was started.

/// While this lives, the waits of this thread end as exactly as the system can.
#[derive(Debug)]
pub(super) struct ExactTimers(());

impl ExactTimers {
    pub(super) fn new() -> Self {
        // Where it cannot be had, the lateness shows in the figures.
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        Self(())
    }
}

impl Drop for ExactTimers {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(None);
    }
}
