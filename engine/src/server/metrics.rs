//! [`Metrics`]: a hook that counts, and measures how long requests take.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use super::hook::{Ending, Finished, Hook};
use crate::protocol::hash::hash;

/// Counts requests and measures how long they take, for each tool and prompt, and for resources
/// together.
///
/// Nothing is allocated but for the first request of each. Cheap to clone: all clones see the same.
///
/// ```
/// use tightwire::{Metrics, Server};
///
/// let metrics = Metrics::new();
/// let server = Server::new("demo", "1.0.0").hook(metrics.clone());
/// // … serve, and at any time, on any thread:
/// for series in metrics.snapshot() {
///     println!("{} {}: {} calls, p99 {:?}", series.method, series.name, series.calls, series.quantile(0.99));
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    series: Arc<RwLock<Methods>>,
}

/// By method, of which there are few, and then by name: each is looked up as it is.
type Methods = Vec<(&'static str, Names)>;
type Names = HashMap<Box<str>, Series, BuildHasherDefault<NameHasher>>;

/// Hashes the names that a server's author has chosen: nobody else can make them collide.
#[derive(Default)]
struct NameHasher(u64);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(bytes, self.0);
    }

    /// What a string has behind its bytes, which the hash of the bytes has no need of.
    fn write_u8(&mut self, _: u8) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Debug)]
struct Series {
    tool_errors: AtomicU64,
    errors: AtomicU64,
    cancelled: AtomicU64,
    buckets: Box<[AtomicU64; BUCKETS]>,
}

/// What was counted and measured of one tool or prompt, or of resources.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SeriesSnapshot {
    /// The method.
    pub method: &'static str,
    /// The name of the tool or prompt; empty for resources.
    pub name: String,
    /// How many requests are over.
    pub calls: u64,
    /// How many of them ended with a tool execution error.
    pub tool_errors: u64,
    /// How many with a JSON-RPC error.
    pub errors: u64,
    /// How many were cancelled.
    pub cancelled: u64,
    buckets: Vec<u64>,
}

/// Each power of two of nanoseconds is cut into this many buckets.
const STEPS: usize = 8;
const STEP_BITS: u32 = 3;
/// Up to some hours.
const BUCKETS: usize = 42 * STEPS;

impl Metrics {
    /// Nothing counted yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What was counted and measured so far, in the order of method and name.
    #[must_use]
    pub fn snapshot(&self) -> Vec<SeriesSnapshot> {
        let methods = self.series.read().unwrap_or_else(PoisonError::into_inner);
        let mut all = Vec::new();
        for (method, names) in methods.iter() {
            all.extend(
                names
                    .iter()
                    .map(|(name, series)| series.snapshot(method, name)),
            );
        }
        all.sort_by(|a, b| (a.method, &a.name).cmp(&(b.method, &b.name)));
        all
    }
}

impl Hook for Metrics {
    fn after(&self, finished: &Finished<'_>) {
        {
            let methods = self.series.read().unwrap_or_else(PoisonError::into_inner);
            let names = place(&methods, finished).map(|place| &methods[place].1);
            if let Some(series) = names.and_then(|names| names.get(finished.name())) {
                return series.count(finished);
            }
        }
        let mut methods = self.series.write().unwrap_or_else(PoisonError::into_inner);
        let place = place(&methods, finished).unwrap_or_else(|| {
            methods.push((finished.method(), Names::default()));
            methods.len() - 1
        });
        let names = &mut methods[place].1;
        let series = names.entry(finished.name().into()).or_default();
        series.count(finished);
    }
}

/// Where the method of a request stands.
fn place(methods: &Methods, finished: &Finished<'_>) -> Option<usize> {
    methods
        .iter()
        .position(|(method, _)| *method == finished.method())
}

impl Default for Series {
    fn default() -> Self {
        Self {
            tool_errors: AtomicU64::default(),
            errors: AtomicU64::default(),
            cancelled: AtomicU64::default(),
            buckets: Box::new([const { AtomicU64::new(0) }; BUCKETS]),
        }
    }
}

impl Series {
    fn count(&self, finished: &Finished<'_>) {
        let add = |count: &AtomicU64| count.fetch_add(1, Ordering::Relaxed);
        match finished.ending() {
            Ending::Result | Ending::InputRequired => {}
            Ending::ToolError => drop(add(&self.tool_errors)),
            Ending::Error(_) => drop(add(&self.errors)),
            Ending::Cancelled => drop(add(&self.cancelled)),
        }
        add(&self.buckets[bucket(finished.took())]);
    }

    fn snapshot(&self, method: &'static str, name: &str) -> SeriesSnapshot {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let buckets: Vec<u64> = self.buckets.iter().map(load).collect();
        SeriesSnapshot {
            method,
            name: name.to_owned(),
            calls: buckets.iter().sum(),
            tool_errors: load(&self.tool_errors),
            errors: load(&self.errors),
            cancelled: load(&self.cancelled),
            buckets,
        }
    }
}

impl SeriesSnapshot {
    /// The time within which this part of the requests was over, from 0 to 1: at most an eighth
    /// above the true one. `None` if there were no requests.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let total: u64 = self.buckets.iter().sum();
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )]
        let rank = ((total as f64 * part.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        found.map(|bucket| Duration::from_nanos(bucket_end(bucket)))
    }
}

/// The bucket of a time: the first eight hold one nanosecond each.
fn bucket(took: Duration) -> usize {
    let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    let Some(shift) = ns
        .checked_ilog2()
        .and_then(|log| log.checked_sub(STEP_BITS))
    else {
        return ns as usize;
    };
    let step = (ns >> shift) as usize & (STEPS - 1);
    let bucket = (shift as usize + 1) * STEPS + step;
    bucket.min(BUCKETS - 1)
}

/// The longest time in a bucket, in nanoseconds.
fn bucket_end(bucket: usize) -> u64 {
    let (power, step) = (bucket / STEPS, bucket % STEPS);
    match power.checked_sub(1) {
        None => step as u64,
        Some(shift) => (((STEPS + step + 1) as u64) << shift) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_within_an_eighth_of_its_buckets_end() {
        for ns in (0..10_000).chain([123_456, 7_777_777, 60_000_000_000]) {
            let end = bucket_end(bucket(Duration::from_nanos(ns)));
            assert!(end >= ns && end <= ns + ns / 8, "{ns}: {end}");
        }
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_those_of_what_was_measured() {
        let metrics = Metrics::new();
        for ms in 1..=100 {
            metrics.after(&Finished {
                method: "m",
                name: "n",
                ending: if ms == 1 {
                    Ending::ToolError
                } else {
                    Ending::Result
                },
                took: Duration::from_millis(ms),
            });
        }
        let series = metrics.snapshot().remove(0);
        assert_eq!((series.calls, series.tool_errors), (100, 1));
        for (part, ms) in [(0.0, 1), (0.5, 50), (0.99, 99), (1.0, 100)] {
            let found = series.quantile(part).unwrap();
            let least = Duration::from_millis(ms);
            assert!(
                found >= least && found <= least + least / 8,
                "{part}: {found:?}"
            );
        }
    }
}
