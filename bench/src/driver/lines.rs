//! The receive buffer of the driver: lines without a copy, and without giving memory back.
//!
//! ```text
//!   0       start     scanned      end          buffer.len()
//!   ├─────────┼──────────┼──────────┼──────────────┤
//!   │ consumed│ no newline│ unsearched│ spare      │
//! ```
//!
//! The codec's `Ring` does the same for a server, which must return what a large message took. A
//! driver that measures must not: a page fault for each page of each large answer would be its
//! cost, in the figures of the server.

use memchr::memchr;

/// The bytes received and not yet consumed.
#[derive(Debug)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    end: usize,
}

impl Lines {
    /// What it starts with. About what the second-level cache holds beside the rest.
    const CAPACITY: usize = 256 * 1024;
    /// The least a read gets.
    const SPARE_MIN: usize = 64 * 1024;

    pub(super) fn new() -> Self {
        Self {
            buffer: vec![0; Self::CAPACITY],
            start: 0,
            scanned: 0,
            end: 0,
        }
    }

    /// The place to read into, at least 64 KiB.
    pub(super) fn spare(&mut self) -> &mut [u8] {
        let held = self.end - self.start;
        if held == 0 {
            (self.start, self.scanned, self.end) = (0, 0, 0);
        }
        if self.buffer.len() - self.end < Self::SPARE_MIN {
            self.make_room(held);
        }
        &mut self.buffer[self.end..]
    }

    pub(super) fn commit(&mut self, count: usize) {
        self.end += count;
    }

    /// The next complete line, without its newline.
    #[inline]
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        let Some(offset) = memchr(b'\n', &self.buffer[self.scanned..self.end]) else {
            self.scanned = self.end;
            return None;
        };
        let newline = self.scanned + offset;
        let line = &self.buffer[self.start..newline];
        self.start = newline + 1;
        self.scanned = newline + 1;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// Moves the tail to the front where that frees as much as it moves, else doubles: either
    /// way each byte moves a bounded number of times.
    fn make_room(&mut self, held: usize) {
        if self.start >= held && self.buffer.len() - held >= Self::SPARE_MIN {
            self.buffer.copy_within(self.start..self.end, 0);
        } else {
            let mut larger = vec![0; (self.buffer.len() * 2).max(held + Self::SPARE_MIN)];
            larger[..held].copy_from_slice(&self.buffer[self.start..self.end]);
            self.buffer = larger;
        }
        self.scanned -= self.start;
        self.start = 0;
        self.end = held;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_every_split() {
        let mut stream = Vec::new();
        for length in [0, 1, 5, 70_000, 3, 300_000, 0, 2] {
            stream.extend(std::iter::repeat_n(b'x', length));
            stream.extend(if length % 2 == 0 { &b"\n"[..] } else { b"\r\n" });
        }
        for chunk in [7, 4096, 65_536, stream.len()] {
            let mut lines = Lines::new();
            let mut lengths = Vec::new();
            for piece in stream.chunks(chunk) {
                let mut piece = piece;
                while !piece.is_empty() {
                    let spare = lines.spare();
                    let count = piece.len().min(spare.len());
                    spare[..count].copy_from_slice(&piece[..count]);
                    lines.commit(count);
                    piece = &piece[count..];
                }
                while let Some(line) = lines.next() {
                    lengths.push(line.len());
                }
            }
            assert_eq!(
                lengths,
                [0, 1, 5, 70_000, 3, 300_000, 0, 2],
                "chunks of {chunk}"
            );
        }
    }
}
