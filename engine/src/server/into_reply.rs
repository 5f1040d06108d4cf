//! [`IntoReply`]: what a typed tool may return.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;

use super::reply::Reply;
use crate::model::content::Content;

/// What a typed tool may return.
///
/// A `Result` whose error displays makes the error a tool execution error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    label = "a tool does not return this",
    note = "return a text, a number, a `bool`, nothing, a `Content` or several, `Json` of a type, \
            or a `Result` of one of these; or write `Tool::new(name, handler)`"
)]
pub trait IntoReply {
    /// Answers the call.
    fn reply(self, reply: Reply<'_>);

    /// The schema of the structured content, for what has some: the tool declares it as its
    /// output schema.
    #[must_use]
    fn output_schema() -> Option<String> {
        None
    }
}

/// A value as structured content, whose type gives the tool its output schema.
///
/// ```
/// use tightwire::{Json, Tool, schemars, serde};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// #[serde(crate = "tightwire::serde")]
/// #[schemars(crate = "tightwire::schemars")]
/// struct Place {
///     city: String,
/// }
///
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// #[serde(crate = "tightwire::serde")]
/// #[schemars(crate = "tightwire::schemars")]
/// struct Weather {
///     /// In degrees Celsius.
///     temperature: f64,
/// }
///
/// let weather = Tool::typed("weather", |_: Place| Json(Weather { temperature: 22.5 }));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema> IntoReply for Json<T> {
    fn reply(self, reply: Reply<'_>) {
        reply.structured(&self.0);
    }

    fn output_schema() -> Option<String> {
        Some(schema_of::<T>(SchemaSettings::for_serialize))
    }
}

/// The contents, and the value as structured content.
impl<T: Serialize + JsonSchema> IntoReply for (Vec<Content>, Json<T>) {
    fn reply(self, reply: Reply<'_>) {
        let (contents, Json(value)) = self;
        reply.structured_with(&contents, &value);
    }

    fn output_schema() -> Option<String> {
        Json::<T>::output_schema()
    }
}

impl IntoReply for Content {
    fn reply(self, reply: Reply<'_>) {
        reply.contents(&[self]);
    }
}

impl IntoReply for Vec<Content> {
    fn reply(self, reply: Reply<'_>) {
        reply.contents(&self);
    }
}

impl<const N: usize> IntoReply for [Content; N] {
    fn reply(self, reply: Reply<'_>) {
        reply.contents(&self);
    }
}

/// No content at all.
impl IntoReply for () {
    fn reply(self, reply: Reply<'_>) {
        reply.contents(&[]);
    }
}

impl IntoReply for &str {
    fn reply(self, reply: Reply<'_>) {
        reply.text(self);
    }
}

impl IntoReply for String {
    fn reply(self, reply: Reply<'_>) {
        reply.text(&self);
    }
}

impl IntoReply for Cow<'_, str> {
    fn reply(self, reply: Reply<'_>) {
        reply.text(&self);
    }
}

impl IntoReply for f64 {
    fn reply(self, reply: Reply<'_>) {
        reply.number(self);
    }
}

/// In the shortest form that reads back as an `f32`.
impl IntoReply for f32 {
    fn reply(self, reply: Reply<'_>) {
        if self.is_finite() {
            reply.display(self);
        } else {
            reply.number(self.into());
        }
    }
}

impl<T: IntoReply, E: fmt::Display> IntoReply for Result<T, E> {
    fn reply(self, reply: Reply<'_>) {
        match self {
            Ok(value) => value.reply(reply),
            Err(error) => reply.error(error),
        }
    }

    fn output_schema() -> Option<String> {
        T::output_schema()
    }
}

macro_rules! display_into_reply {
    ($($type:ty)*) => {
        $(impl IntoReply for $type {
            fn reply(self, reply: Reply<'_>) {
                reply.display(self);
            }
        })*
    };
}

display_into_reply!(bool char i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

/// The JSON Schema of a type, without what only repeats what is known. `contract` says which
/// side of serde it is for.
pub(super) fn schema_of<T: JsonSchema>(contract: fn(SchemaSettings) -> SchemaSettings) -> String {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let generator = contract(settings).into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.remove("title");
    schema.as_value().to_string()
}
