//! What a server may ask of a client while it serves a request: input of the user, a message of a
//! model, the roots.
//!
//! Specification: 2026-07-28, `basic/patterns/mrtr`, `client/elicitation`, `client/sampling`,
//! `client/roots`.

use tightwire_codec::{JsonWriter, Object, Value};

use super::{form::Field, sampling::Sampling};
use crate::{
    protocol::{
        capabilities::ClientCapabilities,
        method::{CREATE_MESSAGE, ELICIT, LIST_ROOTS},
        version::ProtocolVersion,
    },
    schema::Schema,
};

/// Several things to ask the client for, each under a key of its own.
///
/// ```
/// use tightwire::{Elicitation, Field, Inputs, Sampling};
///
/// let inputs = Inputs::new()
///     .elicit("name", Elicitation::form("Who are you?").field("name", Field::text().required()))
///     .sample("greeting", Sampling::new(100).user("Greet someone."))
///     .roots("roots");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    list: Vec<(String, Input)>,
}

/// One thing to ask for.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Form(Elicitation),
    Url(UrlElicitation),
    Sampling(Box<Sampling>),
    Roots,
}

impl Inputs {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the user to fill in a form. Exists from 2025-06-18 on.
    #[must_use]
    pub fn elicit(self, key: impl Into<String>, form: Elicitation) -> Self {
        self.with(key.into(), Input::Form(form))
    }

    /// Asks the user to open a URL, for what must not pass through the client. Exists from
    /// 2025-11-25 on. That the user accepts says nothing of what happens there.
    #[must_use]
    pub fn elicit_url(
        self,
        key: impl Into<String>,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Self {
        self.elicit_url_with(key, UrlElicitation::new(message, url))
    }

    /// The same with all that such an elicitation may have.
    #[must_use]
    pub fn elicit_url_with(self, key: impl Into<String>, page: UrlElicitation) -> Self {
        self.with(key.into(), Input::Url(page))
    }

    /// Asks for a message of a model.
    #[must_use]
    pub fn sample(self, key: impl Into<String>, sampling: Sampling) -> Self {
        self.with(key.into(), Input::Sampling(Box::new(sampling)))
    }

    /// Asks for the roots: the folders that the client lets the server work in.
    #[must_use]
    pub fn roots(self, key: impl Into<String>) -> Self {
        self.with(key.into(), Input::Roots)
    }

    /// One key is asked for one thing: the last that was given for it.
    pub(crate) fn with(mut self, key: String, input: Input) -> Self {
        self.list.retain(|(other, _)| *other != key);
        self.list.push((key, input));
        self
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Input)> {
        self.list.iter().map(|(key, input)| (key.as_str(), input))
    }

    pub(crate) fn into_list(self) -> Vec<(String, Input)> {
        self.list
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// A form for the user to fill in.
#[derive(Clone, Debug)]
pub struct Elicitation {
    message: String,
    fields: Vec<(String, Field)>,
}

impl Elicitation {
    /// A form with a message that tells the user why it is shown, and no fields yet.
    #[must_use]
    pub fn form(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            fields: Vec::new(),
        }
    }

    /// Adds a field. One of the same name is replaced.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, field: Field) -> Self {
        let name = name.into();
        self.fields.retain(|(other, _)| *other != name);
        self.fields.push((name, field));
        self
    }

    fn write_schema(&self, writer: &mut JsonWriter<'_>, version: ProtocolVersion) {
        writer.raw(b"{\"type\":\"object\",\"properties\":{");
        writer.items(self.fields.iter(), |writer, (name, field)| {
            writer.key(name);
            field.write(writer, version);
        });
        writer.raw(b"}");
        let required = self.fields.iter().filter(|(_, field)| field.is_required());
        let mut required = required.map(|(name, _)| name).peekable();
        if required.peek().is_some() {
            writer.raw(b",\"required\":[");
            writer.items(required, |writer, name| writer.string(name));
            writer.raw(b"]");
        }
        writer.raw(b"}");
    }
}

/// A URL for the user to open, for what must not pass through the client.
///
/// Specification: 2025-11-25, `client/elicitation`, URL Mode Elicitation Requests.
#[derive(Clone, Debug)]
pub struct UrlElicitation {
    message: String,
    url: String,
    id: Option<String>,
}

impl UrlElicitation {
    /// A URL, with a message that tells the user why to open it.
    #[must_use]
    pub fn new(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            url: url.into(),
            id: None,
        }
    }

