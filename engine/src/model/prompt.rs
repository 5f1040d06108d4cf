//! Prompts as clients see them.
//!
//! Specification: `server/prompts`, Data Types.

use tightwire_codec::JsonWriter;

use super::optional;
use crate::protocol::version::ProtocolVersion;

/// The definition of a prompt.
#[derive(Clone, Debug)]
pub(crate) struct PromptDefinition {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) arguments: Vec<PromptArgument>,
}

/// An argument of a prompt. Its value is always a string.
#[derive(Clone, Debug)]
pub(crate) struct PromptArgument {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) required: bool,
}

impl PromptDefinition {
    pub(crate) fn write(&self, writer: &mut JsonWriter<'_>, version: ProtocolVersion) {
        writer.raw(b"{\"name\":");
        writer.string(&self.name);
        if version >= ProtocolVersion::V2025_06_18 {
            optional(writer, "title", self.title.as_deref());
        }
        optional(writer, "description", self.description.as_deref());
        if !self.arguments.is_empty() {
            writer.raw(b",\"arguments\":[");
            for (index, argument) in self.arguments.iter().enumerate() {
                writer.raw(if index > 0 { b"," } else { b"" });
                writer.raw(b"{\"name\":");
                writer.string(&argument.name);
                optional(writer, "description", argument.description.as_deref());
                writer.raw(b",\"required\":");
                writer.bool(argument.required);
                writer.raw(b"}");
            }
            writer.raw(b"]");
        }
        writer.raw(b"}");
    }
}
