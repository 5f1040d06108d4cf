//! All that was found out, as it is written in JSON.

use std::ffi::OsString;

use serde::Serialize;
use tightwire_bench::driver::{Comparison, Faults, Figures, Peer, SPIN_IN_FLIGHT_MAX, Versus};

use super::options::Options;
use crate::units::time;

/// The whole of it.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) server: Server,
    /// The server of `--vs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) other: Option<Server>,
    /// The CPU that driver and servers were kept on.
    pub(super) pinned: Option<usize>,
    /// How long the driver looked for an answer before it slept, with few calls in flight; 0 on one
    /// core.
    pub(super) driver_spin_us: u64,
    /// Run after run, or step after step of a ramp.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) runs: Vec<Figures>,
    /// Which of the runs is the last that paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) knee: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) comparisons: Vec<Compared>,
    /// Of all runs and warm-ups.
    pub(super) faults: Faults,
}

/// A server and how it was started.
#[derive(Debug, Serialize)]
pub(super) struct Server {
    pub(super) command: Vec<String>,
    #[serde(flatten)]
    pub(super) peer: Peer,
}

/// Two servers under one load.
#[derive(Debug, Serialize)]
pub(super) struct Compared {
    pub(super) figures: Vec<Comparison>,
    pub(super) rounds: Versus,
}

impl Report {
    pub(super) fn new(options: &Options, server: Server) -> Self {
        Self {
            server,
            other: None,
            pinned: options.pin,
            driver_spin_us: options.spin().as_micros() as u64,
            runs: Vec::new(),
            knee: None,
            comparisons: Vec::new(),
            faults: Faults::default(),
        }
    }

    /// What the driver did besides sleeping, where it did.
    pub(super) fn spin(&self) -> Option<String> {
        let few = |figures: &Figures| {
            figures
                .in_flight
                .is_some_and(|count| count <= SPIN_IN_FLIGHT_MAX)
        };
        let rounds = self
            .comparisons
            .iter()
            .flat_map(|compared| &compared.rounds.a);
        (self.driver_spin_us > 0 && self.runs.iter().chain(rounds).any(few)).then(|| {
            let us = self.driver_spin_us;
            format!("the driver looks for an answer for {us} us before it sleeps (--spin-us)")
        })
    }

    pub(super) fn add_versus(&mut self, rounds: Versus) {
        self.comparisons.push(Compared {
            figures: rounds.compare(),
            rounds,
        });
    }

    /// Adds up the faults of the runs. Measuring stops at the first run that has some, so they
    /// are added once.
    pub(super) fn gather_faults(&mut self) {
        let rounds = self
            .comparisons
            .iter()
            .flat_map(|compared| compared.rounds.a.iter().chain(&compared.rounds.b));
        for figures in self.runs.iter().chain(rounds) {
            self.faults.add(&figures.faults);
        }
    }
}

impl Server {
    pub(super) fn new(command: &[OsString], peer: &Peer) -> Self {
        let words = command
            .iter()
            .map(|word| word.to_string_lossy().into_owned());
        Self {
            command: words.collect(),
            peer: peer.clone(),
        }
    }

    /// Who answers, in a line.
    pub(super) fn summary(&self) -> String {
        let peer = &self.peer;
        let name = format!("{} {}", peer.name, peer.version);
        let name = match name.trim() {
            "" => "a server without a name",
            name => name,
        };
        let first_answer = time(peer.first_answer_ms * 1e3);
        format!(
            "{name}, revision {}, first answer after {first_answer}",
            peer.protocol
        )
    }

    /// The program without its folder, for a heading.
    pub(super) fn short(&self) -> String {
        let program = self.command[0]
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        let rest = self.command[1..].iter().map(|word| format!(" {word}"));
        program + &rest.collect::<String>()
    }
}
