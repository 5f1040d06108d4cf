//! What a client of `subscriptions/listen` sends and is told.

use serde_json::{Value, json};

use crate::modern;

/// The key of `_meta` that names a subscription.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// A subscription with this filter as one line.
#[must_use]
pub fn listen(id: impl Into<Value>, filter: &Value) -> String {
    modern(
        id.into(),
        "subscriptions/listen",
        json!({ "notifications": filter }),
    )
}

/// The acknowledgment of a subscription.
#[must_use]
pub fn acknowledged(id: impl Into<Value>, honoured: &Value) -> Value {
    json!({
        "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
        "params": { "_meta": { SUBSCRIPTION_ID: id.into() }, "notifications": honoured },
    })
}

/// The notification of a subscription that a list changed.
#[must_use]
pub fn changed(id: impl Into<Value>, method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": { "_meta": { SUBSCRIPTION_ID: id.into() } } })
}

/// The notification of a subscription that a resource changed.
#[must_use]
pub fn updated(id: impl Into<Value>, uri: &str) -> Value {
    json!({
        "jsonrpc": "2.0", "method": "notifications/resources/updated",
        "params": { "_meta": { SUBSCRIPTION_ID: id.into() }, "uri": uri },
    })
}
