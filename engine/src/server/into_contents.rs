//! [`IntoContents`]: what a function with `#[resource]` may return.

use std::{borrow::Cow, fmt};

use super::{into_messages::rpc_error, resource::ReadReply};
use crate::model::resource::ResourceContents;

/// What a function with `#[resource]` may return: a text; bytes; contents, one or several, each
/// under its own URI; or an `Option` or a `Result` of any of these.
///
/// ```
/// use tightwire::resource;
///
/// #[resource(uri = "demo://dot", mime_type = "image/gif")]
/// fn dot() -> &'static [u8] {
///     b"GIF89a"
/// }
/// ```
///
/// `None` says that there is no such resource. An error is a JSON-RPC error: an
/// [`RpcError`](crate::RpcError) as it is, any other as -32603 with its text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the contents of a resource",
    label = "a resource does not return this",
    note = "return a text, bytes, one or several `ResourceContents`, or an `Option` or a `Result` \
            of these; or write `Resource::new(uri, name, handler)`"
)]
pub trait IntoContents {
    /// Answers the request.
    fn reply(self, reply: ReadReply<'_>);
}

impl IntoContents for &str {
    fn reply(self, reply: ReadReply<'_>) {
        reply.text(self);
    }
}

impl IntoContents for String {
    fn reply(self, reply: ReadReply<'_>) {
        reply.text(self);
    }
}

impl IntoContents for Cow<'_, str> {
    fn reply(self, reply: ReadReply<'_>) {
        reply.text(self);
    }
}

impl IntoContents for &[u8] {
    fn reply(self, reply: ReadReply<'_>) {
        reply.blob(self);
    }
}

impl IntoContents for Vec<u8> {
    fn reply(self, reply: ReadReply<'_>) {
        reply.blob(&self);
    }
}

impl IntoContents for ResourceContents {
    fn reply(self, reply: ReadReply<'_>) {
        reply.contents(&[self]);
    }
}

impl IntoContents for Vec<ResourceContents> {
    fn reply(self, reply: ReadReply<'_>) {
        reply.contents(&self);
    }
}

impl<const N: usize> IntoContents for [ResourceContents; N] {
    fn reply(self, reply: ReadReply<'_>) {
        reply.contents(&self);
    }
}

impl<T: IntoContents> IntoContents for Option<T> {
    fn reply(self, reply: ReadReply<'_>) {
        match self {
            Some(value) => value.reply(reply),
            None => reply.not_found(),
        }
    }
}

impl<T: IntoContents, E: fmt::Display + 'static> IntoContents for Result<T, E> {
    fn reply(self, reply: ReadReply<'_>) {
        match self {
            Ok(value) => value.reply(reply),
            Err(error) => reply.protocol_error(&rpc_error(&error)),
        }
    }
}
