//! The integration tests: a module per topic.

mod faults;
mod modern;
