//! Contents: what tools answer with and prompts are made of.
//!
//! A kind that a revision lacks is lowered to one that it has:
//!
//! ```text
//!   audio          before 2025-03-26   an embedded resource with the bytes, `content://N`
//!   resource link  before 2025-06-18   a text: the name and the URI, and the description
//! ```
//!
//! Specification: `server/tools`, Tool Result; `server/prompts`, `PromptMessage`.

use std::borrow::Cow;

use tightwire_codec::JsonWriter;

use super::{
    annotations::{Annotations, write_annotations},
    icon::Icon,
    meta::{MetaObject, is_sound, write_meta},
    resource::{ResourceContents, ResourceDefinition, begin_contents, write_base64},
};
use crate::protocol::version::ProtocolVersion;

/// One content: a text, an image, a sound, a link to a resource, or a resource itself.
///
/// ```
/// use tightwire::{Content, Tool};
///
/// const LOGO: &[u8] = b"\x89PNG";
/// let logo = Tool::typed("logo", |_: std::collections::BTreeMap<String, String>| {
///     [Content::text("Here it is:"), Content::image(LOGO, "image/png")]
/// });
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    kind: Kind,
    annotations: Option<Annotations>,
    meta: Option<MetaObject>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Text(Cow<'static, str>),
    Image(Media),
    Audio(Media),
    Link(Box<ResourceLink>),
    Resource(Box<ResourceContents>),
}

#[derive(Clone, Debug, PartialEq)]
struct Media {
    bytes: Cow<'static, [u8]>,
    mime_type: Cow<'static, str>,
}

impl Content {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::Text(text.into()))
    }

    /// An image of this media type. Its bytes are sent in base64.
    #[must_use]
    pub fn image(
        bytes: impl Into<Cow<'static, [u8]>>,
        mime_type: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(Kind::Image(Media {
            bytes: bytes.into(),
            mime_type: mime_type.into(),
        }))
    }

    /// A sound of this media type. Its bytes are sent in base64; 2024-11-05 gets them as an
    /// embedded resource.
    #[must_use]
    pub fn audio(
        bytes: impl Into<Cow<'static, [u8]>>,
        mime_type: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(Kind::Audio(Media {
            bytes: bytes.into(),
            mime_type: mime_type.into(),
        }))
    }

    /// A link to a resource. Revisions before 2025-06-18 get it as a text.
    #[must_use]
    pub fn link(link: ResourceLink) -> Self {
        Self::new(Kind::Link(Box::new(link)))
    }

    /// A resource, embedded.
    #[must_use]
    pub fn resource(contents: ResourceContents) -> Self {
        Self::new(Kind::Resource(Box::new(contents)))
    }

    fn new(kind: Kind) -> Self {
        Self {
            kind,
            annotations: None,
            meta: None,
        }
    }

    /// Sets the annotations.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
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
            && match &self.kind {
                Kind::Resource(contents) => contents.is_sound(),
                _ => true,
            }
    }

    /// Writes the content, which is the one with this index in its list.
    pub(crate) fn write(
        &self,
        writer: &mut JsonWriter<'_>,
        version: ProtocolVersion,
        index: usize,
    ) {
        match &self.kind {
            Kind::Text(text) => write_text(writer, text),
            Kind::Image(media) => media.write(writer, "image"),
            Kind::Audio(media) if version >= ProtocolVersion::V2025_03_26 => {
                media.write(writer, "audio");
            }
            Kind::Audio(media) => media.write_embedded(writer, index),
            Kind::Link(link) if version >= ProtocolVersion::V2025_06_18 => {
                writer.raw(b"{\"type\":\"resource_link\",");
                link.definition.write_members(writer, "uri", version);
            }
            Kind::Link(link) => write_text(writer, &link.to_text()),
            Kind::Resource(contents) => {
                writer.raw(b"{\"type\":\"resource\",\"resource\":");
                contents.write(writer, version);
            }
        }
        write_annotations(writer, self.annotations.as_ref(), version);
        write_meta(writer, self.meta.as_ref(), version);
        writer.raw(b"}");
    }
}

impl From<&'static str> for Content {
    fn from(text: &'static str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<ResourceLink> for Content {
    fn from(link: ResourceLink) -> Self {
        Self::link(link)
    }
}

impl From<ResourceContents> for Content {
    fn from(contents: ResourceContents) -> Self {
        Self::resource(contents)
    }
}

fn write_text(writer: &mut JsonWriter<'_>, text: &str) {
    writer.raw(b"{\"type\":\"text\",\"text\":");
    writer.string(text);
}

impl Media {
    fn write(&self, writer: &mut JsonWriter<'_>, kind: &str) {
        writer.raw(b"{\"type\":");
        writer.string(kind);
        writer.raw(b",\"mimeType\":");
        writer.string(&self.mime_type);
        writer.raw(b",\"data\":");
        write_base64(writer, &self.bytes);
    }

    /// As an embedded resource, whose URI is told from those beside it by the index.
    fn write_embedded(&self, writer: &mut JsonWriter<'_>, index: usize) {
        writer.raw(b"{\"type\":\"resource\",\"resource\":");
        begin_contents(writer, &format!("content://{index}"), Some(&self.mime_type));
        writer.raw(b",\"blob\":");
        write_base64(writer, &self.bytes);
        writer.raw(b"}");
    }
}

/// A link to a resource, which need not be among those that are listed.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceLink {
    definition: ResourceDefinition,
}

impl ResourceLink {
    /// A link to the resource of this URI, under this name.
    #[must_use]
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            definition: ResourceDefinition::new(uri.into(), name.into()),
        }
    }

    /// Sets the name for people to read.
    #[must_use]
    pub fn title(mut self, text: impl Into<String>) -> Self {
        self.definition.title = Some(text.into());
        self
    }

    /// Sets the description, which tells a model or a person what it is.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.definition.description = Some(text.into());
        self
    }

    /// Sets the media type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.definition.mime_type = Some(mime_type.into());
        self
    }

    /// Sets the size, in bytes.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.definition.size = Some(bytes);
        self
    }

    /// Adds an icon. Sent from 2025-11-25 on.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition.icons.push(icon);
        self
    }

    /// What it says, for revisions without links.
    fn to_text(&self) -> String {
        let ResourceDefinition {
            uri,
            name,
            title,
            description,
            ..
        } = &self.definition;
        let name = title.as_ref().unwrap_or(name);
        match description {
            Some(description) => format!("{name}: {uri}\n{description}"),
            None => format!("{name}: {uri}"),
        }
    }
}
