//! Resources, lists of them, and their files.

use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use tightwire_tests::{Conversation, Process, Script};

#[test]
fn resources() {
    for mut conversation in Conversation::each(example!("resources")) {
        let mut read = |uri: &str| conversation.result("resources/read", json!({ "uri": uri }));
        let rules = read("library://rules");
        assert_eq!(rules["contents"][0]["text"], "Be quiet.");
        assert_eq!(read("library://stamp")["contents"][0]["blob"], "8J+Tmg==");
        let sonnets = read("library://poems/Sonnets");
        assert_eq!(sonnets["contents"][0]["text"], "The text of Sonnets");
        let shelf = read("library://shelves/plays");
        assert_eq!(shelf["contents"].as_array().map(Vec::len), Some(2));
        assert_eq!(shelf["contents"][1]["uri"], "library://plays/Othello");
        if conversation.is_modern() {
            assert_eq!(
                (&rules["ttlMs"], &rules["cacheScope"]),
                (&json!(60_000), &json!("public"))
            );
        }

        let mut complete = |argument: Value, known: Value| {
            let template = json!({ "type": "ref/resource", "uri": "library://{shelf}/{title}" });
            let params =
                json!({ "ref": template, "argument": argument, "context": { "arguments": known } });
            conversation.result("completion/complete", params)["completion"]["values"].take()
        };
        let shelves = complete(json!({ "name": "shelf", "value": "p" }), json!({}));
        assert_eq!(shelves, json!(["poems", "plays"]));
        let titles = complete(
            json!({ "name": "title", "value": "h" }),
            json!({ "shelf": "plays" }),
        );
        assert_eq!(titles, json!(["Hamlet"]));
        let gone = conversation.ask("resources/read", json!({ "uri": "library://poems/Hamlet" }));
        assert!(gone["error"]["code"].is_i64(), "{gone}");
    }
}

#[test]
fn files() {
    let folder = std::env::temp_dir().join(format!("tightwire-example-{}", std::process::id()));
    fs::create_dir_all(folder.join("notes")).expect("a folder for a test");
    fs::write(folder.join("notes/a b.md"), "# Hello").expect("a file for a test");
    for version in [Conversation::MODERN, Conversation::LEGACY] {
        let mut command = Command::new(example!("files"));
        command
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let script = Script::over_pipes(Process::spawn(&mut command));
        let mut conversation = Conversation::over(script, version, json!({}));
        let listed = conversation.list("resources/list", "resources");
        assert_eq!(listed[0]["uri"], "file:///documents/notes/a%20b.md");
        assert_eq!(listed[0]["size"], 7);
        let read = conversation.result("resources/read", json!({ "uri": listed[0]["uri"] }));
        assert_eq!(read["contents"][0]["text"], "# Hello");
        assert_eq!(read["contents"][0]["mimeType"], "text/markdown");
        fs::write(folder.join("later.txt"), "late").expect("a file for a test");
        let later = conversation.result(
            "resources/read",
            json!({ "uri": "file:///documents/later.txt" }),
        );
        assert_eq!(later["contents"][0]["text"], "late");
        let out = json!({ "uri": "file:///documents/../secret" });
        assert!(conversation.ask("resources/read", out)["error"]["code"].is_i64());
        fs::remove_file(folder.join("later.txt")).expect("it was just written");
    }
    fs::remove_dir_all(&folder).expect("the folder of the test");
}

#[test]
fn pages() {
    for mut conversation in Conversation::each(example!("pages")) {
        let mut params = json!({});
        let mut counts = Vec::new();
        loop {
            let mut page = conversation.result("resources/list", params);
            counts.push(page["resources"].as_array().map_or(0, Vec::len));
            if conversation.is_modern() {
                assert_eq!(page["ttlMs"], 60_000);
            }
            match page["nextCursor"].take() {
                Value::Null => break,
                cursor => params = json!({ "cursor": cursor }),
            }
        }
        assert_eq!(counts, [10, 10, 5]);
        let lost = conversation.ask("resources/list", json!({ "cursor": "nowhere" }));
        assert_eq!(lost["error"]["code"], -32602);
    }
}
