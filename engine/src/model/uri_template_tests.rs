//! What templates match, and what they do not.

use super::*;

type Values = Vec<(String, String)>;

fn matched(template: &str, uri: &str) -> Option<Values> {
    let template = UriTemplate::parse(template)
        .unwrap_or_else(|error| panic!("{template} cannot be matched: {error}"));
    let values = template.matches(uri)?;
    let owned = |(name, value): (&str, String)| (name.to_owned(), value);
    Some(values.into_iter().map(owned).collect())
}

#[track_caller]
fn assert_matches(template: &str, uri: &str, expected: &[(&str, &str)]) {
    let expected: Values = expected
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    assert_eq!(matched(template, uri), Some(expected), "{template} {uri}");
}

#[track_caller]
fn assert_differs(template: &str, uris: &[&str]) {
    for uri in uris {
        assert_eq!(matched(template, uri), None, "{template} {uri}");
    }
}

#[test]
fn a_variable_stands_for_a_piece_of_a_segment() {
    assert_matches("greeting://{name}", "greeting://Ada", &[("name", "Ada")]);
    assert_matches(
        "greeting://{name}",
        "greeting://J%C3%BCrgen",
        &[("name", "Jürgen")],
    );
    assert_matches(
        "greeting://{name}",
        "greeting://Jürgen",
        &[("name", "Jürgen")],
    );
    assert_matches("a://{id}/data", "a://12/data", &[("id", "12")]);
    assert_matches("a://{x}-{y}", "a://1-2-3", &[("x", "1"), ("y", "2-3")]);
    assert_matches("{a.b}", "x:y", &[("a.b", "x:y")]);
    assert_differs(
        "greeting://{name}",
        &[
            "greeting://",
            "greeting://a/b",
            "greeting://a?b",
            "greeting://a#b",
            "greeting:/Ada",
            "greeting://%",
            "greeting://%4",
            "greeting://%ff",
            "greeting://%zz",
            "Greeting://Ada",
            "",
        ],
    );
    assert_differs(
        "a://{id}/data",
        &["a://1/2/data", "a://1/data/", "a://data"],
    );
}

#[test]
fn a_literal_may_occur_in_a_value() {
    let cases: [(&str, &str, Option<&[&str]>); 16] = [
        (
            "repo://{name}.git",
            "repo://foo.github.io.git",
            Some(&["foo.github.io"]),
        ),
        ("repo://{name}.git", "repo://foo.github.io", None),
        ("repo://{name}.git", "repo://.git", None),
        ("repo://{name}.git", "repo://.git.git", Some(&[".git"])),
        ("a://{x}b", "a://bbb", Some(&["bb"])),
        ("a://{x}b", "a://b", None),
        ("a://{x}bb", "a://bbb", Some(&["b"])),
        ("a://{x}-{y}", "a://--b", Some(&["-", "b"])),
        ("a://{x}-{y}", "a://a--", Some(&["a", "-"])),
        ("a://{x}-{y}.z", "a://1-2-3.z.z", Some(&["1", "2-3.z"])),
        ("a://{x}-{y}", "a://1/2-3", None),
        ("a://{x}é/{y}", "a://éé/ü", Some(&["é", "ü"])),
        ("a://{x}/b/{y}", "a://b/b/b", Some(&["b", "b"])),
        ("a://{x}ab{y}ab", "a://aabababab", Some(&["a", "abab"])),
        ("a://{+x}/v/{y}", "a://1/v/2/v/3", Some(&["1/v/2", "3"])),
        ("a://{+x}/raw", "a://1/raw/2/raw", Some(&["1/raw/2"])),
    ];
    for (template, uri, expected) in cases {
        let values = matched(template, uri);
        let values: Option<Vec<&str>> = values
            .as_ref()
            .map(|values| values.iter().map(|(_, value)| value.as_str()).collect());
        assert_eq!(values.as_deref(), expected, "{template} {uri}");
    }
}

