//! [`LineBuffer`]: the same line again and again.

use tightwire::codec::{LINE_PADDING, Line};

/// A buffer for a line, and the master copy that it is restored from.
#[derive(Debug)]
pub struct LineBuffer {
    master: Vec<u8>,
    buffer: Vec<u8>,
}

impl LineBuffer {
    /// A buffer for this line, given without its newline.
    #[must_use]
    pub fn new(line: &str) -> Self {
        Self {
            master: line.as_bytes().to_vec(),
            buffer: vec![0; line.len() + LINE_PADDING],
        }
    }

    /// Copies the line in, as `read` would, and gives it.
    ///
    /// # Panics
    ///
    /// Never: the buffer has the padding that a line needs.
    #[inline]
    pub fn restore(&mut self) -> Line<'_> {
        let len = self.master.len();
        self.buffer[..len].copy_from_slice(&self.master);
        Line::padded(&mut self.buffer, len).expect("the buffer has the padding")
    }
}
