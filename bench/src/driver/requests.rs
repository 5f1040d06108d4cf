//! The requests as prebuilt bytes: what goes out is a slice of them with the ids patched in.
//!
//! ```text
//!   bytes   {"jsonrpc":"2.0","id":0000000000,…}\n{"jsonrpc":"2.0","id":0000000000,…}\n …
//!                                └ id                                  └ id          └ end
//!           ╰────────── one batch = one write, up to as many as are due ──────────╯
//! ```
//!
//! A recording is laid out request after request; a single request is laid out as many times as
//! make a good batch. The cursor goes round. Nothing is copied or allocated for a call.

use std::ops::Range;

use serde_json::{Value, json};

use super::in_flight::{ID_DIGITS, write_id};

/// A request of the workload, without its id.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The method.
    pub method: String,
    /// The parameters, `_meta` included; left out of the request where it is null.
    pub params: Value,
}

impl Call {
    /// Makes a call.
    #[must_use]
    pub fn new(method: impl Into<String>, params: Value) -> Self {
        Self {
            method: method.into(),
            params,
        }
    }

    /// A `tools/call`.
    #[must_use]
    pub fn tool(name: &str, arguments: &Value) -> Self {
        Self::new("tools/call", json!({"name": name, "arguments": arguments}))
    }
}

/// All requests of a workload, in the order in which they are sent.
#[derive(Debug)]
pub(super) struct Requests {
    bytes: Vec<u8>,
    places: Vec<Place>,
    next: usize,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    id: usize,
    end: usize,
    entry: u32,
}

impl Requests {
    /// A batch of this size fits the pipe and stays in the cache.
    const BATCH_BYTES: usize = 128 * 1024;
    const COPIES_MAX: usize = 256;

    pub(super) fn new(calls: &[Call]) -> Self {
        let mut bytes = Vec::new();
        let mut places = Vec::new();
        for (entry, call) in calls.iter().enumerate() {
            bytes.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
            let id = bytes.len();
            bytes.extend_from_slice(&[b'0'; ID_DIGITS]);
            bytes.extend_from_slice(format!(",\"method\":{}", json!(call.method)).as_bytes());
            if !call.params.is_null() {
                bytes.extend_from_slice(b",\"params\":");
                bytes.extend_from_slice(call.params.to_string().as_bytes());
            }
            bytes.extend_from_slice(b"}\n");
            places.push(Place {
                id,
                end: bytes.len(),
                entry: u32::try_from(entry).unwrap_or(u32::MAX),
            });
        }
        let copies =
            (Self::BATCH_BYTES / bytes.len().max(1)).min(Self::COPIES_MAX / calls.len().max(1));
        let (once, entries) = (bytes.len(), places.len());
        for copy in 1..copies {
            bytes.extend_from_within(..once);
            for index in 0..entries {
                let place = places[index];
                places.push(Place {
                    id: place.id + copy * once,
                    end: place.end + copy * once,
                    ..place
                });
            }
        }
        Self {
            bytes,
            places,
            next: 0,
        }
    }

    /// Patches the ids of the next requests, `count` or as many as lie in one piece, and gives
    /// the bytes to write. `start` enters a call and gives its id. The bytes of the batch before
    /// must have been written.
    #[inline]
    pub(super) fn stage(
        &mut self,
        count: usize,
        mut start: impl FnMut(u32) -> u64,
    ) -> Range<usize> {
        let last = (self.next + count).min(self.places.len());
        let from = self
            .next
            .checked_sub(1)
            .map_or(0, |before| self.places[before].end);
        for place in &self.places[self.next..last] {
            write_id(&mut self.bytes[place.id..], start(place.entry));
        }
        let to = last
            .checked_sub(1)
            .map_or(0, |before| self.places[before].end);
        self.next = if last == self.places.len() { 0 } else { last };
        from..to
    }

    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// The bytes of one request, on average.
    pub(super) fn bytes_mean(&self) -> f64 {
        self.bytes.len() as f64 / self.places.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_slices_and_go_round() {
        let calls = [
            Call::new("ping", Value::Null),
            Call::tool("add", &json!({"a": 1})),
        ];
        let mut requests = Requests::new(&calls);
        let mut next = 1_000_000_000;
        let mut entries = Vec::new();
        let mut seen = 0;
        while seen < 1_000 {
            let range = requests.stage(3, |entry| {
                entries.push(entry);
                next += 1;
                next - 1
            });
            for line in requests.bytes(range).split_inclusive(|&byte| byte == b'\n') {
                let message: Value = serde_json::from_slice(line).unwrap();
                assert_eq!(message["id"], 1_000_000_000 + seen);
                let method = ["ping", "tools/call"][entries[seen] as usize];
                assert_eq!(message["method"], method);
                seen += 1;
            }
        }
        assert!(
            entries
                .iter()
                .enumerate()
                .all(|(index, &entry)| index % 2 == entry as usize)
        );
    }
}
