//! The first line of a socket, which tells whether the peer speaks the protocol at all.
//!
//! A web page can have a browser send a request to any port of its own machine, and what stands in
//! its body would be served like any other line. But it cannot choose the first line. So on a
//! socket that must be an object; where it is not, the connection is closed without an answer.

use serde::de::IgnoredAny;
use tightwire_codec::{Line, LineTooLong};

/// What is known of the first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// There was nothing but white space.
    Blank,
    /// It begins as an object does.
    Begun,
    /// It is an object, or is not asked for.
    Admitted,
    /// It is something else.
    Refused,
}

impl Opening {
    /// Looks at bytes as they come in: what begins otherwise need not be waited for to its end.
    #[inline]
    pub(super) fn look_at(&mut self, bytes: &[u8]) {
        if *self == Self::Blank {
            self.look_at_first(bytes);
        }
    }

    #[cold]
    fn look_at_first(&mut self, bytes: &[u8]) {
        // A byte order mark is no part of the line.
        const SKIPPED: &[u8] = b" \t\r\n\xEF\xBB\xBF";
        if let Some(first) = bytes.iter().find(|byte| !SKIPPED.contains(byte)) {
            *self = if *first == b'{' {
                Self::Begun
            } else {
                Self::Refused
            };
        }
    }

    /// Whether a line may be served. Blank ones are no messages, so that they tell nothing.
    #[inline]
    pub(super) fn admits(&mut self, line: &Result<Line<'_>, LineTooLong>) -> bool {
        *self == Self::Admitted || self.admits_first(line)
    }

    #[cold]
    fn admits_first(&mut self, line: &Result<Line<'_>, LineTooLong>) -> bool {
        match line {
            Ok(line) if *self != Self::Refused && line.is_blank() => return true,
            Ok(line) if *self != Self::Refused && is_object(line.as_bytes()) => {
                *self = Self::Admitted;
            }
            _ => *self = Self::Refused,
        }
        *self == Self::Admitted
    }
}

/// Whether it is JSON, and an object. What the parser refuses for other reasons is answered.
fn is_object(line: &[u8]) -> bool {
    let first = line.iter().find(|byte| !byte.is_ascii_whitespace());
    first == Some(&b'{') && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

#[cfg(test)]
mod tests {
    use tightwire_codec::Ring;

    use super::*;

    /// What becomes of bytes that come one by one, or all at once.
    fn open(bytes: &[u8], at_once: usize) -> Opening {
        let mut opening = Opening::Blank;
        let mut ring = Ring::new(100);
        for piece in bytes.chunks(at_once) {
            opening.look_at(piece);
            ring.spare()[..piece.len()].copy_from_slice(piece);
            ring.commit(piece.len());
            while let Some(line) = ring.next_line() {
                if !opening.admits(&line) {
                    return opening;
                }
            }
        }
        opening
    }

    #[test]
    fn an_object_is_admitted_and_nothing_else() {
        let long = [b"{\"a\":\"".as_slice(), &[b'a'; 200], b"\"}\n"].concat();
        let lone_surrogate = b"{\"id\":1,\"a\":\"\\ud800\",\"b\":1e999}\n";
        for (bytes, opening) in [
            (b"{}\n".as_slice(), Opening::Admitted),
            (b"\r\n \n\t{\"a\":[{}]} \r\n", Opening::Admitted),
            (b"\xEF\xBB\xBF{}\n", Opening::Admitted),
            (lone_surrogate, Opening::Admitted),
            (b"{}\nGET / HTTP/1.1\n", Opening::Admitted),
            (b"", Opening::Blank),
            (b"\n\n", Opening::Blank),
            (b"{", Opening::Begun),
            (b"G", Opening::Refused),
            (b"\n\nPOST / HTTP/1.1\r\n\r\n{}\n", Opening::Refused),
            (b"[]\n", Opening::Refused),
            (b"[{}]\n", Opening::Refused),
            (b"null\n", Opening::Refused),
            (b"\"{}\"\n", Opening::Refused),
            (b"{]\n", Opening::Refused),
            (b"{} {}\n", Opening::Refused),
            (b"{\n}\n", Opening::Refused),
            (b"\x16\x03\x01", Opening::Refused),
            (&long, Opening::Refused),
        ] {
            let shown = String::from_utf8_lossy(bytes);
            assert_eq!(open(bytes, 1), opening, "{shown}");
            assert_eq!(open(bytes, 1000), opening, "{shown}");
        }
    }
}
