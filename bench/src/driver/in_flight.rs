//! The calls that wait for their answer, by id.
//!
//! An id is [`FIRST_ID`] plus the number of the call, so that all ids have ten digits: a request
//! differs from the one before in ten bytes, and an answer too. The place of a call is its id
//! modulo the capacity; a place still held by a call that was never answered is passed over,
//! together with its id.

/// The first id. Ids stay within the integers that every JSON reader keeps exact.
pub(super) const FIRST_ID: u64 = 1_000_000_000;
/// After the last id of ten digits comes the first again.
const LAST_ID: u64 = 9_999_999_999;
/// The number of digits of every id.
pub(super) const ID_DIGITS: usize = 10;

/// A call in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// 0 if the place is free.
    id: u64,
    /// When it was started or, in an open loop, should have been.
    pub(super) since: u64,
    /// Which request of the workload it is.
    pub(super) entry: u32,
}

/// A table of fixed capacity, at most half full.
#[derive(Debug)]
pub(super) struct InFlight {
    slots: Vec<Slot>,
    mask: u64,
    next: u64,
    len: usize,
    wrapped: bool,
}

impl InFlight {
    const FREE: Slot = Slot {
        id: 0,
        since: 0,
        entry: 0,
    };

    /// A table for `max` calls at a time.
    pub(super) fn new(max: usize) -> Self {
        let capacity = (max.max(1) * 2).next_power_of_two();
        Self {
            slots: vec![Self::FREE; capacity],
            mask: capacity as u64 - 1,
            next: FIRST_ID,
            len: 0,
            wrapped: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// How many calls it holds at most.
    pub(super) fn max(&self) -> usize {
        self.slots.len() / 2
    }

    /// Makes room for `max` calls. Only while none is in flight.
    pub(super) fn resize(&mut self, max: usize) {
        debug_assert_eq!(self.len, 0, "a table in use is not resized");
        if self.max() < max {
            let next = self.next;
            *self = Self::new(max);
            self.next = next;
        }
    }

    /// Enters a call and gives its id. The caller keeps within [`InFlight::max`].
    #[inline]
    pub(super) fn start(&mut self, entry: u32, since: u64) -> u64 {
        debug_assert!(self.len < self.slots.len(), "the table is full");
        loop {
            let id = self.next;
            if id == LAST_ID {
                self.next = FIRST_ID;
                self.wrapped = true;
            } else {
                self.next = id + 1;
            }
            let slot = &mut self.slots[(id & self.mask) as usize];
            if slot.id == 0 {
                *slot = Slot { id, since, entry };
                self.len += 1;
                return id;
            }
        }
    }

    #[inline]
    pub(super) fn find(&self, id: u64) -> Option<Slot> {
        let slot = self.slots[(id & self.mask) as usize];
        (slot.id == id && id != 0).then_some(slot)
    }

    /// Takes a call out, answered.
    #[inline]
    pub(super) fn finish(&mut self, id: u64) {
        let slot = &mut self.slots[(id & self.mask) as usize];
        if slot.id == id && id != 0 {
            slot.id = 0;
            self.len -= 1;
        }
    }

    /// Whether a call with this id was ever made.
    pub(super) fn was_sent(&self, id: u64) -> bool {
        id >= FIRST_ID && (id < self.next || self.wrapped)
    }

    /// The oldest call in flight.
    pub(super) fn oldest(&self) -> Option<u64> {
        let held = self.slots.iter().filter(|slot| slot.id != 0);
        held.min_by_key(|slot| slot.since).map(|slot| slot.id)
    }

    /// Gives up all calls in flight.
    pub(super) fn clear(&mut self) {
        self.slots.fill(Self::FREE);
        self.len = 0;
    }
}

/// Writes an id as its ten digits.
#[inline]
pub(super) fn write_id(place: &mut [u8], mut id: u64) {
    for digit in place[..ID_DIGITS].iter_mut().rev() {
        *digit = b'0' + (id % 10) as u8;
        id /= 10;
    }
}

/// Reads ten digits; `None` if they are others or do not begin an id of ours.
#[inline]
pub(super) fn read_id(bytes: &[u8]) -> Option<u64> {
    let digits: &[u8; ID_DIGITS] = bytes.first_chunk()?;
    let mut id = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        id = id * 10 + u64::from(digit);
    }
    (id >= FIRST_ID).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_go_there_and_back() {
        for id in [FIRST_ID, 1_234_567_890, LAST_ID] {
            let mut place = [0; ID_DIGITS];
            write_id(&mut place, id);
            assert_eq!(place, id.to_string().as_bytes());
            assert_eq!(read_id(&place), Some(id));
        }
        assert_eq!(read_id(b"123456789"), None);
        assert_eq!(read_id(b"12345678x0"), None);
        assert_eq!(read_id(b"0123456789"), None);
    }

    #[test]
    fn a_call_that_stays_is_passed_over() {
        let mut calls = InFlight::new(2);
        let stuck = calls.start(7, 1);
        for _ in 0..100 {
            let id = calls.start(0, 2);
            assert!(calls.find(id).is_some() && id != stuck);
            calls.finish(id);
            assert!(calls.find(id).is_none() && calls.was_sent(id));
        }
        assert_eq!(calls.len(), 1);
        assert_eq!(calls.oldest(), Some(stuck));
        assert_eq!(calls.find(stuck).map(|slot| slot.entry), Some(7));
        assert!(!calls.was_sent(FIRST_ID + 1_000));
    }

    #[test]
    fn ids_begin_again_after_the_last() {
        let mut calls = InFlight::new(4);
        calls.next = LAST_ID;
        assert_eq!(calls.start(0, 0), LAST_ID);
        assert_eq!(calls.start(0, 0), FIRST_ID);
        assert!(calls.was_sent(LAST_ID - 1));
    }
}
