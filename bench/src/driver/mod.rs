//! A load generator for any server of the Model Context Protocol.
//!
//! ```text
//!   Workload ─▶ Requests ──▶ ┌────────┐ ─ write ─▶ ┌───────────┐
//!   what to ask  prebuilt    │ Driver │            │ Transport │ ◀─▶ the server
//!   Rule ────▶ Answers ◀──── │  loop  │ ◀── read ─ └───────────┘
//!   what is    by bytes,     └────────┘   Lines      ChildServer
//!   right      else as JSON   │      │
//!                    in flight,      Window ─▶ Figures
//!                    by id           latencies, Usage
//! ```
//!
//! [`Session::open`] starts the server and finds out which era it speaks; a [`Driver`] puts a
//! [`Workload`] on it, a [`Run`] at a time, and each run gives a [`Window`] and its [`Figures`].
//! [`Ramp`] finds the load at which a server is busy, [`Versus`] compares two servers.
//!
//! Every answer is verified: that it belongs to a call in flight, that it is the only one, and
//! that it is right ([`Rule`]). The driver is one thread, and a call costs it less than it costs
//! the fastest server, so what is measured is the server.
//!
//! ```no_run
//! use std::time::Duration;
//! use tightwire_bench::driver::{
//!     ChildServer, Driver, Figures, Pace, Rule, Run, Session, SessionOptions, Workload,
//! };
//!
//! # fn main() -> tightwire_bench::driver::Result<()> {
//! let command = ["target/release/demo".into()];
//! let session = Session::open(|| ChildServer::spawn(&command, false), &SessionOptions::default())?;
//! let workload = Workload::usual(&session.peer().tools, Rule::Same);
//! let mut driver = Driver::new(session, &workload);
//! let run = Run {
//!     pace: Pace::InFlight(256),
//!     duration: Duration::from_secs(3),
//!     calls: None,
//!     patience: Duration::from_secs(10),
//!     spin: Duration::from_micros(200),
//! };
//! let window = driver.run(&run, &mut |_| {})?;
//! let figures = Figures::new(&workload.title, driver.request_bytes(), run.pace, &window);
//! println!("{} calls/s", figures.calls_per_s);
//! # Ok(())
//! # }
//! ```

mod answers;
mod child;
mod error;
pub mod expect;
mod figures;
mod in_flight;
mod lines;
mod load;
mod look;
mod pin;
pub mod ramp;
mod recorder;
mod requests;
mod session;
mod timers;
mod transport;
mod usage;
mod versus;
mod window;
mod workload;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;

pub use child::ChildServer;
pub use error::{Error, Result};
pub use expect::Rule;
pub use figures::{Cost, DriverCost, Figures, Percentiles, Timeline};
pub use load::{Driver, Pace, Run};
pub use look::SPIN_IN_FLIGHT_MAX;
pub use pin::pin;
pub use ramp::Ramp;
pub use requests::Call;
pub use session::{EraChoice, Peer, Session, SessionOptions};
pub use transport::{Interest, Transport};
pub use usage::Usage;
pub use versus::{Comparison, Spread, Versus};
pub use window::{Faults, Window};
pub use workload::{Text, Workload};
