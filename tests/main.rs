//! The integration tests: a module per topic.

mod batches;
mod deferred;
mod features;
mod legacy;
mod limits;
mod lines;
mod messages;
mod modern;
mod panics;
