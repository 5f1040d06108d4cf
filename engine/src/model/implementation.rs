//! Who a peer says it is.

use tightwire_codec::JsonWriter;

use super::{
    icon::{Icon, write_icons},
    optional, title,
};
use crate::protocol::version::ProtocolVersion;

/// The name and version of a server, and what people are shown of it.
#[derive(Clone, Debug)]
pub(crate) struct Implementation {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) website_url: Option<String>,
    pub(crate) icons: Vec<Icon>,
}

impl Implementation {
    pub(crate) fn new(name: String, version: String) -> Self {
        Self {
            name,
            version,
            title: None,
            description: None,
            website_url: None,
            icons: Vec::new(),
        }
    }

    pub(crate) fn write(&self, writer: &mut JsonWriter<'_>, version: ProtocolVersion) {
        writer.raw(b"{\"name\":");
        writer.string(&self.name);
        title(writer, self.title.as_deref(), version);
        optional(writer, "version", Some(&self.version));
        if version >= ProtocolVersion::V2025_11_25 {
            optional(writer, "description", self.description.as_deref());
            optional(writer, "websiteUrl", self.website_url.as_deref());
        }
        write_icons(writer, &self.icons, version);
        writer.raw(b"}");
    }
}