/// RFC 6570, 3.2.2 and 3.2.3.
#[test]
fn several_variables_have_commas_between_them() {
    assert_matches("m://{x,y}", "m://1024,768", &[("x", "1024"), ("y", "768")]);
    assert_matches("m://{x,y}", "m://1024", &[("x", "1024")]);
    assert_matches(
        "m://{x,hello,y}",
        "m://1,a%2Cb,2",
        &[("x", "1"), ("hello", "a,b"), ("y", "2")],
    );
    assert_matches("m://{+x,y}/z", "m://a/b,c/z", &[("x", "a/b"), ("y", "c")]);
    assert_differs("m://{x,y}", &["m://", "m://1,2/3"]);
}

/// RFC 6570, 3.2.3 and 3.2.4.
#[test]
fn reserved_values_and_fragments_hold_slashes() {
    assert_matches(
        "f:///{+path}",
        "f:///a/b%20c/d.txt",
        &[("path", "a/b c/d.txt")],
    );
    assert_matches("f:///{+path}", "f:///a?b#c", &[("path", "a?b#c")]);
    assert_matches("f://{+path}", "f:///etc/passwd", &[("path", "/etc/passwd")]);
    assert_matches("f://x{#part}", "f://x#a/b", &[("part", "a/b")]);
    assert_matches("f://x{#part}", "f://x", &[]);
    assert_matches("f://x{#a,b}", "f://x#1,2", &[("a", "1"), ("b", "2")]);
    assert_differs("f:///{+path}", &["f:///", "f://a"]);
    assert_differs("f://x{#part}", &["f://xa", "f://x#"]);
}

/// RFC 6570, 3.2.5 and 3.2.6.
#[test]
fn labels_and_segments_may_be_missing() {
    assert_matches("f://www{.dom}", "f://www.example", &[("dom", "example")]);
    assert_matches(
        "f://www{.x,y}",
        "f://www.example.com",
        &[("x", "example"), ("y", "com")],
    );
    assert_matches("f://www{.x,y}", "f://www", &[]);
    assert_matches("f://www{/x,y}", "f://www/a/b", &[("x", "a"), ("y", "b")]);
    assert_matches("f://www{/x,y}", "f://www/a", &[("x", "a")]);
    assert_matches("f://www{/x}/end", "f://www/end", &[]);
    assert_matches("f://www{/x}/end", "f://www/a/end", &[("x", "a")]);
    assert_matches(
        "f://{x}{.ext}",
        "f://a.tar.gz",
        &[("x", "a"), ("ext", "tar.gz")],
    );
    assert_differs(
        "f://www{/x,y}",
        &["f://www/", "f://www/a/", "f://www/a/b/c", "f://wwwa"],
    );
}

/// RFC 6570, 3.2.7.
#[test]
fn path_parameters_have_names() {
    assert_matches("f://p{;x,y}", "f://p;x=1;y=2", &[("x", "1"), ("y", "2")]);
    assert_matches("f://p{;x,y}", "f://p;y=2", &[("y", "2")]);
    assert_matches("f://p{;x,y}", "f://p;x;y=", &[("x", ""), ("y", "")]);
    assert_matches("f://p{;x,y}/q", "f://p/q", &[]);
    assert_differs(
        "f://p{;x,y}",
        &[
            "f://p;",
            "f://p;z=1",
            "f://p;x=1;x=2",
            "f://p;x=1/2",
            "f://p;xx",
        ],
    );
}

/// RFC 6570, 3.2.8 and 3.2.9.
#[test]
fn query_parameters_come_in_any_order() {
    assert_matches(
        "f://s{?q,lang}",
        "f://s?q=cat&lang=en",
        &[("q", "cat"), ("lang", "en")],
    );
    assert_matches(
        "f://s{?q,lang}",
        "f://s?lang=en&q=a%2Fb%26c",
        &[("lang", "en"), ("q", "a/b&c")],
    );
    assert_matches("f://s{?q,lang}", "f://s?lang=", &[("lang", "")]);
    assert_matches("f://s{?q,lang}", "f://s", &[]);
    assert_matches("f://s?fixed=yes{&x}", "f://s?fixed=yes&x=1", &[("x", "1")]);
    assert_matches("f://s?fixed=yes{&x}", "f://s?fixed=yes", &[]);
    assert_matches(
        "f://s{?x}{&y}{#z}",
        "f://s?x=1&y=2#3",
        &[("x", "1"), ("y", "2"), ("z", "3")],
    );
    assert_matches(
        "f://{+path}{?q}",
        "f://a/b?q=1",
        &[("path", "a/b"), ("q", "1")],
    );
    assert_matches("f://{+path}{?q}", "f://a/b", &[("path", "a/b")]);
    assert_differs(
        "f://s{?q,lang}",
        &[
            "f://s?",
            "f://s?Q=1",
            "f://s?q=1&q=2",
            "f://s?q=1&",
            "f://s?q=1&z=2",
            "f://s&q=1",
            "f://s?q=1#x",
        ],
    );
}

