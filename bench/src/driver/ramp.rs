//! Finds the knee: the load up to which more load still pays.
//!
//! ```text
//!   throughput          ┌───────  the last step that paid is the knee
//!       │         ●──●──●
//!       │      ●
//!       │   ●        │ p99 over its bound ends it too
//!       └──┴──┴──┴──┴──┴── in flight, or rate: twice as much each step
//! ```

use std::time::Duration;

use super::{
    error::Result,
    figures::Figures,
    load::{Driver, Pace, Run},
    transport::Transport,
};

/// When the load is enough.
#[derive(Clone, Copy, Debug)]
pub struct Ramp {
    /// The most p99 may be.
    pub p99_max: Option<Duration>,
    /// How many steps are made at most.
    pub steps_max: usize,
}

impl Default for Ramp {
    fn default() -> Self {
        Self {
            p99_max: None,
            steps_max: 17,
        }
    }
}

/// Judges step after step.
#[derive(Debug, Default)]
struct Judge {
    knee: Option<usize>,
    best: f64,
    /// Steps in a row that did not pay.
    flat: usize,
}

impl Ramp {
    /// A step pays if throughput grows by so much over the best before.
    const GROWTH: f64 = 1.05;
    /// An open loop keeps up if it achieves so much of the rate.
    const KEPT: f64 = 0.98;
    /// One step that does not pay may be chance.
    const FLAT_MAX: usize = 2;

    /// Raises the load from `run.pace` on. Gives the steps, and which of them is the knee.
    ///
    /// # Errors
    ///
    /// As [`Driver::run`].
    pub fn climb<T: Transport>(
        &self,
        driver: &mut Driver<T>,
        title: &str,
        run: &Run,
        progress: &mut dyn FnMut(Pace, f64),
    ) -> Result<(Vec<Figures>, Option<usize>)> {
        let mut steps = Vec::new();
        let mut judge = Judge::default();
        let mut pace = run.pace;
        while steps.len() < self.steps_max {
            let window = driver.run(&Run { pace, ..*run }, &mut |share| progress(pace, share))?;
            let figures = Figures::new(title, driver.request_bytes(), pace, &window);
            let faulty = !figures.faults.is_empty();
            let go_on = judge.step(self, steps.len(), &figures);
            steps.push(figures);
            if faulty || !go_on {
                break;
            }
            pace = match pace {
                Pace::InFlight(count) => Pace::InFlight(count.max(1) * 2),
                Pace::Rate(rate) => Pace::Rate(rate * 2.0),
            };
        }
        Ok((steps, judge.knee))
    }
}

impl Judge {
    /// Whether to go on.
    fn step(&mut self, ramp: &Ramp, index: usize, figures: &Figures) -> bool {
        if ramp.p99_max.is_some_and(|max| figures.p99() > max) {
            return false;
        }
        if let Some(rate) = figures.rate
            && figures.calls_per_s < rate * Ramp::KEPT
        {
            return false;
        }
        if figures.calls_per_s >= self.best * Ramp::GROWTH {
            self.knee = Some(index);
            self.flat = 0;
        } else {
            self.flat += 1;
        }
        self.best = self.best.max(figures.calls_per_s);
        self.flat < Ramp::FLAT_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::fake::figures;

    #[test]
    fn the_knee_is_the_last_step_that_paid() {
        let ramp = Ramp::default();
        let mut judge = Judge::default();
        let rates = [100.0, 190.0, 192.0, 300.0, 305.0, 302.0, 900.0];
        let steps = rates.iter().enumerate().take_while(|&(index, &rate)| {
            judge.step(&ramp, index, &figures(Pace::InFlight(1), rate, 1.0))
        });
        assert_eq!(steps.count(), 5);
        assert_eq!(judge.knee, Some(3));
    }

    #[test]
    fn a_tail_over_its_bound_and_a_rate_not_kept_end_it() {
        let ramp = Ramp {
            p99_max: Some(Duration::from_micros(10)),
            ..Ramp::default()
        };
        let mut judge = Judge::default();
        assert!(judge.step(&ramp, 0, &figures(Pace::Rate(100.0), 100.0, 9.0)));
        assert!(!judge.step(&ramp, 1, &figures(Pace::Rate(200.0), 200.0, 11.0)));
        assert!(!judge.step(&ramp, 1, &figures(Pace::Rate(200.0), 150.0, 9.0)));
        assert_eq!(judge.knee, Some(0));
    }
}
