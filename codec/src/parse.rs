//! Parsing a line in place.
//!
//! simd-json finds the structure of the line with vector instructions, then writes a flat tape of
//! nodes: numbers by value, strings as borrowed slices of the line, which were unescaped where
//! they lie. The [`Ring`](crate::Ring) always has the readable bytes after a line that the vector
//! loads need, so nothing is copied; the buffers and the tape are used again for the next line.
//!
//! Two things are tried before: whether the line is nearly the same as an earlier one, in `memo`, and
//! what is left of a long one without its long strings, in `skeleton`.
//!
//! What the parser refuses is still read far enough to answer it: [`Parser::recover_id`] finds
//! the id of a request that is complete but not acceptable.

use std::{fmt, mem};

use memchr::{memchr, memchr2};
use simd_json::{Buffers, ErrorType, Node, Tape};

use crate::{
    error::{ParseError, ParseErrorKind},
    memo::{Likeness, Memo},
    recover::{TapeIds, is_wide},
    ring::{LINE_PADDING, Line},
    skeleton::Skeleton,
    value::Value,
    write::{JsonWriter, Verbatim},
};

/// The bounds of a [`Parser`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParserLimits {
    /// How deep objects and arrays may be nested.
    pub nesting_max: usize,
    /// How many values and keys a line may hold. Only lines over 1 MiB are counted, before they
    /// are parsed: a shorter one cannot cost much memory.
    pub values_max: usize,
    /// How many of the lines before are remembered, for a parser of a stream: one that differs from
    /// such a line in nothing but numbers and strings need not be parsed. Lines of up to 1 KiB
    /// without escapes are remembered.
    pub lines_remembered: usize,
}

impl Default for ParserLimits {
    /// 128 levels; 1,048,576 values; no lines remembered.
    fn default() -> Self {
        Self {
            nesting_max: 128,
            values_max: 1 << 20,
            lines_remembered: 0,
        }
    }
}

/// Parses lines one after the other with the same buffers.
pub struct Parser {
    buffers: Buffers,
    /// The tape between two documents: empty, its allocation kept.
    tape: Tape<'static>,
    memo: Memo,
    pub(crate) skeleton: Skeleton,
    limits: ParserLimits,
    pub(crate) progress: Progress,
    /// In bytes, since the buffers were given back.
    longest_line: usize,
    /// Buffers grown past this many bytes are given back.
    bytes_kept: usize,
}

/// How far the last line got: what [`Parser::recover_id`] starts from.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// What the structural indexes are those of, if it is of the last line.
    pub(crate) source: Option<Source>,
    /// How many nodes were written, each a value or a key.
    pub(crate) nodes: usize,
    pub(crate) failed: bool,
    pub(crate) tape_ids: TapeIds,
    /// The string id that was found, which [`Parser::recover_id`] lends.
    pub(crate) string_id: Option<String>,
}

/// What was parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Line,
    Skeleton,
}

impl Progress {
    fn note(&mut self, source: Source, tape: &Tape<'_>, failed: bool) {
        self.source = Some(source);
        self.nodes = tape.0.len();
        self.failed = failed;
        self.tape_ids = if failed {
            TapeIds::find(&tape.0)
        } else {
            TapeIds::default()
        };
    }
}

impl Parser {
    /// Buffers that a line made grow past this many bytes are given back after it, unless less is
    /// to be kept.
    const BYTES_KEPT: usize = 1024 * 1024;
    const BYTES_AT_FIRST: usize = 4 * 1024;
    /// From this length on it pays to look for long strings, and to know whether a line has escapes.
    const BYTES_LONG: usize = 1024;

    /// Makes a parser.
    #[must_use]
    pub fn new(limits: ParserLimits) -> Self {
        Self {
            buffers: Buffers::with_max_depth(Self::BYTES_AT_FIRST, limits.nesting_max),
            tape: Tape(Vec::new()),
            memo: Memo::new(limits.lines_remembered),
            skeleton: Skeleton::default(),
            limits,
            progress: Progress::default(),
            longest_line: 0,
            bytes_kept: Self::BYTES_KEPT,
        }
    }

