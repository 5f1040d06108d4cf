//! [`MemoryTaskStore`]: tasks in memory, so many and no more.
//!
//! What has ended makes room for what is new, so that a full store is full of work alone. It goes
//! by connection, so that one which makes many tasks loses its own results first, and leaves
//! places to the others.
//!
//! Specification: extension `io.modelcontextprotocol/tasks`, Tasks: `ttlMs` may change while a task
//! lives, and so may end with it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Mutex,
};

use super::{
    task_store::{TaskStore, TaskStoreFull},
    ticket::lock,
};
use crate::model::task::{TaskRecord, TaskState};

/// Tasks in memory, so many and no more.
///
/// For a task that has no room, those that have ended are forgotten before their time: each time
/// the one that ended first, of the connection that has most tasks, or most bytes where it is bytes
/// that are missing. A connection that has a task at work may have one more if as many places,
/// and as many bytes, are then left to the others as it has.
#[derive(Debug)]
pub struct MemoryTaskStore {
    room: Size,
    tasks: Mutex<Tasks>,
}

/// How many tasks, and how many bytes they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    tasks: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Tasks {
    by_id: HashMap<String, Kept>,
    by_expiry: BTreeSet<(u64, String)>,
    /// By the number of the connection. Who has nothing has no share.
    shares: BTreeMap<u64, Share>,
    /// Of all shares.
    at_work: Size,
    ended: Size,
    /// Of the task that ended last.
    last_end: u64,
}

#[derive(Debug)]
struct Kept {
    record: TaskRecord,
    /// Grows from one that ended to the next.
    end: Option<u64>,
}

/// What a connection has.
#[derive(Debug, Default)]
struct Share {
    at_work: Size,
    ended: Size,
    /// The ids of those that have ended, in that order.
    ends: BTreeMap<u64, String>,
}

impl MemoryTaskStore {
    /// A store of so many tasks at most, which take so many bytes together at most.
    #[must_use]
    pub fn new(tasks_max: usize, bytes_max: usize) -> Self {
        Self {
            room: Size {
                tasks: tasks_max,
                bytes: bytes_max,
            },
            tasks: Mutex::default(),
        }
    }
}

impl TaskStore for MemoryTaskStore {
    fn insert(&self, id: &str, task: TaskRecord) -> Result<(), TaskStoreFull> {
        let mut tasks = lock(&self.tasks);
        if !tasks.admits(&task, self.room) {
            return Err(TaskStoreFull);
        }
        tasks.make_room(task.connection, Size::of(&task), self.room);
        tasks.add(id, task, None);
        Ok(())
    }

    fn has_room(&self, task: &TaskRecord) -> bool {
        lock(&self.tasks).admits(task, self.room)
    }

    fn load(&self, id: &str) -> Option<TaskRecord> {
        let tasks = lock(&self.tasks);
        tasks.by_id.get(id).map(|kept| kept.record.clone())
    }

    fn store(&self, id: &str, task: TaskRecord) -> Result<(), TaskStoreFull> {
        let mut tasks = lock(&self.tasks);
        let Some(Kept { record: old, end }) = tasks.remove(id) else {
            return Ok(());
        };
        let grows = task.bytes() > old.bytes();
        let is_small = matches!(task.state, TaskState::Failed(_) | TaskState::Cancelled);
        if grows && !is_small && !tasks.fits(Size::of(&task), self.room) {
            tasks.add(id, old, end);
            return Err(TaskStoreFull);
        }
        if grows {
            tasks.make_room(task.connection, Size::of(&task), self.room);
        }
        tasks.add(id, task, end);
        Ok(())
    }

    fn sweep(&self, now_unix_ms: u64) -> Vec<String> {
        let mut tasks = lock(&self.tasks);
        let mut swept = Vec::new();
        while let Some((expiry, id)) = tasks.by_expiry.first()
            && *expiry <= now_unix_ms
        {
            let id = id.clone();
            tasks.remove(&id);
            swept.push(id);
        }
        swept
    }

    fn next_expiry_unix_ms(&self) -> Option<u64> {
        let tasks = lock(&self.tasks);
        tasks.by_expiry.first().map(|(expiry, _)| *expiry)
    }
}

impl Size {
    fn of(task: &TaskRecord) -> Self {
        Self {
            tasks: 1,
            bytes: task.bytes(),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            tasks: self.tasks + other.tasks,
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            tasks: self.tasks - other.tasks,
            bytes: self.bytes - other.bytes,
        }
    }

