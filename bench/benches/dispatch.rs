//! One whole call in process, from the line to the answer in the output buffer.
//!
//! Each starts from a line that was copied into its buffer: `copy` is that alone, and `parse` is
//! that and the parser. In `call-parsed` the connection remembers no lines: what it takes above
//! `parse` is the protocol, the tool and the answer. In `call` it does, and the lines are the same,
//! as those of a client are but for their ids and arguments.

mod settings;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use tightwire::{Limits, Now, codec::Parser};
use tightwire_bench::{LineBuffer, connection, corpus, server};

fn main() {
    let mut criterion = settings::criterion();
    dispatch(&mut criterion);
    criterion.final_summary();
}

fn dispatch(criterion: &mut Criterion) {
    let server = server().freeze().expect("the server can be frozen");
    let mut remembers = connection(&server);
    let limits = Limits {
        lines_remembered_max: 0,
        ..Limits::default()
    };
    let server = tightwire_bench::server().limits(limits).freeze();
    let mut parses = connection(&server.expect("the server can be frozen"));
    let mut group = criterion.benchmark_group("dispatch");
    group.throughput(Throughput::Elements(1));
    for message in corpus() {
        let name = message.name;
        let mut buffer = LineBuffer::new(&message.line);
        group.bench_function(BenchmarkId::new("copy", name), |bencher| {
            bencher.iter(|| {
                black_box(buffer.restore().as_bytes());
            });
        });
        let mut parser = Parser::default();
        group.bench_function(BenchmarkId::new("parse", name), |bencher| {
            bencher.iter(|| {
                let mut line = buffer.restore();
                let document = parser.parse(&mut line).expect("the line is JSON");
                black_box(&document);
            });
        });
        let mut out = Vec::new();
        for (what, connection) in [("call-parsed", &mut parses), ("call", &mut remembers)] {
            group.bench_function(BenchmarkId::new(what, name), |bencher| {
                bencher.iter(|| {
                    out.clear();
                    connection.handle_line(black_box(Now::default()), buffer.restore(), &mut out);
                    black_box(&out);
                });
            });
        }
    }
    group.finish();
}
