//! Resources and resource templates as clients see them.
//!
//! Specification: `server/resources`, Data Types.

use tightwire_codec::JsonWriter;

use super::optional;
use crate::protocol::version::ProtocolVersion;

/// The definition of a resource, or of a resource template: they differ in what the URI is.
#[derive(Clone, Debug)]
pub(crate) struct ResourceDefinition {
    /// The URI, or the URI template.
    pub(crate) uri: String,
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) mime_type: Option<String>,
}

impl ResourceDefinition {
    /// Writes the definition; `uri_key` is `uri` or `uriTemplate`.
    pub(crate) fn write(
        &self,
        writer: &mut JsonWriter<'_>,
        uri_key: &str,
        version: ProtocolVersion,
    ) {
        writer.raw(b"{");
        writer.key(uri_key);
        writer.string(&self.uri);
        optional(writer, "name", Some(&self.name));
        if version >= ProtocolVersion::V2025_06_18 {
            optional(writer, "title", self.title.as_deref());
        }
        optional(writer, "description", self.description.as_deref());
        optional(writer, "mimeType", self.mime_type.as_deref());
        writer.raw(b"}");
    }
}