    /// Sets the `elicitationId`, under which the client is told that what the user does there is
    /// done: see [`Context::elicitation_complete`](crate::Context::elicitation_complete). It must be
    /// unique among those of the server. Without this it is one that nobody knows. Sent in
    /// 2025-11-25, which alone has such ids.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The id; one that `new_id` makes, if the author gave none.
    pub(crate) fn identify(&mut self, new_id: impl FnOnce() -> String) -> &str {
        self.id.get_or_insert_with(new_id)
    }

    /// Writes the parameters of the request.
    pub(crate) fn write(&self, writer: &mut JsonWriter<'_>, version: ProtocolVersion) {
        writer.raw(b"{\"mode\":\"url\",\"message\":");
        writer.string(&self.message);
        writer.raw(b",\"url\":");
        writer.string(&self.url);
        let id = self.id.as_deref();
        let id = id.filter(|_| version == ProtocolVersion::V2025_11_25);
        super::optional(writer, "elicitationId", id);
        writer.raw(b"}");
    }
}

impl Input {
    /// What a client must be capable of to be asked.
    pub(crate) fn required(&self) -> ClientCapabilities {
        let none = ClientCapabilities::default();
        match self {
            Self::Form(_) => ClientCapabilities {
                elicitation_form: true,
                ..none
            },
            Self::Url(_) => ClientCapabilities {
                elicitation_url: true,
                ..none
            },
            Self::Sampling(sampling) => ClientCapabilities {
                sampling: true,
                sampling_tools: sampling.uses_tools(),
                sampling_context: sampling.uses_context(),
                ..none
            },
            Self::Roots => ClientCapabilities {
                roots: true,
                ..none
            },
        }
    }

