//! Annotations: hints for clients on resources, templates and contents, and on tools.
//!
//! Specification: `server/resources`, Annotations; `ToolAnnotations` in the schema.

use tightwire_codec::JsonWriter;

use super::Members;
use crate::protocol::version::ProtocolVersion;

/// Whom a message is from, or whom a content is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

impl Role {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// Hints on a resource, a template or a content.
///
/// ```
/// use tightwire::{Annotations, Content, Role};
///
/// let log = Content::text("42 lines").annotations(
///     Annotations::new().audience(&[Role::User]).priority(0.2),
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    audience: Vec<Role>,
    priority: Option<f64>,
    last_modified: Option<String>,
}

impl Annotations {
    /// No hints yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whom it is for.
    #[must_use]
    pub fn audience(mut self, roles: &[Role]) -> Self {
        self.audience = roles.to_vec();
        self
    }

    /// Sets how important it is: from 0, entirely optional, to 1, effectively required. What lies
    /// beyond is brought to the nearer end; NaN sets nothing.
    #[must_use]
    pub fn priority(mut self, priority: f64) -> Self {
        self.priority = (!priority.is_nan()).then(|| priority.clamp(0.0, 1.0));
        self
    }

    /// Sets when it was last modified, in ISO 8601: `2025-01-12T15:00:58Z`. Sent from 2025-06-18
    /// on.
    #[must_use]
    pub fn last_modified(mut self, time: impl Into<String>) -> Self {
        self.last_modified = Some(time.into());
        self
    }

    fn write(&self, writer: &mut JsonWriter<'_>, version: ProtocolVersion) {
        let mut members = Members::begin(writer);
        if !self.audience.is_empty() {
            let writer = members.key("audience");
            writer.raw(b"[");
            writer.items(self.audience.iter(), |writer, role| {
                writer.string(role.as_str());
            });
            writer.raw(b"]");
        }
        if let Some(priority) = self.priority {
            members.key("priority").f64(priority);
        }
        if version >= ProtocolVersion::V2025_06_18
            && let Some(time) = &self.last_modified
        {
            members.key("lastModified").string(time);
        }
        members.end();
    }
}

/// Appends `,"annotations":{…}`, if there are any.
pub(super) fn write_annotations(
    writer: &mut JsonWriter<'_>,
    annotations: Option<&Annotations>,
    version: ProtocolVersion,
) {
    if let Some(annotations) = annotations {
        writer.raw(b",\"annotations\":");
        annotations.write(writer, version);
    }
}

/// Hints on what a tool does. Clients must not trust them unless they trust the server. Sent from
/// 2025-03-26 on.
///
/// What is not set is for the client to assume: that the tool changes things, perhaps for the
/// worse, each time anew, and in the world at large.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolAnnotations {
    title: Option<String>,
    read_only: Option<bool>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    open_world: Option<bool>,
}

impl ToolAnnotations {
    /// No hints yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a title, for the one revision that has it here alone: 2025-03-26. Later clients prefer
    /// [`Tool::title`](crate::Tool::title).
    #[must_use]
    pub fn title(mut self, text: impl Into<String>) -> Self {
        self.title = Some(text.into());
        self
    }

    /// Says whether the tool leaves its environment as it is.
    #[must_use]
    pub fn read_only(mut self, hint: bool) -> Self {
        self.read_only = Some(hint);
        self
    }

    /// Says whether the tool may destroy, rather than only add.
    #[must_use]
    pub fn destructive(mut self, hint: bool) -> Self {
        self.destructive = Some(hint);
        self
    }

    /// Says whether calling the tool again with the same arguments changes nothing more.
    #[must_use]
    pub fn idempotent(mut self, hint: bool) -> Self {
        self.idempotent = Some(hint);
        self
    }

    /// Says whether the tool meets an open world, as a search of the web does.
    #[must_use]
    pub fn open_world(mut self, hint: bool) -> Self {
        self.open_world = Some(hint);
        self
    }

    pub(super) fn write(&self, writer: &mut JsonWriter<'_>) {
        let mut members = Members::begin(writer);
        if let Some(title) = &self.title {
            members.key("title").string(title);
        }
        for (name, hint) in [
            ("readOnlyHint", self.read_only),
            ("destructiveHint", self.destructive),
            ("idempotentHint", self.idempotent),
            ("openWorldHint", self.open_world),
        ] {
            if let Some(hint) = hint {
                members.key(name).bool(hint);
            }
        }
        members.end();
    }
}
