//! Two servers against each other, in short rounds that take turns: A B B A A B B A…
//!
//! Whatever else the machine does changes slowly against a round, so it falls on both sides of a
//! ratio, and the spread of the ratios over the rounds says how far to trust them.

use serde::Serialize;

use super::{
    error::Result,
    figures::Figures,
    load::{Driver, Run},
    transport::Transport,
};

/// What was measured of both, round by round.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Versus {
    /// The rounds of the first.
    pub a: Vec<Figures>,
    /// The rounds of the second.
    pub b: Vec<Figures>,
}

/// A figure of both, and their ratio.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Which figure. CPU time and context switches are per call.
    pub figure: &'static str,
    /// The median over the rounds of the first.
    pub a: f64,
    /// The median over the rounds of the second.
    pub b: f64,
    /// The first through the second, round by round.
    pub ratio: Spread,
}

/// The middle of some values, and where half of them lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The first quartile.
    pub q1: f64,
    /// The median.
    pub median: f64,
    /// The third quartile.
    pub q3: f64,
}

impl Versus {
    /// Runs `rounds` rounds of each. Ends early with a faulty one.
    ///
    /// # Errors
    ///
    /// As [`Driver::run`].
    pub fn run<T: Transport>(
        (a, b): (&mut Driver<T>, &mut Driver<T>),
        title: &str,
        run: &Run,
        rounds: usize,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Self> {
        let mut versus = Self::default();
        let turns = 2 * rounds;
        for turn in 0..turns {
            let first = is_first(turn);
            let driver = if first { &mut *a } else { &mut *b };
            let window = driver.run(run, &mut |share| {
                progress((turn as f64 + share) / turns as f64);
            })?;
            let figures = Figures::new(title, driver.request_bytes(), run.pace, &window);
            let faulty = !figures.faults.is_empty();
            if first {
                versus.a.push(figures);
            } else {
                versus.b.push(figures);
            }
            if faulty {
                break;
            }
        }
        Ok(versus)
    }

    /// The figures that both have, with their ratios.
    #[must_use]
    pub fn compare(&self) -> Vec<Comparison> {
        type Figure = (&'static str, fn(&Figures) -> Option<f64>);
        const FIGURES: [Figure; 7] = [
            ("calls_per_s", |figures| Some(figures.calls_per_s)),
            ("p50_us", |figures| Some(figures.latency_us.p50)),
            ("p90_us", |figures| Some(figures.latency_us.p90)),
            ("p99_us", |figures| Some(figures.latency_us.p99)),
            ("server_cpu_us", |figures| figures.server.cpu_us),
            ("switches", |figures| figures.server.switches),
            ("driver_cpu_us", |figures| Some(figures.driver.cpu_us)),
        ];
        let compare = |(name, read): Figure| {
            let values = |figures: &[Figures]| figures.iter().map(read).collect::<Option<Vec<_>>>();
            let (a, b) = (values(&self.a)?, values(&self.b)?);
            let ratios = a.iter().zip(&b).map(|(a, b)| a / b).collect();
            Some(Comparison {
                figure: name,
                a: Spread::of(a)?.median,
                b: Spread::of(b)?.median,
                ratio: Spread::of(ratios)?,
            })
        };
        FIGURES.into_iter().filter_map(compare).collect()
    }
}

impl Spread {
    /// The quartiles, between values where they fall between two. `None` without a finite value.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let at = |share: f64| {
            let place = share * last as f64;
            let (low, high) = (place.floor() as usize, place.ceil() as usize);
            values[low] + (values[high] - values[low]) * place.fract()
        };
        Some(Self {
            q1: at(0.25),
            median: at(0.5),
            q3: at(0.75),
        })
    }
}

/// A B B A, and again.
fn is_first(turn: usize) -> bool {
    matches!(turn % 4, 0 | 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{fake::figures, load::Pace};

    #[test]
    fn quartiles() {
        let spread = Spread::of(vec![4.0, 1.0, 3.0, 2.0, 5.0]).unwrap();
        assert_eq!((spread.q1, spread.median, spread.q3), (2.0, 3.0, 4.0));
        let spread = Spread::of(vec![1.0, 2.0, f64::NAN]).unwrap();
        assert_eq!((spread.q1, spread.median, spread.q3), (1.25, 1.5, 1.75));
        assert_eq!(Spread::of(vec![]), None);
    }

    #[test]
    fn turns_are_fair() {
        let turns: String = (0..8)
            .map(|turn| if is_first(turn) { 'A' } else { 'B' })
            .collect();
        assert_eq!(turns, "ABBAABBA");
    }

    #[test]
    fn ratios_are_those_of_the_rounds() {
        let rounds = |rates: [f64; 3]| {
            rates
                .map(|rate| figures(Pace::InFlight(1), rate, 10.0))
                .to_vec()
        };
        let versus = Versus {
            a: rounds([200.0, 100.0, 400.0]),
            b: rounds([100.0, 50.0, 100.0]),
        };
        let compared = versus.compare();
        assert_eq!(compared[0].figure, "calls_per_s");
        assert_eq!((compared[0].a, compared[0].b), (200.0, 100.0));
        assert_eq!(compared[0].ratio.median, 2.0);
        assert!(compared.iter().all(|line| line.figure != "server_cpu_us"));
    }
}