    /// What the revision lacks that is asked for.
    pub(crate) fn lacking_in(&self, version: ProtocolVersion) -> Option<&'static str> {
        let since = |since, what| (version < since).then_some(what);
        match self {
            Self::Form(form) => since(ProtocolVersion::V2025_06_18, "elicitation").or_else(|| {
                let exist = form
                    .fields
                    .iter()
                    .all(|(_, field)| field.exists_in(version));
                (!exist).then_some("a field of several choices")
            }),
            Self::Url(_) => since(ProtocolVersion::V2025_11_25, "elicitation by URL"),
            Self::Sampling(sampling) if sampling.uses_tools() => {
                since(ProtocolVersion::V2025_11_25, "sampling with tools")
            }
            Self::Sampling(sampling) if sampling.has_audio() => {
                since(ProtocolVersion::V2025_03_26, "sampling with audio")
            }
            Self::Sampling(_) | Self::Roots => None,
        }
    }

    /// Why it cannot be sent in any revision.
    pub(crate) fn problem(&self) -> Option<&str> {
        match self {
            Self::Sampling(sampling) => sampling.problem(),
            Self::Form(_) | Self::Url(_) | Self::Roots => None,
        }
    }

    /// The id that 2025-11-25 wants an elicitation by URL to have.
    pub(crate) fn identify(&mut self, new_id: impl FnOnce() -> String) -> Option<&str> {
        match self {
            Self::Url(page) => Some(page.identify(new_id)),
            Self::Form(_) | Self::Sampling(_) | Self::Roots => None,
        }
    }

    /// Writes `"method":…,"params":…`, the middle of a request.
    pub(crate) fn write(&self, writer: &mut JsonWriter<'_>, version: ProtocolVersion) {
        writer.raw(b"\"method\":");
        match self {
            Self::Form(form) => {
                writer.string(ELICIT);
                writer.raw(b",\"params\":{");
                // Before there were modes, all were forms.
                if version >= ProtocolVersion::V2025_11_25 {
                    writer.raw(b"\"mode\":\"form\",");
                }
                writer.raw(b"\"message\":");
                writer.string(&form.message);
                writer.raw(b",\"requestedSchema\":");
                form.write_schema(writer, version);
                writer.raw(b"}");
            }
            Self::Url(page) => {
                writer.string(ELICIT);
                writer.raw(b",\"params\":");
                page.write(writer, version);
            }
            Self::Sampling(sampling) => {
                writer.string(CREATE_MESSAGE);
                writer.raw(b",\"params\":");
                sampling.write(writer, version);
            }
            Self::Roots => {
                writer.string(LIST_ROOTS);
                writer.raw(b",\"params\":{}");
            }
        }
    }

    /// The method that asks for it.
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Form(_) | Self::Url(_) => ELICIT,
            Self::Sampling(_) => CREATE_MESSAGE,
            Self::Roots => LIST_ROOTS,
        }
    }

    /// Checks an answer of the client.
    ///
    /// # Errors
    ///
    /// What is wrong with it, after the name of the answer.
    pub(crate) fn check(&self, answer: Value<'_>) -> Result<(), String> {
        let object = answer
            .as_object()
            .ok_or_else(|| format!(" must be an object, not {}", answer.kind().as_str()))?;
        match self {
            Self::Form(form) => {
                if check_action(object)? {
                    form.check_content(object)?;
                }
                Ok(())
            }
            Self::Url(_) => check_action(object).map(|_| ()),
            Self::Sampling(_) => {
                for name in ["role", "model"] {
                    if object.find(name).and_then(Value::as_str).is_none() {
                        return Err(format!(".{name} must be a string"));
                    }
                }
                match object.find("content") {
                    Some(content)
                        if content.as_object().is_some() || content.as_array().is_some() =>
                    {
                        Ok(())
                    }
                    _ => Err(".content must be an object or an array".to_owned()),
                }
            }
            Self::Roots => {
                let roots = object.find("roots").and_then(Value::as_array);
                let roots = roots.ok_or(".roots must be an array")?;
                let uri = |root: Value<'_>| root.as_object()?.find("uri")?.as_str().map(drop);
                if roots.iter().all(|root| uri(root).is_some()) {
                    Ok(())
                } else {
                    Err(".roots must be objects with a uri".to_owned())
                }
            }
        }
    }
}

impl Elicitation {
    /// Checks what the user filled in against the form.
    fn check_content(&self, answer: Object<'_>) -> Result<(), String> {
        let content = answer.find("content").unwrap_or(Value::EMPTY_OBJECT);
        if content.as_object().is_none() {
            return Err(".content must be an object".to_owned());
        }
        let mut schema = Vec::new();
        self.write_schema(&mut JsonWriter::new(&mut schema), ProtocolVersion::LATEST);
        let schema = Schema::compile(&String::from_utf8_lossy(&schema))
            .map_err(|reason| format!(".content cannot be checked: {reason}"))?;
        if schema.is_valid(content) {
            return Ok(());
        }
        let problems = schema.problems(content);
        let told = problems.iter().map(|problem| match problem.path.as_str() {
            "" => problem.text.clone(),
            path => format!("{path}: {}", problem.text),
        });
        let told: Vec<String> = told.collect();
        Err(format!(".content does not fit: {}", told.join("; ")))
    }
}

/// Whether the user accepted.
fn check_action(answer: Object<'_>) -> Result<bool, String> {
    match answer.find("action").and_then(Value::as_str) {
        Some("accept") => Ok(true),
        Some("decline" | "cancel") => Ok(false),
        _ => Err(".action must be one of accept, decline, cancel".to_owned()),
    }
}
