//! The id of a line that was refused: what [`Parser::recover_id`] is made of.
//!
//! The structural characters tell where the members of the top level stand. What the parser came
//! to it has unescaped in place, so that the line is no longer to be trusted there, and its
//! unfinished tape is asked; behind that the line is as it was.

use simd_json::Node;

use crate::{
    parse::Parser,
    ring::{LINE_PADDING, Line},
};

/// Where the value of the one top-level member `id` stands.
pub(crate) struct IdPlace {
    pub(crate) start: usize,
    /// Where the next structural character stands.
    pub(crate) end: usize,
    /// Which value of the document it is.
    pub(crate) node: usize,
}

/// Walks the structural characters of a line that should be one object. `is_id` tells of a
/// top-level key, as the line has it, and its place whether it is `id`.
pub(crate) fn locate_id(
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
pub(crate) fn parse_string(token: &[u8]) -> Option<String> {
    let mut bytes = token.to_vec();
    bytes.resize(token.len() + LINE_PADDING, 0);
    let mut line = Line::padded(&mut bytes, token.len())?;
    let mut parser = Parser::default();
    let document = parser.parse(&mut line).ok()?;
    document.root().as_str().map(ToOwned::to_owned)
}

/// Whether this is an integer as JSON writes them: no fraction, no exponent.
pub(crate) fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits.len() == 1 || !digits.starts_with('0'))
}

/// Makes question marks of what is not UTF-8; where.
pub(crate) fn replace_invalid_utf8(bytes: &mut [u8]) -> Vec<usize> {
    let mut replaced = Vec::new();
    let mut from = 0;
    while let Err(error) = std::str::from_utf8(&bytes[from..]) {
        let start = from + error.valid_up_to();
        let end = error.error_len().map_or(bytes.len(), |len| start + len);
        bytes[start..end].fill(b'?');
        replaced.extend(start..end);
        from = end;
    }
    replaced
}
