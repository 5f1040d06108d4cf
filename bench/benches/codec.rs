//! Bytes to messages and back, beside serde_json and sonic-rs.
//!
//! Parsing starts from a line that was copied into its buffer, for all contenders alike: `copy` is
//! that alone.

mod settings;

use std::{borrow::Cow, hint::black_box};

use criterion::{BenchmarkId, Criterion, Throughput};
use serde::Deserialize;
use serde_json::value::RawValue;
use sonic_rs::LazyValue;
use tightwire::codec::{JsonWriter, Message, Parser};
use tightwire_bench::{LineBuffer, corpus};

fn main() {
    let mut criterion = settings::criterion();
    parse(&mut criterion);
    typed(&mut criterion);
    write(&mut criterion);
    criterion.final_summary();
}

/// The least that a server on serde_json or sonic-rs reads of a message: the envelope by type,
/// `params` left as bytes for later.
#[derive(Deserialize)]
struct Envelope<'a, P> {
    jsonrpc: &'a str,
    id: u64,
    method: &'a str,
    params: Option<P>,
}

/// All that a server needs of a call: the rest is skipped, where the parser can skip.
#[derive(Deserialize)]
struct Call<'a> {
    jsonrpc: &'a str,
    id: u64,
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    name: Option<&'a str>,
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
    #[serde(rename = "_meta", borrow)]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    a: Option<f64>,
    b: Option<f64>,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    protocol_version: Option<&'a str>,
}

impl Call<'_> {
    /// Reads no less than the compiler is told to.
    fn see(&self) {
        let arguments = self.params.arguments.as_ref();
        black_box((self.jsonrpc, self.id, self.method, self.params.name));
        black_box(arguments.map(|arguments| (arguments.a, arguments.b, &arguments.message)));
        black_box(self.params.meta.as_ref().map(|meta| meta.protocol_version));
    }
}

/// The same call by type, from the tape and with no tape in between.
fn typed(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("typed");
    for message in corpus() {
        if message.name == "tools-list" || message.name == "discover" {
            continue;
        }
        let name = message.name;
        let mut buffer = LineBuffer::new(&message.line);
        group.throughput(Throughput::Bytes(message.line.len() as u64));
        let mut parser = Parser::default();
        group.bench_function(BenchmarkId::new("tightwire", name), |bencher| {
            bencher.iter(|| {
                let mut line = buffer.restore();
                let document = parser.parse(&mut line).expect("the line is JSON");
                let call: Call<'_> = document.root().deserialize().expect("the line is a call");
                call.see();
            });
        });
        group.bench_function(BenchmarkId::new("serde_json", name), |bencher| {
            bencher.iter(|| {
                let line = buffer.restore();
                let call: Call<'_> = serde_json::from_slice(line.as_bytes()).expect("it is a call");
                call.see();
            });
        });
        group.bench_function(BenchmarkId::new("sonic-rs", name), |bencher| {
            bencher.iter(|| {
                let line = buffer.restore();
                let call: Call<'_> = sonic_rs::from_slice(line.as_bytes()).expect("it is a call");
                call.see();
            });
        });
    }
    group.finish();
}

fn parse(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parse");
    for message in corpus() {
        let name = message.name;
        let mut buffer = LineBuffer::new(&message.line);
        group.throughput(Throughput::Bytes(message.line.len() as u64));
        group.bench_function(BenchmarkId::new("copy", name), |bencher| {
            bencher.iter(|| {
                black_box(buffer.restore().as_bytes());
            });
        });
        let mut parser = Parser::default();
        group.bench_function(BenchmarkId::new("tightwire", name), |bencher| {
            bencher.iter(|| {
                let mut line = buffer.restore();
                let document = parser.parse(&mut line).expect("the line is JSON");
                let message = Message::read(document.root()).expect("the line is a message");
                black_box(&message);
            });
        });
        group.bench_function(BenchmarkId::new("serde_json-value", name), |bencher| {
            bencher.iter(|| {
                let line = buffer.restore();
                let value: serde_json::Value =
                    serde_json::from_slice(line.as_bytes()).expect("the line is JSON");
                black_box(&value);
            });
        });
        group.bench_function(BenchmarkId::new("serde_json-envelope", name), |bencher| {
            bencher.iter(|| {
                let line = buffer.restore();
                let Envelope::<&RawValue> {
                    jsonrpc,
                    id,
                    method,
                    params,
                } = serde_json::from_slice(line.as_bytes()).expect("the line is a message");
                black_box((jsonrpc, id, method, params));
            });
        });
        group.bench_function(BenchmarkId::new("sonic-rs-envelope", name), |bencher| {
            bencher.iter(|| {
                let line = buffer.restore();
                let Envelope::<LazyValue<'_>> {
                    jsonrpc,
                    id,
                    method,
                    params,
                } = sonic_rs::from_slice(line.as_bytes()).expect("the line is a message");
                black_box((jsonrpc, id, method, params));
            });
        });
    }
    group.finish();
}

fn write(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("write");
    for message in corpus() {
        let Some(text) = message.text.as_deref() else {
            continue;
        };
        let mut out = Vec::new();
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("tightwire", message.name), |bencher| {
            bencher.iter(|| {
                out.clear();
                JsonWriter::new(&mut out).string(black_box(text));
                black_box(&out);
            });
        });
        group.bench_function(BenchmarkId::new("serde_json", message.name), |bencher| {
            bencher.iter(|| {
                out.clear();
                serde_json::to_writer(&mut out, black_box(text)).expect("a buffer takes it");
                black_box(&out);
            });
        });
    }
    group.finish();
}
