//! What a run recorded, and what went wrong in it.

use hdrhistogram::Histogram;
use serde::Serialize;

use super::usage::Usage;

/// What a run recorded.
#[derive(Clone, Debug)]
pub struct Window {
    /// Calls with a right answer.
    pub calls: u64,
    /// From the first start to the last answer.
    pub seconds: f64,
    /// Bytes read from the server.
    pub bytes_in: u64,
    /// Bytes written to the server.
    pub bytes_out: u64,
    /// Latencies in nanoseconds.
    pub latency: Histogram<u64>,
    /// In an open loop, how long after its intended start a call was written.
    pub late: Option<Histogram<u64>>,
    /// The length of a step in seconds, and the calls answered in each.
    pub timeline: (f64, Vec<u64>),
    /// What went wrong.
    pub faults: Faults,
    /// Calls of an open loop that were due but not started, since too many were in flight.
    pub not_started: u64,
    /// Notifications that came in between.
    pub notifications: u64,
    /// What the server used.
    pub server: Usage,
    /// What the driver used, in nanoseconds of CPU.
    pub driver_cpu_ns: u64,
}

/// Answers that were not as they must be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Faults {
    /// Answers that are errors or differ from what is expected.
    pub wrong: u64,
    /// Calls without an answer.
    pub missing: u64,
    /// Second answers to the same call.
    pub duplicate: u64,
    /// Lines that answer no call and are no message a server may send.
    pub unknown: u64,
    /// The first of each kind, in words.
    pub first: Vec<String>,
}

impl Faults {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wrong + self.missing + self.duplicate + self.unknown == 0
    }

    /// Adds those of another run.
    pub fn add(&mut self, other: &Self) {
        let fresh = [
            (self.wrong, other.wrong, "wrong"),
            (self.missing, other.missing, "missing"),
            (self.duplicate, other.duplicate, "duplicate"),
            (self.unknown, other.unknown, "unknown"),
        ];
        for (before, now, kind) in fresh {
            if before == 0 && now > 0 {
                self.first.extend(
                    other
                        .first
                        .iter()
                        .filter(|text| text.starts_with(kind))
                        .cloned(),
                );
            }
        }
        self.wrong += other.wrong;
        self.missing += other.missing;
        self.duplicate += other.duplicate;
        self.unknown += other.unknown;
    }
}
