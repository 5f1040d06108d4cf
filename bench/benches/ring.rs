//! Cutting a stream into lines: the ring, beside the plainest rolling buffer.
//!
//! A stream arrives in reads of so many bytes, each a copy out of memory. A line is given with the
//! padding that the parser wants, and not parsed.

mod settings;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use memchr::memchr;
use tightwire::codec::{LINE_PADDING, Ring};

fn main() {
    let mut criterion = settings::criterion();
    lines(&mut criterion);
    criterion.final_summary();
}

fn lines(criterion: &mut Criterion) {
    for (name, line_bytes, read_bytes) in CASES {
        let stream = stream(line_bytes);
        let mut group = criterion.benchmark_group(format!("lines-{name}"));
        group.throughput(Throughput::Bytes(stream.len() as u64));
        let id = |contender| BenchmarkId::new(contender, read_bytes);
        let mut ring = Ring::new(64 * 1024 * 1024);
        group.bench_function(id("ring"), |bencher| {
            bencher.iter(|| {
                for mut rest in stream.chunks(read_bytes) {
                    while !rest.is_empty() {
                        let spare = ring.spare();
                        let count = rest.len().min(spare.len());
                        spare[..count].copy_from_slice(&rest[..count]);
                        ring.commit(count);
                        rest = &rest[count..];
                        while let Some(line) = ring.next_line() {
                            black_box(line.expect("no line is over the limit"));
                        }
                    }
                }
            });
        });
        let mut rolling = Rolling::default();
        group.bench_function(id("rolling"), |bencher| {
            bencher.iter(|| {
                for bytes in stream.chunks(read_bytes) {
                    rolling.take(bytes, |line| {
                        black_box(line);
                    });
                }
            });
        });
        group.finish();
    }
}

/// What is unfinished goes to the front after each read.
#[derive(Default)]
struct Rolling {
    buffer: Vec<u8>,
    end: usize,
}

impl Rolling {
    fn take(&mut self, bytes: &[u8], mut line: impl FnMut(&mut [u8])) {
        let len = self.end + bytes.len() + LINE_PADDING;
        if self.buffer.len() < len {
            self.buffer.resize(len.next_power_of_two(), 0);
        }
        let (mut start, mut scanned) = (0, self.end);
        self.buffer[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
        while let Some(offset) = memchr(b'\n', &self.buffer[scanned..self.end]) {
            let newline = scanned + offset;
            line(&mut self.buffer[start..newline + LINE_PADDING]);
            (start, scanned) = (newline + 1, newline + 1);
        }
        self.buffer.copy_within(start..self.end, 0);
        self.end -= start;
    }
}

/// Lines of so many bytes, their newlines counted: enough of them that where they are cut varies.
fn stream(line_bytes: usize) -> Vec<u8> {
    let mut line = vec![b'x'; line_bytes - 1];
    line.push(b'\n');
    line.repeat(STREAM_BYTES.div_ceil(line_bytes))
}

/// Bytes of a line, and of a read: as a pipe gives them, and as a network does.
const CASES: [(&str, usize, usize); 6] = [
    ("300", 300, 64 * 1024),
    ("4k", 4 * 1024 + 1, 64 * 1024),
    ("64k", 64 * 1024 + 1, 64 * 1024),
    ("300", 300, 1460),
    ("64k", 64 * 1024 + 1, 1460),
    ("16m", 16 * 1024 * 1024, 64 * 1024),
];

const STREAM_BYTES: usize = 4 * 1024 * 1024;
