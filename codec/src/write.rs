//! [`JsonWriter`]: JSON into a buffer that the caller owns.
//!
//! It appends and never looks back: what is written once is what is sent. Everything it writes is
//! on one line, since a newline ends a message.

use std::fmt::{self, Write};

use crate::{
    message::Id,
    value::{Number, Value},
};

/// Appends JSON to a buffer.
///
/// Commas and colons are the caller's, through [`JsonWriter::raw`] and [`JsonWriter::key`]; the
/// writer knows how to write each kind of value.
#[derive(Debug)]
pub struct JsonWriter<'a> {
    out: &'a mut Vec<u8>,
    verbatim: Verbatim,
}

/// Where in memory a line lies that was parsed and had no escape in it, so that its strings need
/// none when they are written. By default no string lies there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verbatim {
    /// Addresses.
    start: usize,
    end: usize,
}

impl Verbatim {
    pub(crate) fn of(line: &[u8]) -> Self {
        let start = line.as_ptr().addr();
        Self {
            start,
            end: start + line.len(),
        }
    }

    /// Whether the text is a part of the line.
    #[inline]
    fn holds(self, text: &str) -> bool {
        let start = text.as_ptr().addr();
        self.start <= start && start + text.len() <= self.end
    }
}

impl<'a> JsonWriter<'a> {
    /// Makes a writer that appends to `out`.
    #[must_use]
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        let verbatim = Verbatim::default();
        Self { out, verbatim }
    }

    /// Writes the strings of a parsed line without looking for what to escape, as long as its
    /// [`Document`](crate::Document) lives.
    #[must_use]
    #[inline]
    pub fn verbatim(self, verbatim: Verbatim) -> Self {
        Self { verbatim, ..self }
    }

    /// Appends bytes as they are: punctuation, or JSON that was written before.
    #[inline]
    pub fn raw(&mut self, json: &[u8]) {
        self.out.extend_from_slice(json);
    }

    /// Appends a string: quoted, and escaped where JSON demands it.
    #[inline]
    pub fn string(&mut self, text: &str) {
        self.out.reserve(text.len() + 2);
        self.out.push(b'"');
        if self.verbatim.holds(text) {
            self.raw(text.as_bytes());
        } else {
            escape(self.out, text);
        }
        self.out.push(b'"');
    }

    /// Appends what a value displays as a string, without putting it together elsewhere first.
    pub fn display(&mut self, value: impl fmt::Display) {
        self.out.push(b'"');
        // Writing to a buffer does not fail; a `Display` that does has said its best.
        let _ = write!(Escaped(self.out), "{value}");
        self.out.push(b'"');
    }

    /// Appends `"name":`.
    #[inline]
    pub fn key(&mut self, name: &str) {
        self.string(name);
        self.out.push(b':');
    }

    /// Appends items with commas between them.
    #[inline]
    pub fn items<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.raw(b",");
            }
            write(self, item);
        }
    }

    /// Appends a signed integer.
    #[inline]
    pub fn i64(&mut self, value: i64) {
        self.raw(itoa::Buffer::new().format(value).as_bytes());
    }

    /// Appends an unsigned integer.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.raw(itoa::Buffer::new().format(value).as_bytes());
    }

    /// Appends a float in the shortest form that reads back to the same value. JSON has no
    /// infinities and no NaN: they become null.
    #[inline]
    pub fn f64(&mut self, value: f64) {
        if value.is_finite() {
            self.raw(zmij::Buffer::new().format_finite(value).as_bytes());
        } else {
            self.raw(b"null");
        }
    }

    /// Appends a float as a string for people: the shortest form that reads back, without a
    /// fraction where there is none (`"5"`, not `"5.0"`); infinities and NaN are words.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub fn f64_text(&mut self, value: f64) {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if value.fract() == 0.0 && value.abs() < EXACT && value != 0.0 {
            self.out.push(b'"');
            self.i64(value as i64);
            self.out.push(b'"');
            return;
        }
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format(value);
        self.out.push(b'"');
        self.raw(text.strip_suffix(".0").unwrap_or(text).as_bytes());
        self.out.push(b'"');
    }

    /// Appends a boolean.
    #[inline]
    pub fn bool(&mut self, value: bool) {
        self.raw(if value { b"true" } else { b"false" });
    }

    /// Appends the id of a request as it was sent.
    #[inline]
    pub fn id(&mut self, id: &Id<'_>) {
        match *id {
            Id::Unsigned(id) => self.u64(id),
            Id::Signed(id) => self.i64(id),
            Id::Source(digits) => self.raw(digits.as_bytes()),
            Id::String(id) => self.string(id),
        }
    }

    /// Appends a value from a parsed line, members in their order.
    ///
    /// It calls itself once a level, and the parser bounds the levels.
    pub fn value(&mut self, value: Value<'_>) {
        if let Some(text) = value.as_str() {
            self.string(text);
        } else if let Some(object) = value.as_object() {
            self.raw(b"{");
            for (index, (key, member)) in object.iter().enumerate() {
                if index > 0 {
                    self.raw(b",");
                }
                self.key(key);
                self.value(member);
            }
            self.raw(b"}");
        } else if let Some(array) = value.as_array() {
            self.raw(b"[");
            for (index, item) in array.iter().enumerate() {
                if index > 0 {
                    self.raw(b",");
                }
                self.value(item);
            }
            self.raw(b"]");
        } else if let Some(value) = value.as_bool() {
            self.bool(value);
        } else {
            match value.as_number() {
                Some(Number::Unsigned(value)) => self.u64(value),
                Some(Number::Signed(0)) => self.raw(b"-0"),
                Some(Number::Signed(value)) => self.i64(value),
                Some(Number::Float(value)) => self.f64(value),
                None => self.raw(b"null"),
            }
        }
    }
}

