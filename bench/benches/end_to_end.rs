//! A server in memory: bytes in, bytes out, one message and 256 messages at a time.
//!
//! `canned` is the floor: it cuts the same bytes into lines and copies a canned answer for each,
//! and parses nothing.

mod settings;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use tightwire::{Limits, codec::Ring};
use tightwire_bench::{corpus, memory, server};

fn main() {
    let mut criterion = settings::criterion();
    end_to_end(&mut criterion, 1);
    end_to_end(&mut criterion, 256);
    criterion.final_summary();
}

fn end_to_end(criterion: &mut Criterion, messages: usize) {
    let server = server().freeze().expect("the server can be frozen");
    let mut group = criterion.benchmark_group(format!("end_to_end-{messages}"));
    group.throughput(Throughput::Elements(messages as u64));
    for message in corpus() {
        let input = format!("{}\n", message.line).repeat(messages);
        let mut memory = memory(&server);
        memory.feed(format!("{}\n", message.line).as_bytes());
        let answer = memory.output().to_vec();
        memory.consume(usize::MAX);

        let mut canned = Canned::new(&answer);
        group.bench_function(BenchmarkId::new("canned", message.name), |bencher| {
            bencher.iter(|| {
                canned.feed(black_box(input.as_bytes()));
                black_box(&canned.out);
                canned.out.clear();
            });
        });
        group.bench_function(BenchmarkId::new("tightwire", message.name), |bencher| {
            bencher.iter(|| {
                memory.feed(black_box(input.as_bytes()));
                let output = black_box(memory.output()).len();
                assert_eq!(output, answer.len() * messages, "all are answered");
                memory.consume(output);
            });
        });
    }
    group.finish();
}

struct Canned<'a> {
    ring: Ring,
    answer: &'a [u8],
    out: Vec<u8>,
}

impl<'a> Canned<'a> {
    fn new(answer: &'a [u8]) -> Self {
        Self {
            ring: Ring::new(Limits::default().line_bytes_max),
            answer,
            out: Vec::new(),
        }
    }

    fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let spare = self.ring.spare();
            let count = spare.len().min(bytes.len());
            spare[..count].copy_from_slice(&bytes[..count]);
            self.ring.commit(count);
            bytes = &bytes[count..];
            while let Some(Ok(line)) = self.ring.next_line() {
                black_box(line.as_bytes());
                self.out.extend_from_slice(self.answer);
            }
        }
    }
}
