//! Extensions of the protocol: what a server declares of them, and methods of its own.
//!
//! Specification: 2026-07-28, `basic/versioning`, Extension Negotiation.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use tightwire_codec::{DeserializeError, JsonWriter, Object, Value};

use super::{
    ask::Given,
    connection::Core,
    content_reply::unsound_meta,
    context::{Asked, Context},
    dispatch::Serving,
    job::Job,
    modern::result_meta,
    registry::{Features, Parts, table},
    reply::Answer,
    run::{Ran, Run},
    tool::Execution,
};
use crate::{
    error::{Error, Result, RpcError},
    model::task::TASKS_EXTENSION,
    protocol::{
        hash::PerfectMap,
        meta::{SERVER_INFO, client_extension},
        method::Method,
        params::Params,
        version::{Era, ProtocolVersion},
    },
};

/// An extension that a server declares.
#[derive(Clone, Debug)]
pub(crate) struct Extension {
    pub(crate) identifier: String,
    /// A JSON object.
    pub(crate) settings: String,
    /// Whether it is declared in the legacy era too.
    pub(crate) is_legacy: bool,
}

/// A method of the server's own, which an extension defines.
///
/// Its name has a group, as `example/measure` does, that is none of the protocol's. It is served in
/// all revisions.
///
/// ```
/// use tightwire::{ExtensionMethod, Server};
///
/// #[derive(tightwire::serde::Serialize)]
/// #[serde(crate = "tightwire::serde")]
/// struct Measured {
///     metres: f64,
/// }
///
/// let measure = ExtensionMethod::new("example/measure", |_, reply| {
///     reply.result(&Measured { metres: 1.5 });
/// })
/// .requires("com.example/measuring");
/// let server = Server::new("demo", "1.0.0")
///     .extension("com.example/measuring", "{}")
///     .method(measure);
/// ```
#[derive(Clone)]
pub struct ExtensionMethod {
    name: String,
    entry: MethodEntry,
}

/// The function behind a method.
#[derive(Clone)]
pub(crate) struct MethodEntry {
    execution: Execution,
    extension: Option<String>,
    handler: Arc<Handler>,
}

type Handler = dyn Fn(ExtensionCall<'_>, ExtensionReply<'_>) + Send + Sync;

impl ExtensionMethod {
    /// A method. `handler` must use up its reply.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        handler: impl Fn(ExtensionCall<'_>, ExtensionReply<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            entry: MethodEntry {
                execution: Execution::Inline,
                extension: None,
                handler: Arc::new(handler),
            },
        }
    }

    /// Serves, from 2026-07-28 on, only clients that declare this extension with the request.
    /// Others are answered with -32021.
    #[must_use]
    pub fn requires(mut self, extension: impl Into<String>) -> Self {
        self.entry.extension = Some(extension.into());
        self
    }

    /// Runs the function on a thread of the pool, where it may wait. Without this it runs in the
    /// loop, which is faster and must not wait.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.entry.execution = Execution::Blocking;
        self
    }
}

impl fmt::Debug for ExtensionMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtensionMethod")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for MethodEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MethodEntry")
    }
}

impl MethodEntry {
    /// Serves one request.
    pub(super) fn serve(&self, params: Object<'_>, context: &Context<'_>, answer: Answer<'_>) {
        (self.handler)(ExtensionCall { params, context }, ExtensionReply { answer });
    }
}

/// One request for a method of the server's own.
#[derive(Clone, Copy, Debug)]
pub struct ExtensionCall<'a> {
    params: Object<'a>,
    context: &'a Context<'a>,
}

impl<'a> ExtensionCall<'a> {
    /// The name of the method.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.context.request.name
    }

    /// The parameters, `_meta` among them.
    #[must_use]
    pub fn params(&self) -> Object<'a> {
        self.params
    }

    /// The parameters as a type, whose `&str` fields borrow from the line.
    ///
    /// # Errors
    ///
    /// [`DeserializeError`] if they do not fit the type.
    pub fn parse<T: Deserialize<'a>>(&self) -> std::result::Result<T, DeserializeError> {
        self.params.deserialize()
    }

    /// The request that this is: who asks, and the means to report progress and to log. The client
    /// cannot be asked back.
    ///
    /// Specification: 2026-07-28, `basic/patterns/mrtr`, Supported Requests.
    #[must_use]
    pub fn context(&self) -> &'a Context<'a> {
        self.context
    }
}

