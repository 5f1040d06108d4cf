//! Lines that are nearly the same as an earlier one, read without being parsed.
//!
//! A client says the same thing again and again: its requests differ in their ids and in some
//! arguments, and agree in everything else.
//!
//! ```text
//!   earlier  {"jsonrpc":"2.0","id":41,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3}}}
//!   this one {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":2.5,"b":3}}}
//!            └──────── same ────────┘│└──────────────────────── same ───────────────────────────┘└┬┘└─ same ─┘
//!                                 scalar                                                       scalar
//! ```
//!
//! So a line is first compared with some earlier ones. Where it differs in a number or within a
//! string, that scalar alone is read, as strictly as the parser would; where it differs in
//! anything else, it is parsed. Since each scalar has another of its kind in its place and every
//! other byte is the same, the structure is the same, and so is the tape but for these scalars:
//! a copy of it is made, with the new ones put in.
//!
//! What is compared is every byte of the line: nothing is taken for granted that was not seen.
//! Text that was seen before is borrowed from the earlier line, the rest from the new one. Lines
//! with escapes, and long ones, are always parsed. Where hardly any line is like an earlier one,
//! the memo rests.

use std::mem;

use memchr::{memchr, memchr2};
use simd_json::{Node, StaticNode};

use crate::recover::is_wide;

/// Some of the lines that were parsed last, and their tapes.
#[derive(Debug)]
pub(crate) struct Memo {
    /// The last that was of use comes first.
    shapes: Vec<Shape>,
    shapes_max: usize,
    /// How many were ever remembered.
    count: u64,
    names: Names,
    /// The scalars in which the line that was found last differs from its shape.
    changes: Vec<Change>,
    /// The line that is being parsed; empty unless it is to be remembered.
    draft: Vec<u8>,
    /// How many more lines that could be compared are parsed without a look.
    rest: u32,
    /// Grows with each line that was not found, shrinks with each that was.
    doubt: u32,
}

/// Finds text that is to be expected: the same text, but there as long as the program.
pub(crate) type Names = fn(&str) -> Option<&'static str>;

/// A line that was parsed.
#[derive(Debug)]
struct Shape {
    /// What no other shape has, then or ever.
    number: u64,
    text: Vec<u8>,
    /// The tape, with those of its strings that are names.
    nodes: Vec<Node<'static>>,
    /// The text of its other strings, one after the other without a gap.
    letters: String,
    /// Which these are.
    strings: Vec<Piece>,
    /// The strings and the numbers, in the order of the line.
    scalars: Vec<Scalar>,
}

/// A string on the tape, and how many of the letters are its own.
#[derive(Clone, Copy, Debug)]
struct Piece {
    node: u16,
    len: u16,
}

/// Where a string or number stands in a line, its quotes included, and on the tape.
#[derive(Clone, Copy, Debug)]
struct Scalar {
    node: u16,
    start: u16,
    end: u16,
    is_string: bool,
}

/// A scalar of a line which its shape does not have.
#[derive(Clone, Copy, Debug)]
struct Change {
    node: usize,
    to: New,
}

#[derive(Clone, Copy, Debug)]
enum New {
    Number(StaticNode),
    /// Where the text stands in the line, without its quotes.
    String {
        start: usize,
        end: usize,
    },
}

/// That a line is like an earlier one of the same parser: it has the same bytes but for some of its
/// numbers and strings, and so the same structure.
///
/// What was found of the earlier line holds for this one, as far as it does not hang on those.
#[derive(Clone, Copy, Debug)]
pub struct Likeness<'a> {
    line: u64,
    changes: &'a [Change],
}

impl Likeness<'_> {
    /// Which line it is like: no other one of the parser ever has this number.
    #[must_use]
    #[inline]
    pub fn line(self) -> u64 {
        self.line
    }

    /// Where the strings and numbers stand in which the two may differ, as [`Document::place`] counts,
    /// in the order of the line.
    ///
    /// [`Document::place`]: crate::Document::place
    #[inline]
    pub fn places(self) -> impl Iterator<Item = usize> {
        self.changes.iter().map(|change| change.node)
    }
}

