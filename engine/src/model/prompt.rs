//! Prompts as clients see them, and the messages they are made of.
//!
//! Specification: `server/prompts`, Data Types.

use tightwire_codec::JsonWriter;

use super::{
    annotations::Role,
    content::Content,
    icon::{Icon, write_icons},
    meta::{MetaObject, write_meta},
    optional, title,
};
use crate::protocol::version::ProtocolVersion;

/// The definition of a prompt.
#[derive(Clone, Debug)]
pub(crate) struct PromptDefinition {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) arguments: Vec<PromptArgument>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<MetaObject>,
}

impl PromptDefinition {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            title: None,
            description: None,
            arguments: Vec::new(),
            icons: Vec::new(),
            meta: None,
        }
    }

    pub(crate) fn write(&self, writer: &mut JsonWriter<'_>, version: ProtocolVersion) {
        writer.raw(b"{\"name\":");
        writer.string(&self.name);
        title(writer, self.title.as_deref(), version);
        optional(writer, "description", self.description.as_deref());
        if !self.arguments.is_empty() {
            writer.raw(b",\"arguments\":[");
            writer.items(self.arguments.iter(), |writer, argument| {
                argument.write(writer, version);
            });
            writer.raw(b"]");
        }
        write_icons(writer, &self.icons, version);
        write_meta(writer, self.meta.as_ref(), version);
        writer.raw(b"}");
    }
}

/// An argument of a prompt. Its value is always a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptArgument {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) required: bool,
}

impl PromptArgument {
    /// An argument that may be left out.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            required: false,
        }
    }

    /// Makes it one that must be given.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Sets the name for people to read. Sent from 2025-06-18 on.
    #[must_use]
    pub fn title(mut self, text: impl Into<String>) -> Self {
        self.title = Some(text.into());
        self
    }

    fn write(&self, writer: &mut JsonWriter<'_>, version: ProtocolVersion) {
        writer.raw(b"{\"name\":");
        writer.string(&self.name);
        title(writer, self.title.as_deref(), version);
        optional(writer, "description", self.description.as_deref());
        writer.raw(b",\"required\":");
        writer.bool(self.required);
        writer.raw(b"}");
    }
}

/// A message of a prompt: who says what.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptMessage {
    role: Role,
    content: Content,
}

impl PromptMessage {
    /// A message of the person.
    #[must_use]
    pub fn user(content: impl Into<Content>) -> Self {
        Self {
            role: Role::User,
            content: content.into(),
        }
    }

    /// A message of the model.
    #[must_use]
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
        }
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.content.is_sound()
    }

    /// Writes the message, which is the one with this index.
    pub(crate) fn write(
        &self,
        writer: &mut JsonWriter<'_>,
        version: ProtocolVersion,
        index: usize,
    ) {
        writer.raw(b"{\"role\":");
        writer.string(self.role.as_str());
        writer.raw(b",\"content\":");
        self.content.write(writer, version, index);
        writer.raw(b"}");
    }
}
