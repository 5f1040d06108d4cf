//! What can be wrong with the bytes of a line.

use std::fmt;

/// A line is longer than the limit of the [`Ring`](crate::Ring). It is skipped to its end, and
/// the line after it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineTooLong {
    /// The limit in bytes, the newline not counted.
    pub line_bytes_max: usize,
}

impl fmt::Display for LineTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the line is longer than {} bytes", self.line_bytes_max)
    }
}

impl std::error::Error for LineTooLong {}

/// Why a line was not taken as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// The byte offset in the line near which it is wrong, where the parser knows it.
    pub at: Option<usize>,
}

/// The kinds of [`ParseError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The bytes are not UTF-8.
    InvalidUtf8,
    /// The bytes are not JSON.
    Syntax,
    /// A number that JSON does not have, or one beyond the range of a 64-bit float.
    InvalidNumber,
    /// A string holds an invalid escape, or one half of a surrogate pair alone.
    InvalidEscape,
    /// Objects and arrays are nested deeper than the limit.
    TooDeep,
    /// The line holds more values than the limit.
    TooManyValues,
    /// The line is longer than the parser can index, 4 GiB.
    TooLong,
}

impl ParseErrorKind {
    /// The kind in a few words, for an error message.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidUtf8 => "the line is not UTF-8",
            Self::Syntax => "the line is not one complete JSON value",
            Self::InvalidNumber => "a number is not valid JSON or is out of range",
            Self::InvalidEscape => "a string has an invalid escape or a lone surrogate",
            Self::TooDeep => "objects and arrays are nested too deep",
            Self::TooManyValues => "the line holds too many values",
            Self::TooLong => "the line is too long",
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.as_str())?;
        match self.at {
            Some(at) => write!(f, ", near byte {at}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ParseError {}
