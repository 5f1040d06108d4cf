//! What changed while serving, on its way from any thread to the loop of one connection.
//!
//! It is a mailbox of bounded size: a list that changed twice before the loop looked has changed, a
//! resource that nobody is subscribed to has not, and of registries the newest alone counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::registry::Registry;
use crate::model::subscription::{List, Lists};

/// The mailbox of one connection.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// The newest, if the connection has not taken it.
    registry: Option<Arc<Registry>>,
    lists: Lists,
    /// What the connection is subscribed to, and by how many of its subscriptions.
    watched: BTreeMap<Arc<str>, usize>,
    /// Those of them that changed.
    updated: BTreeSet<Arc<str>>,
    closed: bool,
}

impl Changes {
    /// Leaves a new registry, in which a list is not what it was. Whether the loop is to be woken.
    pub(crate) fn publish(&mut self, registry: &Arc<Registry>, list: List) -> bool {
        if !self.closed {
            self.registry = Some(Arc::clone(registry));
            self.lists.insert(list);
        }
        !self.closed
    }

    /// Notes that a resource changed, if anybody wants to know. Whether the loop is to be woken: where
    /// there was news before, it was.
    pub(crate) fn update(&mut self, uri: &str) -> bool {
        let had_news = self.has_news();
        let watched = self.watched.get_key_value(uri);
        if let Some((uri, _)) = watched
            && !self.closed
        {
            self.updated.insert(Arc::clone(uri));
        }
        !had_news && self.has_news()
    }

    /// Has changes of a resource noted.
    pub(crate) fn watch(&mut self, uri: &str) -> Arc<str> {
        let shared = match self.watched.get_key_value(uri) {
            Some((shared, _)) => Arc::clone(shared),
            None => uri.into(),
        };
        *self.watched.entry(Arc::clone(&shared)).or_default() += 1;
        shared
    }

    /// Takes one [`Changes::watch`] back.
    pub(crate) fn unwatch(&mut self, uri: &str) {
        if let Some(count) = self.watched.get_mut(uri) {
            *count -= 1;
            if *count == 0 {
                self.watched.remove(uri);
                self.updated.remove(uri);
            }
        }
    }

    /// The newest registry, if it was not taken before.
    pub(crate) fn take_registry(&mut self) -> Option<Arc<Registry>> {
        self.registry.take()
    }

    /// Whether there is anything to tell.
    pub(crate) fn has_news(&self) -> bool {
        !self.lists.is_empty() || !self.updated.is_empty()
    }

    /// Takes all that is to be told.
    pub(crate) fn take(&mut self) -> (Lists, BTreeSet<Arc<str>>) {
        (
            std::mem::take(&mut self.lists),
            std::mem::take(&mut self.updated),
        )
    }

    /// Takes no more changes, and forgets what it has.
    pub(crate) fn close(&mut self) {
        *self = Self {
            closed: true,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_already_is_kept_once_and_what_nobody_wants_not_at_all() {
        let mut changes = Changes::default();
        assert!(!changes.update("a"));
        changes.watch("a");
        changes.watch("a");
        changes.watch("b");
        assert!(changes.update("a"));
        assert!(!changes.update("a"));
        assert!(!changes.update("b"), "the loop was woken before");
        changes.unwatch("b");
        changes.unwatch("a");
        assert_eq!(changes.take().1.len(), 1);
        assert!(changes.update("a"));
        changes.unwatch("a");
        assert!(!changes.has_news());
        assert!(!changes.update("a"));
        changes.unwatch("a");
        changes.watch("a");
        changes.close();
        assert!(!changes.update("a"));
    }
}
