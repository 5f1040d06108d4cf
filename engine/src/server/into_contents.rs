//! [`IntoContents`]: what a function with `#[resource]` may return.

use std::{borrow::Cow, fmt};

use super::{into_messages::rpc_error, resource::ReadReply};

/// What a function with `#[resource]` may return: a text, or an `Option` or a `Result` of it.
///
/// `None` says that there is no such resource. An error is a JSON-RPC error: an
/// [`RpcError`](crate::RpcError) as it is, any other as -32603 with its text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the contents of a resource",
    label = "a resource does not return this",
    note = "return a text, or an `Option` or a `Result` of one; or write \
            `Resource::new(uri, name, handler)`"
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
