//! The requests in flight: those whose handler deferred its answer.
//!
//! Each step is linear in their number, which is meant for some thousands at most.
//!
//! A fixed number of places, filled densely, so that looking one up is a scan over a short array
//! of hashes; with nothing in flight, the usual state, it costs nothing.

use std::time::Duration;

use smallvec::SmallVec;
use tightwire_codec::{Id, JsonWriter};

use super::hash::hash;

/// An id as the bytes it is answered with: equal ids have equal bytes. UUIDs fit inline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdBuf(SmallVec<[u8; 40]>);

impl IdBuf {
    pub(crate) fn new(id: &Id<'_>) -> Self {
        let mut bytes = Vec::new();
        JsonWriter::new(&mut bytes).id(id);
        // A short one inline, so that its entry is all there is of it.
        Self(SmallVec::from_slice(&bytes))
    }

    /// The id to answer with, written as it was: not to be compared with one that was read.
    pub(crate) fn as_id(&self) -> Id<'_> {
        Id::Source(std::str::from_utf8(&self.0).unwrap_or("null"))
    }

    /// The bytes it is written as.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct Entry<T> {
    pub(crate) id: IdBuf,
    /// Names the call apart from its id, which the client may use again.
    pub(crate) serial: u64,
    /// When the answer is due, on the monotonic clock.
    pub(crate) deadline: Duration,
    pub(crate) state: T,
}

/// The table of requests in flight.
#[derive(Debug)]
pub(crate) struct Pending<T> {
    capacity: usize,
    hashes: Vec<u64>,
    entries: Vec<Entry<T>>,
    /// The earliest deadline.
    next_deadline: Option<Duration>,
    /// The bytes of the id that is looked up.
    wanted: Vec<u8>,
    /// Of all ids together.
    bytes: usize,
}

impl<T> Pending<T> {
    /// A longer id does not keep the memory it was looked up with.
    const ID_BYTES_KEPT: usize = 4096;

    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            hashes: Vec::new(),
            entries: Vec::new(),
            next_deadline: None,
            wanted: Vec::new(),
            bytes: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many bytes the ids take.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() >= self.capacity
    }

    /// Adds a request. The caller has checked that there is room and that the id is free.
    pub(crate) fn insert(&mut self, entry: Entry<T>) {
        debug_assert!(!self.is_full());
        self.hashes.push(hash(entry.id.as_bytes(), 0));
        self.note_deadline(entry.deadline);
        self.bytes += entry.id.as_bytes().len();
        self.entries.push(entry);
    }

    /// Whether a request with this id is in flight.
    #[inline]
    pub(crate) fn contains(&mut self, id: &Id<'_>) -> bool {
        !self.is_empty() && self.place(id).is_some()
    }

    /// Takes out the request with this id.
    pub(crate) fn remove(&mut self, id: &Id<'_>) -> Option<Entry<T>> {
        if self.is_empty() {
            return None;
        }
        self.place(id).map(|place| self.take(place))
    }

    /// Takes out the request with this serial number.
    pub(crate) fn remove_serial(&mut self, serial: u64) -> Option<Entry<T>> {
        let place = self
            .entries
            .iter()
            .position(|entry| entry.serial == serial)?;
        Some(self.take(place))
    }

    /// Changes the request with this serial number; `change` gives its new deadline.
    pub(crate) fn change(&mut self, serial: u64, change: impl FnOnce(&mut T) -> Duration) {
        let found = self.entries.iter_mut().find(|entry| entry.serial == serial);
        if let Some(entry) = found {
            entry.deadline = change(&mut entry.state);
            self.find_next_deadline();
        }
    }

    /// The state of the request with this serial number.
    pub(crate) fn state_mut(&mut self, serial: u64) -> Option<&mut T> {
        let found = self.entries.iter_mut().find(|entry| entry.serial == serial);
        found.map(|entry| &mut entry.state)
    }

    /// The first request that is in such a state.
    pub(crate) fn find_mut(&mut self, is: impl Fn(&T) -> bool) -> Option<&mut Entry<T>> {
        self.entries.iter_mut().find(|entry| is(&entry.state))
    }

    /// How many requests are in such a state.
    pub(crate) fn count(&self, is: impl Fn(&T) -> bool) -> usize {
        self.entries.iter().filter(|entry| is(&entry.state)).count()
    }

    /// Takes out the request that is due first, if it is due by now. Those with a serial number
    /// above `serial_max` came too late for this time.
    pub(crate) fn remove_due(&mut self, now: Duration, serial_max: u64) -> Option<Entry<T>> {
        let (place, _) = self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.deadline <= now && entry.serial <= serial_max)
            .min_by_key(|(_, entry)| (entry.deadline, entry.serial))?;
        Some(self.take(place))
    }

    /// When the next request is due.
    #[inline]
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        self.next_deadline
    }

    /// Takes out all requests.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Entry<T>> + '_ {
        self.hashes.clear();
        self.next_deadline = None;
        self.bytes = 0;
        self.entries.drain(..)
    }

    fn place(&mut self, id: &Id<'_>) -> Option<usize> {
        self.wanted.clear();
        self.wanted.shrink_to(Self::ID_BYTES_KEPT);
        JsonWriter::new(&mut self.wanted).id(id);
        let wanted = hash(&self.wanted, 0);
        self.hashes
            .iter()
            .zip(&self.entries)
            .position(|(hash, entry)| *hash == wanted && entry.id.as_bytes() == self.wanted)
    }

    fn take(&mut self, place: usize) -> Entry<T> {
        self.hashes.swap_remove(place);
        let entry = self.entries.swap_remove(place);
        self.bytes -= entry.id.as_bytes().len();
        if self.next_deadline == Some(entry.deadline) {
            self.find_next_deadline();
        }
        entry
    }

    fn note_deadline(&mut self, deadline: Duration) {
        let next = self.next_deadline.unwrap_or(deadline);
        self.next_deadline = Some(next.min(deadline));
    }

    fn find_next_deadline(&mut self) {
        self.next_deadline = self.entries.iter().map(|entry| entry.deadline).min();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: Id<'_>, serial: u64, ms: u64) -> Entry<()> {
        Entry {
            id: IdBuf::new(&id),
            serial,
            deadline: Duration::from_millis(ms),
            state: (),
        }
    }

    #[test]
    fn ids_are_told_apart_by_type_and_source() {
        let mut pending = Pending::new(4);
        pending.insert(entry(Id::Unsigned(1), 1, 30));
        pending.insert(entry(Id::String("1"), 2, 10));
        pending.insert(entry(Id::Source("-0"), 3, 20));
        assert!(!pending.contains(&Id::Unsigned(0)));
        assert!(pending.contains(&Id::Source("-0")));
        assert_eq!(
            pending.remove(&Id::String("1")).map(|entry| entry.serial),
            Some(2)
        );
        assert!(pending.remove(&Id::String("1")).is_none());
        assert!(pending.contains(&Id::Unsigned(1)));
    }

    #[test]
    fn what_is_due_comes_out_in_order() {
        let mut pending = Pending::new(4);
        pending.insert(entry(Id::Unsigned(1), 1, 30));
        pending.insert(entry(Id::Unsigned(2), 2, 10));
        pending.insert(entry(Id::Unsigned(3), 3, 10));
        assert!(!pending.is_full());
        assert_eq!(pending.next_deadline(), Some(Duration::from_millis(10)));
        let mut due = || {
            pending
                .remove_due(Duration::from_millis(20), 9)
                .map(|entry| entry.serial)
        };
        assert_eq!([due(), due(), due()], [Some(2), Some(3), None]);
        assert_eq!(pending.len(), 1);
    }
}
