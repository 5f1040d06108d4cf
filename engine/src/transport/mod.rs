//! Transports move bytes between a peer and a connection. They know no method.
//!
//! The contract: read into the [`Ring`](tightwire_codec::Ring), hand each line to the connection,
//! write what it appends to the output, and look after what it asks for between lines: timers,
//! jobs, completions, log lines.
//!
//! - [`memory`]: in the caller's loop.
//! - `stdio`: stdin and stdout of the process, on the `event_loop` with its `input`, `output`,
//!   `blocking` and `signals`, and the `pool` for blocking tools. What is specific to Unix is in
//!   these files alone; elsewhere, `threads`.
//! - `socket`: Unix and TCP sockets, from a [`listener`]: a loop of many peers.
//!
//! What both loops know of a peer is in `peer`.

#[cfg(unix)]
mod blocking;
#[cfg(unix)]
mod event_loop;
#[cfg(unix)]
mod fd;
#[cfg(unix)]
mod input;
#[cfg(unix)]
pub(crate) mod listener;
#[cfg(unix)]
mod log;
pub(crate) mod memory;
#[cfg(unix)]
mod opening;
#[cfg(unix)]
mod output;
mod panics;
#[cfg(unix)]
mod peer;
mod pool;
#[cfg(unix)]
mod rings;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod socket;
#[cfg(unix)]
mod spin;
#[cfg(unix)]
mod stdio;
#[cfg(any(test, not(unix)))]
mod threads;
