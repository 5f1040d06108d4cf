//! `_meta` of definitions and contents: whatever a server has to say beside the protocol.
//!
//! Specification: `basic/index`, `_meta`. Definitions and contents have it from 2025-06-18 on.

use tightwire_codec::JsonWriter;

use crate::{error::one_line, protocol::version::ProtocolVersion};

/// The JSON of a `_meta` object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MetaObject {
    json: String,
    is_object: bool,
}

impl MetaObject {
    pub(crate) fn new(json: impl Into<String>) -> Self {
        let json = one_line(json.into());
        let parsed = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&json);
        Self {
            is_object: parsed.is_ok(),
            json,
        }
    }

    /// Whether it can be sent: anything but an object would make what it is in invalid.
    pub(crate) fn is_object(&self) -> bool {
        self.is_object
    }
}

/// Whether there is no `_meta`, or one that can be sent.
pub(crate) fn is_sound(meta: Option<&MetaObject>) -> bool {
    meta.is_none_or(MetaObject::is_object)
}

/// Appends `,"_meta":{…}`, if there is one and the revision has it.
pub(super) fn write_meta(
    writer: &mut JsonWriter<'_>,
    meta: Option<&MetaObject>,
    version: ProtocolVersion,
) {
    if version >= ProtocolVersion::V2025_06_18
        && let Some(meta) = meta
    {
        writer.raw(b",\"_meta\":");
        writer.raw(meta.json.as_bytes());
    }
}
