//! The setters of a [`Server`] for what it says of itself, and how that and its lists are sent.

use super::{Server, pages::ListKind};
use crate::model::{
    caching::{CacheScope, Caching},
    icon::Icon,
};

impl Server {
    /// Sets the description, which tells a person what the server is for. Sent from 2025-11-25 on.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.parts.implementation.description = Some(text.into());
        self
    }

    /// Sets the address of the server's website. Sent from 2025-11-25 on.
    #[must_use]
    pub fn website_url(mut self, url: impl Into<String>) -> Self {
        self.parts.implementation.website_url = Some(url.into());
        self
    }

    /// Adds an icon. Sent from 2025-11-25 on.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.parts.implementation.icons.push(icon);
        self
    }

    /// Sets how many items a page of a list has. 0, the default, puts all on one page, and 100 of the
    /// tasks of a session.
    ///
    /// Specification: `server/utilities/pagination`.
    #[must_use]
    pub fn page_size(mut self, items: usize) -> Self {
        self.parts.lists.page_size = items;
        self
    }

    /// Sets for how many milliseconds clients may keep lists, and who may be given them. Without
    /// it they are public and fresh for five minutes, 300,000. Sent in 2026-07-28.
    ///
    /// Specification: 2026-07-28, `server/utilities/caching`.
    #[must_use]
    pub fn cache_lists(mut self, ttl_ms: u64, scope: CacheScope) -> Self {
        self.parts.lists.cache_all(ttl_ms, scope);
        self
    }

    /// The same for one list. All its pages have the same scope.
    #[must_use]
    pub fn cache_list(mut self, list: ListKind, ttl_ms: u64, scope: CacheScope) -> Self {
        self.parts.lists.cache(list, ttl_ms, scope);
        self
    }

    /// The same for the answer to `server/discover`, which says what the server can do.
    #[must_use]
    pub fn cache_discover(mut self, ttl_ms: u64, scope: CacheScope) -> Self {
        self.parts.discover_caching = Caching { ttl_ms, scope };
        self
    }

    /// Sets whether what tools answer is checked against their output schemas. A debug build does
    /// so unless told otherwise; a release build only if told to. What does not fit is answered
    /// with -32603, since it is the server that is wrong.
    ///
    /// Specification: `server/tools`, Output Schema.
    #[must_use]
    pub fn check_output(mut self, check: bool) -> Self {
        self.parts.check_output = check;
        self
    }
}
