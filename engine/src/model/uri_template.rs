//! Matching URIs against templates: RFC 6570, level 1 (`{name}`).
//!
//! A variable stands for one or more characters of one segment: no slash, question mark or hash.
//! The last literal must end the URI, and a variable before another literal ends where that
//! literal first occurs. No later occurrence could match instead, but for the rule on values
//! below: it would leave the variable after it a shorter piece of the same segment. So there is
//! no way back to try, and the time is linear in the URI for each part of the template.
//!
//! A value is what the characters decode to. One that would lead out of its segment does not
//! match: it holds a slash or a backslash, or is `.` or `..`.

/// A parsed template.
#[derive(Clone, Debug)]
pub(crate) struct UriTemplate {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Variable(String),
}

impl UriTemplate {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (literal, tail) = rest.split_at(rest.find(['{', '}']).unwrap_or(rest.len()));
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            let Some(expression) = tail.strip_prefix('{') else {
                if tail.is_empty() {
                    break;
                }
                return Err("a `}` has no `{`");
            };
            let (name, tail) = expression.split_once('}').ok_or("a `{` has no `}`")?;
            if name.is_empty() || !name.bytes().all(is_name_byte) {
                return Err("an expression is not a plain variable name");
            }
            if matches!(parts.last(), Some(Part::Variable(_))) {
                return Err("two variables stand side by side");
            }
            parts.push(Part::Variable(name.to_owned()));
            rest = tail;
        }
        if !parts.iter().any(|part| matches!(part, Part::Variable(_))) {
            return Err("it has no variable");
        }
        Ok(Self { parts })
    }

    /// The values of the variables, if the URI matches.
    pub(crate) fn matches(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        let mut values = Vec::new();
        let mut rest = uri;
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                // One at the end was cut off with the variable before it.
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Variable(name) => {
                    let end = match &self.parts[index + 1..] {
                        [] => rest.len(),
                        [Part::Literal(last)] => rest.strip_suffix(last.as_str())?.len(),
                        [Part::Literal(next), ..] => find_after_one(rest, next)?,
                        [Part::Variable(_), ..] => return None,
                    };
                    let (value, tail) = rest.split_at(end);
                    if value.is_empty() || value.contains(['/', '?', '#']) {
                        return None;
                    }
                    values.push((name.as_str(), decode(value)?));
                    rest = tail;
                }
            }
        }
        rest.is_empty().then_some(values)
    }
}

/// Where the literal first occurs behind the first character.
fn find_after_one(text: &str, literal: &str) -> Option<usize> {
    let first = text.chars().next()?.len_utf8();
    text[first..].find(literal).map(|at| first + at)
}

/// The value of a variable. `None` if it is not to be had, or would lead out of its segment.
fn decode(text: &str) -> Option<String> {
    let value = percent_decode(text)?;
    let leads_out = value.contains(['/', '\\']) || value == "." || value == "..";
    (!leads_out).then_some(value)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.'
}

/// Decodes `%XX`. `None` if an escape is cut off or the result is not UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let value = digit()? * 16 + digit()?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        let template = UriTemplate::parse(template).unwrap();
        let values = template.matches(uri)?;
        Some(
            values
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }

    fn one(name: &str, value: &str) -> Option<Vec<(String, String)>> {
        Some(vec![(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn variables_are_matched_and_decoded() {
        assert_eq!(
            matched("greeting://{name}", "greeting://Ada"),
            one("name", "Ada")
        );
        assert_eq!(
            matched("greeting://{name}", "greeting://J%C3%BCrgen"),
            one("name", "Jürgen")
        );
        assert_eq!(matched("a://{id}/data", "a://12/data"), one("id", "12"));
        assert_eq!(
            matched("a://{x}-{y}", "a://1-2-3").map(|values| values.len()),
            Some(2)
        );
        for uri in [
            "greeting://",
            "greeting://a/b",
            "greeting://a?b",
            "greeting:/Ada",
            "greeting://%",
            "greeting://%4",
            "greeting://%ff",
            "greeting://%zz",
            "Greeting://Ada",
        ] {
            assert_eq!(matched("greeting://{name}", uri), None, "{uri}");
        }
        assert_eq!(matched("a://{id}/data", "a://1/2/data"), None);
        assert_eq!(matched("a://{id}/data", "a://1/data/"), None);
    }

    #[test]
    fn a_literal_may_occur_in_a_value() {
        let cases: [(&str, &str, Option<&[&str]>); 14] = [
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
        ];
        for (template, uri, expected) in cases {
            let values: Option<Vec<String>> = matched(template, uri)
                .map(|values| values.into_iter().map(|(_, value)| value).collect());
            let values: Option<Vec<&str>> = values
                .as_ref()
                .map(|values| values.iter().map(String::as_str).collect());
            assert_eq!(values.as_deref(), expected, "{template} {uri}");
        }
    }

    #[test]
    fn a_value_does_not_lead_out_of_its_segment() {
        for value in [
            "..",
            ".",
            "%2e%2E",
            ".%2e",
            "%2e",
            "..%2f..%2Fetc%2fpasswd",
            "a%2fb",
            "a%5Cb",
            "a\\b",
        ] {
            assert_eq!(matched("f://{x}", &format!("f://{value}")), None, "{value}");
            let uri = format!("f://{value}/b");
            assert_eq!(matched("f://{x}/b", &uri), None, "{value}");
        }
        assert_eq!(matched("f://{x}", "f://..."), one("x", "..."));
        assert_eq!(matched("f://{x}", "f://%252e"), one("x", "%2e"));
    }

    #[test]
    fn long_uris_take_no_long_time() {
        let template = "a://".to_owned() + &"{x}a".repeat(50);
        let uri = "a://".to_owned() + &"a".repeat(1 << 20);
        assert_eq!(matched(&template, &(uri.clone() + "b")), None);
        assert!(matched(&template, &uri).is_some());
    }

    #[test]
    fn what_cannot_be_matched_is_refused() {
        for template in [
            "",
            "a://b",
            "a://{",
            "a://}",
            "a://{}",
            "a://{+x}",
            "a://{x}{y}",
            "{x*}",
        ] {
            assert!(UriTemplate::parse(template).is_err(), "{template}");
        }
    }
}
