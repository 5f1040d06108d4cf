//! [`TaskStore`]: where tasks are kept. The one that keeps them in memory is in the sibling
//! `task_memory`.

use std::fmt;

use crate::model::task::TaskRecord;

/// Where tasks are kept.
///
/// The engine calls it with one lock held, from whichever thread has news: its methods must be
/// short, and must neither panic nor call back into the server. Within one server nothing else
/// changes a task between a [`load`](TaskStore::load) and the [`store`](TaskStore::store) that
/// follows it.
pub trait TaskStore: Send + Sync + 'static {
    /// Keeps a new task. When this returns, `load` must find it.
    ///
    /// # Errors
    ///
    /// [`TaskStoreFull`]: the call is refused with -32603.
    fn insert(&self, id: &str, task: TaskRecord) -> Result<(), TaskStoreFull>;

    /// Whether `insert` would keep a new task. Where it would not, a call whose tool may answer by
    /// itself does so, and no task is made of it: see
    /// [`TaskSupport::Optional`](crate::TaskSupport::Optional). Unless this is written, always.
    fn has_room(&self, task: &TaskRecord) -> bool {
        let _ = task;
        true
    }

    /// The task of this id.
    fn load(&self, id: &str) -> Option<TaskRecord>;

    /// Keeps what has become of a task. One that is not there any more stays away. One that has
    /// failed or was cancelled must be taken: it is small.
    ///
    /// # Errors
    ///
    /// [`TaskStoreFull`], if there is no room for what was added to it.
    fn store(&self, id: &str, task: TaskRecord) -> Result<(), TaskStoreFull>;

    /// Forgets the tasks that have expired by now, and gives their ids.
    fn sweep(&self, now_unix_ms: u64) -> Vec<String>;

    /// When the next task expires.
    fn next_expiry_unix_ms(&self) -> Option<u64>;
}

impl fmt::Debug for dyn TaskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskStore")
    }
}

/// There is no room for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskStoreFull;

impl fmt::Display for TaskStoreFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no room for the task")
    }
}

impl std::error::Error for TaskStoreFull {}
