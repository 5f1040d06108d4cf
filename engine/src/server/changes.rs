//! What changed while serving, on its way from any thread to the loop of one connection.
//!
//! It is a mailbox of bounded size: a list that changed twice before the loop looked has changed, a
//! resource that nobody is subscribed to has not, and of registries the newest alone counts.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
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
    /// By their URIs.
    pub(crate) resources: Watched,
    /// By their ids.
    pub(crate) tasks: Watched,
    elicitations: Elicitations,
    closed: bool,
}

/// Things of a kind, each of which a connection may be subscribed to.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// What the connection is subscribed to, and by how many of its subscriptions.
    watched: BTreeMap<Arc<str>, usize>,
    /// Those of them that changed.
    updated: BTreeSet<Arc<str>>,
}

/// The elicitations by URL that the client of a session was sent, by their ids.
#[derive(Debug, Default)]
struct Elicitations {
    /// The oldest first.
    open: VecDeque<Arc<str>>,
    complete: BTreeSet<Arc<str>>,
}

/// What is to be told.
#[derive(Debug, Default)]
pub(crate) struct News {
    pub(crate) lists: Lists,
    /// The URIs of resources.
    pub(crate) uris: BTreeSet<Arc<str>>,
    /// The ids of tasks.
    pub(crate) tasks: BTreeSet<Arc<str>>,
    /// The ids of elicitations that are complete.
    pub(crate) elicitations: BTreeSet<Arc<str>>,
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
    pub(crate) fn update_resource(&mut self, uri: &str) -> bool {
        let had_news = self.has_news();
        self.resources.update(uri);
        !had_news && self.has_news()
    }

    /// The same for tasks.
    pub(crate) fn update_tasks<'a>(&mut self, ids: impl IntoIterator<Item = &'a str>) -> bool {
        let had_news = self.has_news();
        for id in ids {
            self.tasks.update(id);
        }
        !had_news && self.has_news()
    }

    /// Notes that the client is sent an elicitation by URL, and forgets the oldest where that makes
    /// more than `max`.
    pub(crate) fn open_elicitation(&mut self, id: &str, max: usize) {
        if !self.closed && max > 0 {
            self.elicitations.open(id, max);
        }
    }

    /// Notes that an elicitation is complete, if it is one that the client was sent and was not told
    /// of before. Whether the loop is to be woken.
    pub(crate) fn complete_elicitation(&mut self, id: &str) -> bool {
        let had_news = self.has_news();
        self.elicitations.complete(id);
        !had_news && self.has_news()
    }

    /// The newest registry, if it was not taken before.
    pub(crate) fn take_registry(&mut self) -> Option<Arc<Registry>> {
        self.registry.take()
    }

    /// Whether there is anything to tell.
    pub(crate) fn has_news(&self) -> bool {
        !self.lists.is_empty()
            || !self.resources.updated.is_empty()
            || !self.tasks.updated.is_empty()
            || !self.elicitations.complete.is_empty()
    }

    /// Takes all that is to be told.
    pub(crate) fn take(&mut self) -> News {
        News {
            lists: std::mem::take(&mut self.lists),
            uris: std::mem::take(&mut self.resources.updated),
            tasks: std::mem::take(&mut self.tasks.updated),
            elicitations: std::mem::take(&mut self.elicitations.complete),
        }
    }

    /// Takes no more changes, and forgets what it has.
    pub(crate) fn close(&mut self) {
        *self = Self {
            closed: true,
            ..Self::default()
        };
    }
}

impl Watched {
    /// Has changes of a thing noted.
    pub(crate) fn watch(&mut self, name: &str) -> Arc<str> {
        let shared = match self.watched.get_key_value(name) {
            Some((shared, _)) => Arc::clone(shared),
            None => name.into(),
        };
        *self.watched.entry(Arc::clone(&shared)).or_default() += 1;
        shared
    }

    /// Takes one [`Watched::watch`] back.
    pub(crate) fn unwatch(&mut self, name: &str) {
        if let Some(count) = self.watched.get_mut(name) {
            *count -= 1;
            if *count == 0 {
                self.watched.remove(name);
                self.updated.remove(name);
            }
        }
    }

    /// Notes that a thing changed, if it is watched.
    pub(crate) fn update(&mut self, name: &str) {
        if let Some((name, _)) = self.watched.get_key_value(name) {
            self.updated.insert(Arc::clone(name));
        }
    }
}

impl Elicitations {
    fn open(&mut self, id: &str, max: usize) {
        self.open.retain(|open| **open != *id);
        while self.open.len() + self.complete.len() >= max {
            if self.open.pop_front().is_none() {
                self.complete.pop_first();
            }
        }
        self.open.push_back(id.into());
    }

    fn complete(&mut self, id: &str) {
        let place = self.open.iter().position(|open| **open == *id);
        self.complete
            .extend(place.and_then(|place| self.open.remove(place)));
    }
}

impl News {
    pub(crate) fn is_empty(&self) -> bool {
        self.lists.is_empty()
            && self.uris.is_empty()
            && self.tasks.is_empty()
            && self.elicitations.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_already_is_kept_once_and_what_nobody_wants_not_at_all() {
        let mut changes = Changes::default();
        assert!(!changes.update_resource("a"));
        changes.resources.watch("a");
        changes.resources.watch("a");
        changes.resources.watch("b");
        assert!(changes.update_resource("a"));
        assert!(!changes.update_resource("a"));
        assert!(!changes.update_resource("b"), "the loop was woken before");
        changes.resources.unwatch("b");
        changes.resources.unwatch("a");
        assert_eq!(changes.take().uris.len(), 1);
        assert!(changes.update_resource("a"));
        changes.resources.unwatch("a");
        assert!(!changes.has_news());
        assert!(!changes.update_resource("a"));
        changes.resources.unwatch("a");
        changes.resources.watch("a");
        changes.close();
        assert!(!changes.update_resource("a"));
    }

    #[test]
    fn a_resource_and_a_task_of_one_name_are_two() {
        let mut changes = Changes::default();
        let name = "a";
        changes.resources.watch(name);
        assert!(!changes.update_tasks([name]));
        changes.tasks.watch(name);
        assert!(changes.update_tasks([name]));
        let news = changes.take();
        assert_eq!((news.uris.len(), news.tasks.len()), (0, 1));
        changes.close();
        assert!(!changes.update_tasks([name]));
    }

    #[test]
    fn of_elicitations_so_many_are_remembered_and_each_is_told_once() {
        let mut changes = Changes::default();
        assert!(!changes.complete_elicitation("a"), "nobody was asked");
        for id in ["a", "b", "a", "c"] {
            changes.open_elicitation(id, 2);
        }
        assert!(
            !changes.complete_elicitation("b"),
            "the oldest is forgotten"
        );
        assert!(changes.complete_elicitation("a"));
        assert!(
            !changes.complete_elicitation("c"),
            "the loop was woken before"
        );
        let told = changes.take().elicitations;
        assert_eq!(told.len(), 2);
        assert!(!changes.complete_elicitation("a"), "it was told");
        // What waits to be told has its room, too.
        for id in ["a", "b", "c", "d"] {
            changes.open_elicitation(id, 3);
            changes.complete_elicitation(id);
        }
        assert_eq!(changes.take().elicitations.len(), 3);
        changes.open_elicitation("a", 0);
        assert!(!changes.complete_elicitation("a"));
        changes.close();
        changes.open_elicitation("a", 3);
        assert!(!changes.complete_elicitation("a"));
    }
}
