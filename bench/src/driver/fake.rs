//! A server in the test itself, with a time of its own: it passes only while the driver waits or
//! looks.

use std::{collections::BTreeMap, io, time::Duration};

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::{
    figures::Figures,
    load::Pace,
    transport::{Interest, Transport},
    usage::Usage,
    window::{Faults, Window},
};

/// Lines to send, each after some nanoseconds.
pub(super) type Script = Vec<(u64, String)>;

/// Gets every message and says what comes back. The second argument is the time.
pub(super) type Serve = Box<dyn FnMut(&Value, u64) -> Script>;

pub(super) struct Fake {
    now: u64,
    partial: Vec<u8>,
    /// Lines by the time when they arrive.
    due: BTreeMap<(u64, u64), String>,
    sent: u64,
    serve: Serve,
    /// What is added to the time of every answer.
    delay: u64,
    /// The stream ends when nothing is due any more.
    pub(super) ends: bool,
    /// How often the driver looked instead of waiting.
    pub(super) pauses: u64,
}

impl Fake {
    pub(super) fn new(serve: impl FnMut(&Value, u64) -> Script + 'static) -> Self {
        Self {
            now: 0,
            partial: Vec::new(),
            due: BTreeMap::new(),
            sent: 0,
            serve: Box::new(serve),
            delay: 0,
            ends: false,
            pauses: 0,
        }
    }

    /// The same server, slow to answer.
    pub(super) fn delayed(mut self, ns: u64) -> Self {
        self.delay = ns;
        self
    }

    /// A modern server whose calls take a microsecond, unless `calls` says otherwise.
    pub(super) fn modern(mut calls: impl FnMut(u64, &Value, u64) -> Script + 'static) -> Self {
        let mut number = 0;
        Self::new(move |message, now| match message["method"].as_str() {
            Some("server/discover") => right(
                message,
                &json!({"supportedVersions": ["2026-07-28"], "_meta": {
                    "io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1"}}}),
            ),
            Some("tools/list") => right(message, &json!({"tools": [{"name": "add"}]})),
            _ => {
                number += 1;
                calls(number, message, now)
            }
        })
    }
}

/// The answer after a microsecond.
pub(super) fn right(message: &Value, result: &Value) -> Script {
    vec![(
        1_000,
        json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string(),
    )]
}

/// What `add` answers.
pub(super) fn five(message: &Value) -> Script {
    right(
        message,
        &json!({"content": [{"type": "text", "text": "5"}]}),
    )
}

pub(super) fn error(message: &Value, code: i64) -> Script {
    let error = json!({"code": code, "message": "no", "data": {"supported": ["2026-07-28"]}});
    vec![(
        1_000,
        json!({"jsonrpc": "2.0", "id": message["id"], "error": error}).to_string(),
    )]
}

impl Transport for Fake {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.partial.extend_from_slice(bytes);
        while let Some(end) = self.partial.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            let message = serde_json::from_slice(&line).expect("the driver writes JSON");
            for (after, line) in (self.serve)(&message, self.now) {
                self.sent += 1;
                self.due
                    .insert((self.now + after + self.delay, self.sent), line);
            }
        }
        Ok(bytes.len())
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut count = 0;
        while let Some(entry) = self.due.first_entry()
            && entry.key().0 <= self.now
            && count + entry.get().len() < buffer.len()
        {
            let line = entry.remove();
            buffer[count..count + line.len()].copy_from_slice(line.as_bytes());
            buffer[count + line.len()] = b'\n';
            count += line.len() + 1;
        }
        if count == 0 && !(self.ends && self.due.is_empty()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(count)
    }

    fn wait(&mut self, interest: Interest, timeout: Duration) -> io::Result<()> {
        if interest == Interest::Read && !self.ends {
            let end = self.now + timeout.as_nanos() as u64;
            let next = self.due.keys().next().map_or(end, |key| key.0);
            self.now = self.now.max(next.min(end));
        }
        if self.ends {
            self.now = self
                .due
                .keys()
                .next()
                .map_or(self.now, |key| key.0.max(self.now));
        }
        Ok(())
    }

    fn pause(&mut self) -> bool {
        self.now += 100;
        self.pauses += 1;
        true
    }

    fn now(&self) -> u64 {
        self.now
    }
}

/// Figures of a run that was like this.
pub(super) fn figures(pace: Pace, calls_per_s: f64, p99_us: f64) -> Figures {
    let mut latency = Histogram::new(3).expect("three digits are valid");
    latency.record((p99_us * 1e3) as u64).expect("it resizes");
    let window = Window {
        calls: 1,
        seconds: 1.0 / calls_per_s,
        bytes_in: 0,
        bytes_out: 0,
        latency,
        late: None,
        timeline: (0.001, Vec::new()),
        faults: Faults::default(),
        not_started: 0,
        notifications: 0,
        server: Usage::default(),
        driver_cpu_ns: 1,
    };
    Figures::new("a run", 100.0, pace, &window)
}
