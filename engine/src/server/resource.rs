//! [`Resource`] and [`ResourceTemplate`]: what clients read by URI.

use std::{fmt, sync::Arc};

use tightwire_codec::JsonWriter;

use super::{context::Context, reply::Answer, tool::Execution};
use crate::{
    error::RpcError,
    model::resource::ResourceDefinition,
    protocol::version::{Era, ProtocolVersion},
};

pub(crate) type ReadHandler = Arc<dyn Fn(Read<'_>, ReadReply<'_>) + Send + Sync>;

/// A resource: one URI, and the function that reads it.
#[derive(Clone)]
pub struct Resource {
    pub(crate) definition: ResourceDefinition,
    pub(crate) execution: Execution,
    pub(crate) handler: ReadHandler,
}

/// A resource template: the URIs of a form, and the function that reads them.
///
/// Templates are RFC 6570 of level 1: `{name}` stands for one path segment at most.
#[derive(Clone)]
pub struct ResourceTemplate {
    pub(crate) definition: ResourceDefinition,
    pub(crate) execution: Execution,
    pub(crate) handler: ReadHandler,
}

macro_rules! resource_builder {
    ($type:ident) => {
        impl $type {
            /// Sets the media type, which is sent in lists and with what is read.
            #[must_use]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.definition.mime_type = Some(mime_type.into());
                self
            }

            /// Runs the function on a thread of the pool, where it may wait. Without this it runs
            /// in the loop, which is faster and must not wait.
            #[must_use]
            pub fn blocking(mut self) -> Self {
                self.execution = Execution::Blocking;
                self
            }

            fn define(
                uri: String,
                name: String,
                handler: impl Fn(Read<'_>, ReadReply<'_>) + Send + Sync + 'static,
            ) -> Self {
                Self {
                    definition: ResourceDefinition {
                        uri,
                        name,
                        title: None,
                        description: None,
                        mime_type: None,
                    },
                    execution: Execution::Inline,
                    handler: Arc::new(handler),
                }
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
        Self::define(uri.into(), name.into(), handler)
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
        Self::define(uri_template.into(), name.into(), handler)
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
}

impl ReadReply<'_> {
    /// Answers with one text.
    pub fn text(self, text: impl fmt::Display) {
        let modern = self.answer.version().era() == Era::Modern;
        self.answer.result(|writer| {
            begin_contents(writer, self.uri, self.mime_type);
            writer.raw(b",\"text\":");
            writer.display(text);
            writer.raw(if modern {
                b"}],\"ttlMs\":0,\"cacheScope\":\"private\""
            } else {
                b"}]"
            });
        });
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
}

fn begin_contents(writer: &mut JsonWriter<'_>, uri: &str, mime_type: Option<&str>) {
    writer.raw(b"\"contents\":[{\"uri\":");
    writer.string(uri);
    if let Some(mime_type) = mime_type {
        writer.raw(b",\"mimeType\":");
        writer.string(mime_type);
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
