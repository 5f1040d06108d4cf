//! What is asked of the server: one request again and again, a text of some size, a recording.

use serde_json::{Value, json};

use super::{
    error::{Error, Result},
    expect::Rule,
    requests::Call,
};

/// Requests, and for each what makes its answer right.
#[derive(Clone, Debug)]
pub struct Workload {
    /// What it is, for a heading.
    pub title: String,
    /// The requests and rules, in the order in which they are sent; then again from the first.
    pub calls: Vec<(Call, Rule)>,
}

/// What the generated text is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Text {
    /// Words of ASCII letters.
    #[default]
    Plain,
    /// A third quotes, backslashes and newlines.
    Escaped,
    /// A third characters outside ASCII, of two to four bytes.
    Unicode,
    /// A third of the one and a third of the other.
    Mixed,
}

impl Workload {
    /// One request.
    #[must_use]
    pub fn single(call: Call, rule: Rule) -> Self {
        let title = match call.params["name"].as_str() {
            Some(tool) => format!("{} {tool}", call.method),
            None => call.method.clone(),
        };
        Self {
            title,
            calls: vec![(call, rule)],
        }
    }

    /// The tool `add` with 2 and 3 where there is one, else `tools/list`.
    #[must_use]
    pub fn usual(tools: &[String], rule: Rule) -> Self {
        let call = if tools.iter().any(|tool| tool == "add") {
            Call::tool("add", &json!({"a": 2, "b": 3}))
        } else {
            Call::new("tools/list", json!({}))
        };
        Self::single(call, rule)
    }

    /// A text of `bytes` bytes for the tool `echo`, which takes it as `message` and gives it back.
    #[must_use]
    pub fn echo(bytes: usize, text: Text, rule: Option<Rule>) -> Self {
        let message = text.generate(bytes);
        let call = Call::tool("echo", &json!({"message": message}));
        Self {
            title: format!("echo of {bytes} bytes"),
            calls: vec![(call, rule.unwrap_or(Rule::Echo(message)))],
        }
    }

    /// A recording: JSON-RPC messages, one a line. Its requests are taken with ids of ours;
    /// notifications, responses, the handshake and subscriptions (which have no answer) are left
    /// out.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] for a line that is no JSON object, and if there is no request.
    pub fn recording(text: &str, rule: &Rule) -> Result<Self> {
        const LEFT_OUT: [&str; 2] = ["initialize", "subscriptions/listen"];
        let mut calls = Vec::new();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let message: Value = serde_json::from_str(line)
                .map_err(|error| Error::Unusable(format!("line {}: {error}", number + 1)))?;
            let Some(method) = message["method"].as_str() else {
                continue;
            };
            if message.get("id").is_some() && !LEFT_OUT.contains(&method) {
                let params = message.get("params").cloned().unwrap_or_default();
                calls.push((Call::new(method, params), rule.clone()));
            }
        }
        if calls.is_empty() {
            return Err(Error::Unusable("the recording has no request".to_owned()));
        }
        Ok(Self {
            title: format!("a recording of {} requests", calls.len()),
            calls,
        })
    }
}

impl Text {
    /// A text of exactly `bytes` bytes of UTF-8.
    #[must_use]
    pub fn generate(self, bytes: usize) -> String {
        const LETTERS: [char; 12] = ['t', 'i', 'g', 'h', 't', 'w', 'i', 'r', 'e', 's', ' ', 'o'];
        const ESCAPED: [char; 3] = ['"', '\\', '\n'];
        const UNICODE: [char; 4] = ['é', 'Ж', '語', '🦀'];
        let mut text = String::with_capacity(bytes);
        for index in 0.. {
            let letter = LETTERS[index % LETTERS.len()];
            let character = match (self, index % 3) {
                (Self::Escaped | Self::Mixed, 0) => ESCAPED[index / 3 % ESCAPED.len()],
                (Self::Unicode, 0) | (Self::Mixed, 1) => UNICODE[index / 3 % UNICODE.len()],
                _ => letter,
            };
            if text.len() + character.len_utf8() > bytes {
                break;
            }
            text.push(character);
        }
        while text.len() < bytes {
            text.push('.');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_their_size_and_their_characters() {
        for text in [Text::Plain, Text::Escaped, Text::Unicode, Text::Mixed] {
            for bytes in [0, 1, 2, 3, 100, 65_536] {
                assert_eq!(text.generate(bytes).len(), bytes, "{text:?}");
            }
        }
        let third = |text: &str, of: fn(char) -> bool| {
            let share =
                text.chars().filter(|&c| of(c)).count() as f64 / text.chars().count() as f64;
            (share - 1.0 / 3.0).abs() < 0.01
        };
        let escaped = Text::Escaped.generate(9_000);
        assert!(third(&escaped, |c| matches!(c, '"' | '\\' | '\n')) && escaped.is_ascii());
        assert!(third(&Text::Unicode.generate(9_000), |c| !c.is_ascii()));
        let mixed = Text::Mixed.generate(9_000);
        assert!(
            third(&mixed, |c| !c.is_ascii()) && third(&mixed, |c| matches!(c, '"' | '\\' | '\n'))
        );
    }

    #[test]
    fn a_recording_keeps_what_can_be_asked_again() {
        let recording = concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "\n\n",
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add"}}"#,
            "\n",
        );
        let workload = Workload::recording(recording, &Rule::Same).unwrap();
        let methods: Vec<_> = workload
            .calls
            .iter()
            .map(|(call, _)| call.method.as_str())
            .collect();
        assert_eq!(methods, ["tools/list", "tools/call"]);
        assert!(Workload::recording("{}", &Rule::Same).is_err());
        assert!(Workload::recording("nonsense", &Rule::Same).is_err());
    }
}
