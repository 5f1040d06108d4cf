//! Parsing a line in place.
//!
//! simd-json finds the structure of the line with vector instructions, then writes a flat tape of
//! nodes: numbers by value, strings as borrowed slices of the line, which were unescaped where
//! they lie. The [`Ring`](crate::Ring) always has the readable bytes after a line that the vector
//! loads need, so nothing is copied; the buffers and the tape are used again for the next line.
//!
//! What the parser refuses is still read far enough to answer it: [`Parser::recover_id`] finds
//! the id of a request that is complete but not acceptable.

use std::fmt;

use memchr::memchr2;
use simd_json::{Buffers, ErrorType, Node, StaticNode, Tape};

use crate::{
    error::{ParseError, ParseErrorKind},
    message::Id,
    recover::{IdPlace, TapeIds, is_integer, locate_id, parse_string, replace_invalid_utf8},
    ring::{LINE_PADDING, Line},
    value::Value,
    write::JsonWriter,
};

/// The bounds of a [`Parser`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParserLimits {
    /// How deep objects and arrays may be nested.
    pub nesting_max: usize,
    /// How many values and keys a line may hold. Only lines over 1 MiB are counted, before they
    /// are parsed: a shorter one cannot cost much memory.
    pub values_max: usize,
}

impl Default for ParserLimits {
    /// 128 levels; 1,048,576 values.
    fn default() -> Self {
        Self {
            nesting_max: 128,
            values_max: 1 << 20,
        }
    }
}

/// Parses lines one after the other with the same buffers.
pub struct Parser {
    buffers: Buffers,
    /// The tape between two documents: empty, its allocation kept.
    tape: Tape<'static>,
    limits: ParserLimits,
    progress: Progress,
    /// In bytes, since the buffers were given back.
    longest_line: usize,
}

/// How far the last line got: what [`Parser::recover_id`] starts from.
#[derive(Debug, Default)]
struct Progress {
    /// Whether the structural indexes are those of the last line.
    indexed: bool,
    /// How many nodes were written, each a value or a key.
    nodes: usize,
    failed: bool,
    tape_ids: TapeIds,
    /// The string id that was found, which [`Parser::recover_id`] lends.
    string_id: Option<String>,
}

impl Parser {
    /// Buffers that a line made grow past this many bytes are given back after it.
    const BYTES_KEPT: usize = 1024 * 1024;
    const BYTES_AT_FIRST: usize = 4 * 1024;

    /// Makes a parser.
    #[must_use]
    pub fn new(limits: ParserLimits) -> Self {
        Self {
            buffers: Buffers::with_max_depth(Self::BYTES_AT_FIRST, limits.nesting_max),
            tape: Tape(Vec::new()),
            limits,
            progress: Progress::default(),
            longest_line: 0,
        }
    }