    /// Has less than 1 MiB of the buffers kept by [`Parser::release`]: for one parser of many.
    pub fn keep(&mut self, bytes: usize) {
        self.bytes_kept = bytes.min(Self::BYTES_KEPT);
    }

    /// Names the text that is likely to stand in the lines: a line that is like an earlier one is read
    /// a little faster the more of it has a name. Where `names` returns another text than it is asked
    /// for, that is none.
    pub fn expect(&mut self, names: fn(&str) -> Option<&'static str>) {
        self.memo.expect(names);
    }

    /// How many bytes the buffers take, as far as lines made them grow.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.longest_line + self.tape_bytes() + self.memo.bytes() + self.skeleton.bytes()
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
        self.progress.source = None;
        if self.memo.find(&bytes[..len]) {
            return Ok(self.recall(&bytes[..len]));
        }
        if len >= Self::BYTES_LONG && self.skeleton.cut(&bytes[..len]) {
            return self.parse_skeleton(&bytes[..len]);
        }
        self.parse_all(bytes, len)
    }

    /// Parses a line with no look at earlier ones, and nothing left out.
    pub(crate) fn parse_in_full<'a>(
        &'a mut self,
        line: &'a mut Line<'_>,
    ) -> Result<Document<'a>, ParseError> {
        let (bytes, len) = line.parts();
        self.progress.source = None;
        self.memo.pass();
        self.parse_all(bytes, len)
    }

    fn parse_all<'a>(
        &'a mut self,
        bytes: &'a mut [u8],
        len: usize,
    ) -> Result<Document<'a>, ParseError> {
        self.longest_line = self.longest_line.max(len);
        let mut has_backslash = len < Self::BYTES_LONG;
        if len > Self::BYTES_KEPT {
            let counted = count_values(&bytes[..len]);
            if counted.values > self.limits.values_max {
                return Err(too_many_values());
            }
            has_backslash = counted.has_backslash;
        } else if !has_backslash {
            has_backslash = memchr(b'\\', &bytes[..len]).is_some();
        }
        let verbatim = if has_backslash {
            Verbatim::default()
        } else {
            Verbatim::of(&bytes[..len])
        };
        let mut tape = reset(&mut self.tape);
        let parsed = simd_json::fill_tape_padded(bytes, len, &mut self.buffers, &mut tape);
        self.progress.note(Source::Line, &tape, parsed.is_err());
        if let Err(error) = parsed {
            self.tape = tape.reset();
            return Err(parse_error(&error));
        }
        let indexes = self.buffers.structural_indexes();
        self.memo.remember(&tape.0, indexes);
        Ok(Document {
            tape,
            verbatim,
            likeness: None,
            line_bytes: len,
            home: &mut self.tape,
        })
    }

    /// Parses the skeleton of a line.
    fn parse_skeleton<'a>(&'a mut self, line: &'a [u8]) -> Result<Document<'a>, ParseError> {
        let Skeleton { text, cuts } = &mut self.skeleton;
        // It holds as many values as the line, whether it is JSON or not.
        if line.len() > Self::BYTES_KEPT
            && count_values(text.as_bytes()).values > self.limits.values_max
        {
            return Err(too_many_values());
        }
        let mut tape = reset(&mut self.tape);
        if self.memo.find(text.as_bytes()) {
            self.memo.fill(text.as_bytes(), &mut tape.0);
        } else {
            let (bytes, len) = text.parts();
            let parsed = simd_json::fill_tape_padded(bytes, len, &mut self.buffers, &mut tape);
            self.progress.note(Source::Skeleton, &tape, parsed.is_err());
            if let Err(error) = parsed {
                self.tape = tape.reset();
                let ParseError { kind, at } = parse_error(&error);
                let at = at.map(|at| cuts.place_in_line(at));
                return Err(ParseError { kind, at });
            }
            let indexes = self.buffers.structural_indexes();
            self.memo.remember(&tape.0, indexes);
        }
        cuts.fill(line, &mut tape.0);
        Ok(Document {
            tape,
            verbatim: Verbatim::of(line),
            // The strings that were cut out differ too.
            likeness: None,
            line_bytes: line.len(),
            home: &mut self.tape,
        })
    }

    /// The document of a line that is like one of the earlier ones.
    #[inline]
    fn recall<'a>(&'a mut self, line: &'a [u8]) -> Document<'a> {
        let mut tape = reset(&mut self.tape);
        let likeness = self.memo.fill(line, &mut tape.0);
        Document {
            tape,
            verbatim: Verbatim::default(),
            likeness,
            line_bytes: line.len(),
            home: &mut self.tape,
        }
    }

    pub(crate) fn structural_indexes(&self) -> &[u32] {
        self.buffers.structural_indexes()
    }

    /// Whether long lines have made the buffers grow past what is kept of them: 1 MiB, unless
    /// [`Parser::keep`] was told less.
    #[must_use]
    #[inline]
    pub fn is_large(&self) -> bool {
        self.longest_line > self.bytes_kept || self.tape_bytes() > self.bytes_kept
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

    #[inline]
    fn tape_bytes(&self) -> usize {
        self.tape.0.capacity() * size_of::<Node<'_>>()
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
    pub(crate) tape: Tape<'a>,
    verbatim: Verbatim,
    likeness: Option<Likeness<'a>>,
    line_bytes: usize,
    home: &'a mut Tape<'static>,
}

impl Document<'_> {
    /// The value that the line is.
    #[must_use]
    pub fn root(&self) -> Value<'_> {
        Value::new(&self.tape.0)
    }

    /// Which strings a [`JsonWriter`] can write as they were read, while the document lives: those of
    /// a long line without escapes.
    #[must_use]
    #[inline]
    pub fn verbatim(&self) -> Verbatim {
        self.verbatim
    }

    /// The earlier line that this one is like, if the parser remembers one.
    #[must_use]
    #[inline]
    pub fn likeness(&self) -> Option<Likeness<'_>> {
        self.likeness
    }

    /// Where a value of this document stands in it: lines that are alike have it in the same place.
    #[must_use]
    #[inline]
    pub fn place(&self, value: Value<'_>) -> usize {
        self.tape.0.len().saturating_sub(value.nodes_left())
    }

    /// The value, or the name of a member, in this place; null if there is none.
    #[must_use]
    #[inline]
    pub fn value_at(&self, place: usize) -> Value<'_> {
        Value::new(self.tape.0.get(place..).unwrap_or_default())
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

