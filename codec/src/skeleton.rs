//! A long line without its long strings: what is left for the parser.
//!
//! What makes a line long is, nearly always, one string: the text of a file, an image in base64. The
//! parser would look at each byte of it several times, for structure that a string does not have.
//!
//! ```text
//!   line      {"jsonrpc":"2.0","id":1,…,"arguments":{"message":"Sphinx of black quartz …"},"_meta":{…}}
//!   skeleton  {"jsonrpc":"2.0","id":1,…,"arguments":{"message":""},"_meta":{…}}
//! ```
//!
//! So the line is cut first: a string that is long and plain, ASCII without escapes and control
//! characters, is left out, and the skeleton parsed in its stead. It is JSON if and only if the line
//! is, with the same errors otherwise; the strings are then put into the tape, borrowed from the
//! line. A line whose skeleton would be long itself is parsed as it is.

use memchr::{memchr, memchr2, memrchr};
use simd_json::Node;

use crate::ring::LINE_PADDING;

/// Cuts lines, and holds what came of the last.
#[derive(Debug, Default)]
pub(crate) struct Skeleton {
    pub(crate) text: Text,
    pub(crate) cuts: Cuts,
}

/// What is left of a line.
#[derive(Debug, Default)]
pub(crate) struct Text {
    /// Of one length, with the padding that the parser needs, once there was a line.
    bytes: Vec<u8>,
    len: usize,
}

/// What was left out of it.
#[derive(Debug, Default)]
pub(crate) struct Cuts(Vec<Cut>);

/// A string that was left out.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// How many strings, names included, come before it and after the cut before.
    strings_before: usize,
    /// Where its text stands in the line.
    start: usize,
    end: usize,
}

impl Skeleton {
    /// A skeleton is no longer than this. It is so much that is copied in vain at most.
    const BYTES_MAX: usize = 4096;
    /// Shorter strings are not left out.
    const STRING_BYTES_MIN: usize = 512;
    /// Nor is a line cut that has more of them: none is long for it.
    const CUTS_MAX: usize = 16;
    /// Nor one with a shorter string that has more escapes than this: the parser is quicker.
    const ESCAPES_MAX: usize = 16;
    /// Nor one with more shorter strings than this, and one for so many bytes: to look at them costs
    /// more than is gained.
    const STRINGS_MAX: usize = 16;
    const BYTES_PER_STRING: usize = 512;
    /// Nor one whose middle is in a string of less than one part in so many: that has many strings.
    const LINE_PER_STRING: usize = 8;
    /// So many bytes are looked at one by one: most names are short.
    const BYTES_NEAR: usize = 8;
    /// So much of a string is looked at before it is looked at in another way: it is in the
    /// processor's cache then.
    const BLOCK_BYTES: usize = 4096;

    /// Cuts a line. `false` if there is nothing to leave out, or too much would be left.
    pub(crate) fn cut(&mut self, line: &[u8]) -> bool {
        if !looks_plain(line) {
            return false;
        }
        self.text.len = 0;
        self.text.bytes.resize(Self::BYTES_MAX + LINE_PADDING, 0);
        self.cuts.0.clear();
        self.try_cut(line).is_some() && !self.cuts.0.is_empty()
    }

    /// How many bytes it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.text.bytes.capacity() + self.cuts.0.capacity() * size_of::<Cut>()
    }

    fn try_cut(&mut self, line: &[u8]) -> Option<()> {
        let strings_max = Self::STRINGS_MAX + line.len() / Self::BYTES_PER_STRING;
        let mut strings = 0;
        let mut strings_before = 0;
        // Up to here the line is copied or left out; up to there it is read.
        let (mut from, mut at) = (0, 0);
        // No string that would be left out fits in less.
        while line.len() - at > Self::STRING_BYTES_MIN {
            let Some(start) = string_start(line, at) else {
                break;
            };
            let (len, is_long) = string_length(&line[start..])?;
            let end = start + len;
            at = end + 1;
            if is_long {
                if self.cuts.0.len() == Self::CUTS_MAX {
                    return None;
                }
                self.text.push(&line[from..start])?;
                self.cuts.0.push(Cut {
                    strings_before,
                    start,
                    end,
                });
                strings_before = 0;
                from = end;
            } else {
                strings += 1;
                strings_before += 1;
                if strings > strings_max || at - from > Self::BYTES_MAX {
                    return None;
                }
            }
        }
        self.text.push(&line[from..])
    }
}

