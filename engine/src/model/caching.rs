//! What clients are told about keeping a result.
//!
//! Specification: 2026-07-28, `server/utilities/caching`.

use tightwire_codec::JsonWriter;

/// Who may be given a cached result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheScope {
    /// Anybody: it does not depend on who asked.
    Public,
    /// Whoever it was made for alone.
    Private,
}

/// How long a result is fresh, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caching {
    pub(crate) ttl_ms: u64,
    pub(crate) scope: CacheScope,
}

impl Caching {
    /// Of lists, and of `server/discover`: the same for every caller, fresh for five minutes.
    pub(crate) const LISTS: Self = Self {
        ttl_ms: 300_000,
        scope: CacheScope::Public,
    };
    /// Of what is read: for the caller alone, and stale at once.
    pub(crate) const READS: Self = Self {
        ttl_ms: 0,
        scope: CacheScope::Private,
    };

    /// Appends `,"ttlMs":…,"cacheScope":"…"`.
    pub(crate) fn write(self, writer: &mut JsonWriter<'_>) {
        writer.raw(b",\"ttlMs\":");
        writer.u64(self.ttl_ms);
        writer.raw(match self.scope {
            CacheScope::Public => b",\"cacheScope\":\"public\"",
            CacheScope::Private => b",\"cacheScope\":\"private\"",
        });
    }
}
