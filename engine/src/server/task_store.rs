//! [`TaskStore`]: where tasks are kept, and [`MemoryTaskStore`], which keeps them in memory.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::model::task::{TaskRecord, TaskState};

/// Where tasks are kept.
///
/// The engine calls it with one lock held, from whichever thread has news: its methods must be
/// short, and must neither panic nor call back into the server. Within one server nothing else changes a task
/// between a [`load`](TaskStore::load) and the [`store`](TaskStore::store) that follows it.
pub trait TaskStore: Send + Sync + 'static {
    /// Keeps a new task. When this returns, `load` must find it.
    ///
    /// # Errors
    ///
    /// [`TaskStoreFull`]: the call is refused with -32603.
    fn insert(&self, id: &str, task: TaskRecord) -> Result<(), TaskStoreFull>;

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

/// Tasks in memory, so many and no more.
#[derive(Debug)]
pub struct MemoryTaskStore {
    tasks_max: usize,
    bytes_max: usize,
    tasks: Mutex<Tasks>,
}

#[derive(Debug, Default)]
struct Tasks {
    by_id: HashMap<String, TaskRecord>,
    by_expiry: BTreeSet<(u64, String)>,
    bytes: usize,
}

impl MemoryTaskStore {
    /// A store of so many tasks at most, which take so many bytes together at most.
    #[must_use]
    pub fn new(tasks_max: usize, bytes_max: usize) -> Self {
        Self {
            tasks_max,
            bytes_max,
            tasks: Mutex::default(),
        }
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskStore for MemoryTaskStore {
    fn insert(&self, id: &str, task: TaskRecord) -> Result<(), TaskStoreFull> {
        let mut tasks = self.tasks();
        let bytes = task.bytes();
        if tasks.by_id.len() >= self.tasks_max || tasks.bytes + bytes > self.bytes_max {
            return Err(TaskStoreFull);
        }
        tasks.bytes += bytes;
        let expiry = (task.expires_unix_ms(), id.to_owned());
        tasks.by_expiry.insert(expiry);
        tasks.by_id.insert(id.to_owned(), task);
        Ok(())
    }

    fn load(&self, id: &str) -> Option<TaskRecord> {
        self.tasks().by_id.get(id).cloned()
    }

    fn store(&self, id: &str, task: TaskRecord) -> Result<(), TaskStoreFull> {
        let mut tasks = self.tasks();
        let Some(old) = tasks.by_id.get(id) else {
            return Ok(());
        };
        let bytes = tasks.bytes - old.bytes() + task.bytes();
        let grows = bytes > tasks.bytes;
        let is_small = matches!(task.state, TaskState::Failed(_) | TaskState::Cancelled);
        if grows && bytes > self.bytes_max && !is_small {
            return Err(TaskStoreFull);
        }
        let old_expiry = old.expires_unix_ms();
        tasks.bytes = bytes;
        tasks.by_expiry.remove(&(old_expiry, id.to_owned()));
        let expiry = (task.expires_unix_ms(), id.to_owned());
        tasks.by_expiry.insert(expiry);
        tasks.by_id.insert(id.to_owned(), task);
        Ok(())
    }

    fn sweep(&self, now_unix_ms: u64) -> Vec<String> {
        let mut tasks = self.tasks();
        let mut swept = Vec::new();
        while let Some((expiry, _)) = tasks.by_expiry.first()
            && *expiry <= now_unix_ms
            && let Some((_, id)) = tasks.by_expiry.pop_first()
        {
            if let Some(task) = tasks.by_id.remove(&id) {
                tasks.bytes -= task.bytes();
            }
            swept.push(id);
        }
        swept
    }

    fn next_expiry_unix_ms(&self) -> Option<u64> {
        self.tasks().by_expiry.first().map(|(expiry, _)| *expiry)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn task(created_unix_ms: u64, ttl_ms: u64) -> TaskRecord {
        TaskRecord {
            principal: String::new(),
            tool: "tool".to_owned(),
            state: TaskState::Working,
            status_message: None,
            created_unix_ms,
            updated_unix_ms: created_unix_ms,
            ttl_ms,
            poll_interval_ms: 1,
            request: Arc::from("{}"),
            answers: Vec::new(),
            kept: None,
        }
    }

    #[test]
    fn expired_tasks_are_swept_and_the_others_stay() {
        let store = MemoryTaskStore::new(10, 1 << 20);
        for (id, created, ttl) in [("a", 0, 100), ("b", 0, 50), ("c", 10, 90)] {
            store.insert(id, task(created, ttl)).unwrap();
        }
        assert_eq!(store.next_expiry_unix_ms(), Some(50));
        assert_eq!(store.sweep(49), Vec::<String>::new());
        assert_eq!(store.sweep(99), ["b"]);
        assert!(store.load("b").is_none());
        assert!(store.load("a").is_some());
        assert_eq!(store.sweep(100), ["a", "c"]);
        assert_eq!(store.next_expiry_unix_ms(), None);
        assert_eq!(store.tasks().bytes, 0);
        // A late change does not bring one back.
        store.store("a", task(0, 100)).unwrap();
        assert!(store.load("a").is_none());
    }

    #[test]
    fn a_changed_life_moves_the_expiry() {
        let store = MemoryTaskStore::new(10, 1 << 20);
        store.insert("a", task(0, 100)).unwrap();
        store.store("a", task(0, 10)).unwrap();
        assert_eq!(store.next_expiry_unix_ms(), Some(10));
        assert_eq!(store.sweep(10), ["a"]);
        assert_eq!(store.next_expiry_unix_ms(), None);
    }

    #[test]
    fn what_has_no_room_is_refused_and_what_ends_is_taken() {
        let bytes = task(0, 1).bytes();
        let store = MemoryTaskStore::new(2, bytes * 3);
        store.insert("a", task(0, 1)).unwrap();
        store.insert("b", task(0, 1)).unwrap();
        assert_eq!(store.insert("c", task(0, 1)), Err(TaskStoreFull));
        let mut long = task(0, 1);
        long.state = TaskState::Completed("x".repeat(bytes + 1).into());
        assert_eq!(store.store("a", long.clone()), Err(TaskStoreFull));
        assert_eq!(store.load("a"), Some(task(0, 1)));
        long.state = TaskState::Failed("x".repeat(bytes + 1).into());
        store.store("a", long.clone()).unwrap();
        // What shrinks is taken, even where there is too much.
        long.state = TaskState::Completed("x".repeat(bytes / 2).into());
        store.store("a", long).unwrap();
        let small = MemoryTaskStore::new(10, bytes - 1);
        assert_eq!(small.insert("a", task(0, 1)), Err(TaskStoreFull));
    }
}
