//! What the processes used: the server and all its children from `/proc`, the driver from its
//! thread's clock.
//!
//! | figure | from | scope |
//! | --- | --- | --- |
//! | CPU | `task/*/schedstat`, ns | threads that live at both readings |
//! | | `stat`, ticks of 10 ms, where there is no schedstat | the process |
//! | read and write system calls | `io` | the process |
//! | context switches | `task/*/status` | threads that live at both readings |
//! | peak memory | `status`, VmHWM | the process |
//!
//! A launcher (`npx`, `uv run`, a shell) has its server as a child, so all figures are sums over
//! the process and its descendants. Where there is no `/proc`, there are no figures.

use std::{fs, path::Path};

use serde::Serialize;

/// A reading, or the difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// CPU time in nanoseconds, of user and system.
    pub cpu_ns: Option<u64>,
    /// System calls that read, and system calls that write.
    pub reads: Option<u64>,
    /// See `reads`.
    pub writes: Option<u64>,
    /// Context switches, wanted and unwanted.
    pub switches: Option<u64>,
    /// The most memory that was resident, so far.
    pub memory_peak_bytes: Option<u64>,
}

impl Usage {
    /// Reads what a process and its descendants used so far.
    #[must_use]
    pub fn of(pid: u32) -> Self {
        let mut total = Self::default();
        let mut pids = vec![pid];
        while let Some(pid) = pids.pop() {
            let process = Path::new("/proc").join(pid.to_string());
            total = total.plus(&Self::of_process(&process, &mut pids));
        }
        total
    }

    /// What was used since an earlier reading; the peak stays what it is now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let minus = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            cpu_ns: minus(self.cpu_ns, earlier.cpu_ns),
            reads: minus(self.reads, earlier.reads),
            writes: minus(self.writes, earlier.writes),
            switches: minus(self.switches, earlier.switches),
            memory_peak_bytes: self.memory_peak_bytes,
        }
    }

    fn of_process(process: &Path, children: &mut Vec<u32>) -> Self {
        let mut usage = Self::default();
        for task in fs::read_dir(process.join("task"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let task = task.path();
            let read = |name| fs::read_to_string(task.join(name)).ok();
            let schedstat = read("schedstat");
            let run = schedstat.and_then(|text| text.split_whitespace().next()?.parse().ok());
            usage.cpu_ns = add(usage.cpu_ns, run);
            if let Some(status) = read("status") {
                usage.switches = add(usage.switches, field(&status, "voluntary_ctxt_switches:"));
                usage.switches = add(
                    usage.switches,
                    field(&status, "nonvoluntary_ctxt_switches:"),
                );
            }
            if let Some(text) = read("children") {
                children.extend(
                    text.split_whitespace()
                        .filter_map(|pid| pid.parse::<u32>().ok()),
                );
            }
        }
        let read = |name| fs::read_to_string(process.join(name)).unwrap_or_default();
        usage.cpu_ns = usage.cpu_ns.or_else(|| ticks(&read("stat")));
        let io = read("io");
        usage.reads = field(&io, "syscr:");
        usage.writes = field(&io, "syscw:");
        usage.memory_peak_bytes = field(&read("status"), "VmHWM:").map(|kib| kib * 1024);
        usage
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            cpu_ns: add(self.cpu_ns, other.cpu_ns),
            reads: add(self.reads, other.reads),
            writes: add(self.writes, other.writes),
            switches: add(self.switches, other.switches),
            memory_peak_bytes: add(self.memory_peak_bytes, other.memory_peak_bytes),
        }
    }
}

/// The CPU time of the calling thread in nanoseconds.
#[must_use]
pub(super) fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).unwrap_or(0)
}

fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

/// The number after a name at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// User and system time of `/proc/PID/stat`. The name in it may hold anything but ends with the
/// last parenthesis.
fn ticks(stat: &str) -> Option<u64> {
    const NS_PER_TICK: u64 = 10_000_000;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) * NS_PER_TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_read_as_they_are_written() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 25 5 9 9 20 0 1 0 100 1 1 1";
        assert_eq!(ticks(stat), Some(300_000_000));
        assert_eq!(field("a: 1\nVmHWM:\t  1844 kB\n", "VmHWM:"), Some(1844));
        assert_eq!(
            field(
                "nonvoluntary_ctxt_switches:\t3\n",
                "voluntary_ctxt_switches:"
            ),
            None
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_used_something() {
        let earlier = Usage::of(std::process::id());
        let used = Usage::of(std::process::id()).since(&earlier);
        assert!(used.cpu_ns.is_some() && used.memory_peak_bytes.is_some());
    }
}
