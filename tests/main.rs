//! The integration tests: a module per topic.

mod batches;
mod features;
mod legacy;
mod lines;
mod messages;
mod modern;
