//! A run in figures, as they are shown and written.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::{
    load::Pace,
    usage::Usage,
    window::{Faults, Window},
};

/// The figures of one run. Times are in microseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// What was asked.
    pub workload: String,
    /// Bytes of a request, on average.
    pub request_bytes: f64,
    /// Calls in flight of a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<usize>,
    /// Intended calls a second of an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Calls with a right answer.
    pub calls: u64,
    /// How long it took.
    pub seconds: f64,
    /// Calls a second.
    pub calls_per_s: f64,
    /// Bytes a second, both ways together.
    pub bytes_per_s: f64,
    /// From the start of a call to its answer.
    pub latency_us: Percentiles,
    /// In an open loop, how late calls were written; no part of the server's latency only if
    /// small.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_us: Option<Percentiles>,
    /// Calls of an open loop that could not be started in time.
    pub not_started: u64,
    /// What a call cost the server.
    pub server: Cost,
    /// What a call cost the driver.
    pub driver: DriverCost,
    /// Notifications that came in between.
    pub notifications: u64,
    /// What went wrong.
    pub faults: Faults,
    /// For a plot: the share of calls, and the latency that they did not exceed.
    pub latency_curve: Vec<(f64, f64)>,
    /// For a plot: calls a second over time.
    pub timeline: Timeline,
}

/// Percentiles, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Percentiles {
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p99_9: f64,
    pub p99_99: f64,
    pub max: f64,
}

/// What a call cost the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// CPU time in microseconds.
    pub cpu_us: Option<f64>,
    /// System calls that read.
    pub reads: Option<f64>,
    /// System calls that write.
    pub writes: Option<f64>,
    /// Context switches.
    pub switches: Option<f64>,
    /// The peak of the whole process, so far.
    pub memory_peak_bytes: Option<u64>,
}

/// What a call cost the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DriverCost {
    /// CPU time in microseconds.
    pub cpu_us: f64,
    /// The share of the time that the driver used the CPU, 0 to 1.
    pub busy: f64,
}

/// Calls a second in equal steps of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// The length of a step.
    pub step_s: f64,
    /// Calls a second in each step.
    pub calls_per_s: Vec<f64>,
}

impl Figures {
    /// Works out the figures of a run.
    #[must_use]
    pub fn new(workload: &str, request_bytes: f64, pace: Pace, window: &Window) -> Self {
        let answered = (window.calls + window.faults.wrong).max(1) as f64;
        let seconds = window.seconds.max(1e-9);
        let (in_flight, rate) = match pace {
            Pace::InFlight(count) => (Some(count), None),
            Pace::Rate(rate) => (None, Some(rate)),
        };
        Self {
            workload: workload.to_owned(),
            request_bytes,
            in_flight,
            rate,
            calls: window.calls,
            seconds: window.seconds,
            calls_per_s: window.calls as f64 / seconds,
            bytes_per_s: (window.bytes_in + window.bytes_out) as f64 / seconds,
            latency_us: Percentiles::of(&window.latency),
            late_us: window.late.as_ref().map(Percentiles::of),
            not_started: window.not_started,
            server: Cost::new(&window.server, answered),
            driver: DriverCost {
                cpu_us: window.driver_cpu_ns as f64 / 1e3 / answered,
                busy: window.driver_cpu_ns as f64 / 1e9 / seconds,
            },
            notifications: window.notifications,
            faults: window.faults.clone(),
            latency_curve: curve(&window.latency),
            timeline: Timeline::new(&window.timeline, window.seconds),
        }
    }

    /// Time per call, in microseconds: what it takes of the run.
    #[must_use]
    pub fn time_per_call_us(&self) -> f64 {
        self.seconds * 1e6 / self.calls.max(1) as f64
    }

    /// The tail that [`ramp`](super::ramp) bounds.
    #[must_use]
    pub fn p99(&self) -> Duration {
        Duration::from_secs_f64(self.latency_us.p99 / 1e6)
    }
}

impl Percentiles {
    /// The percentiles of a histogram of nanoseconds.
    #[must_use]
    pub fn of(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let at = |share| histogram.value_at_quantile(share) as f64 / 1e3;
        Self {
            mean: histogram.mean() / 1e3,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            max: histogram.max() as f64 / 1e3,
        }
    }
}

impl Cost {
    fn new(usage: &Usage, calls: f64) -> Self {
        let per_call = |count: Option<u64>| count.map(|count| count as f64 / calls);
        Self {
            cpu_us: per_call(usage.cpu_ns).map(|ns| ns / 1e3),
            reads: per_call(usage.reads),
            writes: per_call(usage.writes),
            switches: per_call(usage.switches),
            memory_peak_bytes: usage.memory_peak_bytes,
        }
    }
}

impl Timeline {
    fn new((step_s, calls): &(f64, Vec<u64>), seconds: f64) -> Self {
        let calls_per_s = calls.iter().enumerate().map(|(step, &calls)| {
            // The last step is rarely whole.
            let length = (seconds - step as f64 * step_s).clamp(step_s / 10.0, *step_s);
            calls as f64 / length
        });
        Self {
            step_s: *step_s,
            calls_per_s: calls_per_s.collect(),
        }
    }
}

/// The latency at shares that lie evenly on the axis 1, 1/10, 1/100… of the calls above them.
fn curve(histogram: &Histogram<u64>) -> Vec<(f64, f64)> {
    const POINTS_PER_DECADE: i32 = 12;
    if histogram.is_empty() {
        return Vec::new();
    }
    let decades = (histogram.len() as f64).log10().ceil() as i32;
    let shares = (0..=decades * POINTS_PER_DECADE)
        .map(|point| 1.0 - 10f64.powf(-f64::from(point) / f64::from(POINTS_PER_DECADE)));
    let at = |share| (share, histogram.value_at_quantile(share) as f64 / 1e3);
    shares.map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_known_latencies() {
        let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        for us in 1..=10_000u64 {
            histogram.record(us * 1_000).unwrap();
        }
        let found = Percentiles::of(&histogram);
        let near = |value: f64, want: f64| assert!((value / want - 1.0).abs() < 0.002, "{value}");
        near(found.p50, 5_000.0);
        near(found.p90, 9_000.0);
        near(found.p99, 9_900.0);
        near(found.p99_9, 9_990.0);
        near(found.p99_99, 9_999.0);
        near(found.max, 10_000.0);
        near(found.mean, 5_000.5);
        let curve = curve(&histogram);
        assert!(
            curve
                .windows(2)
                .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1)
        );
        assert_eq!(
            Percentiles::of(&Histogram::new(3).unwrap()),
            Percentiles::default()
        );
    }
}