impl Drop for Document<'_> {
    fn drop(&mut self) {
        *self.home = reset(&mut self.tape);
    }
}

/// Takes a tape, and leaves none.
fn reset<'new>(tape: &mut Tape<'_>) -> Tape<'new> {
    mem::replace(tape, Tape(Vec::new())).reset()
}

fn too_many_values() -> ParseError {
    ParseError {
        kind: ParseErrorKind::TooManyValues,
        at: None,
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
    // Within a string it is counted from there.
    let is_known = error.index() > 0 && kind != ParseErrorKind::InvalidEscape;
    let at = is_known.then_some(error.index());
    ParseError { kind, at }
}

/// What is known of a long line before it is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    /// How many values and keys it holds, if it is JSON; if not, a third at least of what the parser
    /// would note of it.
    values: usize,
    /// Whether a string holds one, if it is JSON.
    has_backslash: bool,
}

/// Counts the values of a line. Strings are skipped over with vector instructions.
fn count_values(bytes: &[u8]) -> Counted {
    let (mut starts, mut separators, mut ends) = (0, 0, 0);
    let mut has_backslash = false;
    let mut in_scalar = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        let was_in_scalar = mem::take(&mut in_scalar);
        match byte {
            b',' | b':' => separators += 1,
            b'[' | b'{' => starts += 1,
            b']' | b'}' => ends += 1,
            b' ' | b'\t' | b'\r' => {}
            b'"' => {
                starts += 1;
                (at, has_backslash) = string_end(bytes, at, has_backslash);
            }
            _ => {
                in_scalar = true;
                starts += usize::from(!was_in_scalar);
            }
        }
    }
    Counted {
        values: starts.max(separators).max(ends),
        has_backslash,
    }
}