#[test]
fn a_value_does_not_lead_out_of_its_segment() {
    let hostile = [
        "..",
        ".",
        "%2e%2E",
        ".%2e",
        "%2e",
        "..%2f..%2Fetc%2fpasswd",
        "a%2f..",
        "%2e%2e%5c",
        "a%5Cb",
        "a\\b",
        "a%00",
        "a%00b",
    ];
    let templates = [
        "f://{x}",
        "f://{x}/b",
        "f://{a}-{x}",
        "f://{a,x}",
        "f://r{.x}",
        "f://r{/x}",
        "f://r{/a,x}",
        "f://r{;x}",
    ];
    for value in hostile.into_iter().chain(["a%2fb", "%2f"]) {
        for template in templates {
            let uri = template
                .replace("{a}", "1")
                .replace("{a,x}", "1,{x}")
                .replace("{/a,x}", "/1/{x}")
                .replace("{.x}", ".{x}")
                .replace("{/x}", "/{x}")
                .replace("{;x}", ";x={x}")
                .replace("{x}", value);
            // `r...` and `r./b` are other segments than `..`.
            if template == "f://r{.x}" && value == "." {
                continue;
            }
            assert_eq!(matched(template, &uri), None, "{template} {uri}");
        }
    }
    for value in hostile {
        for (template, before) in [
            ("f:///{+x}", "f:///"),
            ("f://r{#x}", "f://r#"),
            ("f://r{?x}", "f://r?x="),
        ] {
            for around in ["", "a/", "/", "a//"] {
                for after in ["", "/b"] {
                    let uri = format!("{before}{around}{value}{after}");
                    assert_eq!(matched(template, &uri), None, "{template} {uri}");
                }
            }
        }
    }
    assert_matches("f://{x}", "f://...", &[("x", "...")]);
    assert_matches("f://{x}", "f://%252e%252e", &[("x", "%2e%2e")]);
    assert_matches("f://{+x}", "f://a/..b/c../.d", &[("x", "a/..b/c../.d")]);
}

#[test]
fn hostile_uris_take_no_long_time() {
    use std::fmt::Write;

    let mut template = "a://".to_owned();
    for index in 0..50 {
        let _ = write!(template, "{{+x{index}}}a");
    }
    let fits = "a://".to_owned() + &"a".repeat(URI_BYTES_MAX - 4);
    assert!(matched(&template, &fits).is_some());
    let differs = "a://".to_owned() + &"a".repeat(URI_BYTES_MAX - 5) + "b";
    assert_eq!(matched(&template, &differs), None);
    // Longer ones are not looked at.
    assert_eq!(matched(&template, &(fits + "a")), None);
}

#[test]
fn what_cannot_be_matched_is_refused() {
    for template in [
        "",
        "a://b",
        "a://{",
        "a://}",
        "a://{}",
        "a://{+}",
        "a://{x,}",
        "a://{,x}",
        "a://{x}{y}",
        "a://{x}{+y}",
        "a://{?x}{y}",
        "a://{x}/{x}",
        "a://{x,x}",
        "{x*}",
        "{x:3}",
        "{/x*}",
        "{!x}",
        "{=x}",
        "{|x}",
        "{x y}",
        "{é}",
        "{x..y}",
        "{..x}",
    ] {
        assert!(UriTemplate::parse(template).is_err(), "{template}");
    }
}
