//! The message corpus, and what drives servers with it.

#![forbid(unsafe_code)]

pub mod driver;
