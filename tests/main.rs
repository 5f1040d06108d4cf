//! The integration tests: a module per topic.

mod ending;
mod faults;
mod framing;
mod modern;
mod pressure;
mod stdio;
