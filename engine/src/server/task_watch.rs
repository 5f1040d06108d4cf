//! Which connections have to do with tasks, and how they learn of what has become of one.
//!
//! What changed is noted while the table of tasks is locked, and told once it is unlocked: wakers
//! are the user's.

use std::sync::{Arc, Mutex, Weak};

use super::ticket::{Completions, lock};

/// The connections that are woken when there is something to do or to tell.
#[derive(Default)]
pub(super) struct Homes {
    mailboxes: Mutex<Vec<Weak<Completions>>>,
    /// The ids of tasks that changed since this was told last.
    changed: Mutex<Vec<String>>,
}

impl Homes {
    /// Has a connection woken from now on.
    pub(super) fn add(&self, home: &Arc<Completions>) {
        let mut mailboxes = lock(&self.mailboxes);
        mailboxes.retain(|home| home.strong_count() > 0);
        mailboxes.push(Arc::downgrade(home));
    }

    /// Tells all that there is something to do.
    pub(super) fn wake(&self) {
        for home in self.mailboxes() {
            home.notify();
        }
    }

    /// Notes that a task changed.
    pub(super) fn note(&self, id: &str) {
        lock(&self.changed).push(id.to_owned());
    }

    /// Tells those that are subscribed to a task which changed. To be called with nothing locked.
    pub(super) fn tell(&self) {
        let changed = std::mem::take(&mut *lock(&self.changed));
        if changed.is_empty() {
            return;
        }
        for home in self.mailboxes() {
            if lock(home.changes()).update_tasks(changed.iter().map(String::as_str)) {
                home.notify();
            }
        }
    }

    fn mailboxes(&self) -> Vec<Arc<Completions>> {
        let mailboxes = lock(&self.mailboxes);
        mailboxes.iter().filter_map(Weak::upgrade).collect()
    }
}