/// Escapes what is written to it.
struct Escaped<'a>(&'a mut Vec<u8>);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        escape(self.0, text);
        Ok(())
    }
}

/// What each byte of a string is written as: up to seven bytes, the first lowest, and their number
/// in the highest byte.
static ESCAPES: [u64; 256] = {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    const fn pack(bytes: [u8; 7], len: u8) -> u64 {
        let [a, b, c, d, e, f, g] = bytes;
        u64::from_le_bytes([a, b, c, d, e, f, g, len])
    }
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = if byte < 0x20 {
            let (high, low) = (HEX[byte >> 4], HEX[byte & 15]);
            pack([b'\\', b'u', b'0', b'0', high, low, 0], 6)
        } else {
            pack([byte as u8, 0, 0, 0, 0, 0, 0], 1)
        };
        byte += 1;
    }
    let short = [
        (0x08, b'b'),
        (0x09, b't'),
        (0x0A, b'n'),
        (0x0C, b'f'),
        (0x0D, b'r'),
        (b'"', b'"'),
        (b'\\', b'\\'),
    ];
    let mut index = 0;
    while index < short.len() {
        let (byte, letter) = short[index];
        table[byte as usize] = pack([b'\\', letter, 0, 0, 0, 0, 0], 2);
        index += 1;
    }
    table
};

/// How many bytes are looked at together: the compiler makes vector instructions of it.
const BLOCK: usize = 32;
/// So many blocks are looked at before they are copied: 16 KiB.
const PIECE_BLOCKS: usize = 16 * 1024 / BLOCK;
/// What a block may grow to.
const BLOCK_ESCAPED: usize = BLOCK * 6 + 8;

/// Escapes a text. Runs of blocks that need no escape are copied at once; of any other block each
/// byte is looked up and put behind the last without a branch, since where quotes and line ends
/// stand cannot be foretold.
///
/// A long text is looked at and copied piece by piece, each while the cache has it.
fn escape(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let (blocks, tail) = rest.as_chunks::<BLOCK>();
        let piece = &blocks[..blocks.len().min(PIECE_BLOCKS)];
        let clean = piece
            .iter()
            .position(|block| !is_clean(block))
            .unwrap_or(piece.len());
        let (copied, dirty) = rest.split_at(clean * BLOCK);
        out.extend_from_slice(copied);
        if clean == PIECE_BLOCKS {
            rest = dirty;
            continue;
        }
        if dirty.len() == tail.len() && is_clean(tail) {
            out.extend_from_slice(tail);
            return;
        }
        let (block, after) = dirty.split_at(dirty.len().min(BLOCK));
        escape_block(out, block);
        rest = after;
    }
}

fn escape_block(out: &mut Vec<u8>, block: &[u8]) {
    let mut escaped = [0; BLOCK_ESCAPED];
    let mut len = 0;
    for byte in block {
        let escape = ESCAPES[usize::from(*byte)];
        if let Some(place) = escaped.get_mut(len..len + 8) {
            place.copy_from_slice(&escape.to_le_bytes());
        }
        len += (escape >> 56) as usize;
    }
    out.extend_from_slice(&escaped[..len]);
}