    /// Parses a line in place. The document borrows both the line and the parser, and gives its
    /// tape back to the parser when it is dropped.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if the line is not one JSON value within the limits. What
    /// [`Parser::recover_id`] then finds is the id to answer with.
    pub fn parse<'a>(&'a mut self, line: &'a mut Line<'_>) -> Result<Document<'a>, ParseError> {
        let (bytes, len) = line.parts();
        self.progress.indexed = false;
        self.progress.tape_ids = TapeIds::default();
        self.longest_line = self.longest_line.max(len);
        if len > Self::BYTES_KEPT && count_values(&bytes[..len]) > self.limits.values_max {
            return Err(ParseError {
                kind: ParseErrorKind::TooManyValues,
                at: None,
            });
        }
        let mut tape = std::mem::replace(&mut self.tape, Tape(Vec::new())).reset();
        let parsed = simd_json::fill_tape_padded(bytes, len, &mut self.buffers, &mut tape);
        self.progress.indexed = true;
        self.progress.failed = parsed.is_err();
        self.progress.nodes = tape.0.len();
        match parsed {
            Ok(()) => Ok(Document {
                tape,
                line_bytes: len,
                home: &mut self.tape,
            }),
            Err(error) => {
                self.progress.tape_ids = TapeIds::find(&tape.0);
                self.tape = tape.reset();
                Err(parse_error(&error))
            }
        }
    }

    /// Whether long lines have made the buffers grow past 1 MiB.
    #[must_use]
    #[inline]
    pub fn is_large(&self) -> bool {
        self.longest_line > Self::BYTES_KEPT
            || self.tape.0.capacity() * size_of::<Node<'_>>() > Self::BYTES_KEPT
    }

    /// Gives back what long lines made the buffers grow to. To be called when no more of them are
    /// at hand, since the next one will make them grow again.
    pub fn release(&mut self) {
        if self.is_large() {
            self.buffers = Buffers::with_max_depth(Self::BYTES_AT_FIRST, self.limits.nesting_max);
            self.tape = Tape(Vec::new());
            self.progress = Progress::default();
            self.longest_line = 0;
        }
    }

    /// The integers beyond 64 bits of the line that was parsed last, of which [`Document::to_line`]
    /// told the places.
    #[must_use]
    pub fn wide_integers(&self, line: &Line<'_>, places: &[usize]) -> WideIntegers {
        let bytes = line.as_bytes();
        let indexes = self.buffers.structural_indexes();
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
        if !self.progress.indexed {
            return None;
        }
        if std::str::from_utf8(line.as_bytes()).is_err() {
            // Stage one of the parser may not have run, and nothing was unescaped yet: read it
            // again with the bad bytes replaced, for the id alone.
            let replaced = replace_invalid_utf8(line.bytes_mut());
            let parsed = self
                .parse(line)
                .map(|document| TapeIds::find(&document.tape.0));
            if let Ok(ids) = parsed {
                self.progress.tape_ids = ids;
            }
            let place = self.locate_id(line.as_bytes())?;
            if replaced
                .iter()
                .any(|at| (place.start..place.end).contains(at))
            {
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
        locate_id(bytes, self.buffers.structural_indexes(), is_id)
    }
}

impl Default for Parser {
    fn default() -> Self {
        Self::new(ParserLimits::default())
    }
}

impl fmt::Debug for Parser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parser")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// A parsed line.
#[derive(Debug)]
pub struct Document<'a> {
    tape: Tape<'a>,
    line_bytes: usize,
    home: &'a mut Tape<'static>,
}

impl Document<'_> {
    /// The value that the line is.
    #[must_use]
    pub fn root(&self) -> Value<'_> {
        Value::new(&self.tape.0)
    }

    /// The document as a line of its own in a new buffer, [`LINE_PADDING`] bytes longer than the
    /// length that comes with it, and which of its numbers are beyond 64 bits: what
    /// [`Parser::wide_integers`] wants to know.
    #[must_use]
    pub fn to_line(&self) -> (Vec<u8>, usize, Vec<usize>) {
        let mut bytes = Vec::with_capacity(self.line_bytes + LINE_PADDING);
        JsonWriter::new(&mut bytes).value(self.root());
        let len = bytes.len();
        bytes.resize(len + LINE_PADDING, 0);
        let nodes = self.tape.0.iter().enumerate();
        let wide = nodes
            .filter(|(_, node)| is_wide(node))
            .map(|(index, _)| index);
        (bytes, len, wide.collect())
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
    /// [`Document::to_line`].
    #[must_use]
    pub fn find(&self, value: Value<'_>) -> Option<&str> {
        let place = self.nodes.checked_sub(value.nodes_left())?;
        let found = self
            .digits
            .binary_search_by_key(&place, |(place, _)| *place);
        found.ok().map(|found| self.digits[found].1.as_str())
    }
}

fn is_wide(node: &Node<'_>) -> bool {
    matches!(node, Node::Static(StaticNode::F64(value))
        if value.abs() >= 9_223_372_036_854_775_808.0)
}

