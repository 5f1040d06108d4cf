//! Any bytes in any pieces: the ring yields the lines of a plain split.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tightwire::codec::Ring;

/// A line, or `None` for one over the limit.
type Lines = Vec<Option<Vec<u8>>>;

// The limit, then how the stream is cut, then the stream. A byte of it stands for a run, and a
// few for a long one, so that long lines are short inputs.
fuzz_target!(|input: (u16, Vec<u16>, Vec<(u8, u16)>)| {
    let (line_bytes_max, cuts, runs) = input;
    let line_bytes_max = usize::from(line_bytes_max) * 4;
    let mut stream = Vec::new();
    for (byte, len) in runs.iter().take(64) {
        let len = match *len {
            len if *byte == b'\n' => len % 4,
            len if len % 8 == 0 => len,
            len => len % 300,
        };
        stream.extend(std::iter::repeat_n(*byte, usize::from(len)));
    }
    let lines = cut(&stream, &cuts, line_bytes_max);
    assert!(lines == split(&stream, line_bytes_max));
});

/// The lines of the ring, when the stream arrives in pieces of these sizes, over and over.
fn cut(stream: &[u8], cuts: &[u16], line_bytes_max: usize) -> Lines {
    let mut ring = Ring::new(line_bytes_max);
    let mut lines = Vec::new();
    let mut sizes = cuts.iter().map(|size| usize::from(*size).max(1)).cycle();
    let mut rest = stream;
    while !rest.is_empty() {
        let spare = ring.spare();
        assert!(!spare.is_empty());
        let size = sizes.next().unwrap_or(4096);
        let count = size.min(spare.len()).min(rest.len());
        spare[..count].copy_from_slice(&rest[..count]);
        ring.commit(count);
        rest = &rest[count..];
        while let Some(line) = ring.next_line() {
            lines.push(line.ok().map(|line| line.as_bytes().to_vec()));
        }
        assert!(ring.capacity() <= (2 << 20).max(4 * (line_bytes_max + 64 * 1024)));
    }
    if let Some(line) = ring.last_line() {
        lines.push(line.ok().map(|line| line.as_bytes().to_vec()));
    }
    assert!(ring.is_empty());
    lines
}

/// The lines of the stream by a plain split. A byte order mark before the first is no part of it.
fn split(stream: &[u8], line_bytes_max: usize) -> Lines {
    let mut lines: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    let is_over = |line: &[u8]| line.len() > line_bytes_max;
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| match line.strip_prefix(b"\xEF\xBB\xBF") {
            _ if is_over(line) => None,
            Some(rest) if index == 0 => Some(rest.to_vec()),
            _ => Some(line.to_vec()),
        })
        .collect()
}