    fn is_within(self, room: Self) -> bool {
        self.tasks <= room.tasks && self.bytes <= room.bytes
    }
}

impl Tasks {
    /// Whether there is room for a new task, where all that has ended is forgotten.
    fn admits(&self, task: &TaskRecord, room: Size) -> bool {
        let size = Size::of(task);
        let share = self.shares.get(&task.connection);
        let own = share.map(|share| share.at_work).unwrap_or_default();
        // As much as the connection then has must be left.
        let left_to_others = match own.tasks {
            0 => Size::default(),
            _ => own.plus(size),
        };
        self.fits(size.plus(left_to_others), room)
    }

    /// Whether so much fits beside what is at work.
    fn fits(&self, size: Size, room: Size) -> bool {
        self.at_work.plus(size).is_within(room)
    }

    /// Forgets what has ended, until so much more of a connection's fits or nothing is left.
    fn make_room(&mut self, connection: u64, size: Size, room: Size) {
        loop {
            let total = self.at_work.plus(self.ended).plus(size);
            let by_tasks = total.tasks > room.tasks;
            if !by_tasks && total.bytes <= room.bytes {
                return;
            }
            let Some(id) = self.next_to_forget(connection, size, by_tasks) else {
                return;
            };
            self.remove(&id);
        }
    }

    /// Which task is forgotten next, for so much more of a connection's: what ended first, of
    /// whoever has most.
    fn next_to_forget(&self, connection: u64, size: Size, by_tasks: bool) -> Option<String> {
        let with_ends = self.shares.iter().filter_map(|(number, share)| {
            let (end, id) = share.ends.first_key_value()?;
            let more = if *number == connection {
                size
            } else {
                Size::default()
            };
            let all = share.at_work.plus(share.ended).plus(more);
            let much = if by_tasks { all.tasks } else { all.bytes };
            Some(((much, Reverse(*end)), id))
        });
        let (_, id) = with_ends.max_by_key(|(much, _)| *much)?;
        Some(id.clone())
    }

    fn add(&mut self, id: &str, record: TaskRecord, mut end: Option<u64>) {
        let size = Size::of(&record);
        let share = self.shares.entry(record.connection).or_default();
        if record.state.is_terminal() {
            let end = *end.get_or_insert_with(|| {
                self.last_end += 1;
                self.last_end
            });
            share.ends.insert(end, id.to_owned());
            share.ended = share.ended.plus(size);
            self.ended = self.ended.plus(size);
        } else {
            // It may have ended before: a store is told of it as it is now.
            end = None;
            share.at_work = share.at_work.plus(size);
            self.at_work = self.at_work.plus(size);
        }
        let expiry = (record.expires_unix_ms(), id.to_owned());
        self.by_expiry.insert(expiry);
        self.by_id.insert(id.to_owned(), Kept { record, end });
    }

