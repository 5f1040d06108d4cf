//! Icons of tools, resources, templates, prompts and servers.
//!
//! Specification: 2025-11-25 and later, `basic/index`, Icons.

use tightwire_codec::JsonWriter;

use super::optional;
use crate::protocol::version::ProtocolVersion;

/// An icon that a client may show. Sent from 2025-11-25 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Icon {
    src: String,
    mime_type: Option<String>,
    sizes: Vec<String>,
    theme: Option<Theme>,
}

/// The background that an icon is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Theme {
    /// A light one.
    Light,
    /// A dark one.
    Dark,
}

impl Icon {
    /// An icon at a URI: `https:`, or `data:` with base64.
    #[must_use]
    pub fn new(src: impl Into<String>) -> Self {
        Self {
            src: src.into(),
            mime_type: None,
            sizes: Vec::new(),
            theme: None,
        }
    }

    /// Sets the media type: `image/png`.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Adds a size that it can be used at: `48x48`, or `any`.
    #[must_use]
    pub fn size(mut self, size: impl Into<String>) -> Self {
        self.sizes.push(size.into());
        self
    }

    /// Sets the background that it is made for.
    #[must_use]
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = Some(theme);
        self
    }

    fn write(&self, writer: &mut JsonWriter<'_>) {
        writer.raw(b"{\"src\":");
        writer.string(&self.src);
        optional(writer, "mimeType", self.mime_type.as_deref());
        if !self.sizes.is_empty() {
            writer.raw(b",\"sizes\":");
            writer.raw(b"[");
            writer.items(self.sizes.iter(), |writer, size| {
                writer.string(size);
            });
            writer.raw(b"]");
        }
        let theme = self.theme.map(|theme| match theme {
            Theme::Light => "light",
            Theme::Dark => "dark",
        });
        optional(writer, "theme", theme);
        writer.raw(b"}");
    }
}

/// Appends `,"icons":[…]`, if there are any and the revision has them.
pub(super) fn write_icons(writer: &mut JsonWriter<'_>, icons: &[Icon], version: ProtocolVersion) {
    if icons.is_empty() || version < ProtocolVersion::V2025_11_25 {
        return;
    }
    writer.raw(b",\"icons\":");
    writer.raw(b"[");
    writer.items(icons.iter(), |writer, icon| {
        icon.write(writer);
    });
    writer.raw(b"]");
}
