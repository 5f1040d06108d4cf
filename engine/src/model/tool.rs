//! Tools as clients see them.
//!
//! Specification: `server/tools`, Data Types.

use tightwire_codec::JsonWriter;

use super::{
    annotations::ToolAnnotations,
    icon::{Icon, write_icons},
    meta::{MetaObject, write_meta},
    optional,
    task::TaskSupport,
    title,
};
use crate::protocol::version::{Era, ProtocolVersion};

/// The definition of a tool.
#[derive(Clone, Debug)]
pub(crate) struct ToolDefinition {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    /// JSON, on one line.
    pub(crate) input_schema: String,
    /// JSON, on one line.
    pub(crate) output_schema: Option<String>,
    pub(crate) annotations: Option<ToolAnnotations>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<MetaObject>,
}

impl ToolDefinition {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            title: None,
            description: None,
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: None,
            annotations: None,
            icons: Vec::new(),
            meta: None,
        }
    }

    /// Writes the tool. That its calls may become tasks is told by 2025-11-25 alone.
    pub(crate) fn write(
        &self,
        writer: &mut JsonWriter<'_>,
        version: ProtocolVersion,
        task: Option<TaskSupport>,
    ) {
        writer.raw(b"{\"name\":");
        writer.string(&self.name);
        title(writer, self.title.as_deref(), version);
        optional(writer, "description", self.description.as_deref());
        writer.raw(b",\"inputSchema\":");
        writer.raw(self.input_schema.as_bytes());
        if let Some(schema) = &self.output_schema
            && has_output_schema(version, schema)
        {
            writer.raw(b",\"outputSchema\":");
            writer.raw(schema.as_bytes());
        }
        if version >= ProtocolVersion::V2025_03_26
            && let Some(annotations) = &self.annotations
        {
            writer.raw(b",\"annotations\":");
            annotations.write(writer);
        }
        if version == ProtocolVersion::V2025_11_25
            && let Some(support) = task
        {
            writer.raw(b",\"execution\":{\"taskSupport\":");
            writer.string(support.name());
            writer.raw(b"}");
        }
        write_icons(writer, &self.icons, version);
        write_meta(writer, self.meta.as_ref(), version);
        writer.raw(b"}");
    }
}

/// Whether the revision has this output schema: of any type in the modern era, of type object
/// in 2025-06-18 and 2025-11-25.
fn has_output_schema(version: ProtocolVersion, schema: &str) -> bool {
    match version.era() {
        Era::Modern => true,
        Era::Legacy => {
            version >= ProtocolVersion::V2025_06_18
                && serde_json::from_str::<serde_json::Value>(schema)
                    .is_ok_and(|schema| schema["type"] == "object")
        }
    }
}
