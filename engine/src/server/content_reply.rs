//! The answers of tools beyond one text: contents of every kind, and structured content.
//!
//! A reply that knows its tool's output schema ([`output`](super::output)) checks against it.

use std::cell::Cell;

use serde::Serialize;
use tightwire_codec::JsonWriter;

use super::reply::Reply;
use crate::{
    error::RpcError,
    model::content::Content,
    protocol::version::{Era, ProtocolVersion},
};

impl Reply<'_> {
    /// Answers with contents, which may be none. A kind that the revision of the call lacks is
    /// lowered to one that it has.
    ///
    /// Specification: `server/tools`, Tool Result.
    pub fn contents(self, contents: &[Content]) {
        if let Some(output) = self.output {
            return self.answer.error(&output.missing());
        }
        let version = self.answer.version();
        if !contents.iter().all(Content::is_sound) {
            return self.answer.error(&unsound_meta());
        }
        self.answer.result(|writer| {
            write_contents(writer, contents, version);
            writer.raw(b"]");
        });
    }

    /// Answers with a value: as structured content, where the revision of the call has it, and
    /// always as the text of its JSON.
    ///
    /// Structured content is any value in 2026-07-28, an object in 2025-06-18 and 2025-11-25, and
    /// not there before. A value that serde cannot make JSON of is answered with -32603.
    ///
    /// Specification: `server/tools`, Structured Content.
    pub fn structured(self, value: &(impl Serialize + ?Sized)) {
        with_json(value, |json| match json {
            Ok(json) => self.structured_json(None, json),
            Err(error) => self.answer.error(&error),
        });
    }

    /// Answers with contents and a value. The value is structured content; the text of its JSON is
    /// added to the contents only where the revision of the call has no place for it.
    pub fn structured_with(self, contents: &[Content], value: &(impl Serialize + ?Sized)) {
        with_json(value, |json| match json {
            Ok(json) => self.structured_json(Some(contents), json),
            Err(error) => self.answer.error(&error),
        });
    }

    fn structured_json(self, contents: Option<&[Content]>, json: &str) {
        if let Some(Err(error)) = self.output.map(|output| output.check(json)) {
            return self.answer.error(&error);
        }
        if !contents.unwrap_or_default().iter().all(Content::is_sound) {
            return self.answer.error(&unsound_meta());
        }
        let version = self.answer.version();
        let has_place = match version.era() {
            Era::Modern => true,
            Era::Legacy => version >= ProtocolVersion::V2025_06_18 && json.starts_with('{'),
        };
        self.answer.result(|writer| {
            write_contents(writer, contents.unwrap_or_default(), version);
            if contents.is_none() || !has_place {
                let is_first = contents.is_none_or(<[Content]>::is_empty);
                writer.raw(if is_first { b"" } else { b"," });
                writer.raw(b"{\"type\":\"text\",\"text\":");
                writer.string(json);
                writer.raw(b"}");
            }
            writer.raw(b"]");
            if has_place {
                writer.raw(b",\"structuredContent\":");
                writer.raw(json.as_bytes());
            }
        });
    }
}

/// Writes `"content":[` and the contents.
fn write_contents(writer: &mut JsonWriter<'_>, contents: &[Content], version: ProtocolVersion) {
    writer.raw(b"\"content\":[");
    writer.items(contents.iter().enumerate(), |writer, (index, content)| {
        content.write(writer, version, index);
    });
}

/// -32603, for a `_meta` that is no object.
pub(super) fn unsound_meta() -> RpcError {
    RpcError::internal("the handler gave a `_meta` that is not a JSON object")
}

thread_local! {
    /// Where values become JSON, used again by the next.
    static JSON: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Bytes that are kept for the next value.
const KEPT_MAX: usize = 1 << 20;

/// Hands over the JSON of a value, which is on one line.
fn with_json(value: &(impl Serialize + ?Sized), then: impl FnOnce(Result<&str, RpcError>)) {
    let mut json = JSON.take();
    json.clear();
    let written = serde_json::to_writer(&mut json, value);
    // A line end can only come from JSON that the value brought along as it was.
    for byte in &mut json {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    then(match (written, std::str::from_utf8(&json)) {
        (Ok(()), Ok(json)) => Ok(json),
        (Err(error), _) => Err(not_json(&error.to_string())),
        (_, Err(error)) => Err(not_json(&error.to_string())),
    });
    if json.capacity() <= KEPT_MAX {
        JSON.set(json);
    }
}

fn not_json(reason: &str) -> RpcError {
    RpcError::internal(format!("the output is not JSON: {reason}"))
}
