//! The shapes of the protocol's messages, a file per feature: what each revision has of them.

pub(crate) mod form;
pub(crate) mod implementation;
pub(crate) mod input;
pub(crate) mod prompt;
pub(crate) mod resource;
pub(crate) mod subscription;
pub(crate) mod tool;
pub(crate) mod uri_template;

use tightwire_codec::JsonWriter;

/// Appends `,"name":"text"`, if there is a text.
fn optional(writer: &mut JsonWriter<'_>, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        writer.raw(b",");
        writer.key(name);
        writer.string(text);
    }
}
