//! [`Resource`] and [`ResourceTemplate`]: what clients read by URI.

use std::{fmt, sync::Arc};

use tightwire_codec::JsonWriter;

use super::{
    completion::{Complete, Completers, Completion},
    content_reply::unsound_meta,
    context::Context,
    reply::Answer,
    tool::Execution,
};
use crate::{
    error::RpcError,
    model::{
        annotations::Annotations,
        caching::{CacheScope, Caching},
        resource::{ResourceContents, ResourceDefinition, begin_contents, write_base64},
    },
    protocol::version::{Era, ProtocolVersion},
};

pub(crate) type ReadHandler = Arc<dyn Fn(Read<'_>, ReadReply<'_>) + Send + Sync>;

/// How a resource, or what a template stands for, is read.
#[derive(Clone)]
pub(crate) struct Readable {
    pub(crate) mime_type: Option<String>,
    pub(crate) caching: Caching,
    pub(crate) execution: Execution,
    pub(crate) handler: ReadHandler,
}

/// A resource: one URI, and the function that reads it.
#[derive(Clone)]
pub struct Resource {
    pub(crate) definition: ResourceDefinition,
    pub(crate) readable: Readable,
}

/// A resource template: the URIs of a form, and the function that reads them.
///
/// Templates are RFC 6570 up to level 3, and are matched as its expansion would have it:
///
/// | expression | matches |
/// | --- | --- |
/// | `{x}` | a segment, or a part of one |
/// | `{+x}` | anything, slashes included |
/// | `{#x}` `{.x}` `{/x}` | nothing, or `#`, `.` or `/` and a value |
/// | `{;x,y}` | nothing, or `;x=1`, `;y=2`, `;x=1;y=2` |
/// | `{?x,y}` `{&x}` | nothing, or the parameters that are there, in any order |
///
/// Values are percent-decoded. One with a segment `..` or `.`, by whatever spelling, does not
/// match, nor does one with a backslash or NUL; a slash is in those of `{+x}`, `{#x}`, `{?x}` and
/// `{&x}` alone, and may begin them. URIs over 16 KiB match no template.
#[derive(Clone)]
pub struct ResourceTemplate {
    pub(crate) definition: ResourceDefinition,
    pub(crate) readable: Readable,
    pub(crate) completers: Completers,
}

macro_rules! resource_builder {
    ($type:ident) => {
        impl $type {
            /// Sets the media type, which is sent in lists and with what is read.
            #[must_use]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                let mime_type = mime_type.into();
                self.readable.mime_type = Some(mime_type.clone());
                self.definition.mime_type = Some(mime_type);
                self
            }

            /// Sets the annotations.
            #[must_use]
            pub fn annotations(mut self, annotations: Annotations) -> Self {
                self.definition.annotations = Some(annotations);
                self
            }

            /// Sets for how many milliseconds clients may keep what is read, and who may be given
            /// it. Without it what is read is private and stale at once. Sent in 2026-07-28.
            ///
            /// Specification: 2026-07-28, `server/utilities/caching`.
            #[must_use]
            pub fn cache(mut self, ttl_ms: u64, scope: CacheScope) -> Self {
                self.readable.caching = Caching { ttl_ms, scope };
                self
            }

            /// Reads on a thread of the pool, where the function may wait. Without this it runs
            /// in the loop, which is faster and must not wait.
            #[must_use]
            pub fn blocking(mut self) -> Self {
                self.readable.execution = Execution::Blocking;
                self
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($type))
                    .field("definition", &self.definition)
                    .finish_non_exhaustive()
            }
        }
    };
}

described!(Resource ResourceTemplate);
illustrated!(Resource ResourceTemplate);
resource_builder!(Resource);
resource_builder!(ResourceTemplate);

impl Resource {
    /// A resource. `handler` must use up its reply.
    #[must_use]
    pub fn new(
        uri: impl Into<String>,
        name: impl Into<String>,
        handler: impl Fn(Read<'_>, ReadReply<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            definition: ResourceDefinition::new(uri.into(), name.into()),
            readable: Readable::new(handler),
        }
    }

    /// Sets the size, in bytes.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.definition.size = Some(bytes);
        self
    }
}

impl ResourceTemplate {
    /// A resource template. `handler` must use up its reply.
    #[must_use]
    pub fn new(
        uri_template: impl Into<String>,
        name: impl Into<String>,
        handler: impl Fn(Read<'_>, ReadReply<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            definition: ResourceDefinition::new(uri_template.into(), name.into()),
            readable: Readable::new(handler),
            completers: Vec::new(),
        }
    }

