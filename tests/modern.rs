//! The modern era, 2026-07-28.

use serde_json::json;
use tightwire_tests::{Pair, call, server};

#[test]
fn a_call_is_answered() {
    let mut pair = Pair::new(server());
    let answer = pair.ask(&call(1, "echo", &json!({ "message": "hi" })));
    assert_eq!(
        answer,
        json!({
            "jsonrpc": "2.0",
            "id": 1,
            "result": {
                "resultType": "complete",
                "content": [{ "type": "text", "text": "hi" }],
                "_meta": {
                    "io.modelcontextprotocol/serverInfo": { "name": "pair", "version": "1.2.3" }
                }
            }
        })
    );
}
