//! Driver and server on one core.
//!
//! On two cores that are otherwise idle, half of what a call takes is waking the other core, and
//! how deep it sleeps is chance; on one core, figures repeat within a few percent.

use std::io;

/// Keeps this thread, and what it starts from now on, on one CPU.
///
/// # Errors
///
/// What the system says, and `Unsupported` where a thread cannot be kept on a CPU.
#[cfg(target_os = "linux")]
pub fn pin(cpu: usize) -> io::Result<()> {
    use rustix::thread::{CpuSet, sched_setaffinity};

    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Keeps this thread, and what it starts from now on, on one CPU.
///
/// # Errors
///
/// `Unsupported` where a thread cannot be kept on a CPU.
#[cfg(not(target_os = "linux"))]
pub fn pin(_cpu: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
