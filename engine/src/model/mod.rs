//! The shapes of the protocol's messages, a file per feature: what each revision has of them.

pub(crate) mod annotations;
pub(crate) mod caching;
pub(crate) mod content;
pub(crate) mod form;
pub(crate) mod icon;
pub(crate) mod implementation;
pub(crate) mod input;
pub(crate) mod meta;
pub(crate) mod prompt;
pub(crate) mod resource;
pub(crate) mod sampling;
pub(crate) mod subscription;
pub(crate) mod task;
pub(crate) mod tool;
pub(crate) mod uri_template;
mod uri_value;

use tightwire_codec::JsonWriter;

use crate::protocol::version::ProtocolVersion;

/// Appends `,"name":"text"`, if there is a text.
fn optional(writer: &mut JsonWriter<'_>, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        writer.raw(b",");
        writer.key(name);
        writer.string(text);
    }
}

/// Appends `,"title":"text"`, if there is one and the revision has titles.
fn title(writer: &mut JsonWriter<'_>, text: Option<&str>, version: ProtocolVersion) {
    if version >= ProtocolVersion::V2025_06_18 {
        optional(writer, "title", text);
    }
}

/// An object all of whose members may be missing: it knows where the commas go.
struct Members<'w, 'a> {
    writer: &'w mut JsonWriter<'a>,
    any: bool,
}

impl<'w, 'a> Members<'w, 'a> {
    fn begin(writer: &'w mut JsonWriter<'a>) -> Self {
        writer.raw(b"{");
        Self { writer, any: false }
    }

    /// Writes the name of the next member, whose value is to be written.
    fn key(&mut self, name: &str) -> &mut JsonWriter<'a> {
        if self.any {
            self.writer.raw(b",");
        }
        self.any = true;
        self.writer.key(name);
        self.writer
    }

    fn end(self) {
        self.writer.raw(b"}");
    }
}