impl Drop for Document<'_> {
    fn drop(&mut self) {
        *self.home = std::mem::replace(&mut self.tape, Tape(Vec::new())).reset();
    }
}

fn parse_error(error: &simd_json::Error) -> ParseError {
    use ErrorType as E;
    let kind = match error.error() {
        E::InvalidUtf8 => ParseErrorKind::InvalidUtf8,
        E::InvalidNumber | E::InvalidExponent => ParseErrorKind::InvalidNumber,
        E::InvalidEscape | E::InvalidUnicodeEscape | E::InvalidUnicodeCodepoint => {
            ParseErrorKind::InvalidEscape
        }
        E::DepthLimitExceeded => ParseErrorKind::TooDeep,
        E::InputTooLarge => ParseErrorKind::TooLong,
        _ => ParseErrorKind::Syntax,
    };
    let at = Some(error.index()).filter(|index| *index > 0);
    ParseError { kind, at }
}

/// How many values and keys a line holds, if it is JSON; if not, a third at least of what the
/// parser would note of it. Strings are skipped over with vector instructions.
fn count_values(bytes: &[u8]) -> usize {
    let (mut starts, mut separators, mut ends) = (0, 0, 0);
    let mut in_scalar = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        let was_in_scalar = std::mem::take(&mut in_scalar);
        match byte {
            b',' | b':' => separators += 1,
            b'[' | b'{' => starts += 1,
            b']' | b'}' => ends += 1,
            b' ' | b'\t' | b'\r' => {}
            b'"' => {
                starts += 1;
                at = string_end(bytes, at);
            }
            _ => {
                in_scalar = true;
                starts += usize::from(!was_in_scalar);
            }
        }
    }
    starts.max(separators).max(ends)
}

/// Where the string ends whose first quote stands before `at`: behind its last quote.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(offset) = memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += offset + 1;
        if bytes[at - 1] == b'"' {
            return at;
        }
        // Whatever is escaped.
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn nesting_is_bounded() {
        let nested = |levels: usize| {
            let mut text = b"[".repeat(levels);
            text.extend(b"]".repeat(levels));
            recovered(&text).0
        };
        assert_eq!(nested(128), None);
        assert_eq!(nested(129), Some(ParseErrorKind::TooDeep));
        assert_eq!(nested(100_000), Some(ParseErrorKind::TooDeep));
        assert_eq!(
            recovered(&b"[".repeat(100_000)).0,
            Some(ParseErrorKind::TooDeep)
        );
    }

    #[test]
    fn values_are_counted_on_long_lines_and_text_is_not() {
        let mut text = b"[".to_vec();
        text.extend(b"0,".repeat(1 << 20));
        text.extend(b"0]");
        assert_eq!(recovered(&text).0, Some(ParseErrorKind::TooManyValues));

        let mut text = b"[\"".to_vec();
        text.extend(b",:{[\\\"".repeat(1 << 19));
        text.extend(b"\"]");
        assert_eq!(recovered(&text).0, None);
        assert_eq!(
            count_values(br#"{"a":[1 , "x,\",y"],"b":{},"c":-1.5e3}"#),
            9
        );
        assert_eq!(count_values(br#"["abc\"#), 2);
        assert_eq!(count_values(b"1 1 tru e\"\"\"\"}}"), 6);
        assert_eq!(count_values(b"}}}},,,,,"), 5);
    }

    #[test]
    fn a_long_line_does_not_keep_the_tape_it_needed() {
        let mut text = b"[".to_vec();
        text.extend(b"0,".repeat(200_000));
        text.extend(b"0]");
        let mut bytes = padded(&text);
        let mut line = Line::padded(&mut bytes, text.len()).unwrap();
        let mut parser = Parser::default();
        drop(parser.parse(&mut line));
        assert!(parser.tape.0.capacity() > 200_000);
        assert!(parser.is_large());
        parser.release();
        assert!(!parser.is_large());
    }
}