impl Memo {
    /// Lines of this many bytes and more are not remembered: so long is only what holds much of its
    /// own, which would be read in any case.
    const LINE_BYTES: usize = 1024;
    /// Nor are lines of more values and keys than this.
    const NODES_MAX: usize = 64;
    /// A line that differs in more scalars than this is parsed.
    const CHANGES_MAX: usize = 16;
    /// How much doubt makes the memo rest, and for how many lines.
    const DOUBT_MAX: u32 = 32;
    const REST: u32 = 2048;

    /// Makes a memo of so many lines; of none, it does nothing.
    pub(crate) fn new(shapes_max: usize) -> Self {
        Self {
            shapes: Vec::new(),
            shapes_max,
            count: 0,
            names: |_| None,
            changes: Vec::new(),
            draft: Vec::new(),
            rest: 0,
            doubt: 0,
        }
    }

    /// Sets the names that are expected in lines: filled in for nothing, where other text is not.
    pub(crate) fn expect(&mut self, names: Names) {
        self.names = names;
    }

    /// Whether the line is like one of the earlier ones. If so, [`Memo::fill`] makes its tape; if
    /// not, [`Memo::remember`] may be told how it was parsed.
    #[inline]
    pub(crate) fn find(&mut self, line: &[u8]) -> bool {
        self.draft.clear();
        let is_short = line.len() < Self::LINE_BYTES && line.first() == Some(&b'{');
        if !is_short || self.shapes_max == 0 {
            return false;
        }
        if self.rest > 0 {
            self.rest -= 1;
            return false;
        }
        let Self {
            shapes, changes, ..
        } = self;
        let found = shapes
            .iter()
            .position(|shape| shape.compare(line, changes).is_some());
        if let Some(place) = found {
            self.doubt = self.doubt.saturating_sub(2);
            if place > 0 {
                self.shapes[..=place].rotate_right(1);
            }
            return true;
        }
        self.miss(line);
        false
    }

    /// What is parsed now is not to be remembered.
    pub(crate) fn pass(&mut self) {
        self.draft.clear();
    }

