//! Tools that ask the client back: as `input_required` in the modern era, by a request to the
//! client before it.

use serde_json::json;
use tightwire_tests::Conversation;

#[test]
fn ask_form() {
    let capabilities = json!({ "elicitation": { "form": {} } });
    for mut conversation in Conversation::each_with(example!("ask_form"), capabilities) {
        let restaurant = json!({ "restaurant": "Krone" });
        let accept = json!({ "action": "accept", "content": { "name": "Ada", "guests": 2 } });
        let (asked, text) = conversation.asked("book", restaurant.clone(), accept);
        assert_eq!(asked["method"], "elicitation/create");
        assert_eq!(asked["params"]["message"], "A table at Krone: for whom?");
        let form = &asked["params"]["requestedSchema"];
        assert_eq!(form["required"], json!(["name", "guests"]));
        assert_eq!(form["properties"]["email"]["format"], "email");
        assert_eq!(text, "A table inside for 2 is booked for Ada at Krone");
        for action in ["decline", "cancel"] {
            let answer = json!({ "action": action });
            let (_, text) = conversation.asked("book", restaurant.clone(), answer);
            assert_eq!(text, "No table was booked");
        }
    }
    // A client that cannot be asked.
    for mut conversation in Conversation::each(example!("ask_form")) {
        let call = json!({ "name": "book", "arguments": { "restaurant": "Krone" } });
        let answer = conversation.ask("tools/call", call);
        if conversation.is_modern() {
            assert_eq!(answer["error"]["code"], -32021);
        } else {
            assert_eq!(answer["result"]["isError"], true);
        }
    }
}

#[test]
fn ask_url() {
    let capabilities = json!({ "elicitation": { "url": {} } });
    for mut conversation in Conversation::each_with(example!("ask_url"), capabilities) {
        let mut pay = |invoice: u32, action: &str| {
            let answer = json!({ "action": action });
            conversation.asked("pay", json!({ "invoice": invoice }), answer)
        };
        let (asked, text) = pay(12, "accept");
        assert_eq!(asked["params"]["mode"], "url");
        assert_eq!(asked["params"]["url"], "https://pay.example/invoices/12");
        assert_eq!(text, "Invoice 12 is paid");
        assert_eq!(pay(13, "accept").1, "Invoice 13 is not paid yet");
        assert_eq!(pay(12, "decline").1, "Nothing was paid");
    }
}

#[test]
fn sign_in() {
    let capabilities = json!({ "elicitation": { "url": {} } });
    for mut conversation in Conversation::each_with(example!("sign_in"), capabilities) {
        let invoices = json!({ "name": "invoices" });
        let address = "https://bank.example/connect-7";
        if conversation.is_modern() {
            let accept = json!({ "action": "accept" });
            let (asked, text) = conversation.asked("invoices", json!({}), accept);
            assert_eq!(asked["params"]["url"], address);
            assert_eq!(text, "Please call again when you have signed in");
        } else {
            let refused = conversation.ask("tools/call", invoices.clone());
            assert_eq!(refused["error"]["code"], -32042);
            let page = &refused["error"]["data"]["elicitations"][0];
            assert_eq!(
                (&page["url"], &page["elicitationId"]),
                (&json!(address), &json!("connect-7"))
            );
        }
        conversation.send("tools/call", json!({ "name": "visit" }));
        let visited = conversation.receive();
        assert_eq!(visited["result"]["content"], json!([]));
        if !conversation.is_modern() {
            let told = conversation.receive();
            assert_eq!(told["method"], "notifications/elicitation/complete");
            assert_eq!(told["params"]["elicitationId"], "connect-7");
        }
        let answer = conversation.ask("tools/call", invoices);
        assert_eq!(
            answer["result"]["content"][0]["text"],
            "There are 2 invoices"
        );
    }
}

#[test]
fn sampling() {
    for mut conversation in Conversation::each_with(example!("sampling"), json!({ "sampling": {} }))
    {
        let message = json!({ "role": "assistant", "model": "a-model", "stopReason": "endTurn",
            "content": { "type": "text", "text": "It is short." } });
        let text = json!({ "text": "A long text." });
        let (asked, text) = conversation.asked("summarize", text, message);
        assert_eq!(asked["method"], "sampling/createMessage");
        assert_eq!(
            asked["params"]["messages"][0]["content"]["text"],
            "A long text."
        );
        assert_eq!(asked["params"]["maxTokens"], 200);
        assert_eq!(text, "It is short. (a-model)");
    }
}

#[test]
fn roots() {
    for mut conversation in Conversation::each_with(example!("roots"), json!({ "roots": {} })) {
        let roots = json!([{ "uri": "file:///a", "name": "A" }, { "uri": "file:///b" }]);
        let (asked, text) = conversation.asked("folders", json!({}), json!({ "roots": roots }));
        assert_eq!(asked["method"], "roots/list");
        assert_eq!(text, "A: file:///a\nunnamed: file:///b");
    }
}