/// The answer to such a request: consumed once, like [`Reply`](crate::Reply).
#[derive(Debug)]
pub struct ExtensionReply<'a> {
    answer: Answer<'a>,
}

impl ExtensionReply<'_> {
    /// Answers with a result: a value that is a JSON object, whose members are those of the
    /// result. The engine adds `resultType`, and says in `_meta` which server this is.
    pub fn result(self, members: &impl Serialize) {
        self.result_as("complete", members);
    }

    /// The same with a `resultType` of the extension's own, which its clients know. In revisions
    /// before 2026-07-28, which have no such types, the result is without it.
    ///
    /// What is no object, or has a `resultType` that the protocol uses for something else,
    /// `input_required` or `task`, or a `_meta` that is no object, answers -32603.
    pub fn result_as(self, result_type: &str, members: &impl Serialize) {
        let refuse = |answer: Answer<'_>, reason: &'static str| {
            answer.error(&RpcError::internal(reason));
        };
        if matches!(result_type, "input_required" | "task") {
            return refuse(self.answer, "the type of the result is the protocol's own");
        }
        let Ok(serde_json::Value::Object(mut members)) = serde_json::to_value(members) else {
            return refuse(self.answer, "the result is not a JSON object");
        };
        members.remove("resultType");
        if members.get("_meta").is_some_and(|meta| !meta.is_object()) {
            return self.answer.error(&unsound_meta());
        }
        if self.answer.version().era() == Era::Legacy {
            return self.answer.whole(|writer, _| {
                writer.raw(b"{");
                write_members(writer, &members, false);
                writer.raw(b"}}\n");
            });
        }
        let mut meta = match members.remove("_meta") {
            Some(serde_json::Value::Object(meta)) => meta,
            _ => serde_json::Map::new(),
        };
        // It is the engine that says so.
        meta.remove(SERVER_INFO);
        self.answer.whole(|writer, modern_end| {
            writer.raw(b"{\"resultType\":");
            writer.string(result_type);
            write_members(writer, &members, true);
            if meta.is_empty() {
                return writer.raw(modern_end);
            }
            writer.raw(b",\"_meta\":{");
            write_members(writer, &meta, false);
            writer.raw(b",");
            writer.raw(result_meta(modern_end));
        });
    }

    /// Answers with a JSON-RPC error, as [`Reply::protocol_error`](crate::Reply::protocol_error)
    /// does: methods have no other kind.
    pub fn protocol_error(self, error: &RpcError) {
        self.answer.error(error);
    }
}

impl Core {
    /// The method of the server's own that has this name.
    #[cold]
    pub(super) fn own_method(&self, name: &str) -> Option<Method> {
        let (place, _) = self.registry.methods.find(name)?;
        Some(Method::Own(place))
    }

    /// Serves a request for a method that an extension defines.
    #[cold]
    pub(super) fn serve_extension(
        &mut self,
        members: Object<'_>,
        params: &Params<'_>,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) -> std::result::Result<(), RpcError> {
        match serving.method {
            Method::Own(place) => self.call_method(place, members, serving, out),
            _ => self.serve_task(members, params, serving, out),
        }
    }

    fn call_method(
        &mut self,
        place: usize,
        params: Object<'_>,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) -> std::result::Result<(), RpcError> {
        let registry = Arc::clone(&self.registry);
        let Some((name, method)) = registry.methods.entry(place) else {
            return Ok(());
        };
        let meta = params.find("_meta").and_then(Value::as_object);
        if let Some(extension) = &method.extension
            && serving.version.era() == Era::Modern
            && client_extension(meta, extension).is_none()
        {
            return Err(RpcError::missing_extension(extension));
        }
        self.check_room(&serving.id, method.execution != Execution::Inline)?;
        let run = Run {
            what: Ran::Method,
            asked: Asked {
                method: serving.method,
                name,
                arguments: None,
            },
            meta,
            given: Given::default(),
            execution: method.execution,
            timeout: None,
        };
        if method.execution == Execution::Inline {
            self.run(serving, &run, out, |context, answer| {
                method.serve(params, context, answer);
            });
            return Ok(());
        }
        let client = Arc::clone(self.session.client());
        let mut job = None;
        self.run(serving, &run, out, |context, answer| {
            let ticket = answer.defer();
            job = Some(Job::of_method(
                &registry, &client, place, params, context, ticket,
            ));
        });
        self.ran = None;
        self.jobs.extend(job);
        Ok(())
    }
}

