//! Tools as clients see them.
//!
//! Specification: `server/tools`, Data Types.

use tightwire_codec::JsonWriter;

use super::optional;
use crate::protocol::version::ProtocolVersion;

/// The definition of a tool.
#[derive(Clone, Debug)]
pub(crate) struct ToolDefinition {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    /// JSON, on one line.
    pub(crate) input_schema: String,
}

impl ToolDefinition {
    pub(crate) fn write(&self, writer: &mut JsonWriter<'_>, version: ProtocolVersion) {
        writer.raw(b"{\"name\":");
        writer.string(&self.name);
        if version >= ProtocolVersion::V2025_06_18 {
            optional(writer, "title", self.title.as_deref());
        }
        optional(writer, "description", self.description.as_deref());
        writer.raw(b",\"inputSchema\":");
        writer.raw(self.input_schema.as_bytes());
        writer.raw(b"}");
    }
}
