//! Matching URIs against templates: RFC 6570, level 1 (`{name}`).
//!
//! A variable stands for one or more characters up to the literal that follows it, a slash, a
//! question mark or a hash at most; its value is what they decode to. Matching looks at each
//! character once.

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
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Variable(name) => {
                    let longest = rest.find(['/', '?', '#']).unwrap_or(rest.len());
                    let end = match self.parts.get(index + 1) {
                        Some(Part::Literal(next)) => rest.find(next.as_str())?,
                        _ => rest.len(),
                    };
                    if end == 0 || end > longest {
                        return None;
                    }
                    values.push((name.as_str(), percent_decode(&rest[..end])?));
                    rest = &rest[end..];
                }
            }
        }
        rest.is_empty().then_some(values)
    }
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
