//! The receive buffer, and the lines it yields.
//!
//! ```text
//!   0        start      scanned       end                  buffer.len()
//!   ├──────────┼───────────┼───────────┼──────────────┼────────┤
//!   │ consumed │ no newline│ not yet   │ spare        │ slack  │
//!   │          │ in here   │ searched  │              │ 64     │
//! ```
//!
//! The offsets stand in this order at all times. The transport reads into the spare part and
//! commits what arrived; [`Ring::next_line`] hands out the complete lines one by one. Each byte
//! is searched for a newline once, and only the bytes of an unfinished line ever move, so the
//! cost of a line is linear in its length however it arrives.
//!
//! The slack is what [`LINE_PADDING`] is for: the parser may read so many bytes past the end of
//! any line. What stands there does not matter (often it is the next line).

use memchr::memchr;

use crate::error::LineTooLong;

/// How many readable bytes must follow the last byte of a [`Line`].
pub const LINE_PADDING: usize = simd_json::INPUT_PADDING;

/// The receive buffer of one connection.
#[derive(Debug)]
pub struct Ring {
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    end: usize,
    line_bytes_max: usize,
    /// Set while the rest of a line over the limit is thrown away.
    skipping: bool,
    /// Set until the first byte of the stream was consumed.
    at_start: bool,
}

impl Ring {
    /// The capacity that a ring has at first and goes back to: room for some lines of the size of
    /// a pipe, so that an unfinished one is not moved for each.
    const CAPACITY: usize = 256 * 1024;
    /// A buffer grown past this is given back as soon as the line that needed it is done.
    const CAPACITY_KEPT: usize = 1024 * 1024;
    /// A tail up to this many bytes is moved to the front even where there is room behind it: the
    /// front of the buffer is in the processor's cache.
    const MOVED_FREELY: usize = 4 * 1024;
    /// The least room [`Ring::spare`] offers.
    const SPARE_MIN: usize = 4 * 1024;

    /// Makes an empty ring that takes lines of up to `line_bytes_max` bytes, the newline not
    /// counted.
    #[must_use]
    pub fn new(line_bytes_max: usize) -> Self {
        Self {
            buffer: vec![0; Self::CAPACITY + LINE_PADDING],
            start: 0,
            scanned: 0,
            end: 0,
            line_bytes_max,
            skipping: false,
            at_start: true,
        }
    }

    /// The place to read into: never empty. Call [`Ring::commit`] with what was read.
    ///
    /// Makes room first: it moves the unfinished tail to the front, or grows the buffer when the
    /// tail fills it.
    pub fn spare(&mut self) -> &mut [u8] {
        self.make_room();
        let limit = self.buffer.len() - LINE_PADDING;
        &mut self.buffer[self.end..limit]
    }

    /// Takes the first `count` bytes of what [`Ring::spare`] gave as received.
    ///
    /// # Panics
    ///
    /// If `count` is more than the spare room.
    pub fn commit(&mut self, count: usize) {
        assert!(
            count <= self.buffer.len() - LINE_PADDING - self.end,
            "committed more than there was room for"
        );
        self.end += count;
    }

    /// Copies the first of these bytes into the ring, as many as there is room for, and takes them from
    /// the slice: for what was read elsewhere. Where not all fit, the lines make room for the rest.
    ///
    /// ```
    /// use tightwire_codec::Ring;
    ///
    /// let mut ring = Ring::new(1024);
    /// let mut bytes = &b"one\ntwo\nthr"[..];
    /// let mut lines = 0;
    /// while !bytes.is_empty() {
    ///     ring.feed(&mut bytes);
    ///     while let Some(line) = ring.next_line() {
    ///         lines += usize::from(line.is_ok());
    ///     }
    /// }
    /// assert_eq!(lines, 2);
    /// ```
    pub fn feed(&mut self, bytes: &mut &[u8]) {
        let spare = self.spare();
        let count = spare.len().min(bytes.len());
        let (first, rest) = bytes.split_at(count);
        spare[..count].copy_from_slice(first);
        self.commit(count);
        *bytes = rest;
    }

