//! The integration tests: a module per topic.

mod examples;
mod modern;
