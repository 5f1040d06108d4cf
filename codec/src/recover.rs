//! What is read of a line from its source, after it was parsed: the id of a refused request, and
//! integers that the tape has no room for.
//!
//! Where each value and key starts is known from the parser's structural indexes, in the order of
//! the tape, which stay filled after a failure; what the parser unescaped in place is taken from
//! the tape, and the rest from the source.

use simd_json::{Node, StaticNode};

use crate::{
    message::Id,
    parse::{Parser, Progress, Source},
    ring::{LINE_PADDING, Line},
    value::Value,
};

impl Parser {
    /// The integers beyond 64 bits of the line that was parsed last, of which [`Document::to_line`](crate::Document::to_line)
    /// told the places.
    #[must_use]
    pub fn wide_integers(&self, line: &Line<'_>, places: &[usize]) -> WideIntegers {
        let bytes = match self.progress.source {
            Some(Source::Skeleton) => self.skeleton.text.as_bytes(),
            _ => line.as_bytes(),
        };
        let indexes = self.structural_indexes();
        let mut digits = Vec::with_capacity(places.len());
        let mut places = places.iter().peekable();
        // Each value and key has one structural character that is no separator and closes
        // nothing, in the order of the tape.
        let starts = indexes.iter().enumerate().filter(|(_, at)| {
            !matches!(
                bytes.get(**at as usize),
                Some(b':' | b',' | b']' | b'}') | None
            )
        });
        for (node, (index, start)) in starts.enumerate() {
            if places.next_if(|place| **place == node).is_some() {
                let end = indexes
                    .get(index + 1)
                    .map_or(bytes.len(), |end| *end as usize);
                let token = bytes[*start as usize..end].trim_ascii();
                if let Ok(text) = std::str::from_utf8(token)
                    && is_integer(text)
                {
                    digits.push((node, text.to_owned()));
                }
            }
        }
        WideIntegers {
            nodes: self.progress.nodes,
            digits,
        }
    }

    /// The id of the line that was parsed last and refused, as written: for a request that is
    /// complete, one object with one `id`.
    ///
    /// `None` if there is no id to be sure of: the line is cut off, or is no object, or has
    /// several ids, or the id is what is wrong.
    pub fn recover_id<'a>(&'a mut self, line: &'a mut Line<'_>) -> Option<Id<'a>> {
        match self.progress.source {
            Some(Source::Line) => {}
            Some(Source::Skeleton) => drop(self.parse_in_full(line)),
            None => return None,
        }
        if std::str::from_utf8(line.as_bytes()).is_err() {
            // Stage one of the parser may not have run, and nothing was unescaped yet: read it
            // again with the bad bytes replaced, for the id alone.
            replace_invalid_utf8(line.bytes_mut());
            let parsed = self
                .parse_in_full(line)
                .map(|document| TapeIds::find(&document.tape.0));
            if let Ok(ids) = parsed {
                self.progress.tape_ids = ids;
            }
            let bytes = line.as_bytes();
            let place = self.locate_id(bytes)?;
            if bytes[place.start..place.end].contains(&REPLACEMENT) {
                return None;
            }
        }
        let bytes = line.as_bytes();
        let place = self.locate_id(bytes)?;
        let token = bytes[place.start..place.end].trim_ascii();
        if token.first() != Some(&b'"') {
            let digits = std::str::from_utf8(token).ok()?;
            return is_integer(digits).then_some(Id::Source(digits));
        }
        let progress = &mut self.progress;
        if place.node < progress.nodes {
            progress.string_id = progress.tape_ids.string_at(place.node);
        } else if place.node == progress.nodes && progress.failed && progress.nodes > 0 {
            return None;
        } else {
            progress.string_id = parse_string(token);
        }
        progress.string_id.as_deref().map(Id::String)
    }

    fn locate_id(&self, bytes: &[u8]) -> Option<IdPlace> {
        let Progress {
            nodes, tape_ids, ..
        } = &self.progress;
        let is_id = |key: &[u8], node: usize| {
            if node < *nodes {
                tape_ids.has_key(node)
            } else {
                // The parser did not come to it, so that its escapes are still there.
                key == b"\"id\""
                    || (key.contains(&b'\\') && parse_string(key).as_deref() == Some("id"))
            }
        };
        locate_id(bytes, self.structural_indexes(), is_id)
    }
}

