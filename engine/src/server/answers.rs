//! [`Answers`]: what the client said to what [`Context::ask`](crate::Context::ask) asked of it.
//!
//! Specification: 2026-07-28, `client/elicitation`, `client/sampling`, `client/roots`.

use serde::de::{Deserialize, DeserializeOwned, Error};
use tightwire_codec::{DeserializeError, Object, Value};

use super::ask::Ask;
use crate::json::with_root;

/// The answers of the client to all that was asked.
#[derive(Debug)]
pub struct Answers<'a> {
    list: Vec<(String, Object<'a>)>,
}

impl<'a> Answers<'a> {
    pub(super) fn new(list: Vec<(String, Object<'a>)>) -> Self {
        Self { list }
    }

    /// What became of an elicitation.
    #[must_use]
    pub fn elicited(&self, key: &str) -> Elicited<'a> {
        let answer = self.value(key).unwrap_or(Object::EMPTY);
        match answer.find("action").and_then(Value::as_str) {
            Some("accept") => {
                let content = answer.find("content").and_then(Value::as_object);
                Elicited::Accepted(content.unwrap_or(Object::EMPTY))
            }
            Some("decline") => Elicited::Declined,
            _ => Elicited::Cancelled,
        }
    }

    /// The message that a model wrote.
    #[must_use]
    pub fn sampled(&self, key: &str) -> Sampled<'a> {
        Sampled {
            message: self.value(key).unwrap_or(Object::EMPTY),
        }
    }

    /// The URIs of the client's roots, each with its name.
    pub fn roots(&self, key: &str) -> impl Iterator<Item = (&'a str, Option<&'a str>)> + use<'a> {
        let roots = self.value(key).and_then(|answer| answer.find("roots"));
        let roots = roots.and_then(Value::as_array);
        roots.into_iter().flatten().filter_map(|root| {
            let root = root.as_object()?;
            let name = root.find("name").and_then(Value::as_str);
            Some((root.find("uri")?.as_str()?, name))
        })
    }

    /// The whole answer.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<Object<'a>> {
        let found = self.list.iter().find(|(name, _)| name == key);
        found.map(|(_, answer)| *answer)
    }
}

/// What became of an elicitation.
#[derive(Clone, Copy, Debug)]
pub enum Elicited<'a> {
    /// The user accepted. What was filled in fits the form, but for [`Field::format`], which is not
    /// asserted; after a URL, it is empty.
    ///
    /// [`Field::format`]: crate::Field::format
    Accepted(Object<'a>),
    /// The user declined.
    Declined,
    /// The user dismissed the question.
    Cancelled,
}

impl<'a> Elicited<'a> {
    /// What was filled in, if the user accepted.
    #[must_use]
    pub fn content(self) -> Option<Object<'a>> {
        match self {
            Self::Accepted(content) => Some(content),
            Self::Declined | Self::Cancelled => None,
        }
    }

    /// What was filled in as a type, whose `&str` fields borrow from the answer; nothing if the user
    /// did not accept. A field that need not be filled in is an `Option` in the type.
    ///
    /// A handler that asks may pass the error on: it becomes what the handler failed on.
    ///
    /// ```
    /// use tightwire::{Ask, Context, Elicitation, Field, Inputs, serde};
    ///
    /// #[derive(serde::Deserialize)]
    /// #[serde(crate = "tightwire::serde")]
    /// struct Table {
    ///     name: String,
    ///     guests: u8,
    /// }
    ///
    /// fn book(context: &Context<'_>) -> Result<String, Ask> {
    ///     let form = Elicitation::form("A table?")
    ///         .field("name", Field::text().required())
    ///         .field("guests", Field::integer().minimum(1.0).maximum(8.0).required());
    ///     let answers = context.ask(Inputs::new().elicit("table", form))?;
    ///     Ok(match answers.elicited("table").parse::<Table>()? {
    ///         Some(Table { name, guests }) => format!("A table for {guests} is booked for {name}"),
    ///         None => "No table was booked".to_owned(),
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`DeserializeError`] if it does not fit the type, though it fits the form: what is wrong, and
    /// in which field.
    pub fn parse<T: Deserialize<'a>>(self) -> Result<Option<T>, DeserializeError> {
        self.content().map(Object::deserialize).transpose()
    }

    /// The name of what became of it: `accept`, `decline` or `cancel`.
    #[must_use]
    pub fn action(self) -> &'static str {
        match self {
            Self::Accepted(_) => "accept",
            Self::Declined => "decline",
            Self::Cancelled => "cancel",
        }
    }
}

/// A message that a model wrote.
#[derive(Clone, Copy, Debug)]
pub struct Sampled<'a> {
    message: Object<'a>,
}

impl<'a> Sampled<'a> {
    /// The text of the message: of its first content that is one.
    #[must_use]
    pub fn text(&self) -> Option<&'a str> {
        self.contents()
            .find_map(|content| content.as_object()?.find("text")?.as_str())
    }

    /// The text of the message as a type, for a model that was told to write JSON and nothing else.
    ///
    /// # Errors
    ///
    /// [`DeserializeError`] if the message has no text, if that is not JSON, or if it does not fit
    /// the type: what is wrong, and where.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, DeserializeError> {
        let text = self.text();
        let text = text.ok_or_else(|| Error::custom("the message has no text"))?;
        with_root(text, |root| {
            root.deserialize().map_err(|error| error.to_string())
        })
        .map_err(Error::custom)
    }

    /// The contents of the message, one or several.
    pub fn contents(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let content = self.message.find("content");
        let several = content.and_then(Value::as_array);
        let one = content.filter(|_| several.is_none());
        one.into_iter().chain(several.into_iter().flatten())
    }

    /// The name of the model.
    #[must_use]
    pub fn model(&self) -> &'a str {
        self.member("model").unwrap_or_default()
    }

    /// Why the model stopped.
    #[must_use]
    pub fn stop_reason(&self) -> Option<&'a str> {
        self.member("stopReason")
    }

    fn member(&self, name: &str) -> Option<&'a str> {
        self.message.find(name).and_then(Value::as_str)
    }
}

/// An answer that is of no use to the handler: it fails on it, and says so.
impl From<DeserializeError> for Ask {
    fn from(error: DeserializeError) -> Self {
        Self::failed(format!("the client's answer cannot be used: {error}"))
    }
}
