//! The messages: real ones, small to large.

use tightwire::codec::JsonWriter;

/// A request and what it is answered with.
#[derive(Clone, Debug)]
pub struct Message {
    /// What figures are reported under.
    pub name: &'static str,
    /// The request, without its newline.
    pub line: String,
    /// The text that a call of `echo` carries.
    pub text: Option<String>,
    /// The answer, as JSON: it has these members with these values. Objects may have more.
    pub answer: String,
}

/// All messages.
///
/// The smallest is a legacy call, all others are modern and carry the whole `_meta`. The lines
/// with `4k` in their names are 4,096 bytes long and those with `64k` 65,536, whatever their text
/// is made of: plain ASCII; a third of the characters quotes, backslashes and newlines; or a third
/// of them not ASCII, two to four bytes each.
#[must_use]
pub fn corpus() -> Vec<Message> {
    vec![
        Message {
            name: "add-legacy",
            line: r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2.0,"b":3.0}}}"#
                .into(),
            text: None,
            answer: r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"5"}]}}"#
                .into(),
        },
        Message {
            name: "add",
            line: modern("tools/call", r#""name":"add","arguments":{"a":2,"b":3},"#),
            text: None,
            answer: text_answer("\"5\""),
        },
        echo("echo-4k-ascii", 4 * 1024, &[]),
        echo("echo-4k-escapes", 4 * 1024, &ESCAPED),
        echo("echo-4k-unicode", 4 * 1024, &NOT_ASCII),
        echo("echo-64k-ascii", 64 * 1024, &[]),
        echo("echo-64k-escapes", 64 * 1024, &ESCAPED),
        echo("echo-64k-unicode", 64 * 1024, &NOT_ASCII),
        Message {
            name: "tools-list",
            line: modern("tools/list", ""),
            text: None,
            answer: modern_answer(r#""tools":[{"name":"add"},{"name":"echo"},{"name":"boom"}]"#),
        },
        Message {
            name: "discover",
            line: modern("server/discover", ""),
            text: None,
            answer: modern_answer(
                r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}"#,
            ),
        },
    ]
}

/// A call of `echo` that is a line of so many bytes. About a third of the characters of its text
/// are special ones.
fn echo(name: &'static str, line_bytes: usize, special: &[char]) -> Message {
    let line = |text: &str| {
        let arguments = format!(r#""name":"echo","arguments":{{"message":{text}}},"#);
        modern("tools/call", &arguments)
    };
    let text = text(line_bytes - line("\"\"").len(), special);
    Message {
        name,
        line: line(&json_string(&text)),
        answer: text_answer(&json_string(&text)),
        text: Some(text),
    }
}

/// A text that becomes so many bytes of JSON, the quotes around it not counted.
fn text(json_bytes: usize, special: &[char]) -> String {
    let mut text = String::new();
    let mut plain = "Sphinx of black quartz, judge my vow. ".chars().cycle();
    let mut random = 1_u64;
    let mut left = json_bytes;
    loop {
        // Where the special ones stand must not be easy to predict: the generator of MMIX.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let (which, whether) = ((random >> 32) as usize & 0xFFFF, random >> 48);
        let next = if !special.is_empty() && whether % 3 == 0 {
            Some(special[which % special.len()])
        } else {
            plain.next()
        };
        let Some(next) = next.filter(|next| json_len(*next) <= left) else {
            break;
        };
        text.push(next);
        left -= json_len(next);
    }
    text.extend(std::iter::repeat_n('.', left));
    text
}

fn json_len(character: char) -> usize {
    if ESCAPED.contains(&character) {
        2
    } else {
        character.len_utf8()
    }
}

fn json_string(text: &str) -> String {
    let mut json = Vec::new();
    JsonWriter::new(&mut json).string(text);
    String::from_utf8_lossy(&json).into_owned()
}

/// A modern request, with these members of `params`, each ended by a comma, before its `_meta`.
#[must_use]
pub fn modern(method: &str, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"1.0.0"}},"io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}}}}}}}}"#
    )
}

/// What the answer to a modern request has, with these members of its result.
fn modern_answer(result: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete",{result},"_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"demo","version":"1.0.0"}}}}}}}}"#
    )
}

fn text_answer(json: &str) -> String {
    modern_answer(&format!(r#""content":[{{"type":"text","text":{json}}}]"#))
}

/// The characters that two bytes of JSON stand for.
const ESCAPED: [char; 3] = ['"', '\\', '\n'];

const NOT_ASCII: [char; 6] = ['é', 'ß', 'ж', '東', '€', '🙂'];

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tightwire::Now;

    use super::*;
    use crate::{LineBuffer, connection, memory, server};

    /// Whether a value has all that is expected of it.
    fn has(value: &Value, expected: &Value) -> bool {
        match (value, expected) {
            (Value::Object(value), Value::Object(expected)) => expected
                .iter()
                .all(|(key, expected)| value.get(key).is_some_and(|value| has(value, expected))),
            (Value::Array(value), Value::Array(expected)) => {
                value.len() == expected.len()
                    && value
                        .iter()
                        .zip(expected)
                        .all(|(value, expected)| has(value, expected))
            }
            _ => value == expected,
        }
    }

    #[test]
    fn each_is_answered_as_expected() {
        let server = server().freeze().unwrap();
        let mut connection = connection(&server);
        let mut memory = memory(&server);
        for message in corpus() {
            let mut out = Vec::new();
            let mut buffer = LineBuffer::new(&message.line);
            connection.handle_line(Now::default(), buffer.restore(), &mut out);
            memory.feed(message.line.as_bytes());
            memory.feed(b"\n");
            assert_eq!(memory.output(), out, "{}", message.name);
            memory.consume(usize::MAX);

            let answer: Value = serde_json::from_slice(&out).unwrap();
            let expected: Value = serde_json::from_str(&message.answer).unwrap();
            assert!(has(&answer, &expected), "{}: {answer}", message.name);
            assert_eq!(answer["result"]["isError"], Value::Null, "{}", message.name);
        }
    }

    #[test]
    fn texts_are_made_of_what_they_say() {
        for message in corpus() {
            let Some(text) = message.text else { continue };
            let kilobytes = if message.name.contains("-64k-") {
                64
            } else {
                4
            };
            assert_eq!(message.line.len(), kilobytes * 1024, "{}", message.name);
            let line: Value = serde_json::from_str(&message.line).unwrap();
            assert_eq!(line["params"]["arguments"]["message"], *text);

            let share = |special: &[char]| {
                let count = text.chars().filter(|next| special.contains(next)).count();
                count as f64 / text.chars().count() as f64
            };
            let third = |share: f64| (share - 1.0 / 3.0).abs() < 0.02;
            let kinds = (share(&ESCAPED), share(&NOT_ASCII));
            assert!(
                match message.name.rsplit('-').next() {
                    Some("ascii") => kinds == (0.0, 0.0),
                    Some("escapes") => third(kinds.0) && kinds.1 == 0.0,
                    _ => kinds.0 == 0.0 && third(kinds.1),
                },
                "{}: {kinds:?}",
                message.name
            );
        }
    }
}
