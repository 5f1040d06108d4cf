//! Prompts.

use serde_json::json;
use tightwire_tests::Conversation;

#[test]
fn prompts() {
    for mut conversation in Conversation::each(example!("prompts")) {
        let listed = conversation.list("prompts/list", "prompts");
        assert_eq!(listed[0]["title"], "Review");
        let required: Vec<_> = (0..3)
            .map(|index| &listed[0]["arguments"][index]["required"])
            .collect();
        assert_eq!(required, [true, false, false]);

        let review = json!({ "name": "review", "arguments": { "code": "x", "language": "Rust" } });
        let prompt = conversation.result("prompts/get", review);
        let text = "Look for mistakes in this Rust:\n\nx";
        assert_eq!(prompt["messages"][0]["content"]["text"], text);
        let riddle = conversation.result("prompts/get", json!({ "name": "riddle" }));
        assert_eq!(riddle["messages"][1]["role"], "assistant");
        let missing = conversation.ask("prompts/get", json!({ "name": "review" }));
        assert_eq!(missing["error"]["code"], -32602);

        let language = json!({ "name": "language", "value": "ru" });
        let prompt = json!({ "type": "ref/prompt", "name": "review" });
        let params = json!({ "ref": prompt, "argument": language });
        let completed = conversation.result("completion/complete", params);
        let expected = json!({ "values": ["Ruby", "Rust"], "total": 2, "hasMore": false });
        assert_eq!(completed["completion"], expected);
    }
}