/// Whether no byte of the block needs an escape.
#[inline]
fn is_clean(block: &[u8]) -> bool {
    block.iter().fold(0, |found, byte| {
        found | u8::from(*byte < 0x20) | u8::from(*byte == b'"') | u8::from(*byte == b'\\')
    }) == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{LINE_PADDING, Line, Parser};

    fn written(write: impl FnOnce(&mut JsonWriter<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut JsonWriter::new(&mut out));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_control_character_is_escaped_and_nothing_else() {
        let text: String = (0..=0xFF_u32).filter_map(char::from_u32).collect();
        let json = written(|writer| writer.string(&text));
        assert!(json.bytes().all(|byte| byte >= 0x20));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        assert!(json.contains(r"\u0000") && json.contains(r"\b\t\n\u000b\f\r"));
        assert!(json.contains('\u{7f}') && json.contains('\u{85}'));
    }

    #[test]
    fn only_strings_of_a_long_line_without_escapes_are_written_as_they_are() {
        let long = |len: usize, start: &str, other: &str| {
            format!(r#"{{"a":"{start}{}","b":"{other}"}}"#, "x/".repeat(len))
        };
        for (text, is_verbatim) in [
            // Left out of a skeleton, whatever else there is.
            (long(1_000, "x", "\u{e9}"), true),
            (long(1_000, "x", r"\n"), true),
            (long(1_000_000, "x", r"\n"), true),
            // Part of a line that is parsed as it is.
            (long(1_000, "\u{e9}", "\u{e9}"), true),
            (long(1_000_000, "\u{e9}", "\u{e9}"), true),
            (long(1_000, "\u{e9}", r"\n"), false),
            (long(1_000, r"\n", ""), false),
            (long(1_000_000, r"\n", ""), false),
            (long(1, "x", ""), false),
        ] {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(text.len() + LINE_PADDING, 0);
            let mut line = Line::padded(&mut bytes, text.len()).unwrap();
            let mut parser = Parser::default();
            let document = parser.parse(&mut line).unwrap();
            let verbatim = document.verbatim();
            let root = document.root();
            let string = root.as_object().and_then(|object| object.find("a"));
            let string = string.and_then(Value::as_str).unwrap();
            assert_eq!(verbatim.holds(string), is_verbatim);
            assert_eq!(verbatim.holds(&string[2..2]), is_verbatim);
            let copy = string.to_owned();
            for elsewhere in ["", "\"\n", copy.as_str()] {
                assert!(!verbatim.holds(elsewhere));
                let mut out = Vec::new();
                let mut writer = JsonWriter::new(&mut out).verbatim(verbatim);
                writer.string(elsewhere);
                let back: String = serde_json::from_slice(&out).unwrap();
                assert_eq!(back, elsewhere);
            }
            let mut out = Vec::new();
            JsonWriter::new(&mut out).verbatim(verbatim).value(root);
            let back: serde_json::Value = serde_json::from_slice(&out).unwrap();
            let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert!(back == expected);
        }
    }

    #[test]
    fn items_have_commas_between_them() {
        for (items, text) in [(&[][..], ""), (&[1], "1"), (&[1, 2, 3], "1,2,3")] {
            let json = written(|writer| writer.items(items, |writer, item| writer.i64(*item)));
            assert_eq!(json, text);
        }
    }

    #[test]
    fn numbers_for_people() {
        for (value, text) in [
            (5.0, "5"),
            (-0.5, "-0.5"),
            (1e300, "1e+300"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e20, "1e+20"),
            (123_456_789.0, "123456789"),
            (-4.0, "-4"),
            (0.0, "0"),
            (-0.0, "-0"),
            (9_007_199_254_740_991.0, "9007199254740991"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            let quoted = format!("\"{text}\"");
            assert_eq!(written(|writer| writer.f64_text(value)), quoted);
        }
        assert_eq!(
            written(|writer| writer.display(format_args!("a{}\n", '"'))),
            r#""a\"\n""#
        );
        assert_eq!(written(|writer| writer.f64(f64::NAN)), "null");
        assert_eq!(written(|writer| writer.f64(f64::INFINITY)), "null");
    }

    #[test]
    fn values_come_back_as_they_were() {
        let text = r#"{"a":[1,-2,2.5,true,false,null,"x\ny",{}],"b":{"c":[]},"a":18446744073709551615,"z":-0}"#;
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(text.len() + LINE_PADDING, 0);
        let mut line = Line::padded(&mut bytes, text.len()).unwrap();
        let mut parser = Parser::default();
        let document = parser.parse(&mut line).unwrap();
        assert_eq!(written(|writer| writer.value(document.root())), text);
    }

    proptest! {
        #[test]
        fn strings_read_back(text in ".*", pad in 0..70_usize) {
            let text = "x".repeat(pad) + &text + "\"\n\u{1}";
            let json = written(|writer| writer.string(&text));
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }

        #[test]
        fn floats_read_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let json = written(|writer| writer.f64(value));
            prop_assert_eq!(json.parse::<f64>().unwrap().to_bits(), value.to_bits());
            prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        }

        #[test]
        fn integers_read_back(signed in any::<i64>(), unsigned in any::<u64>()) {
            prop_assert_eq!(written(|writer| writer.i64(signed)).parse::<i64>().unwrap(), signed);
            prop_assert_eq!(
                written(|writer| writer.u64(unsigned)).parse::<u64>().unwrap(),
                unsigned
            );
        }
    }
}
