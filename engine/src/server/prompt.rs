//! [`Prompt`]: a template of messages that a user picks.

use std::{fmt, sync::Arc};

use tightwire_codec::{JsonWriter, Object};

use super::{
    completion::{Complete, Completers, Completion},
    content_reply::unsound_meta,
    context::Context,
    reply::Answer,
    tool::Execution,
};
use crate::{
    error::RpcError,
    model::prompt::{PromptArgument, PromptDefinition, PromptMessage},
};

pub(crate) type PromptHandler = Arc<dyn Fn(GetPrompt<'_>, PromptReply<'_>) + Send + Sync>;

/// A prompt: its arguments, and the function that makes its messages.
#[derive(Clone)]
pub struct Prompt {
    pub(crate) definition: PromptDefinition,
    pub(crate) execution: Execution,
    pub(crate) handler: PromptHandler,
    pub(crate) completers: Completers,
}

impl Prompt {
    /// A prompt without arguments. `handler` must use up its reply.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        handler: impl Fn(GetPrompt<'_>, PromptReply<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            definition: PromptDefinition::new(name.into()),
            execution: Execution::Inline,
            handler: Arc::new(handler),
            completers: Vec::new(),
        }
    }

    /// Adds an argument that must be given.
    #[must_use]
    pub fn required(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(
            PromptArgument::new(name)
                .description(description)
                .required(),
        )
    }

    /// Adds an argument that may be left out.
    #[must_use]
    pub fn optional(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(PromptArgument::new(name).description(description))
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: PromptArgument) -> Self {
        self.definition.arguments.push(argument);
        self
    }

    /// Sets the function that completes an argument.
    ///
    /// ```
    /// use tightwire::Prompt;
    ///
    /// let review = Prompt::new("review", |prompt, reply| {
    ///     reply.user_text(prompt.argument("language").unwrap_or_default());
    /// })
    /// .required("language", "What it is written in")
    /// .complete("language", |complete| complete.among(["Python", "Rust"]));
    /// ```
    #[must_use]
    pub fn complete(
        mut self,
        argument: impl Into<String>,
        handler: impl Fn(Complete<'_>) -> Completion + Send + Sync + 'static,
    ) -> Self {
        self.completers.push((argument.into(), Arc::new(handler)));
        self
    }

    /// Runs the function on a thread of the pool, where it may wait. Without this it runs in the
    /// loop, which is faster and must not wait.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.execution = Execution::Blocking;
        self
    }
}

described!(Prompt);
illustrated!(Prompt);

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

/// One request for a prompt. Its arguments are strings, and the required ones are there.
#[derive(Clone, Copy, Debug)]
pub struct GetPrompt<'a> {
    pub(crate) arguments: Object<'a>,
    pub(crate) context: &'a Context<'a>,
}

impl<'a> GetPrompt<'a> {
    /// The request that this is: who asks, and the means to report progress, to log and to ask
    /// back.
    #[must_use]
    pub fn context(&self) -> &'a Context<'a> {
        self.context
    }

    /// The value of an argument.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&'a str> {
        self.arguments.find(name).and_then(|value| value.as_str())
    }
}

/// The answer to a request for a prompt: consumed once, like [`Reply`](crate::Reply).
#[derive(Debug)]
pub struct PromptReply<'a> {
    pub(crate) answer: Answer<'a>,
    pub(crate) description: Option<&'a str>,
}

impl PromptReply<'_> {
    /// Answers with one message of the user.
    pub fn user_text(self, text: impl fmt::Display) {
        self.answer_with(|writer| {
            writer.raw(b"{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
            writer.display(text);
            writer.raw(b"}}");
        });
    }

    /// Answers with messages, whose contents may be of every kind. A kind that the revision of
    /// the request lacks is lowered to one that it has.
    pub fn messages(self, messages: &[PromptMessage]) {
        let version = self.answer.version();
        if !messages.iter().all(PromptMessage::is_sound) {
            return self.answer.error(&unsound_meta());
        }
        self.answer_with(|writer| {
            writer.items(messages.iter().enumerate(), |writer, (index, message)| {
                message.write(writer, version, index);
            });
        });
    }

    /// Sets the description of these messages, in place of that of the prompt.
    #[must_use]
    pub fn description<'b>(self, text: &'b str) -> PromptReply<'b>
    where
        Self: 'b,
    {
        PromptReply {
            description: Some(text),
            ..self
        }
    }

    /// Answers with a JSON-RPC error.
    pub fn protocol_error(self, error: &RpcError) {
        self.answer.error(error);
    }

    fn answer_with(self, write: impl FnOnce(&mut JsonWriter<'_>)) {
        let description = self.description;
        self.answer.result(|writer| {
            if let Some(description) = description {
                writer.raw(b"\"description\":");
                writer.string(description);
                writer.raw(b",");
            }
            writer.raw(b"\"messages\":[");
            write(writer);
            writer.raw(b"]");
        });
    }
}

/// Checks the arguments of a request against the prompt's definition.
///
/// # Errors
///
/// -32602 naming the first argument that is missing, is no string, or is there twice.
pub(crate) fn check_arguments(
    definition: &PromptDefinition,
    arguments: Object<'_>,
) -> Result<(), RpcError> {
    for (name, value) in arguments {
        if value.as_str().is_none() {
            return Err(RpcError::invalid_params(format!(
                "params.arguments.{} must be a string, not {}",
                super::excerpt(name),
                value.kind().as_str()
            )));
        }
    }
    for argument in &definition.arguments {
        let count = arguments
            .iter()
            .filter(|(name, _)| *name == argument.name)
            .count();
        let problem = match count {
            0 if argument.required => "is missing",
            0 | 1 => continue,
            _ => "is there twice",
        };
        return Err(RpcError::invalid_params(format!(
            "params.arguments.{} {problem}",
            argument.name
        )));
    }
    Ok(())
}
