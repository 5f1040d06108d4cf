//! Who a peer says it is.

use tightwire_codec::JsonWriter;

use super::optional;
use crate::protocol::version::ProtocolVersion;

/// The name and version of a server.
#[derive(Clone, Debug)]
pub(crate) struct Implementation {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) title: Option<String>,
}

impl Implementation {
    pub(crate) fn write(&self, writer: &mut JsonWriter<'_>, version: ProtocolVersion) {
        writer.raw(b"{\"name\":");
        writer.string(&self.name);
        if version >= ProtocolVersion::V2025_06_18 {
            optional(writer, "title", self.title.as_deref());
        }
        optional(writer, "version", Some(&self.version));
        writer.raw(b"}");
    }
}