    /// Sets the function that completes a variable.
    #[must_use]
    pub fn complete(
        mut self,
        variable: impl Into<String>,
        handler: impl Fn(Complete<'_>) -> Completion + Send + Sync + 'static,
    ) -> Self {
        self.completers.push((variable.into(), Arc::new(handler)));
        self
    }
}

impl Readable {
    fn new(handler: impl Fn(Read<'_>, ReadReply<'_>) + Send + Sync + 'static) -> Self {
        Self {
            mime_type: None,
            caching: Caching::READS,
            execution: Execution::Inline,
            handler: Arc::new(handler),
        }
    }
}

/// One reading of a resource.
#[derive(Clone, Copy, Debug)]
pub struct Read<'a> {
    pub(crate) uri: &'a str,
    pub(crate) variables: &'a [(&'a str, String)],
    pub(crate) context: &'a Context<'a>,
}

impl<'a> Read<'a> {
    /// The URI that is read.
    #[must_use]
    pub fn uri(&self) -> &'a str {
        self.uri
    }

    /// The request that the reading is: who asks, and the means to report progress, to log and to
    /// ask back.
    #[must_use]
    pub fn context(&self) -> &'a Context<'a> {
        self.context
    }

    /// The value of a variable of the template, percent-decoded; empty if the template has none of
    /// this name.
    #[must_use]
    pub fn variable(&self, name: &str) -> &'a str {
        self.variables
            .iter()
            .find_map(|(key, value)| (*key == name).then_some(value.as_str()))
            .unwrap_or_default()
    }
}

/// The answer to the reading of a resource: consumed once, like [`Reply`](crate::Reply).
#[derive(Debug)]
pub struct ReadReply<'a> {
    pub(crate) answer: Answer<'a>,
    pub(crate) uri: &'a str,
    pub(crate) mime_type: Option<&'a str>,
    pub(crate) caching: Caching,
}

impl ReadReply<'_> {
    /// Answers with one text.
    pub fn text(self, text: impl fmt::Display) {
        let (uri, mime_type) = (self.uri, self.mime_type);
        self.answer_with(|writer| {
            begin_contents(writer, uri, mime_type);
            writer.raw(b",\"text\":");
            writer.display(text);
            writer.raw(b"}");
        });
    }

    /// Answers with bytes, which are sent in base64.
    pub fn blob(self, bytes: &[u8]) {
        let (uri, mime_type) = (self.uri, self.mime_type);
        self.answer_with(|writer| {
            begin_contents(writer, uri, mime_type);
            writer.raw(b",\"blob\":");
            write_base64(writer, bytes);
            writer.raw(b"}");
        });
    }

    /// Answers with contents, each under its own URI: those of a folder, for example. For what
    /// does not exist there is [`ReadReply::not_found`]; no contents at all mean that it exists
    /// and is empty.
    pub fn contents(self, contents: &[ResourceContents]) {
        let version = self.answer.version();
        if !contents.iter().all(ResourceContents::is_sound) {
            return self.answer.error(&unsound_meta());
        }
        self.answer_with(|writer| {
            writer.items(contents.iter(), |writer, contents| {
                contents.write(writer, version);
            });
        });
    }

    /// Sets for how many milliseconds clients may keep this answer, and who may be given it.
    #[must_use]
    pub fn cache(mut self, ttl_ms: u64, scope: CacheScope) -> Self {
        self.caching = Caching { ttl_ms, scope };
        self
    }

    /// Sets the media type of the one content that [`ReadReply::text`] or [`ReadReply::blob`]
    /// answers with, in place of that of the resource.
    #[must_use]
    pub fn mime_type<'b>(self, mime_type: &'b str) -> ReadReply<'b>
    where
        Self: 'b,
    {
        ReadReply {
            mime_type: Some(mime_type),
            ..self
        }
    }

    /// Answers that there is no such resource.
    pub fn not_found(self) {
        let error = not_found(self.answer.version(), self.uri);
        self.answer.error(&error);
    }

    /// Answers with a JSON-RPC error.
    pub fn protocol_error(self, error: &RpcError) {
        self.answer.error(error);
    }

    fn answer_with(self, write: impl FnOnce(&mut JsonWriter<'_>)) {
        let modern = self.answer.version().era() == Era::Modern;
        let caching = self.caching;
        self.answer.result(|writer| {
            writer.raw(b"\"contents\":[");
            write(writer);
            writer.raw(b"]");
            if modern {
                caching.write(writer);
            }
        });
    }
}

/// The error for a resource that does not exist.
///
/// Specification: `server/resources`, Error Handling: -32602 from 2026-07-28 on, -32002 before.
pub(crate) fn not_found(version: ProtocolVersion, uri: &str) -> RpcError {
    let mut data = Vec::new();
    let mut writer = JsonWriter::new(&mut data);
    writer.raw(b"{\"uri\":");
    writer.string(uri);
    writer.raw(b"}");
    let error = match version.era() {
        Era::Modern => RpcError::invalid_params("Resource not found"),
        Era::Legacy => RpcError::new(RpcError::RESOURCE_NOT_FOUND, "Resource not found"),
    };
    error.with_data(String::from_utf8_lossy(&data))
}