    /// Makes the tape of the line that was found, and tells what it is like.
    #[inline]
    pub(crate) fn fill<'a>(
        &'a self,
        line: &'a [u8],
        tape: &mut Vec<Node<'a>>,
    ) -> Option<Likeness<'a>> {
        let shape = self.shapes.first()?;
        tape.extend_from_slice(&shape.nodes);
        let mut letters = shape.letters.as_str();
        for Piece { node, len } in &shape.strings {
            let (text, rest) = letters
                .split_at_checked(usize::from(*len))
                .unwrap_or_default();
            tape[usize::from(*node)] = Node::String(text);
            letters = rest;
        }
        for change in &self.changes {
            tape[change.node] = match change.to {
                New::Number(number) => Node::Static(number),
                // It was found to be UTF-8.
                New::String { start, end } => {
                    Node::String(std::str::from_utf8(&line[start..end]).unwrap_or_default())
                }
            };
        }
        Some(Likeness {
            line: shape.number,
            changes: &self.changes,
        })
    }

    /// Remembers the line that was not found, now that it has been parsed: its tape, and where its
    /// structural characters and its values stand.
    #[inline]
    pub(crate) fn remember(&mut self, nodes: &[Node<'_>], indexes: &[u32]) {
        if !self.draft.is_empty() {
            self.keep(nodes, indexes);
        }
    }

    /// How many bytes it holds.
    pub(crate) fn bytes(&self) -> usize {
        let shapes: usize = self.shapes.iter().map(Shape::bytes).sum();
        shapes + self.changes.capacity() * size_of::<Change>() + self.draft.capacity()
    }

    #[inline(never)]
    fn miss(&mut self, line: &[u8]) {
        self.doubt += 1;
        if self.doubt >= Self::DOUBT_MAX {
            self.doubt = 0;
            self.rest = Self::REST;
        }
        if memchr(b'\\', line).is_none() {
            self.draft.reserve(Self::LINE_BYTES);
            self.draft.extend_from_slice(line);
        }
    }

    #[inline(never)]
    fn keep(&mut self, nodes: &[Node<'_>], indexes: &[u32]) {
        // The digits of wide integers would be looked for in the line, which was not parsed.
        if nodes.len() > Self::NODES_MAX || nodes.iter().any(is_wide) {
            return;
        }
        if self.shapes.len() < self.shapes_max {
            self.shapes.push(Shape::new());
            self.changes.reserve(Self::CHANGES_MAX);
        }
        let Some(shape) = self.shapes.last_mut() else {
            return;
        };
        mem::swap(&mut self.draft, &mut shape.text);
        self.count += 1;
        shape.number = self.count;
        if shape.describe(nodes, indexes, self.names).is_some() {
            self.shapes.rotate_right(1);
        } else {
            // Which is not to be: the tape has what the line has. No line is like this shape.
            shape.text.clear();
            shape.scalars.clear();
        }
    }
}

impl Shape {
    /// A shape of no line yet, with room for any.
    fn new() -> Self {
        Self {
            number: 0,
            text: Vec::with_capacity(Memo::LINE_BYTES),
            nodes: Vec::with_capacity(Memo::NODES_MAX),
            letters: String::with_capacity(Memo::LINE_BYTES),
            strings: Vec::with_capacity(Memo::NODES_MAX),
            scalars: Vec::with_capacity(Memo::NODES_MAX),
        }
    }

    /// Takes in the tape of its text. `None` if that is none to be compared with.
    fn describe(&mut self, nodes: &[Node<'_>], indexes: &[u32], names: Names) -> Option<()> {
        self.nodes.clear();
        self.scalars.clear();
        self.letters.clear();
        self.strings.clear();
        let line = self.text.as_slice();
        let mut left = nodes.iter();
        for index in indexes {
            let start = *index as usize;
            let byte = *line.get(start)?;
            if matches!(byte, b'}' | b']' | b',' | b':') {
                continue;
            }
            let node = left.next()?;
            let end = match node {
                Node::String(text) => start + text.len() + 2,
                _ => start + number_len(line.get(start..)?),
            };
            let place = self.nodes.len().try_into().ok()?;
            if end > start {
                self.scalars.push(Scalar {
                    node: place,
                    start: start.try_into().ok()?,
                    end: end.try_into().ok()?,
                    is_string: byte == b'"',
                });
            }
            self.nodes.push(match *node {
                Node::String(text) => Node::String(match names(text) {
                    Some(name) if name == text => name,
                    _ => {
                        self.letters.push_str(text);
                        self.strings.push(Piece {
                            node: place,
                            len: text.len().try_into().ok()?,
                        });
                        ""
                    }
                }),
                Node::Object { len, count } => Node::Object { len, count },
                Node::Array { len, count } => Node::Array { len, count },
                Node::Static(value) => Node::Static(value),
            });
        }
        left.next().is_none().then_some(())
    }

    /// Compares a line with this one, and notes in which scalars it differs. `None` if it differs
    /// in anything else.
    #[inline]
    fn compare(&self, line: &[u8], changes: &mut Vec<Change>) -> Option<()> {
        changes.clear();
        let known = self.text.as_slice();
        let mut scalars = self.scalars.iter();
        // Up to here both are read.
        let (mut known_at, mut line_at) = (0, 0);
        loop {
            let (known_rest, line_rest) = (known.get(known_at..)?, line.get(line_at..)?);
            // Told faster than where they differ, if they do.
            if known_rest == line_rest {
                return Some(());
            }
            let same = common_prefix(known_rest, line_rest);
            let scalar = scalars.find(|scalar| usize::from(scalar.end) >= known_at + same)?;
            let (start, end) = (usize::from(scalar.start), usize::from(scalar.end));
            // A number ends where another would go on, a string with its last quote.
            let is_inside = if scalar.is_string {
                start < known_at + same && known_at + same < end
            } else {
                start <= known_at + same
            };
            if !is_inside || changes.len() == Memo::CHANGES_MAX {
                return None;
            }
            let line_start = start - known_at + line_at;
            let (to, line_end) = if scalar.is_string {
                read_string(line, line_start)?
            } else {
                read_number(line, line_start)?
            };
            changes.push(Change {
                node: usize::from(scalar.node),
                to,
            });
            (known_at, line_at) = (end, line_end);
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.text.capacity()
            + self.nodes.capacity() * size_of::<Node<'_>>()
            + self.letters.capacity()
            + self.strings.capacity() * size_of::<Piece>()
            + self.scalars.capacity() * size_of::<Scalar>()
    }
}

/// How many bytes both begin with.
#[inline]
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    const WIDE: usize = 32;
    const NARROW: usize = 8;
    let word = |bytes: &[u8; NARROW]| u64::from_le_bytes(*bytes);
    let (wide, other_wide) = (one.as_chunks::<WIDE>().0, other.as_chunks::<WIDE>().0);
    let same = wide.iter().zip(other_wide).take_while(|(a, b)| a == b);
    let mut len = same.count() * WIDE;
    let (one_rest, other_rest) = (&one[len..], &other[len..]);
    let (narrow, other_narrow) = (one_rest.as_chunks::<NARROW>().0, other_rest.as_chunks().0);
    for (a, b) in narrow.iter().zip(other_narrow) {
        let differing = word(a) ^ word(b);
        if differing != 0 {
            return len + differing.trailing_zeros() as usize / 8;
        }
        len += NARROW;
    }
    let bytes = one[len..].iter().zip(&other[len..]);
    len + bytes.take_while(|(a, b)| a == b).count()
}

/// Reads a string without escapes, and tells where it ends.
#[inline]
fn read_string(line: &[u8], start: usize) -> Option<(New, usize)> {
    let behind = line.get(start + 1..)?;
    let len = memchr2(b'"', b'\\', behind)?;
    let (text, quote) = (&behind[..len], behind[len]);
    let has_control = text.iter().fold(false, |any, byte| any | (*byte < b' '));
    if quote == b'\\' || has_control || std::str::from_utf8(text).is_err() {
        return None;
    }
    let (start, end) = (start + 1, start + 1 + len);
    Some((New::String { start, end }, end + 1))
}

/// Reads a number and tells where it ends: an integer of up to 18 digits, or a decimal fraction of up
/// to 15, which is exact. Others are for the parser.
#[inline]
fn read_number(line: &[u8], start: usize) -> Option<(New, usize)> {
    let is_negative = line.get(start) == Some(&b'-');
    let first = start + usize::from(is_negative);
    let (whole, point) = read_digits(line, first, 0);
    let digits = point - first;
    if digits == 0 || digits > 18 || digits > 1 && line[first] == b'0' {
        return None;
    }
    if line.get(point) != Some(&b'.') {
        // Fits, having 18 digits.
        let number = match (is_negative, whole) {
            (false, _) => StaticNode::U64(whole),
            // Minus zero.
            (true, 0) => return None,
            (true, _) => StaticNode::I64(-whole.cast_signed()),
        };
        return Some((New::Number(number), point));
    }
    let (all, end) = read_digits(line, point + 1, whole);
    let fraction_digits = end - (point + 1);
    if fraction_digits == 0 || digits + fraction_digits > EXACT_DIGITS {
        return None;
    }
    // Both are exact, so that their quotient is the nearest float there is.
    #[allow(clippy::cast_precision_loss)]
    let value = all as f64 / POWERS_OF_TEN[fraction_digits];
    let value = if is_negative { -value } else { value };
    Some((New::Number(StaticNode::F64(value)), end))
}

/// Reads decimal digits behind those that were read before; of more than 19 in all the value is of
/// no use. And tells where they end.
#[inline]
fn read_digits(line: &[u8], start: usize, before: u64) -> (u64, usize) {
    let mut value = before;
    let mut at = start;
    while let Some(digit) = line.get(at).map(|byte| byte.wrapping_sub(b'0'))
        && digit < 10
    {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (value, at)
}

/// How long the number at the start of these bytes is; 0 if there is none.
fn number_len(bytes: &[u8]) -> usize {
    let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    match bytes.first() {
        Some(b'0'..=b'9' | b'-') => bytes.iter().take_while(is_part).count(),
        _ => 0,
    }
}

/// Integers of so many digits are exact as floats.
const EXACT_DIGITS: usize = 15;
const POWERS_OF_TEN: [f64; EXACT_DIGITS] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
];

#[cfg(test)]
#[path = "memo_tests.rs"]
mod tests;
