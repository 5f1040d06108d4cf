//! Lines for the log, kept until the transport asks for them.

use std::collections::VecDeque;

/// A bounded number of lines; the rest are counted.
#[derive(Debug, Default)]
pub(super) struct Log {
    lines: VecDeque<String>,
    dropped: usize,
}

impl Log {
    const LINES_MAX: usize = 64;

    /// Keeps a text as one line, whatever a peer or a panic put into it.
    #[cold]
    pub(super) fn push(&mut self, text: &str) {
        if self.lines.len() < Self::LINES_MAX {
            self.lines
                .push_back(text.replace(|c: char| c.is_control(), " "));
        } else {
            self.dropped += 1;
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<String> {
        let line = self.lines.pop_front();
        if line.is_none() && self.dropped > 0 {
            let dropped = std::mem::take(&mut self.dropped);
            return Some(format!("{dropped} more lines were dropped"));
        }
        line
    }
}
