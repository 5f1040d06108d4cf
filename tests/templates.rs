//! Resources read through templates of every operator.
//!
//! Specification: `server/resources`, Resource Templates and Security Considerations; RFC 6570.

use serde_json::json;
use tightwire::{Error, ResourceTemplate, Server};
use tightwire_tests::{Revision, refusal};

/// A template that tells what its variables stand for.
fn telling(uri: &str, names: &'static [&'static str]) -> ResourceTemplate {
    ResourceTemplate::new(uri, "telling", |read, reply| {
        let values: Vec<String> = names
            .iter()
            .map(|name| format!("{name}={}", read.variable(name)))
            .collect();
        reply.text(values.join(" "));
    })
}

fn server() -> Server {
    Server::new("templates", "1.0.0")
        .resource_template(telling("one://{x}/end", &["x"]))
        .resource_template(telling("list://{x,y}", &["x", "y"]))
        .resource_template(telling("path:///{+x}", &["x"]))
        .resource_template(telling("part://a{#x}", &["x"]))
        .resource_template(telling("dots://a{.x,y}", &["x", "y"]))
        .resource_template(telling("segments://a{/x,y}", &["x", "y"]))
        .resource_template(telling("parameters://a{;x,y}", &["x", "y"]))
        .resource_template(telling("query://a{?x,y}", &["x", "y"]))
        .resource_template(telling("more://a?z=1{&x}", &["x"]))
        .resource_template(telling("first://{x}", &["x", "y"]))
        .resource_template(telling("first://{y}", &["x", "y"]))
}

#[test]
fn uris_are_matched_in_every_revision() {
    for mut revision in Revision::each(server) {
        for (uri, text) in [
            ("one://a%20b/end", "x=a b"),
            ("list://1,2", "x=1 y=2"),
            ("path:///a/b%2Fc.txt", "x=a/b/c.txt"),
            ("part://a#b/c", "x=b/c"),
            ("part://a", "x="),
            ("dots://a.b.c", "x=b y=c"),
            ("segments://a/b/c", "x=b y=c"),
            ("parameters://a;y=2", "x= y=2"),
            ("query://a?y=2&x=1", "x=1 y=2"),
            ("more://a?z=1&x=%C3%BC", "x=ü"),
            ("first://1", "x=1 y="),
        ] {
            let result = revision.result("resources/read", json!({ "uri": uri }));
            assert_eq!(result["contents"][0]["text"], text, "{uri}");
            assert_eq!(result["contents"][0]["uri"], uri);
        }
    }
}

/// Servers must sanitize file paths to prevent directory traversal attacks.
#[test]
fn no_value_leads_out_of_where_it_stands() {
    let uris = [
        "one://../end",
        "one://%2e%2e/end",
        "one://a%2Fb/end",
        "one://a%5cb/end",
        "one://a\\b/end",
        "list://1,..",
        "path:///../etc/passwd",
        "path:///a/../../etc/passwd",
        "path:///a/%2e%2E/b",
        "path:///a%2f..%2fb",
        "path:///a/..",
        "path:///a\\..\\b",
        "path:///a%00b",
        "part://a#../b",
        "dots://a.b%2f..",
        "segments://a/../b",
        "segments://a/b/%2e%2e",
        "segments://a/b%2fc",
        "parameters://a;x=..",
        "query://a?x=../../etc/passwd",
    ];
    for mut revision in Revision::each(server) {
        for uri in uris {
            let refusal = refusal(&revision.ask("resources/read", json!({ "uri": uri })));
            assert_eq!(refusal.data, Some(json!({ "uri": uri })), "{uri}");
        }
    }
}

#[test]
fn templates_that_cannot_be_matched_are_refused_at_the_freeze() {
    for uri in ["a://{x*}", "a://{x:3}", "a://{x}{y}", "a://b", "a://{"] {
        let template = ResourceTemplate::new(uri, "a", |_, reply| reply.text(""));
        let frozen = Server::new("s", "1").resource_template(template).freeze();
        assert!(matches!(frozen, Err(Error::Template { .. })), "{uri}");
    }
}