impl Text {
    /// The text with its padding, and its length.
    pub(crate) fn parts(&mut self) -> (&mut [u8], usize) {
        (&mut self.bytes[..self.len + LINE_PADDING], self.len)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Appends these bytes, if there is room.
    fn push(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.len + bytes.len();
        self.bytes[..Skeleton::BYTES_MAX]
            .get_mut(self.len..end)?
            .copy_from_slice(bytes);
        self.len = end;
        Some(())
    }
}

impl Cuts {
    /// Puts what was left out of the line into the tape of the skeleton.
    pub(crate) fn fill<'a>(&self, line: &'a [u8], tape: &mut [Node<'a>]) {
        let mut strings = tape
            .iter_mut()
            .filter(|node| matches!(node, Node::String(_)));
        for cut in &self.0 {
            if let Some(node) = strings.nth(cut.strings_before) {
                // It is ASCII.
                let text = std::str::from_utf8(&line[cut.start..cut.end]);
                *node = Node::String(text.unwrap_or_default());
            }
        }
    }

    /// Where in the line a byte of the skeleton stands.
    pub(crate) fn place_in_line(&self, place: usize) -> usize {
        let mut left_out = 0;
        for cut in &self.0 {
            if place + left_out < cut.start {
                break;
            }
            left_out += cut.end - cut.start;
        }
        place + left_out
    }
}

/// Whether the middle of the line may be that of a string to leave out: one that makes a line long
/// is nearly always there, and often not plain.
fn looks_plain(line: &[u8]) -> bool {
    let least = line.len() / Skeleton::LINE_PER_STRING;
    let least = least.clamp(Skeleton::STRING_BYTES_MIN, Skeleton::BLOCK_BYTES);
    let (before, behind) = line.split_at(line.len() / 2);
    let before = &before[before.len().saturating_sub(least)..];
    let before = &before[memrchr(b'"', before).map_or(0, |quote| quote + 1)..];
    let behind = &behind[..behind.len().min(least)];
    let end = memchr2(b'"', b'\\', behind);
    if end.is_some_and(|end| behind[end] == b'\\') {
        return false;
    }
    let behind = &behind[..end.unwrap_or(behind.len())];
    before.len() + behind.len() >= least && is_plain(behind)
}

/// Where the text of the next string begins, from a place outside of strings. `None` if there is no
/// string in as many bytes as a skeleton may have.
#[inline]
fn string_start(line: &[u8], at: usize) -> Option<usize> {
    let near = &line[at..line.len().min(at + Skeleton::BYTES_MAX)];
    let (first, others) = near.split_at(near.len().min(Skeleton::BYTES_NEAR));
    let quote = first.iter().position(|byte| *byte == b'"');
    let quote = quote.or_else(|| Some(first.len() + memchr(b'"', others)?))?;
    Some(at + quote + 1)
}

/// How long the string is whose text begins here, escapes and all, and whether it is one to leave
/// out. `None` if it is long and not plain, or has too many escapes, or no end.
#[inline]
fn string_length(text: &[u8]) -> Option<(usize, bool)> {
    let (first, others) = text.split_at(text.len().min(Skeleton::STRING_BYTES_MIN));
    let near = &first[..first.len().min(Skeleton::BYTES_NEAR)];
    let is_end = |byte: &u8| matches!(byte, b'"' | b'\\');
    let end = near.iter().position(is_end);
    let end = end.or_else(|| Some(near.len() + memchr2(b'"', b'\\', &first[near.len()..])?));
    match end {
        Some(end) if first[end] == b'"' => Some((end, false)),
        Some(end) => Some((escaped_length(first, end)?, false)),
        None if is_plain(first) => Some((first.len() + plain_length(others)?, true)),
        None => None,
    }
}

/// How long a short string is whose first escape stands at `at`. `None` if it has too many escapes,
/// or no end in here.
fn escaped_length(text: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..Skeleton::ESCAPES_MAX {
        // Behind whatever is escaped.
        at += 2;
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
    }
    None
}

/// How many bytes there are up to the next quote. `None` if they are not plain, or there is none.
fn plain_length(text: &[u8]) -> Option<usize> {
    let mut len = 0;
    for block in text.chunks(Skeleton::BLOCK_BYTES) {
        let end = memchr2(b'"', b'\\', block);
        let part = &block[..end.unwrap_or(block.len())];
        if !is_plain(part) {
            return None;
        }
        len += part.len();
        if let Some(end) = end {
            return (block[end] == b'"').then_some(len);
        }
    }
    None
}

/// Whether all of it is ASCII, and no control character that JSON has escaped.
fn is_plain(text: &[u8]) -> bool {
    // All at once, which is what vector instructions are for.
    text.iter()
        .fold(true, |all, byte| all & (b' '..=0x7F).contains(byte))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::{
        JsonWriter, Line, ParseError, ParseErrorKind, Parser, ParserLimits, parse::Source,
    };

    /// A text that is left out.
    fn long() -> String {
        "long text, ".repeat(100)
    }

    fn cut(line: &str) -> Option<String> {
        let mut skeleton = Skeleton::default();
        let is_cut = skeleton.cut(line.as_bytes());
        is_cut.then(|| String::from_utf8(skeleton.text.as_bytes().to_vec()).unwrap())
    }

    /// What comes of a line: the document with each number in full, or the error and the id.
    fn outcome(
        parser: &mut Parser,
        text: &[u8],
        is_in_full: bool,
    ) -> Result<Vec<String>, (ParseError, String)> {
        let mut bytes = text.to_vec();
        bytes.resize(text.len() + LINE_PADDING, b'"');
        let mut line = Line::padded(&mut bytes, text.len()).unwrap();
        let parsed = if is_in_full {
            parser.parse_in_full(&mut line)
        } else {
            parser.parse(&mut line)
        };
        let parsed = parsed.map(|document| {
            let nodes = document.tape.0.iter().map(|node| format!("{node:?}"));
            (nodes.collect::<Vec<_>>(), document.to_line())
        });
        let (said, (copy, len, wide)) = parsed.map_err(|error| {
            let mut id = Vec::new();
            if let Some(found) = parser.recover_id(&mut line) {
                JsonWriter::new(&mut id).id(&found);
            }
            (error, String::from_utf8(id).unwrap())
        })?;
        let wide = format!("{:?}", parser.wide_integers(&line, &wide));
        let copy = String::from_utf8(copy[..len].to_vec()).unwrap();
        Ok([said, vec![copy, wide]].concat())
    }

    /// Parses the lines with and without cutting, and tells which were cut.
    fn both(lines: &[Vec<u8>]) -> Vec<bool> {
        let limits = ParserLimits {
            lines_remembered: 2,
            ..ParserLimits::default()
        };
        let mut parser = Parser::new(limits);
        let is_cut = |line: &Vec<u8>| {
            let expected = outcome(&mut Parser::default(), line, true);
            let found = outcome(&mut parser, line, false);
            let shown = String::from_utf8_lossy(line);
            let errors = (expected.as_ref().err(), found.as_ref().err());
            assert!(found == expected, "{errors:?}: {shown}");
            let mut bytes = line.clone();
            bytes.resize(line.len() + LINE_PADDING, 0);
            let mut line = Line::padded(&mut bytes, line.len()).unwrap();
            let mut fresh = Parser::default();
            drop(fresh.parse(&mut line));
            fresh.progress.source == Some(Source::Skeleton)
        };
        lines.iter().map(is_cut).collect()
    }

    #[test]
    fn long_plain_strings_are_left_out() {
        let long = long();
        let cases = [
            (r#"{"a":"LONG"}"#, Some(r#"{"a":""}"#)),
            (
                r#"{"a":"LONG","b":"LONG","LONG":1}"#,
                Some(r#"{"a":"","b":"","":1}"#),
            ),
            (r#"["LONG"]"#, Some(r#"[""]"#)),
            (r#""LONG""#, Some(r#""""#)),
            (
                r#" {"é\\\"":[-1.5e3,""], "a":"LONG"}"#,
                Some(r#" {"é\\\"":[-1.5e3,""], "a":""}"#),
            ),
            // Not JSON, and no more so without.
            (r#"{"a":"LONG""#, Some(r#"{"a":"""#)),
            (r#"{"a":"LONG"]"#, Some(r#"{"a":""]"#)),
            // None is plain, or ends.
            (r#"{"a":"LONG\n"}"#, None),
            (r#"{"a":"LONGé"}"#, None),
            ("{\"a\":\"LONG\x1F\"}", None),
            (r#"{"a":"LONG"#, None),
            (r#"{"a":"LONG\"#, None),
            (r#"{"a":"LONG","b":"LONG\""}"#, None),
            // Nothing is long.
            ("{}", None),
            ("", None),
        ];
        for (line, expected) in cases {
            let line = line.replace("LONG", &long);
            assert_eq!(cut(&line).as_deref(), expected, "{line}");
            both(&[line.into_bytes()]);
        }
    }

    #[test]
    fn a_line_of_which_much_would_be_left_is_not_cut() {
        let long = "x".repeat(300_000);
        for (other, is_cut) in [
            ("1,".repeat(2_000), true),
            ("1,".repeat(2_048), false),
            (r#""short","#.repeat(450), true),
            (r#""short","#.repeat(600), false),
            (format!(r#""{}",0"#, "é".repeat(255)), true),
            (format!(r#""{}",0"#, "é".repeat(256)), false),
            (
                format!(r#""{}{}",0"#, r"\n".repeat(16), "x".repeat(479)),
                true,
            ),
            (
                format!(r#""{}{}",0"#, r"\n".repeat(16), "x".repeat(480)),
                false,
            ),
            (
                format!(r#""{}{}",0"#, r"\n".repeat(17), "x".repeat(477)),
                false,
            ),
        ] {
            let other = other.trim_end_matches(',');
            for line in [
                format!(r#"[{other},"{long}"]"#),
                format!(r#"["{long}",{other},0]"#),
            ] {
                assert_eq!(cut(&line).is_some(), is_cut, "{other}");
                assert_eq!(both(&[line.into_bytes()]), [is_cut], "{other}");
            }
        }
    }

    #[test]
    fn a_line_of_many_strings_is_not_cut_in_vain() {
        // So many short strings in as many bytes as 40 have, and not one more.
        let few = Skeleton::STRINGS_MAX + 40;
        let long = "x".repeat(40 * Skeleton::BYTES_PER_STRING);
        for (strings, is_cut) in [(few, true), (few + 1, false)] {
            let line = format!(r#"[{}"{long}"]"#, r#""ab","#.repeat(strings));
            assert_eq!(both(&[line.into_bytes()]), [is_cut]);
        }
        // What is behind the last long one is not looked at: none could be long there.
        let line = format!(r#"["{long}"{}]"#, r#","","\n""#.repeat(56));
        assert_eq!(both(&[line.into_bytes()]), [true]);
        // None of so many has an eighth of the line.
        for (strings, is_cut) in [(1, false), (3, true), (7, true), (9, false), (41, false)] {
            let line = format!(r#"["{}"]"#, vec!["x".repeat(601); strings].join(r#"",""#));
            assert_eq!(both(&[line.into_bytes()]), [is_cut], "{strings}");
        }
    }

    #[test]
    fn what_a_string_is_may_differ_at_any_byte() {
        for len in [0, 1, 511, 512, 513, 1023, 4607, 4608, 4609, 8705] {
            for at in [0, 1, 500, 511, 512, 513, 4095, 4096, 4607, 4608, 4609, 8704] {
                for byte in [b'"', b'\\', b' ', 0x1F, 0x7F, 0x80, b'n'] {
                    let mut text = vec![b'x'; len];
                    if let Some(place) = text.get_mut(at) {
                        *place = byte;
                    }
                    let before = [
                        b"{\"id\":7,\"long\":\"",
                        &vec![b'y'; 9_000][..],
                        b"\",\"a\":\"",
                    ];
                    both(&[[&before.concat()[..], &text, b"\",\"b\":[\"\",1]}"].concat()]);
                }
            }
        }
    }

    #[test]
    fn errors_are_where_they_are_in_the_line() {
        let long = long();
        let line = format!(r#"{{"id":"{long}","a":"{long}","b":1e999,"c":"{long}"}}"#);
        let expected = outcome(&mut Parser::default(), line.as_bytes(), true);
        let (error, id) = expected.unwrap_err();
        assert!(error.at.unwrap() > 2 * long.len());
        assert_eq!(id, format!("\"{long}\""));
        assert_eq!(both(&[line.into_bytes()]), [true]);
    }

    #[test]
    fn a_long_line_of_too_many_values_is_refused_as_such_whatever_else_is_wrong() {
        let limits = ParserLimits {
            values_max: 8,
            ..ParserLimits::default()
        };
        let long = "x".repeat(2_000_000);
        for end in ["1]}", "1,]}", "1e999]}", "1]", "1]}}", "\"\\ud800\"]}"] {
            let text = format!(r#"{{"a":"{long}","id":7,"n":[1,2,3,4,5,{end}"#);
            let expected = outcome(&mut Parser::new(limits), text.as_bytes(), true);
            let found = outcome(&mut Parser::new(limits), text.as_bytes(), false);
            let error = expected.as_ref().unwrap_err();
            assert_eq!(error.0.kind, ParseErrorKind::TooManyValues, "{end}");
            assert_eq!(error.1, "", "{end}");
            assert_eq!(found, expected, "{end}");
        }
    }

    #[test]
    fn so_many_strings_are_left_out_and_what_they_take_is_counted() {
        let mut skeleton = Skeleton::default();
        // The middle of the line is in a string, however many there are.
        let line = |strings| {
            let others = format!("\"{}\",", long()).repeat(strings - 1);
            format!("[{others}\"{}\"]", "x".repeat(100_000))
        };
        assert!(skeleton.cut(line(1).as_bytes()));
        let before = skeleton.bytes();
        assert!(before >= Skeleton::BYTES_MAX + LINE_PADDING);
        assert!(skeleton.cut(line(Skeleton::CUTS_MAX).as_bytes()));
        assert!(skeleton.bytes() >= before + 8 * size_of::<Cut>());
        for strings in [Skeleton::CUTS_MAX, Skeleton::CUTS_MAX + 1] {
            let is_cut = strings == Skeleton::CUTS_MAX;
            assert_eq!(both(&[line(strings).into_bytes()]), [is_cut]);
        }
    }

    #[test]
    fn values_are_limited_in_long_lines_that_are_cut_too() {
        let limits = ParserLimits {
            values_max: 4,
            ..ParserLimits::default()
        };
        for (len, is_taken) in [(1_000_000, true), (2_000_000, false)] {
            let text = format!(r#"["{}",1,2,3]"#, "x".repeat(len));
            let parsed = outcome(&mut Parser::new(limits), text.as_bytes(), false);
            assert_eq!(parsed.is_ok(), is_taken, "{parsed:?}");
            assert!(
                outcome(
                    &mut Parser::new(limits),
                    &text.as_bytes()[..text.len() - 3],
                    false
                )
                .is_err()
            );
        }
    }

    proptest! {
        #[test]
        fn any_line_gives_what_parsing_in_full_gives(
            parts in vec(
                prop_oneof![
                    Just(long()),
                    Just(format!("\"{}\"", long())),
                    Just(format!("\"{}é\"", long())),
                    Just("12345678901234567890123".to_owned()),
                    Just("\"id\":".to_owned()),
                    "[-{}\\[\\],:\"1.e\\\\n é]{0,8}",
                    "\"[a-zé]{0,4}(\\\\n)?\"",
                ],
                0..12,
            ),
            is_object in any::<bool>(),
        ) {
            let joined = parts.join(if is_object { ",\"k\":" } else { "," });
            let line = if is_object { format!("{{\"k\":{joined}}}") } else { format!("[{joined}]") };
            both(&[line.clone().into_bytes(), line.into_bytes(), parts.concat().into_bytes()]);
        }
    }
}
