//! The integration tests: a module per topic.

mod ask;
mod batches;
mod blocked;
mod changes;
mod context;
mod deferred;
mod elsewhere;
mod ending;
mod examples;
mod faults;
mod features;
mod floods;
mod framing;
mod held;
mod hooks;
mod legacy;
mod legacy_subscriptions;
mod limits;
mod lines;
mod messages;
mod modern;
mod panics;
mod pressure;
mod schema_suite;
mod stdio;
mod subscriptions;