/// Checks what a server declares of extensions, and makes the table of its own methods.
///
/// # Errors
///
/// [`Error::Duplicate`] or [`Error::Extension`].
pub(super) fn freeze(parts: &Parts) -> Result<PerfectMap<MethodEntry>> {
    for (at, extension) in parts.extensions.iter().enumerate() {
        let Extension {
            identifier,
            settings,
            ..
        } = extension;
        let before = &parts.extensions[..at];
        if before.iter().any(|other| other.identifier == *identifier) {
            return Err(Error::Duplicate {
                kind: "extension",
                name: identifier.clone(),
            });
        }
        let settings = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(settings);
        let reason = if identifier == TASKS_EXTENSION {
            "it is declared where a tool has `Tool::task`"
        } else if !is_identifier(identifier) {
            "its identifier must be like `com.example/name`"
        } else if settings.is_err() {
            "its settings must be a JSON object"
        } else {
            continue;
        };
        return Err(Error::Extension {
            name: identifier.clone(),
            reason,
        });
    }
    if let Some(method) = parts.methods.iter().find(|method| {
        let parts = method.name.split_once('/');
        parts.is_none_or(|(group, name)| group.is_empty() || name.is_empty())
            || Method::is_reserved(&method.name)
    }) {
        return Err(Error::Extension {
            name: method.name.clone(),
            reason: "a method must be like `group/name`, and the group not one of the protocol's",
        });
    }
    let methods = parts.methods.iter();
    table(
        "method",
        methods.map(|method| (method.name.clone(), method.entry.clone())),
    )
}

/// The capabilities that a server declares.
pub(super) fn capabilities(parts: &Parts, features: Features, version: ProtocolVersion) -> Vec<u8> {
    let mut bytes = Vec::new();
    features.write(&mut JsonWriter::new(&mut bytes), version);
    let is_legacy = version.era() == Era::Legacy;
    let mut declared = parts
        .extensions
        .iter()
        .filter(|extension| extension.is_legacy || !is_legacy)
        .peekable();
    if declared.peek().is_none() {
        return bytes;
    }
    // The closing brace.
    bytes.pop();
    let is_first = bytes.len() == 1;
    let mut writer = JsonWriter::new(&mut bytes);
    writer.raw(if is_first { b"" } else { b"," });
    writer.key(if is_legacy {
        "experimental"
    } else {
        "extensions"
    });
    writer.raw(b"{");
    writer.items(declared, |writer, extension| {
        writer.key(&extension.identifier);
        writer.raw(extension.settings.as_bytes());
    });
    writer.raw(b"}}");
    bytes
}

/// Writes members, with a comma before each, or between them.
fn write_members(
    writer: &mut JsonWriter<'_>,
    members: &serde_json::Map<String, serde_json::Value>,
    mut comma: bool,
) {
    for (name, value) in members {
        writer.raw(if comma { b"," } else { b"" });
        comma = true;
        writer.key(name);
        writer.raw(value.to_string().as_bytes());
    }
}

/// Whether a name is one that an extension may have.
///
/// Specification: 2026-07-28, `basic/index`, Key name format; the prefix must be there.
fn is_identifier(identifier: &str) -> bool {
    let Some((prefix, name)) = identifier.split_once('/') else {
        return false;
    };
    let is_word = |word: &str, starts: fn(&char) -> bool, holds: fn(char) -> bool| {
        word.chars().next().is_some_and(|first| starts(&first))
            && word.chars().all(|c| c.is_ascii_alphanumeric() || holds(c))
            && word.ends_with(|last: char| last.is_ascii_alphanumeric())
    };
    let is_label = |label| is_word(label, char::is_ascii_alphabetic, |c| c == '-');
    prefix.split('.').all(is_label)
        && is_word(name, char::is_ascii_alphanumeric, |c| "-_.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_told_from_other_names() {
        for identifier in ["com.example/a", "a/b", "io.x-y.z9/a-b_c.d", "com.example/9"] {
            assert!(is_identifier(identifier), "{identifier}");
        }
        for other in [
            "", "a", "/a", "a/", "a/b/c", "9a/b", "a-/b", "-a/b", "a..b/c", "a./b", "a/-b", "a/b-",
            "a b/c", "a/b c", "é/a", "a/é",
        ] {
            assert!(!is_identifier(other), "{other}");
        }
    }
}
