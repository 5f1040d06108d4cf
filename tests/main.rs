//! The integration tests: a module per topic.

mod modern;
