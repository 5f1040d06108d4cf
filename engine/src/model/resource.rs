//! Resources, resource templates and what is read of them.
//!
//! Specification: `server/resources`, Data Types.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use tightwire_codec::JsonWriter;

use super::{
    annotations::{Annotations, write_annotations},
    icon::{Icon, write_icons},
    meta::{MetaObject, is_sound, write_meta},
    optional, title,
};
use crate::protocol::version::ProtocolVersion;

/// The definition of a resource, or of a resource template: they differ in what the URI is, and a
/// template has no size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ResourceDefinition {
    /// The URI, or the URI template.
    pub(crate) uri: String,
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) mime_type: Option<String>,
    pub(crate) size: Option<u64>,
    pub(crate) annotations: Option<Annotations>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<MetaObject>,
}

impl ResourceDefinition {
    pub(crate) fn new(uri: String, name: String) -> Self {
        Self {
            uri,
            name,
            title: None,
            description: None,
            mime_type: None,
            size: None,
            annotations: None,
            icons: Vec::new(),
            meta: None,
        }
    }

    /// Writes the definition; `uri_key` is `uri` or `uriTemplate`.
    pub(crate) fn write(
        &self,
        writer: &mut JsonWriter<'_>,
        uri_key: &str,
        version: ProtocolVersion,
    ) {
        writer.raw(b"{");
        self.write_members(writer, uri_key, version);
        writer.raw(b"}");
    }

    /// The members, without the braces.
    pub(super) fn write_members(
        &self,
        writer: &mut JsonWriter<'_>,
        uri_key: &str,
        version: ProtocolVersion,
    ) {
        writer.key(uri_key);
        writer.string(&self.uri);
        optional(writer, "name", Some(&self.name));
        title(writer, self.title.as_deref(), version);
        optional(writer, "description", self.description.as_deref());
        optional(writer, "mimeType", self.mime_type.as_deref());
        if let Some(size) = self.size {
            writer.raw(b",\"size\":");
            writer.u64(size);
        }
        write_annotations(writer, self.annotations.as_ref(), version);
        write_icons(writer, &self.icons, version);
        write_meta(writer, self.meta.as_ref(), version);
    }
}

/// What a resource holds: a text, or bytes, under a URI.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceContents {
    uri: Cow<'static, str>,
    mime_type: Option<Cow<'static, str>>,
    data: Data,
    meta: Option<MetaObject>,
}

#[derive(Clone, Debug, PartialEq)]
enum Data {
    Text(Cow<'static, str>),
    Blob(Cow<'static, [u8]>),
}

impl ResourceContents {
    /// A text.
    #[must_use]
    pub fn text(uri: impl Into<Cow<'static, str>>, text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(uri.into(), Data::Text(text.into()))
    }

    /// Bytes. They are sent in base64.
    #[must_use]
    pub fn blob(uri: impl Into<Cow<'static, str>>, bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        Self::new(uri.into(), Data::Blob(bytes.into()))
    }

    fn new(uri: Cow<'static, str>, data: Data) -> Self {
        Self {
            uri,
            mime_type: None,
            data,
            meta: None,
        }
    }

    /// Sets the media type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<Cow<'static, str>>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets `_meta`, which must be a JSON object. Sent from 2025-06-18 on.
    #[must_use]
    pub fn meta(mut self, json: impl Into<String>) -> Self {
        self.meta = Some(MetaObject::new(json));
        self
    }

    pub(crate) fn is_sound(&self) -> bool {
        is_sound(self.meta.as_ref())
    }

    pub(crate) fn write(&self, writer: &mut JsonWriter<'_>, version: ProtocolVersion) {
        begin_contents(writer, &self.uri, self.mime_type.as_deref());
        match &self.data {
            Data::Text(text) => {
                writer.raw(b",\"text\":");
                writer.string(text);
            }
            Data::Blob(bytes) => {
                writer.raw(b",\"blob\":");
                write_base64(writer, bytes);
            }
        }
        write_meta(writer, self.meta.as_ref(), version);
        writer.raw(b"}");
    }
}

/// Writes the start of one content: its URI and media type.
pub(crate) fn begin_contents(writer: &mut JsonWriter<'_>, uri: &str, mime_type: Option<&str>) {
    writer.raw(b"{\"uri\":");
    writer.string(uri);
    optional(writer, "mimeType", mime_type);
}

/// Writes bytes as a string of base64.
pub(crate) fn write_base64(writer: &mut JsonWriter<'_>, bytes: &[u8]) {
    const PIECE: usize = 3 * 1024;
    let mut encoded = [0; PIECE / 3 * 4];
    writer.raw(b"\"");
    for piece in bytes.chunks(PIECE) {
        // The buffer has room for the longest piece.
        let len = STANDARD.encode_slice(piece, &mut encoded).unwrap_or(0);
        writer.raw(&encoded[..len]);
    }
    writer.raw(b"\"");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were() {
        for len in [0, 1, 2, 3, 4, 3071, 3072, 3073, 10_000] {
            let bytes: Vec<u8> = (0..len).map(|n| (n * 7 % 251) as u8).collect();
            let mut out = Vec::new();
            write_base64(&mut JsonWriter::new(&mut out), &bytes);
            let text: String = serde_json::from_slice(&out).unwrap();
            assert_eq!(STANDARD.decode(text).unwrap(), bytes, "{len}");
        }
    }
}