/// The integers of a document that are beyond 64 bits, as they were written.
///
/// The tape has them as floats; ids must come back digit for digit.
#[derive(Debug)]
pub struct WideIntegers {
    /// Nodes of the document.
    nodes: usize,
    /// By their places on the tape, in order.
    digits: Vec<(usize, String)>,
}

impl WideIntegers {
    /// The digits of a value of the document, or of one that was made from it by
    /// [`Document::to_line`](crate::Document::to_line).
    #[must_use]
    pub fn find(&self, value: Value<'_>) -> Option<&str> {
        let place = self.nodes.checked_sub(value.nodes_left())?;
        let found = self
            .digits
            .binary_search_by_key(&place, |(place, _)| *place);
        found.ok().map(|found| self.digits[found].1.as_str())
    }
}

pub(crate) fn is_wide(node: &Node<'_>) -> bool {
    matches!(node, Node::Static(StaticNode::F64(value))
        if value.abs() >= 9_223_372_036_854_775_808.0)
}

/// Where the value of the one top-level member `id` stands.
struct IdPlace {
    start: usize,
    /// Where the next structural character stands.
    end: usize,
    /// Which value of the document it is.
    node: usize,
}

/// Walks the structural characters of a line that should be one object. `is_id` tells of a
/// top-level key, as the line has it, and its place whether it is `id`.
fn locate_id(
    bytes: &[u8],
    indexes: &[u32],
    is_id: impl Fn(&[u8], usize) -> bool,
) -> Option<IdPlace> {
    let at = |index: usize| indexes.get(index).map(|at| *at as usize);
    let byte = |index: usize| at(index).and_then(|at| bytes.get(at)).copied();
    if byte(0) != Some(b'{') {
        return None;
    }
    let mut found = None;
    let mut depth = 0_usize;
    let mut node = 0;
    let mut expects_key = false;
    for index in 0..indexes.len() {
        match byte(index)? {
            b'{' | b'[' => {
                depth += 1;
                node += 1;
                expects_key = depth == 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 && index + 1 != indexes.len() {
                    return None;
                }
                expects_key = false;
            }
            b',' => expects_key = depth == 1,
            b':' => expects_key = false,
            _ => {
                if expects_key && byte(index + 1) == Some(b':') {
                    let key = &bytes[at(index)?..at(index + 1)?];
                    let key = key.trim_ascii_end();
                    if is_id(key, node) {
                        // An escape in the name is not looked through, but counts as a second.
                        if key != b"\"id\"" || found.is_some() {
                            return None;
                        }
                        if !matches!(byte(index + 3), Some(b',' | b'}')) {
                            return None;
                        }
                        found = Some(IdPlace {
                            start: at(index + 2)?,
                            end: at(index + 3)?,
                            node: node + 1,
                        });
                    }
                }
                node += 1;
            }
        }
    }
    found.filter(|_| depth == 0)
}

/// The members `id` of the top level, as far as a tape that was not finished goes: the parser has
/// unescaped them where they stood, so that the line no longer tells what they were.
#[derive(Debug, Default)]
pub(crate) struct TapeIds {
    /// The place of the first key, and its value if that is a string.
    first: Option<(usize, Option<String>)>,
    /// The place of the second key: there should be none.
    second: Option<usize>,
}

impl TapeIds {
    pub(crate) fn find(nodes: &[Node<'_>]) -> Self {
        let mut ids = Self::default();
        let mut at = 1;
        while let (Some(Node::String(key)), Some(value)) = (nodes.get(at), nodes.get(at + 1)) {
            if *key == "id" {
                if ids.first.is_some() {
                    ids.second = Some(at);
                    break;
                }
                let string = match value {
                    Node::String(id) => Some((*id).to_owned()),
                    _ => None,
                };
                ids.first = Some((at, string));
            }
            // An object or array that was not finished has no count yet; nothing after it has
            // been read, and what is in it is mistaken for members: harmless, since where the
            // keys stand is found apart from this.
            at += match value {
                Node::Object { count, .. } | Node::Array { count, .. } => 2 + count,
                _ => 2,
            };
        }
        ids
    }

    pub(crate) fn has_key(&self, node: usize) -> bool {
        let first = self.first.as_ref().map(|(key, _)| *key);
        first == Some(node) || self.second == Some(node)
    }

    /// The string that is this node of the tape.
    pub(crate) fn string_at(&self, node: usize) -> Option<String> {
        let (key, string) = self.first.as_ref()?;
        string.clone().filter(|_| key + 1 == node)
    }
}

/// Reads one string token that the parser did not come to.
fn parse_string(token: &[u8]) -> Option<String> {
    let mut bytes = token.to_vec();
    bytes.resize(token.len() + LINE_PADDING, 0);
    let mut line = Line::padded(&mut bytes, token.len())?;
    let mut parser = Parser::default();
    let document = parser.parse(&mut line).ok()?;
    document.root().as_str().map(ToOwned::to_owned)
}

/// Whether this is an integer as JSON writes them: no fraction, no exponent.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits.len() == 1 || !digits.starts_with('0'))
}

