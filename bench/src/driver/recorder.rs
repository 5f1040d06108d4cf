//! What is recorded while calls run: latencies and throughput over time, without allocating.

use hdrhistogram::Histogram;

/// Latencies in nanoseconds. Answers that were read together and asked for together have the same
/// latency, so runs of equal ones are entered at once.
#[derive(Clone, Debug)]
pub(super) struct Latencies {
    histogram: Histogram<u64>,
    last: u64,
    run: u64,
}

impl Latencies {
    /// An hour: what lasts longer is entered as an hour.
    const MAX_NS: u64 = 3_600_000_000_000;
    /// Three significant digits.
    const DIGITS: u8 = 3;

    pub(super) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, Self::MAX_NS, Self::DIGITS);
        Self {
            histogram: histogram.expect("the bounds are valid"),
            last: 0,
            run: 0,
        }
    }

    #[inline]
    pub(super) fn record(&mut self, ns: u64) {
        if ns == self.last {
            self.run += 1;
        } else {
            self.flush();
            self.last = ns;
            self.run = 1;
        }
    }

    pub(super) fn into_histogram(mut self) -> Histogram<u64> {
        self.flush();
        self.histogram
    }

    fn flush(&mut self) {
        if self.run > 0 {
            self.histogram
                .saturating_record_n(self.last.max(1), self.run);
        }
    }
}

/// Calls answered in each of at most [`Timeline::STEPS_MAX`] equal steps of time. When the steps
/// run out, two become one.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    steps: Vec<u64>,
    step_ns: u64,
}

impl Timeline {
    const STEPS_MAX: usize = 256;

    pub(super) fn new() -> Self {
        Self {
            steps: Vec::with_capacity(Self::STEPS_MAX),
            step_ns: 1_000_000,
        }
    }

    pub(super) fn add(&mut self, at_ns: u64, calls: u64) {
        let mut step = (at_ns / self.step_ns) as usize;
        while step >= Self::STEPS_MAX {
            self.halve();
            step = (at_ns / self.step_ns) as usize;
        }
        if step >= self.steps.len() {
            self.steps.resize(step + 1, 0);
        }
        self.steps[step] += calls;
    }

    /// The length of a step in seconds, and the calls in each.
    pub(super) fn into_steps(self) -> (f64, Vec<u64>) {
        (self.step_ns as f64 / 1e9, self.steps)
    }

    fn halve(&mut self) {
        for step in 0..self.steps.len().div_ceil(2) {
            let second = self.steps.get(2 * step + 1).copied().unwrap_or(0);
            self.steps[step] = self.steps[2 * step] + second;
        }
        self.steps.truncate(self.steps.len().div_ceil(2));
        self.step_ns *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_equal_latencies_are_counted() {
        let mut latencies = Latencies::new();
        for ns in [5, 5, 5, 7, 5, u64::MAX] {
            latencies.record(ns);
        }
        let histogram = latencies.into_histogram();
        assert_eq!(histogram.len(), 6);
        assert_eq!(histogram.count_at(5), 4);
        assert_eq!(histogram.count_at(7), 1);
    }

    #[test]
    fn a_timeline_keeps_every_call() {
        let mut timeline = Timeline::new();
        for ms in 0..10_000 {
            timeline.add(ms * 1_000_000, 2);
        }
        let (step, steps) = timeline.into_steps();
        assert!(
            steps.len() <= Timeline::STEPS_MAX && step == 0.064,
            "{step}"
        );
        assert_eq!(steps.iter().sum::<u64>(), 20_000);
        assert!(steps[..steps.len() - 1].iter().all(|&calls| calls == 128));
    }
}