    /// The next complete line without its newline, or `None` until more bytes arrive.
    ///
    /// # Errors
    ///
    /// [`LineTooLong`], once for each line over the limit, as soon as it is known to be over it;
    /// the rest of it is thrown away as it arrives.
    pub fn next_line(&mut self) -> Option<Result<Line<'_>, LineTooLong>> {
        loop {
            let Some(offset) = memchr(b'\n', &self.buffer[self.scanned..self.end]) else {
                self.scanned = self.end;
                return self.no_newline();
            };
            let newline = self.scanned + offset;
            let start = self.start;
            self.start = newline + 1;
            self.scanned = newline + 1;
            if self.skipping {
                self.skipping = false;
                continue;
            }
            return Some(self.line(start, newline));
        }
    }

    /// The bytes after the last newline, as a line of its own: for the end of the stream. `None`
    /// if there are none.
    ///
    /// # Errors
    ///
    /// [`LineTooLong`], as [`Ring::next_line`].
    pub fn last_line(&mut self) -> Option<Result<Line<'_>, LineTooLong>> {
        let (start, end) = (self.start, self.end);
        self.start = end;
        self.scanned = end;
        if std::mem::take(&mut self.skipping) || start == end {
            return None;
        }
        Some(self.line(start, end))
    }

    /// Whether long lines have made the buffer grow past 1 MiB, and none needs it now.
    #[must_use]
    #[inline]
    pub fn is_large(&self) -> bool {
        self.buffer.len() > Self::CAPACITY_KEPT && self.end - self.start <= Self::CAPACITY / 2
    }

    /// Gives back what long lines made the buffer grow to, if none needs it now. To be called when
    /// no more of them are at hand, since the next one will make it grow again.
    pub fn release(&mut self) {
        if self.is_large() {
            self.replace_buffer(Self::CAPACITY);
        }
    }

    /// Whether bytes are held that no line was made of yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The size of the buffer in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.buffer.len()
    }

    /// What to answer when the bytes held have no newline.
    fn no_newline(&mut self) -> Option<Result<Line<'_>, LineTooLong>> {
        if self.skipping {
            self.start = self.end;
            return None;
        }
        if self.end - self.start <= self.line_bytes_max {
            return None;
        }
        self.skipping = true;
        self.at_start = false;
        self.start = self.end;
        Some(Err(self.too_long()))
    }

    fn line(&mut self, mut start: usize, end: usize) -> Result<Line<'_>, LineTooLong> {
        if end - start > self.line_bytes_max {
            self.at_start = false;
            return Err(self.too_long());
        }
        // Some hosts on Windows open the stream with a byte order mark; it is no part of the
        // first message.
        if std::mem::take(&mut self.at_start)
            && self.buffer[start..end].starts_with(&[0xEF, 0xBB, 0xBF])
        {
            start += 3;
        }
        Ok(Line {
            len: end - start,
            bytes: &mut self.buffer[start..end + LINE_PADDING],
        })
    }

    fn too_long(&self) -> LineTooLong {
        LineTooLong {
            line_bytes_max: self.line_bytes_max,
        }
    }

    fn make_room(&mut self) {
        let held = self.end - self.start;
        if held == 0 {
            self.start = 0;
            self.scanned = 0;
            self.end = 0;
            return;
        }
        let limit = self.buffer.len() - LINE_PADDING;
        let is_short = limit - self.end < Self::SPARE_MIN.max(held.min(Self::CAPACITY / 2));
        if !is_short && held > Self::MOVED_FREELY {
            return;
        }
        // A move must free at least as much as it moves, or a line that fills the buffer bit by
        // bit would be moved again and again.
        if self.start >= held && limit - held >= Self::SPARE_MIN {
            self.buffer.copy_within(self.start..self.end, 0);
            self.scanned -= self.start;
            self.start = 0;
            self.end = held;
            return;
        }
        if limit - self.end >= Self::SPARE_MIN {
            return;
        }
        self.grow();
    }

    /// Makes the buffer larger for a line that fills it.
    fn grow(&mut self) {
        let held = self.end - self.start;
        // Twice as much, then a quarter more: that much is touched before it is filled.
        let more = if self.buffer.len() > Self::CAPACITY_KEPT {
            held / 4
        } else {
            held
        };
        // But no more than the longest line needs.
        let longest = self.line_bytes_max.saturating_add(Self::CAPACITY);
        let capacity = (held + more).clamp(Self::CAPACITY, longest);
        let capacity = capacity.max(held + Self::SPARE_MIN);
        if self.start == 0 && self.buffer.len() < capacity + LINE_PADDING {
            // The system moves the pages of a large buffer rather than their bytes.
            self.buffer.resize(capacity + LINE_PADDING, 0);
        } else {
            self.replace_buffer(capacity);
        }
    }

    /// Moves what is held into a new buffer of `capacity` bytes and the slack.
    fn replace_buffer(&mut self, capacity: usize) {
        let held = self.end - self.start;
        let mut buffer = vec![0; capacity + LINE_PADDING];
        buffer[..held].copy_from_slice(&self.buffer[self.start..self.end]);
        self.buffer = buffer;
        self.scanned -= self.start;
        self.start = 0;
        self.end = held;
    }
}

