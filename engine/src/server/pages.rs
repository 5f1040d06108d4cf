//! Lists, cut into pages that are written when the server is frozen.
//!
//! A cursor names the list, the page, and a hash of all that the list holds. So it goes on
//! meaning the same after a restart, and one of another list, of a list that has changed, or of
//! nobody's making is told from it.
//!
//! Specification: `server/utilities/pagination`.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use tightwire_codec::{JsonWriter, Value};

use super::registry::{PerVersion, per_version};
use crate::{
    error::RpcError,
    model::caching::{CacheScope, Caching},
    protocol::{
        hash::hash,
        version::{Era, ProtocolVersion},
    },
};

/// A list that clients ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListKind {
    /// Of tools.
    Tools,
    /// Of resources.
    Resources,
    /// Of resource templates.
    ResourceTemplates,
    /// Of prompts.
    Prompts,
}

impl ListKind {
    /// The member of the result that holds the items.
    const fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }
}

/// How lists are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListSettings {
    /// Items on a page; 0 puts all on one.
    pub(crate) page_size: usize,
    /// Of each kind, in the order of [`ListKind`].
    caching: [Caching; 4],
}

impl Default for ListSettings {
    fn default() -> Self {
        Self {
            page_size: 0,
            caching: [Caching::LISTS; 4],
        }
    }
}

impl ListSettings {
    pub(super) fn cache(&mut self, kind: ListKind, ttl_ms: u64, scope: CacheScope) {
        self.caching[kind as usize] = Caching { ttl_ms, scope };
    }

    pub(super) fn cache_all(&mut self, ttl_ms: u64, scope: CacheScope) {
        self.caching = [Caching { ttl_ms, scope }; 4];
    }
}

/// One list, written.
#[derive(Debug)]
pub(crate) struct List {
    kind: ListKind,
    hash: u64,
    /// At least one.
    pages: Vec<PerVersion>,
}

impl List {
    /// Writes a list in every revision. `end` ends a modern result.
    pub(super) fn write<T>(
        kind: ListKind,
        items: &[T],
        settings: &ListSettings,
        end: &[u8],
        write: impl Fn(&T, &mut JsonWriter<'_>, ProtocolVersion),
    ) -> Self {
        let mut all = Vec::new();
        JsonWriter::new(&mut all).items(items, |writer, item| {
            write(item, writer, ProtocolVersion::LATEST);
        });
        let hash = hash(&all, settings.page_size as u64);
        let page_size = match settings.page_size {
            0 => items.len().max(1),
            size => size,
        };
        let page_count = items.len().div_ceil(page_size).max(1);
        let page = |index: usize| {
            let start = index * page_size;
            let on_page = &items[start..items.len().min(start.saturating_add(page_size))];
            let next = (index + 1 < page_count).then(|| Cursor::new(kind, index + 1, hash));
            per_version(|version| {
                let mut bytes = Vec::new();
                let mut writer = JsonWriter::new(&mut bytes);
                let modern = version.era() == Era::Modern;
                writer.raw(if modern {
                    b"{\"resultType\":\"complete\","
                } else {
                    b"{"
                });
                writer.key(kind.key());
                writer.raw(b"[");
                writer.items(on_page, |writer, item| {
                    write(item, writer, version);
                });
                writer.raw(b"]");
                if let Some(next) = &next {
                    writer.raw(b",\"nextCursor\":");
                    writer.string(&next.encode());
                }
                if modern {
                    settings.caching[kind as usize].write(&mut writer);
                    writer.raw(end);
                } else {
                    writer.raw(b"}}\n");
                }
                bytes
            })
        };
        Self {
            kind,
            hash,
            pages: (0..page_count).map(page).collect(),
        }
    }

    /// The page that the cursor of a request names; without one, the first.
    ///
    /// # Errors
    ///
    /// -32602 for a cursor that this list did not issue.
    #[inline]
    pub(super) fn page(
        &self,
        cursor: Option<Value<'_>>,
        version: ProtocolVersion,
    ) -> Result<&Bytes, RpcError> {
        let index = match cursor {
            None => 0,
            Some(cursor) => self.index_of(cursor).ok_or_else(|| {
                RpcError::invalid_params("params.cursor is not one that this server issued")
            })?,
        };
        Ok(&self.pages[index][version.index()])
    }

    fn index_of(&self, cursor: Value<'_>) -> Option<usize> {
        let cursor = Cursor::decode(cursor.as_str()?)?;
        let index = usize::try_from(cursor.page).ok()?;
        // The first page has no cursor.
        let issued = index > 0 && index < self.pages.len();
        (issued && cursor == Cursor::new(self.kind, index, self.hash)).then_some(index)
    }
}

/// A place in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    kind: u8,
    page: u64,
    hash: u64,
}

impl Cursor {
    const BYTES: usize = 17;

    fn new(kind: ListKind, page: usize, hash: u64) -> Self {
        Self {
            kind: kind as u8,
            page: page as u64,
            hash,
        }
    }

    fn encode(self) -> String {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.kind;
        bytes[1..9].copy_from_slice(&self.page.to_be_bytes());
        bytes[9..].copy_from_slice(&self.hash.to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn decode(text: &str) -> Option<Self> {
        // As much as the decoder may ask for, which is a little more than it needs.
        let mut bytes = [0; Self::BYTES + 3];
        let len = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
        let (kind, rest) = bytes[..len].split_first()?;
        let (page, hash) = rest.split_first_chunk::<8>()?;
        Some(Self {
            kind: *kind,
            page: u64::from_be_bytes(*page),
            hash: u64::from_be_bytes(hash.try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_has_one_spelling() {
        let cursor = Cursor::new(ListKind::Prompts, 3, 0x0123_4567_89AB_CDEF);
        let text = cursor.encode();
        assert_eq!(Cursor::decode(&text), Some(cursor));
        assert!(
            text.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        );
        let padded = format!("{text}=");
        let longer = format!("{text}AAAA");
        let huge = "A".repeat(1 << 20);
        for other in [
            "",
            "A",
            "=",
            &text[1..],
            &text[..20],
            &padded,
            &longer,
            &huge,
            "ä",
            "\0",
        ] {
            assert_eq!(Cursor::decode(other), None, "{other:.40}");
        }
        // The last character holds bits that say nothing: only one of those that decode alike.
        let mut spelled = 0;
        for last in ('A'..='Z')
            .chain('a'..='z')
            .chain('0'..='9')
            .chain(['-', '_'])
        {
            let text = format!("{}{last}", &text[..text.len() - 1]);
            spelled += usize::from(Cursor::decode(&text) == Some(cursor));
        }
        assert_eq!(spelled, 1);
    }
}
