//! Lists in pages, and how long they may be kept.
//!
//! Specification: `server/utilities/pagination`; 2026-07-28, `server/utilities/caching`.

use serde_json::{Value, json};
use tightwire::{
    CacheScope, Call, ListKind, Prompt, Reply, Resource, ResourceTemplate, Server, Tool,
};
use tightwire_tests::{Pair, Revision, modern, refusal};

const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("resources/list", "resources", "uri"),
    (
        "resources/templates/list",
        "resourceTemplates",
        "uriTemplate",
    ),
    ("prompts/list", "prompts", "name"),
];

/// A server with so many of everything.
fn server(count: usize) -> Server {
    (0..count).fold(Server::new("pages", "1.0.0"), |server, index| {
        let text = |_: Call<'_>, reply: Reply<'_>| reply.text("");
        server
            .tool(Tool::new(format!("a{index}"), text))
            .resource(Resource::new(format!("x://a{index}"), "a", |_, reply| {
                reply.text("");
            }))
            .resource_template(ResourceTemplate::new(
                format!("x://a{index}{{x}}"),
                "a",
                |_, reply| {
                    reply.text("");
                },
            ))
            .prompt(Prompt::new(format!("a{index}"), |_, reply| {
                reply.user_text("");
            }))
    })
}

fn names(result: &Value, key: &str, name: &str) -> Vec<String> {
    let items = result[key].as_array().expect("a list");
    let name = |item: &Value| {
        item[name]
            .as_str()
            .expect("a name")
            .replace("{x}", "")
            .replace("x://", "")
    };
    items.iter().map(name).collect()
}

#[test]
fn pages_together_are_the_list() {
    for (count, size, sizes) in [
        (5, 2, vec![2, 2, 1]),
        (4, 2, vec![2, 2]),
        (3, 1, vec![1, 1, 1]),
        (3, 3, vec![3]),
        (3, usize::MAX, vec![3]),
        (3, 0, vec![3]),
    ] {
        for mut revision in Revision::each(|| server(count).page_size(size)) {
            for (method, key, name) in LISTS {
                let mut all = Vec::new();
                let mut params = json!({});
                for (index, size) in sizes.iter().enumerate() {
                    let page = revision.result(method, params.take());
                    let found = names(&page, key, name);
                    assert_eq!(found.len(), *size, "{method}");
                    all.extend(found);
                    let is_last = index + 1 == sizes.len();
                    assert_eq!(page.get("nextCursor").is_none(), is_last, "{method}");
                    params = json!({ "cursor": page["nextCursor"] });
                }
                let expected: Vec<String> = (0..count).map(|index| format!("a{index}")).collect();
                assert_eq!(all, expected, "{method} {}", revision.version);
            }
        }
    }
}

#[test]
fn an_empty_list_is_one_page() {
    let resource = Resource::new("a", "a", |_, reply| reply.text(""));
    let server = Server::new("s", "1").resource(resource).page_size(2);
    let mut revision = Revision::new(server, "2025-11-25");
    let page = revision.result("resources/templates/list", json!({}));
    assert_eq!(page, json!({ "resourceTemplates": [] }));
}

/// The cursor of the second page of tools.
fn cursor(server: Server, method: &str) -> Value {
    let mut revision = Revision::new(server, "2026-07-28");
    revision.result(method, json!({}))["nextCursor"].take()
}

#[test]
fn a_cursor_outlives_the_process() {
    for (method, _, _) in LISTS {
        let cursor = cursor(server(5).page_size(2), method);
        for mut revision in Revision::each(|| server(5).page_size(2)) {
            let page = revision.result(method, json!({ "cursor": cursor }));
            assert!(
                page["nextCursor"].is_string(),
                "{method} {}",
                revision.version
            );
        }
    }
}

/// Servers should handle invalid cursors gracefully: -32602.
#[test]
fn a_cursor_of_another_list_or_nobodys_is_refused() {
    let tools = cursor(server(5).page_size(2), "tools/list");
    let text = tools.as_str().expect("a cursor is a string");
    let flipped = |at: usize| {
        let other = if &text[at..=at] == "A" { "B" } else { "A" };
        json!(format!("{}{other}{}", &text[..at], &text[at + 1..]))
    };
    let mut refused = vec![
        json!(""),
        json!(null),
        json!(1),
        json!([tools]),
        json!("AAAA"),
        json!(format!("{text}=")),
        json!(format!(" {text}")),
        json!(text.to_uppercase()),
        json!(&text[1..]),
        json!("é"),
        json!("A".repeat(100_000)),
        // A changed list, another size of its pages, another list.
        cursor(server(6).page_size(2), "tools/list"),
        cursor(server(5).page_size(3), "tools/list"),
        cursor(server(5).page_size(2), "prompts/list"),
        cursor(server(5).page_size(2), "resources/list"),
    ];
    refused.extend((0..text.len()).map(flipped));
    for mut revision in Revision::each(|| server(5).page_size(2)) {
        for cursor in &refused {
            let refusal = refusal(&revision.ask("tools/list", json!({ "cursor": cursor })));
            assert_eq!(refusal.code, -32602, "{cursor:.60}");
            assert!(
                refusal.message.starts_with("params.cursor"),
                "{}",
                refusal.message
            );
        }
        let page = revision.result("tools/list", json!({ "cursor": tools }));
        assert_eq!(names(&page, "tools", "name"), ["a2", "a3"]);
    }
}

/// Servers must apply the same scope to all pages, and a `ttlMs` that is not negative.
#[test]
fn lists_say_how_long_and_by_whom_they_are_kept() {
    let server = || {
        server(3)
            .page_size(1)
            .cache_lists(5_000, CacheScope::Private)
            .cache_list(ListKind::Prompts, 0, CacheScope::Public)
    };
    for mut revision in Revision::each(server) {
        for (method, _, _) in LISTS {
            let mut params = json!({});
            for _ in 0..3 {
                let page = revision.result(method, params.take());
                let caching = [&page["ttlMs"], &page["cacheScope"]];
                let expected = match (revision.version, method) {
                    ("2026-07-28", "prompts/list") => [json!(0), json!("public")],
                    ("2026-07-28", _) => [json!(5_000), json!("private")],
                    _ => [Value::Null, Value::Null],
                };
                assert_eq!(caching, [&expected[0], &expected[1]], "{method}");
                params = json!({ "cursor": page["nextCursor"] });
            }
        }
    }
}

#[test]
fn what_discover_says_may_be_kept_as_long_as_its_author_says() {
    let caching = |server: Server| {
        let answer = Pair::new(server).ask(&modern(1, "server/discover", json!({})));
        let result = &answer["result"];
        (result["ttlMs"].clone(), result["cacheScope"].clone())
    };
    let lists = || server(1).cache_lists(1, CacheScope::Private);
    assert_eq!(caching(lists()), (json!(300_000), json!("public")));
    let told = caching(lists().cache_discover(7, CacheScope::Private));
    assert_eq!(told, (json!(7), json!("private")));
    let told = caching(lists().cache_discover(0, CacheScope::Public));
    assert_eq!(told, (json!(0), json!("public")));
}