    fn remove(&mut self, id: &str) -> Option<Kept> {
        let kept = self.by_id.remove(id)?;
        let expiry = (kept.record.expires_unix_ms(), id.to_owned());
        self.by_expiry.remove(&expiry);
        let size = Size::of(&kept.record);
        if let Some(share) = self.shares.get_mut(&kept.record.connection) {
            if let Some(end) = kept.end {
                share.ends.remove(&end);
                share.ended = share.ended.minus(size);
                self.ended = self.ended.minus(size);
            } else {
                share.at_work = share.at_work.minus(size);
                self.at_work = self.at_work.minus(size);
            }
            if share.at_work.tasks + share.ended.tasks == 0 {
                self.shares.remove(&kept.record.connection);
            }
        }
        Some(kept)
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
            connection: 0,
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
        assert_eq!(lock(&store.tasks).at_work, Size::default());
        assert!(lock(&store.tasks).shares.is_empty());
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
        store.insert("b", of(1, task(0, 1))).unwrap();
        assert_eq!(store.insert("c", of(2, task(0, 1))), Err(TaskStoreFull));
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

    fn of(connection: u64, task: TaskRecord) -> TaskRecord {
        TaskRecord { connection, ..task }
    }

    /// A task that ended at once.
    fn ended(connection: u64, bytes: usize) -> TaskRecord {
        let state = TaskState::Completed("x".repeat(bytes).into());
        of(
            connection,
            TaskRecord {
                state,
                ..task(0, 1)
            },
        )
    }

    fn ids(store: &MemoryTaskStore) -> Vec<String> {
        let mut ids: Vec<String> = lock(&store.tasks).by_id.keys().cloned().collect();
        ids.sort();
        ids
    }

    #[test]
    fn what_ended_first_makes_room() {
        let store = MemoryTaskStore::new(3, 1 << 20);
        for (connection, id) in (0..).zip(["a", "b", "c"]) {
            store.insert(id, of(connection, task(0, 100))).unwrap();
        }
        // Nothing has ended.
        assert!(!store.has_room(&of(3, task(0, 100))));
        assert_eq!(store.insert("d", of(3, task(0, 100))), Err(TaskStoreFull));
        store.store("b", ended(1, 0)).unwrap();
        store.store("a", ended(0, 0)).unwrap();
        for (connection, id, left) in [(3, "d", ["a", "c", "d"]), (4, "e", ["c", "d", "e"])] {
            assert!(store.has_room(&of(connection, task(0, 100))));
            store.insert(id, of(connection, task(0, 100))).unwrap();
            assert_eq!(ids(&store), left);
        }
        // What is forgotten does not expire, either.
        assert_eq!(store.sweep(1_000), ["c", "d", "e"]);
        assert!(lock(&store.tasks).by_expiry.is_empty());
    }

    #[test]
    fn what_is_at_work_again_has_not_ended() {
        let store = MemoryTaskStore::new(2, 1 << 20);
        store.insert("a", ended(0, 9)).unwrap();
        store.store("a", task(0, 1)).unwrap();
        assert_eq!(lock(&store.tasks).ended, Size::default());
        store.insert("b", of(1, task(0, 1))).unwrap();
        assert_eq!(store.insert("c", of(2, task(0, 1))), Err(TaskStoreFull));
        assert_eq!(store.sweep(1), ["a", "b"]);
        assert_eq!(lock(&store.tasks).at_work, Size::default());
        assert!(lock(&store.tasks).shares.is_empty());
    }

    #[test]
    fn whoever_has_most_makes_room() {
        let store = MemoryTaskStore::new(4, 1 << 20);
        for (id, connection) in [("a", 1), ("b", 2), ("c", 2), ("d", 2)] {
            store.insert(id, ended(connection, 0)).unwrap();
        }
        store.insert("e", ended(2, 0)).unwrap();
        assert_eq!(ids(&store), ["a", "c", "d", "e"]);
        store.insert("f", ended(1, 0)).unwrap();
        assert_eq!(ids(&store), ["a", "d", "e", "f"]);
        // Both have as many now, and the newcomer would have one more.
        store.insert("g", ended(2, 0)).unwrap();
        assert_eq!(ids(&store), ["a", "e", "f", "g"]);
    }

    #[test]
    fn results_make_room_for_results() {
        let bytes = ended(1, 0).bytes();
        let store = MemoryTaskStore::new(9, 10 * bytes);
        store.insert("quiet", ended(1, 0)).unwrap();
        store.insert("long", ended(2, 4 * bytes)).unwrap();
        store.insert("next", of(2, task(0, 1))).unwrap();
        assert_eq!(
            store.store("next", ended(2, 9 * bytes + 1)),
            Err(TaskStoreFull)
        );
        assert_eq!(ids(&store), ["long", "next", "quiet"]);
        store.store("next", ended(2, 6 * bytes)).unwrap();
        assert_eq!(ids(&store), ["next", "quiet"]);
        assert_eq!(lock(&store.tasks).ended.bytes, 8 * bytes);
        // Alone it may have all.
        let whole = MemoryTaskStore::new(9, 10 * bytes);
        whole.insert("a", ended(1, 0)).unwrap();
        whole.insert("b", of(2, task(0, 1))).unwrap();
        whole.store("b", ended(2, 9 * bytes)).unwrap();
        assert_eq!(ids(&whole), ["b"]);
    }

    #[test]
    fn a_connection_leaves_as_much_as_it_has() {
        let store = MemoryTaskStore::new(8, 1 << 20);
        let room = |connection: u64| {
            let ids = (0..).map(|n| format!("{connection}.{n}"));
            ids.take_while(|id| store.insert(id, of(connection, task(0, 1))).is_ok())
                .count()
        };
        assert_eq!(
            [room(1), room(2), room(3), room(4), room(5)],
            [4, 2, 1, 1, 0]
        );
        let bytes = task(0, 1).bytes();
        let store = MemoryTaskStore::new(9, 4 * bytes);
        assert!(store.has_room(&of(1, task(0, 1))));
        store.insert("a", of(1, task(0, 1))).unwrap();
        store.insert("b", of(1, task(0, 1))).unwrap();
        assert!(!store.has_room(&of(1, task(0, 1))));
        assert!(store.has_room(&of(2, task(0, 1))));
    }
}
