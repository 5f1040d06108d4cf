//! Messages to measure with, and what drives servers with them.
//!
//! - [`corpus()`]: real messages, small to large, each with the answer to expect.
//! - [`server()`]: the demo's `add`, `echo` and `boom`, to be driven in process; [`connection()`] and
//!   [`memory`] connect to it, the legacy handshake done, so that it serves every message.
//! - [`driver`]: puts load on any server, verifies every answer, and measures.
//! - [`LineBuffer`]: parsing changes a line where it lies; this one has it back for the next
//!   time.
//!
//! The benches that use them are in `benches/`; README says how to run them, and what came out.

#![forbid(unsafe_code)]

mod corpus;
pub mod driver;
mod line_buffer;
mod server;

pub use corpus::{Message, corpus, modern};
pub use line_buffer::LineBuffer;
pub use server::{connection, memory, server};