/// What stands for a byte that is not UTF-8: acceptable in a string, and in no id that anyone uses.
const REPLACEMENT: u8 = 0x7F;

/// Replaces what is not UTF-8.
fn replace_invalid_utf8(bytes: &mut [u8]) {
    let mut from = 0;
    while let Err(error) = std::str::from_utf8(&bytes[from..]) {
        let start = from + error.valid_up_to();
        let end = error.error_len().map_or(bytes.len(), |len| start + len);
        bytes[start..end].fill(REPLACEMENT);
        from = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JsonWriter, error::ParseErrorKind};

    fn padded(text: &[u8]) -> Vec<u8> {
        let mut bytes = text.to_vec();
        bytes.resize(text.len() + LINE_PADDING, 0);
        bytes
    }

    fn recovered(text: &[u8]) -> (Option<ParseErrorKind>, Option<String>) {
        let mut bytes = padded(text);
        let mut line = Line::padded(&mut bytes, text.len()).unwrap();
        let mut parser = Parser::default();
        let kind = parser.parse(&mut line).err().map(|error| error.kind);
        let id = parser.recover_id(&mut line).map(|id| {
            let mut out = Vec::new();
            JsonWriter::new(&mut out).id(&id);
            String::from_utf8(out).unwrap()
        });
        (kind, id)
    }

    #[test]
    fn the_id_of_a_refused_request_is_found() {
        use ParseErrorKind as K;
        let cases: &[(&[u8], K, Option<&str>)] = &[
            (br#"{"id":1,"x":"\ud800"}"#, K::InvalidEscape, Some("1")),
            (br#"{"x":"\ud800","id":1}"#, K::InvalidEscape, Some("1")),
            (
                br#"{"id":"a\/b","x":"\ud800"}"#,
                K::InvalidEscape,
                Some(r#""a/b""#),
            ),
            (
                br#"{"x":"\ud800","id":"a\/b"}"#,
                K::InvalidEscape,
                Some(r#""a/b""#),
            ),
            (
                br#"{"x":{"id":5,"y":"\ud800"},"id" : 7 }"#,
                K::InvalidEscape,
                Some("7"),
            ),
            (
                br#"{"x":{"id":"no","y":"\ud800"},"id":"yes"}"#,
                K::InvalidEscape,
                Some(r#""yes""#),
            ),
            (
                br#"{"id":"yes","x":{"id":"no","y":"\ud800"},"z":{"id":"no"}}"#,
                K::InvalidEscape,
                Some(r#""yes""#),
            ),
            (
                br#"{"z":{},"x":["id","a","id",{"id":"no"}],"id":"yes","y":["id","\ud800"]}"#,
                K::InvalidEscape,
                Some(r#""yes""#),
            ),
            (br#"{"id":3,"x":1e400}"#, K::InvalidNumber, Some("3")),
            (
                br#"{"id":99999999999999999999999,"x":1e400}"#,
                K::InvalidNumber,
                Some("99999999999999999999999"),
            ),
            (b"{\"id\":4,\"x\":\"a\x01b\"}", K::Syntax, Some("4")),
            (
                b"{\"id\":\"q\\\"\",\"x\":\"a\x01b\"}",
                K::Syntax,
                Some(r#""q\"""#),
            ),
            (b"{\"id\":5,\"x\":\"\xff\"}", K::InvalidUtf8, Some("5")),
            (
                b"{\"x\":\"\xc0\xaf\",\"id\":\"\\n\"}",
                K::InvalidUtf8,
                Some(r#""\n""#),
            ),
            (b"{\"id\":5,\"x\":\"\xe4\xb8\"}", K::InvalidUtf8, Some("5")),
            (b"{\"id\":\"a\xffb\",\"x\":1}", K::InvalidUtf8, None),
            (b"{\"x\":1,\"id\":\"\xe4\xb8\"}", K::InvalidUtf8, None),
            (br#"{"id":6,"x":[1,]}"#, K::Syntax, Some("6")),
            // Not to be sure of.
            (br#"{"id":1,"x":"#, K::Syntax, None),
            (br#"{"id":1,"x":{"y":1}"#, K::Syntax, None),
            (br#"{"id":1}{"id":2}"#, K::Syntax, None),
            (br#"{"id":"id":3,"x":1}"#, K::Syntax, None),
            (br#"{"id":1,"id":2,"x":1e400}"#, K::InvalidNumber, None),
            (br#"{"id":"\ud800"}"#, K::InvalidEscape, None),
            (br#"{"id":1.5,"x":1e400}"#, K::InvalidNumber, None),
            (br#"{"id":01,"x":1}"#, K::InvalidNumber, None),
            (br#"{"id":null,"x":1e400}"#, K::InvalidNumber, None),
            (br#"{"id":[1],"x":1e400}"#, K::InvalidNumber, None),
            (br#"[{"id":1},1e400]"#, K::InvalidNumber, None),
            (br#"{"id\"":1,"x":"\ud800"}"#, K::InvalidEscape, None),
            (br#"["id",1e400]"#, K::InvalidNumber, None),
            (
                br#"{"i\u0064":"evil","id":"good","x":"\ud800"}"#,
                K::InvalidEscape,
                None,
            ),
            (
                br#"{"id":"good","i\u0064":"evil","x":"\ud800"}"#,
                K::InvalidEscape,
                None,
            ),
            (
                br#"{"i\u0064":5,"id":"good","x":"\ud800"}"#,
                K::InvalidEscape,
                None,
            ),
            (
                br#"{"x":"\ud800","i\u0064":5,"id":6}"#,
                K::InvalidEscape,
                None,
            ),
            (
                br#"{"i\u0064":"evil","x":"\ud800","id":7}"#,
                K::InvalidEscape,
                None,
            ),
            (
                b"{\"i\\u0064\":\"evil\",\"id\":\"good\",\"x\":\"\xff\"}",
                K::InvalidUtf8,
                None,
            ),
            (br#"{"i\u0064":1,"x":"\ud800"}"#, K::InvalidEscape, None),
            (b"", K::Syntax, None),
        ];
        for (text, kind, id) in cases {
            let shown = String::from_utf8_lossy(text);
            assert_eq!(
                recovered(text),
                (Some(*kind), id.map(str::to_owned)),
                "{shown}"
            );
        }
    }

    #[test]
    fn the_digits_of_wide_integers_are_found_after_success() {
        let text =
            br#"{"a":["\n,",-18446744073709551616 ,1e30],"id": 123456789012345678901234567890 }"#;
        let mut bytes = padded(text);
        let mut line = Line::padded(&mut bytes, text.len()).unwrap();
        let mut parser = Parser::default();
        let (mut copy, len, places) = parser.parse(&mut line).unwrap().to_line();
        assert_eq!(places.len(), 3);
        let wide = parser.wide_integers(&line, &places);

        let mut line = Line::padded(&mut copy, len).unwrap();
        let document = parser.parse(&mut line).unwrap();
        let root = document.root().as_object().unwrap();
        let digits = |value| wide.find(value);
        assert_eq!(
            root.find("id").and_then(digits),
            Some("123456789012345678901234567890")
        );
        let items: Vec<_> = root.find("a").unwrap().as_array().unwrap().iter().collect();
        assert_eq!(digits(items[1]), Some("-18446744073709551616"));
        assert_eq!((digits(items[0]), digits(items[2])), (None, None));
    }

    #[test]
    fn an_older_line_does_not_lend_its_id() {
        let mut parser = Parser::default();
        let mut first = padded(br#"{"id":1}"#);
        let mut line = Line::padded(&mut first, 8).unwrap();
        drop(parser.parse(&mut line));
        for text in [&b"\xff"[..], b"", b"}", b"\"\xff"] {
            let mut bytes = padded(text);
            let mut line = Line::padded(&mut bytes, text.len()).unwrap();
            assert!(parser.parse(&mut line).is_err());
            assert_eq!(parser.recover_id(&mut line), None);
        }
    }
}
