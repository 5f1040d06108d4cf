//! What is read of resources: texts and bytes, one or several, and how long they may be kept.
//!
//! Specification: `server/resources`, Reading Resources; 2026-07-28, `server/utilities/caching`.

use serde_json::{Value, json};
use tightwire::{CacheScope, Resource, ResourceContents, ResourceTemplate, Server};
use tightwire_tests::{Revision, refusal};

fn server() -> Server {
    let several = |_: tightwire::Read<'_>, reply: tightwire::ReadReply<'_>| {
        reply.contents(&[
            ResourceContents::text("a://1", "one")
                .mime_type("text/plain")
                .meta("{\"k\":\n1}"),
            ResourceContents::blob("a://2", &b"\xFF\x00"[..]),
        ]);
    };
    Server::new("resources", "1.0.0")
        .resource(Resource::new("a://text", "a", |_, reply| reply.text("a\n")).mime_type("text/x"))
        .resource(Resource::new("a://blob", "a", |_, reply| reply.blob(b"\x00")).mime_type("x/y"))
        .resource(Resource::new("a://own", "a", |_, reply| {
            reply.mime_type("x/own").text("a");
        }))
        .resource(Resource::new("a://several", "a", several))
        .resource(Resource::new("a://none", "a", |_, reply| {
            reply.contents(&[]);
        }))
        .resource(Resource::new("a://bad", "a", |_, reply| {
            reply.contents(&[ResourceContents::text("a", "a").meta("]")]);
        }))
        .resource(Resource::new("a://gone", "a", |_, reply| reply.not_found()))
}

#[test]
fn texts_and_bytes_are_read() {
    for mut revision in Revision::each(server) {
        let mut one = json!({ "uri": "a://1", "mimeType": "text/plain", "text": "one" });
        if revision.is_since("2025-06-18") {
            one["_meta"] = json!({ "k": 1 });
        }
        let two = json!({ "uri": "a://2", "blob": "/wA=" });
        for (uri, contents) in [
            (
                "a://text",
                json!([{ "uri": "a://text", "mimeType": "text/x", "text": "a\n" }]),
            ),
            (
                "a://blob",
                json!([{ "uri": "a://blob", "mimeType": "x/y", "blob": "AA==" }]),
            ),
            (
                "a://own",
                json!([{ "uri": "a://own", "mimeType": "x/own", "text": "a" }]),
            ),
            ("a://several", json!([one, two])),
            ("a://none", json!([])),
        ] {
            let mut expected = json!({ "contents": contents });
            if revision.is_since("2026-07-28") {
                expected["ttlMs"] = json!(0);
                expected["cacheScope"] = json!("private");
            }
            let result = revision.result("resources/read", json!({ "uri": uri }));
            assert_eq!(result, expected, "{}", revision.version);
        }
        let bad = refusal(&revision.ask("resources/read", json!({ "uri": "a://bad" })));
        assert_eq!(bad.code, -32603);
        // -32602 in 2026-07-28, -32002 before.
        let gone = refusal(&revision.ask("resources/read", json!({ "uri": "a://gone" })));
        let modern = revision.is_since("2026-07-28");
        assert_eq!(gone.code, if modern { -32602 } else { -32002 });
        assert_eq!(gone.data, Some(json!({ "uri": "a://gone" })));
    }
}

#[test]
fn what_is_read_says_how_long_and_by_whom_it_is_kept() {
    let server = || {
        let plain = Resource::new("a://cached", "a", |_, reply| reply.text(""));
        let own = Resource::new("a://own", "a", |_, reply| {
            reply.cache(7, CacheScope::Private).blob(b"");
        });
        let template = ResourceTemplate::new("b://{x}", "b", |_, reply| reply.contents(&[]));
        Server::new("s", "1")
            .resource(plain.cache(60_000, CacheScope::Public))
            .resource(own.cache(60_000, CacheScope::Public))
            .resource_template(template.cache(u64::MAX, CacheScope::Public))
    };
    for mut revision in Revision::each(server) {
        for (uri, ttl_ms, scope) in [
            ("a://cached", 60_000, "public"),
            ("a://own", 7, "private"),
            ("b://x", u64::MAX, "public"),
        ] {
            let result = revision.result("resources/read", json!({ "uri": uri }));
            let caching = [&result["ttlMs"], &result["cacheScope"]];
            if revision.is_since("2026-07-28") {
                assert_eq!(caching, [&json!(ttl_ms), &json!(scope)]);
            } else {
                assert_eq!(caching, [&Value::Null, &Value::Null]);
            }
        }
    }
}
