//! The message corpus, and the server that answers it.
//!
//! - [`corpus()`]: real messages, small to large, each with the answer to expect.
//! - [`server()`]: the demo's `add`, `echo` and `boom`, to be driven in process; [`connection()`] and
//!   [`memory`] connect to it, the legacy handshake done, so that it serves every message.
//! - [`LineBuffer`]: parsing changes a line where it lies; this one has it back for the next
//!   time.
//!
//! The benches that use them are in `benches/`; README says how to run them, and what came out.

mod corpus;
mod line_buffer;
mod server;

pub use corpus::{Message, corpus};
pub use line_buffer::LineBuffer;
pub use server::{connection, memory, server};
