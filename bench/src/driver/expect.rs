//! What an answer must be.
//!
//! | rule | the result is right if |
//! | --- | --- |
//! | [`Rule::Same`] | it equals the first one, and the first one was no error |
//! | [`Rule::Contains`] | it contains the value given |
//! | [`Rule::Echo`] | the text of its first content contains the text sent |
//! | [`Rule::Any`] | it is no error |
//!
//! *No error* means: a `result`, no `isError: true` in it, and nothing asked back (a `resultType`
//! other than `complete`). A value given with [`Rule::Contains`] may ask for these two by name.
//! *Contains* means: an object has all members of the expected one, and each contains what is
//! expected; an array has as many elements, each containing its counterpart; anything else is
//! equal. Numbers are equal by value, `5` and `5.0` too; the order of members never matters.

use serde_json::{Number, Value};

/// What makes a result right; the module says it exactly.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Equal to the first one.
    Same,
    /// Contains this.
    Contains(Value),
    /// Has this text.
    Echo(String),
    /// No error.
    Any,
}

impl Rule {
    /// Checks the answer, a whole JSON-RPC response; `first` is the first result that was right.
    ///
    /// # Errors
    ///
    /// Says what is wrong, and where.
    pub fn check(&self, answer: &Value, first: Option<&Value>) -> Result<(), String> {
        let result = no_error(answer, self)?;
        let difference = match (self, first) {
            (Self::Same, Some(first)) => difference(first, result, Extra::Refused, "result"),
            (Self::Same, None) | (Self::Any, _) => None,
            (Self::Contains(expected), _) => difference(expected, result, Extra::Allowed, "result"),
            (Self::Echo(text), _) => {
                let found = result["content"][0]["text"].as_str();
                let right = found.is_some_and(|found| found.contains(text.as_str()));
                (!right).then(|| "result.content[0].text is not the text that was sent".to_owned())
            }
        };
        difference.map_or(Ok(()), Err)
    }
}

/// The result, if the answer has one and it reports no failure.
fn no_error<'a>(answer: &'a Value, rule: &Rule) -> Result<&'a Value, String> {
    if answer["jsonrpc"] != "2.0" {
        return Err("jsonrpc is not \"2.0\"".to_owned());
    }
    let Some(result) = answer.get("result") else {
        let error = answer.get("error").map(Value::to_string);
        return Err(error.map_or_else(
            || "neither result nor error".to_owned(),
            |error| format!("an error: {}", excerpt(&error)),
        ));
    };
    let asked = |name| matches!(rule, Rule::Contains(value) if value.get(name).is_some());
    if result["isError"] == true && !asked("isError") {
        let content = result["content"].to_string();
        return Err(format!("a tool execution error: {}", excerpt(&content)));
    }
    if let Some(kind) = result.get("resultType")
        && kind != "complete"
        && !asked("resultType")
    {
        return Err(format!("resultType is {kind}, not \"complete\""));
    }
    Ok(result)
}

/// Whether members that are not expected are a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extra {
    Allowed,
    Refused,
}

/// Where `found` first differs from `expected`.
fn difference(expected: &Value, found: &Value, extra: Extra, path: &str) -> Option<String> {
    match (expected, found) {
        (Value::Object(expected), Value::Object(members)) => {
            for (name, value) in expected {
                let path = format!("{path}.{name}");
                let Some(member) = members.get(name) else {
                    return Some(format!("{path} is missing"));
                };
                if let Some(difference) = difference(value, member, extra, &path) {
                    return Some(difference);
                }
            }
            if extra == Extra::Allowed {
                return None;
            }
            let unexpected = members.keys().find(|name| !expected.contains_key(*name));
            unexpected.map(|name| format!("{path}.{name} is unexpected"))
        }
        (Value::Array(expected), Value::Array(elements)) => {
            if expected.len() != elements.len() {
                let (want, have) = (expected.len(), elements.len());
                return Some(format!("{path} has {have} elements, not {want}"));
            }
            let mut pairs = expected.iter().zip(elements).enumerate();
            pairs.find_map(|(index, (expected, element))| {
                difference(expected, element, extra, &format!("{path}[{index}]"))
            })
        }
        (Value::Number(expected), Value::Number(number)) if same_number(expected, number) => None,
        _ if expected == found => None,
        _ => {
            let (want, have) = (expected.to_string(), found.to_string());
            Some(format!(
                "{path} is {}, not {}",
                excerpt(&have),
                excerpt(&want)
            ))
        }
    }
}

fn same_number(a: &Number, b: &Number) -> bool {
    a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
}

/// The beginning of a text, for a message.
pub(super) fn excerpt(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(result: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": 1, "result": result})
    }

    #[test]
    fn contains_and_equals() {
        let five = json!({"content": [{"type": "text", "text": "5"}], "n": 5});
        let contains = |value| Rule::Contains(value).check(&answer(&five), None);
        assert_eq!(contains(json!({"content": [{"text": "5"}]})), Ok(()));
        assert_eq!(contains(json!({"n": 5.0})), Ok(()));
        assert_eq!(
            contains(json!({"n": 6})),
            Err("result.n is 5, not 6".to_owned())
        );
        assert_eq!(
            contains(json!({"content": []})),
            Err("result.content has 1 elements, not 0".to_owned())
        );
        let reordered = json!({"n": 5, "content": [{"text": "5", "type": "text"}]});
        assert_eq!(Rule::Same.check(&answer(&reordered), Some(&five)), Ok(()));
        let more = json!({"n": 5, "content": five["content"], "more": null});
        assert_eq!(
            Rule::Same.check(&answer(&more), Some(&five)),
            Err("result.more is unexpected".to_owned())
        );
    }

    #[test]
    fn errors_are_wrong_unless_asked_for() {
        let failed = answer(&json!({"content": [], "isError": true}));
        for rule in [
            Rule::Same,
            Rule::Any,
            Rule::Contains(json!({"content": []})),
        ] {
            let why = rule.check(&failed, None).unwrap_err();
            assert!(why.starts_with("a tool execution error"), "{why}");
        }
        assert_eq!(
            Rule::Contains(json!({"isError": true})).check(&failed, None),
            Ok(())
        );
        let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}});
        assert!(Rule::Any.check(&error, None).is_err());
        let asks = answer(&json!({"resultType": "input_required"}));
        assert!(Rule::Any.check(&asks, None).is_err());
        assert!(
            Rule::Any
                .check(&json!({"id": 1, "result": {}}), None)
                .is_err()
        );
    }

    #[test]
    fn an_echo_has_the_text() {
        let echo = answer(&json!({"content": [{"type": "text", "text": "Echo: hé\"llo"}]}));
        assert_eq!(Rule::Echo("hé\"llo".into()).check(&echo, None), Ok(()));
        assert!(Rule::Echo("hullo".into()).check(&echo, None).is_err());
    }
}
