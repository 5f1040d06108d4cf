//! Tools: what they take, what they answer, what clients see of them.

use serde_json::{Value, json};
use tightwire_tests::Conversation;

#[test]
fn smallest() {
    for mut conversation in Conversation::each(example!("smallest")) {
        let sum = conversation.call("add", json!({ "a": 2, "b": 3 }));
        assert_eq!(sum, json!({ "content": [{ "type": "text", "text": "5" }] }));
        assert_eq!(conversation.end(), Vec::<String>::new());
    }
}

#[test]
fn arguments() {
    let mut conversation = Conversation::start(example!("arguments"), Conversation::MODERN);
    let tools = conversation.list("tools/list", "tools");
    let properties = &tools[0]["inputSchema"]["properties"];
    assert_eq!(properties["speed"]["enum"], json!(["standard", "express"]));
    assert_eq!(properties["speed"]["default"], "standard");
    assert_eq!(properties["to"]["required"], json!(["street", "city"]));
    assert_eq!(
        properties["budget"]["description"],
        "At most this much, in euros"
    );
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["to", "items"]));

    let to = json!({ "street": "Gasse 1", "city": "Bern" });
    let items = json!({ "cup": 2, "plate": 1 });
    assert_eq!(
        conversation.text("ship", json!({ "to": to, "items": items })),
        "3 items to Gasse 1, Bern, CH: Standard, any price, 0 notes"
    );
    let all = json!({ "to": { "street": "Via 2", "city": "Roma", "country": "IT" }, "items": items,
        "notes": ["careful"], "speed": "express", "budget": 9.5 });
    assert_eq!(
        conversation.text("ship", all),
        "3 items to Via 2, Roma, IT: Express, up to 9.5 EUR, 1 notes"
    );
    assert_eq!(
        conversation.text("repeat", json!({ "text": "ab", "times": 2 })),
        "abab"
    );

    // All that is wrong, at once.
    let wrong =
        json!({ "to": { "street": 1, "country": "Italia" }, "speed": "fast", "budget": -1 });
    let error = conversation.tool_error("ship", wrong);
    for part in [
        "items",
        "to.city",
        "to.street",
        "to.country",
        "speed",
        "budget",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn state() {
    for mut conversation in Conversation::each(example!("state")) {
        assert_eq!(
            conversation.text("write", json!({ "text": "buy milk" })),
            "note 1"
        );
        assert_eq!(conversation.text("count", json!({})), "1");
        let read = conversation.result("resources/read", json!({ "uri": "notes://1" }));
        assert_eq!(read["contents"][0]["text"], "buy milk");
        let answer = conversation.ask("resources/read", json!({ "uri": "notes://2" }));
        let not_found = if conversation.is_modern() {
            -32602
        } else {
            -32002
        };
        assert_eq!(answer["error"]["code"], not_found);
    }
}

#[test]
fn structured() {
    for mut conversation in Conversation::each(example!("structured")) {
        let tools = conversation.list("tools/list", "tools");
        let schema = &tools[0]["outputSchema"];
        assert_eq!(schema["required"], json!(["temperature", "conditions"]));
        let weather = json!({ "temperature": 22.5, "conditions": "sunny" });
        let result = conversation.call("weather", json!({ "city": "Bern" }));
        assert_eq!(result["structuredContent"], weather);
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert_eq!(
            serde_json::from_str::<Value>(text).ok(),
            Some(weather.clone())
        );
        let result = conversation.call("weather_in_words", json!({ "city": "Bern" }));
        assert_eq!(result["structuredContent"], weather);
        assert_eq!(result["content"][0]["text"], "It is sunny in Bern.");
        let error = conversation.tool_error("weather", json!({ "city": "Atlantis" }));
        assert_eq!(error, "there is no Atlantis");
    }
    let mut old = Conversation::start(example!("structured"), "2025-03-26");
    let result = old.call("weather", json!({ "city": "Bern" }));
    assert_eq!(result.get("structuredContent"), None);
}

#[test]
fn contents() {
    for mut conversation in Conversation::each(example!("contents")) {
        let mut kinds = |tool: &str| -> Vec<Value> {
            let result = conversation.call(tool, json!({}));
            let contents = result["content"].as_array().into_iter().flatten();
            contents.map(|content| content["type"].clone()).collect()
        };
        assert_eq!(kinds("picture"), ["text", "image"]);
        assert_eq!(kinds("silence"), ["audio"]);
        assert_eq!(kinds("report"), ["resource", "resource_link", "text"]);
        let report = conversation.call("report", json!({}));
        let note = json!({ "audience": ["user"], "priority": 0.2 });
        assert_eq!(report["content"][2]["annotations"], note);
        assert_eq!(report["content"][0]["resource"]["mimeType"], "text/plain");
    }
    let mut old = Conversation::start(example!("contents"), "2024-11-05");
    assert_eq!(
        old.call("silence", json!({}))["content"][0]["type"],
        "resource"
    );
    assert_eq!(old.call("report", json!({}))["content"][1]["type"], "text");
}

#[test]
fn errors() {
    for mut conversation in Conversation::each(example!("errors")) {
        let booked = conversation.text("book", json!({ "year": 2026, "seats": 3 }));
        assert_eq!(booked, "3 seats are booked");
        let full = conversation.tool_error("book", json!({ "year": 2026, "seats": 4 }));
        assert_eq!(full, "only 3 seats are left: book fewer");
        let past = conversation.tool_error("book", json!({ "year": 2025, "seats": 1 }));
        assert!(past.contains("past"), "{past}");
        let divide = json!({ "name": "divide", "arguments": { "a": 1, "b": 0 } });
        let panicked = conversation.ask("tools/call", divide);
        assert_eq!(panicked["error"]["code"], -32603);
        let halves = conversation.text("divide", json!({ "a": 6, "b": 2 }));
        assert_eq!(halves, "3", "the server lives");
        let mut read = |uri: &str| conversation.ask("resources/read", json!({ "uri": uri }));
        assert_eq!(
            read("ledger://2020")["result"]["contents"][0]["text"],
            "The ledger of 2020"
        );
        assert_eq!(read("ledger://1999")["error"]["code"], -31_001);
        let unknown = read("ledger://3000")["error"]["code"].take();
        assert!(unknown == -32602 || unknown == -32002, "{unknown}");
        let stderr = conversation.end();
        assert!(
            stderr.iter().any(|line| line.contains("divide")),
            "{stderr:?}"
        );
    }
}

#[test]
fn described() {
    for mut conversation in Conversation::each(example!("described")) {
        let tools = conversation.list("tools/list", "tools");
        let tool = &tools[0];
        assert_eq!(tool["title"], "Delete");
        assert_eq!(tool["annotations"]["destructiveHint"], true);
        assert_eq!(tool["annotations"]["openWorldHint"], false);
        assert_eq!(tool["icons"][0]["sizes"], json!(["any"]));
        assert_eq!(tool["_meta"], json!({ "com.example/confirm": true }));
        let resources = conversation.list("resources/list", "resources");
        assert_eq!(
            resources[0]["annotations"],
            json!({ "audience": ["user"], "priority": 0.3 })
        );
    }
    let mut conversation = Conversation::start(example!("described"), Conversation::MODERN);
    let mut answer = conversation.ask("server/discover", json!({}));
    let info = answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"].take();
    assert_eq!(info["websiteUrl"], "https://files.example");
    assert_eq!(info["icons"][0]["theme"], "dark");
    assert!(answer["result"]["instructions"].is_string());
}

#[test]
fn without_macros() {
    for mut conversation in Conversation::each(example!("without_macros")) {
        assert_eq!(
            conversation.text("add", json!({ "a": 0.1, "b": 0.2 })),
            "0.30000000000000004"
        );
        assert_eq!(
            conversation.text("echo", json!({ "message": "a\nb" })),
            "a\nb"
        );
        let names = json!({ "names": ["Ada", "Alan"] });
        assert_eq!(conversation.text("greet", names), "Hello, Ada and Alan!");
        let read = conversation.result("resources/read", json!({ "uri": "greeting://Ada" }));
        assert_eq!(read["contents"][0]["text"], "Hello, Ada!");
        let review = json!({ "name": "review", "arguments": { "code": "x" } });
        let prompt = conversation.result("prompts/get", review);
        assert_eq!(
            prompt["messages"][0]["content"]["text"],
            "Please review:\n\nx"
        );
    }
}

#[test]
fn app() {
    let ui = json!({ "mimeTypes": ["text/html;profile=mcp-app"] });
    let capabilities = json!({ "extensions": { "io.modelcontextprotocol/ui": ui } });
    for mut conversation in Conversation::each_with(example!("app"), capabilities) {
        let tools = conversation.list("tools/list", "tools");
        let uri = tools[0]["_meta"]["ui"]["resourceUri"].clone();
        let result = conversation.call("votes", json!({}));
        assert_eq!(result["structuredContent"], json!({ "yes": 7, "no": 2 }));
        let shows = conversation.next_error();
        assert!(
            shows.ends_with(if conversation.is_modern() {
                "true"
            } else {
                "false"
            }),
            "{shows}"
        );
        let read = conversation.result("resources/read", json!({ "uri": uri }));
        let page = &read["contents"][0];
        assert_eq!(page["mimeType"], "text/html;profile=mcp-app");
        assert!(
            page["text"]
                .as_str()
                .is_some_and(|html| html.starts_with("<!DOCTYPE html>"))
        );
        assert_eq!(page["_meta"]["ui"]["prefersBorder"], true);
    }
    let mut plain = Conversation::start(example!("app"), Conversation::LEGACY);
    plain.call("votes", json!({}));
    assert!(plain.next_error().ends_with("false"));
}

#[test]
fn extension() {
    const NAME: &str = "com.example/measuring";
    let capabilities = json!({ "extensions": { NAME: {} } });
    for mut conversation in Conversation::each_with(example!("extension"), capabilities) {
        let route = json!({ "from": "Bern", "to": "Roma" });
        let measured = conversation.result("measuring/distance", route);
        assert_eq!(measured["kilometres"], 800.0);
        let error = conversation.ask("measuring/distance", json!({ "from": "Bern" }));
        assert_eq!(error["error"]["code"], -32602);
    }
    let mut conversation = Conversation::start(example!("extension"), Conversation::MODERN);
    let mut answer = conversation.ask("server/discover", json!({}));
    let declared = answer["result"]["capabilities"]["extensions"].take();
    assert_eq!(declared, json!({ NAME: { "unit": "km" } }));
    let refused = conversation.ask("measuring/distance", json!({}));
    assert_eq!(refused["error"]["code"], -32021);
}

#[test]
fn full_schema() {
    for mut conversation in Conversation::each(example!("full_schema")) {
        let journey = json!({ "from": "Bern", "to": "Roma", "class": 2 });
        assert_eq!(conversation.text("book", journey), "booked");
        let unexpected = json!({ "from": "Bern", "to": "Roma", "seat": "window" });
        let error = conversation.tool_error("book", unexpected);
        assert!(error.contains("seat"), "{error}");
        let missing = conversation.tool_error("book", json!({ "from": "Bern" }));
        assert!(missing.contains("to"), "{missing}");
    }
}