/// Where the string ends whose first quote stands before `at`: behind its last quote. And whether
/// there was a backslash in it, or before.
fn string_end(bytes: &[u8], mut at: usize, mut has_backslash: bool) -> (usize, bool) {
    while let Some(offset) = memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += offset + 1;
        if bytes[at - 1] == b'"' {
            return (at, has_backslash);
        }
        // Whatever is escaped.
        has_backslash = true;
        at += 1;
    }
    (bytes.len(), has_backslash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(text: &[u8]) -> Vec<u8> {
        let mut bytes = text.to_vec();
        bytes.resize(text.len() + LINE_PADDING, 0);
        bytes
    }

    fn refused(text: &[u8]) -> Option<ParseErrorKind> {
        let mut bytes = padded(text);
        let mut line = Line::padded(&mut bytes, text.len()).unwrap();
        Parser::default()
            .parse(&mut line)
            .err()
            .map(|error| error.kind)
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |levels: usize| {
            let mut text = b"[".repeat(levels);
            text.extend(b"]".repeat(levels));
            refused(&text)
        };
        assert_eq!(nested(128), None);
        assert_eq!(nested(129), Some(ParseErrorKind::TooDeep));
        assert_eq!(nested(100_000), Some(ParseErrorKind::TooDeep));
        assert_eq!(
            refused(&b"[".repeat(100_000)),
            Some(ParseErrorKind::TooDeep)
        );
    }

    #[test]
    fn values_are_counted_on_long_lines_and_text_is_not() {
        let mut text = b"[".to_vec();
        text.extend(b"0,".repeat(1 << 20));
        text.extend(b"0]");
        assert_eq!(refused(&text), Some(ParseErrorKind::TooManyValues));

        let mut text = b"[\"".to_vec();
        text.extend(b",:{[\\\"".repeat(1 << 19));
        text.extend(b"\"]");
        assert_eq!(refused(&text), None);
        let counted = [
            (&br#"{"a":[1 , "x,\",y"],"b":{},"c":-1.5e3}"#[..], 9, true),
            (br#"["a","\n","b"]"#, 4, true),
            (br#"["abc\"#, 2, true),
            (b"1 1 tru e\"\"\"\"}}", 6, false),
            (b"}}}},,,,,", 5, false),
        ];
        for (text, values, has_backslash) in counted {
            let expected = Counted {
                values,
                has_backslash,
            };
            assert_eq!(count_values(text), expected);
        }
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

    #[test]
    fn what_a_long_line_takes_is_counted_as_held() {
        // The one is cut, the other is not.
        let lines = [("x", 4096), ("\u{e9}", 100_000)];
        for (piece, least) in lines {
            let text = format!("[\"{}\"]", piece.repeat(50_000));
            let mut bytes = padded(text.as_bytes());
            let mut line = Line::padded(&mut bytes, text.len()).unwrap();
            let mut parser = Parser::default();
            let before = parser.bytes();
            drop(parser.parse(&mut line));
            assert!(parser.bytes() >= before + least, "{piece}");
        }
    }

    #[test]
    fn a_line_of_too_many_values_is_not_read_by_the_structure_of_the_last() {
        let mut parser = Parser::new(ParserLimits {
            values_max: 2,
            ..ParserLimits::default()
        });
        // Refused as well, so that the place of its id is known.
        let small = br#"{"id":1,"x":1e999}"#;
        let mut bytes = padded(small);
        let mut line = Line::padded(&mut bytes, small.len()).unwrap();
        assert!(parser.parse(&mut line).is_err());
        let text = format!(r#"{{"id":2,"x":12345}}{}"#, " ".repeat(Parser::BYTES_KEPT));
        let mut bytes = padded(text.as_bytes());
        let mut line = Line::padded(&mut bytes, text.len()).unwrap();
        let error = parser.parse(&mut line).unwrap_err();
        assert_eq!(error.kind, ParseErrorKind::TooManyValues);
        assert_eq!(parser.recover_id(&mut line), None);
    }
}
