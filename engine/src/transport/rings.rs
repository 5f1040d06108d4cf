//! The rings of a loop with many peers: one is lent to a peer as long as there is anything in it.
//!
//! A ring is large, and most peers have nothing to say at any moment: so there are as many as there
//! are unfinished lines, and a few.

use tightwire_codec::Ring;

#[derive(Debug)]
pub(super) struct Rings {
    free: Vec<Ring>,
    line_bytes_max: usize,
}

impl Rings {
    /// So many are kept for those to come.
    const FREE_MAX: usize = 8;

    pub(super) fn new(line_bytes_max: usize) -> Self {
        Self {
            free: Vec::new(),
            line_bytes_max,
        }
    }

    /// A ring for the start of a stream.
    pub(super) fn make(&self) -> Ring {
        Ring::new(self.line_bytes_max)
    }

    /// A ring for the middle of a stream.
    pub(super) fn take(&mut self) -> Ring {
        let line_bytes_max = self.line_bytes_max;
        self.free.pop().unwrap_or_else(|| {
            let mut ring = Ring::new(line_bytes_max);
            // A byte order mark is passed over in the first line only, which this is not to be.
            ring.spare()[0] = b'\n';
            ring.commit(1);
            let blank = ring.next_line();
            debug_assert!(blank.is_some_and(|line| line.is_ok_and(|line| line.is_empty())));
            ring
        })
    }

    pub(super) fn give_back(&mut self, ring: Option<Ring>) {
        if self.free.len() < Self::FREE_MAX {
            self.free.extend(ring);
        }
    }
}