/// One line of the stream: its bytes, mutable, and at least [`LINE_PADDING`] readable bytes after
/// them.
///
/// One is released before the next is taken, since it borrows the [`Ring`] or the buffer that it
/// was made from.
#[derive(Debug)]
pub struct Line<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl<'a> Line<'a> {
    /// Makes a line of the first `len` bytes of a buffer. `None` unless at least
    /// [`LINE_PADDING`] bytes follow them.
    ///
    /// The bytes of the line are changed by parsing it; those after it are not.
    #[must_use]
    pub fn padded(buffer: &'a mut [u8], len: usize) -> Option<Self> {
        let end = len.checked_add(LINE_PADDING)?;
        Some(Self {
            bytes: buffer.get_mut(..end)?,
            len,
        })
    }

    /// The bytes of the line, without its newline.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The number of bytes of the line.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the line has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the line is nothing but white space: no message.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.as_bytes()
            .iter()
            .all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
    }

    /// The whole buffer, padding included, and the length of the line in it.
    pub(crate) fn parts(&mut self) -> (&mut [u8], usize) {
        (self.bytes, self.len)
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(ring: &mut Ring, mut bytes: &[u8], lines: &mut Vec<Option<Vec<u8>>>) {
        while !bytes.is_empty() {
            ring.feed(&mut bytes);
            while let Some(line) = ring.next_line() {
                lines.push(line.ok().map(|line| line.as_bytes().to_vec()));
            }
        }
    }

    fn split(stream: &[u8], pieces: usize, line_bytes_max: usize) -> Vec<Option<Vec<u8>>> {
        let mut ring = Ring::new(line_bytes_max);
        let mut lines = Vec::new();
        for piece in stream.chunks(pieces) {
            feed(&mut ring, piece, &mut lines);
        }
        if let Some(line) = ring.last_line() {
            lines.push(line.ok().map(|line| line.as_bytes().to_vec()));
        }
        assert!(ring.is_empty());
        lines
    }

    #[test]
    fn every_piece_size_gives_the_same_lines() {
        let stream = b"\xEF\xBB\xBFone\n\ntwo\r\nseventeen bytes..\nthis one is too long\nend";
        let expected: Vec<Option<Vec<u8>>> = vec![
            Some(b"one".to_vec()),
            Some(b"".to_vec()),
            Some(b"two\r".to_vec()),
            Some(b"seventeen bytes..".to_vec()),
            None,
            Some(b"end".to_vec()),
        ];
        for size in 1..=stream.len() {
            assert_eq!(split(stream, size, 17), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn a_line_over_the_limit_at_the_end_of_the_stream_is_told_once() {
        for size in 1..40 {
            assert_eq!(split(&[b'x'; 40], size, 17), vec![None]);
        }
    }

    #[test]
    fn the_buffer_grows_for_a_long_line_and_shrinks_after_it() {
        let mut ring = Ring::new(usize::MAX);
        let mut lines = Vec::new();
        let mut stream = vec![b'x'; 3 << 20];
        stream.push(b'\n');
        stream.extend_from_slice(b"after\n");
        for piece in stream.chunks(4096) {
            feed(&mut ring, piece, &mut lines);
        }
        assert_eq!(lines[0].as_ref().map(Vec::len), Some(3 << 20));
        assert_eq!(lines[1].as_deref(), Some(&b"after"[..]));
        ring.release();
        assert_eq!(ring.capacity(), Ring::CAPACITY + LINE_PADDING);
    }

    #[test]
    fn a_short_tail_goes_to_the_front_and_a_long_one_stays() {
        for (tail, is_moved) in [(1, true), (4096, true), (4097, false)] {
            let mut ring = Ring::new(usize::MAX);
            let mut lines = Vec::new();
            let mut stream = vec![b'x'; 8192];
            stream.push(b'\n');
            stream.resize(stream.len() + tail, b'y');
            feed(&mut ring, &stream, &mut lines);
            let behind = if is_moved { tail } else { stream.len() };
            assert_eq!(ring.spare().len(), Ring::CAPACITY - behind, "{tail}");
            feed(&mut ring, b"\n", &mut lines);
            assert_eq!(lines[1].as_deref(), Some(&vec![b'y'; tail][..]));
        }
    }

    #[test]
    fn a_line_needs_its_padding() {
        let mut buffer = [0; LINE_PADDING + 2];
        assert!(Line::padded(&mut buffer, 2).is_some());
        assert!(Line::padded(&mut buffer, 3).is_none());
        assert!(Line::padded(&mut buffer, usize::MAX).is_none());
    }
}
