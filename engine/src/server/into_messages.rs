//! [`IntoMessages`]: what a function with `#[prompt]` may return.

use std::{any::Any, borrow::Cow, fmt};

use super::prompt::PromptReply;
use crate::{
    error::RpcError,
    model::{content::Content, prompt::PromptMessage},
};

/// What a function with `#[prompt]` may return: a text or a [`Content`], which become one message
/// of the user; messages, one or several; or a `Result` of any of these.
///
/// ```
/// use tightwire::{PromptMessage, prompt};
///
/// #[prompt]
/// fn riddle() -> [PromptMessage; 2] {
///     [
///         PromptMessage::user("What has keys and opens no lock?"),
///         PromptMessage::assistant("Let me think."),
///     ]
/// }
/// ```
///
/// An error is a JSON-RPC error: an [`RpcError`] as it is, any other as -32603 with its text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the messages of a prompt",
    label = "a prompt does not return this",
    note = "return a text, a `Content`, one or several `PromptMessage`s, or a `Result` of these; \
            or write `Prompt::new(name, handler)`"
)]
pub trait IntoMessages {
    /// Answers the request.
    fn reply(self, reply: PromptReply<'_>);
}

impl IntoMessages for &str {
    fn reply(self, reply: PromptReply<'_>) {
        reply.user_text(self);
    }
}

impl IntoMessages for String {
    fn reply(self, reply: PromptReply<'_>) {
        reply.user_text(self);
    }
}

impl IntoMessages for Cow<'_, str> {
    fn reply(self, reply: PromptReply<'_>) {
        reply.user_text(self);
    }
}

impl IntoMessages for Content {
    fn reply(self, reply: PromptReply<'_>) {
        reply.messages(&[PromptMessage::user(self)]);
    }
}

impl IntoMessages for PromptMessage {
    fn reply(self, reply: PromptReply<'_>) {
        reply.messages(&[self]);
    }
}

impl IntoMessages for Vec<PromptMessage> {
    fn reply(self, reply: PromptReply<'_>) {
        reply.messages(&self);
    }
}

impl<const N: usize> IntoMessages for [PromptMessage; N] {
    fn reply(self, reply: PromptReply<'_>) {
        reply.messages(&self);
    }
}

impl<T: IntoMessages, E: fmt::Display + 'static> IntoMessages for Result<T, E> {
    fn reply(self, reply: PromptReply<'_>) {
        match self {
            Ok(value) => value.reply(reply),
            Err(error) => reply.protocol_error(&rpc_error(&error)),
        }
    }
}

/// The JSON-RPC error for what a prompt or a resource returned as its error.
pub(super) fn rpc_error<E: fmt::Display + 'static>(error: &E) -> RpcError {
    match (error as &dyn Any).downcast_ref::<RpcError>() {
        Some(error) => error.clone(),
        None => RpcError::internal(error.to_string()),
    }
}
