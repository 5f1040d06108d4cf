//! Forms: what a server asks the user to fill in.
//!
//! A form is a flat object of primitive fields. Each revision has its kinds of fields; one that a
//! revision lacks is written in the way that revision has, if it has one.
//!
//! Specification: 2026-07-28, `client/elicitation`, Requested Schema.

use tightwire_codec::JsonWriter;

use crate::protocol::version::ProtocolVersion;

/// One field of a form.
///
/// What a kind of field does not have is left out where it is set, as each setter says; nothing
/// fails. What a user filled in is checked against the form, but for [`Field::format`].
///
/// ```
/// use tightwire::Field;
///
/// let age = Field::integer().title("Age").minimum(18.0).required();
/// let color = Field::choice(["red", "green"]).default_text("red");
/// let size = Field::titled_choice([("s", "Small"), ("l", "Large")]);
/// ```
#[derive(Clone, Debug)]
pub struct Field {
    kind: FieldKind,
    title: Option<String>,
    description: Option<String>,
    /// JSON.
    default: Option<String>,
    required: bool,
}

#[derive(Clone, Debug)]
enum FieldKind {
    Text {
        length_min: Option<u64>,
        length_max: Option<u64>,
        format: Option<TextFormat>,
    },
    Number {
        integer: bool,
        minimum: Option<f64>,
        maximum: Option<f64>,
    },
    Boolean,
    Choice {
        options: Vec<Choice>,
        style: ChoiceStyle,
    },
    Choices {
        options: Vec<Choice>,
        style: ChoiceStyle,
        items_min: Option<u64>,
        items_max: Option<u64>,
    },
}

#[derive(Clone, Debug)]
struct Choice {
    value: String,
    title: String,
}

/// How a choice is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChoiceStyle {
    Plain,
    Titled,
    /// With `enumNames`, as 2025-06-18 has it.
    Named,
}

/// What a text field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextFormat {
    /// An address for mail.
    Email,
    /// A URI.
    Uri,
    /// A date, as RFC 3339 writes it.
    Date,
    /// A date with a time, as RFC 3339 writes it.
    DateTime,
}

impl Field {
    /// A text.
    #[must_use]
    pub fn text() -> Self {
        Self::new(FieldKind::Text {
            length_min: None,
            length_max: None,
            format: None,
        })
    }

    /// A number.
    #[must_use]
    pub fn number() -> Self {
        Self::numeric(false)
    }

    /// A whole number.
    #[must_use]
    pub fn integer() -> Self {
        Self::numeric(true)
    }

    /// A yes or no.
    #[must_use]
    pub fn boolean() -> Self {
        Self::new(FieldKind::Boolean)
    }

    /// One of several texts.
    #[must_use]
    pub fn choice<T: Into<String>>(options: impl IntoIterator<Item = T>) -> Self {
        Self::new(FieldKind::Choice {
            options: plain(options),
            style: ChoiceStyle::Plain,
        })
    }

    /// One of several values, each with a title to be shown instead.
    #[must_use]
    pub fn titled_choice<V: Into<String>, T: Into<String>>(
        options: impl IntoIterator<Item = (V, T)>,
    ) -> Self {
        Self::new(FieldKind::Choice {
            options: titled(options),
            style: ChoiceStyle::Titled,
        })
    }

    /// The same, written with `enumNames`: the form that 2025-06-18 knows, which later revisions
    /// keep for its sake. [`Field::titled_choice`] is written so there by itself.
    #[must_use]
    pub fn named_choice<V: Into<String>, T: Into<String>>(
        options: impl IntoIterator<Item = (V, T)>,
    ) -> Self {
        Self::new(FieldKind::Choice {
            options: titled(options),
            style: ChoiceStyle::Named,
        })
    }

    /// Any number of several texts. From 2025-11-25 on.
    #[must_use]
    pub fn choices<T: Into<String>>(options: impl IntoIterator<Item = T>) -> Self {
        Self::new(FieldKind::Choices {
            options: plain(options),
            style: ChoiceStyle::Plain,
            items_min: None,
            items_max: None,
        })
    }

    /// Any number of several values, each with a title to be shown instead. From 2025-11-25 on.
    #[must_use]
    pub fn titled_choices<V: Into<String>, T: Into<String>>(
        options: impl IntoIterator<Item = (V, T)>,
    ) -> Self {
        Self::new(FieldKind::Choices {
            options: titled(options),
            style: ChoiceStyle::Titled,
            items_min: None,
            items_max: None,
        })
    }

    fn numeric(integer: bool) -> Self {
        Self::new(FieldKind::Number {
            integer,
            minimum: None,
            maximum: None,
        })
    }

    fn new(kind: FieldKind) -> Self {
        Self {
            kind,
            title: None,
            description: None,
            default: None,
            required: false,
        }
    }

    /// Sets the name that is shown.
    #[must_use]
    pub fn title(mut self, text: impl Into<String>) -> Self {
        self.title = Some(text.into());
        self
    }

    /// Sets the text that explains the field.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// The field must be filled in.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Sets the text that stands there at first: of a text or a choice. It is written as it is, also
    /// for a field of another kind, to which it is no answer.
    #[must_use]
    pub fn default_text(self, text: impl AsRef<str>) -> Self {
        self.default_json(|writer| writer.string(text.as_ref()))
    }

    /// Sets the number that stands there at first: of a number. It is written as it is, also for a
    /// field of another kind, to which it is no answer. Infinity and NaN, which JSON lacks, set none.
    #[must_use]
    pub fn default_number(self, number: f64) -> Self {
        if !number.is_finite() {
            return self;
        }
        self.default_json(|writer| write_number(writer, number))
    }

    /// Sets the answer that stands there at first: of a yes or no. It is written as it is, also for a
    /// field of another kind, to which it is no answer.
    #[must_use]
    pub fn default_boolean(self, value: bool) -> Self {
        self.default_json(|writer| writer.bool(value))
    }

    /// Sets the texts that are chosen at first: of [`Field::choices`] and [`Field::titled_choices`].
    /// They are written as they are, also for a field of another kind, to which they are no answer.
    #[must_use]
    pub fn default_texts<T: AsRef<str>>(self, texts: impl IntoIterator<Item = T>) -> Self {
        self.default_json(|writer| {
            writer.raw(b"[");
            writer.items(texts, |writer, text| {
                writer.string(text.as_ref());
            });
            writer.raw(b"]");
        })
    }

    /// Sets the least value of a number. On a field of another kind it is left out; infinity and NaN
    /// bound nothing.
    #[must_use]
    pub fn minimum(mut self, value: f64) -> Self {
        if let FieldKind::Number { minimum, .. } = &mut self.kind {
            *minimum = Some(value).filter(|value| value.is_finite());
        }
        self
    }

    /// Sets the greatest value of a number. On a field of another kind it is left out; infinity and
    /// NaN bound nothing.
    #[must_use]
    pub fn maximum(mut self, value: f64) -> Self {
        if let FieldKind::Number { maximum, .. } = &mut self.kind {
            *maximum = Some(value).filter(|value| value.is_finite());
        }
        self
    }

    /// Sets the least length: characters of a text, or how many are chosen of [`Field::choices`] and
    /// [`Field::titled_choices`]. On a field of another kind it is left out.
    #[must_use]
    pub fn length_min(mut self, length: u64) -> Self {
        match &mut self.kind {
            FieldKind::Text { length_min, .. } => *length_min = Some(length),
            FieldKind::Choices { items_min, .. } => *items_min = Some(length),
            _ => {}
        }
        self
    }

    /// Sets the greatest length: characters of a text, or how many are chosen of [`Field::choices`]
    /// and [`Field::titled_choices`]. On a field of another kind it is left out.
    #[must_use]
    pub fn length_max(mut self, length: u64) -> Self {
        match &mut self.kind {
            FieldKind::Text { length_max, .. } => *length_max = Some(length),
            FieldKind::Choices { items_max, .. } => *items_max = Some(length),
            _ => {}
        }
        self
    }

    /// Sets what a text holds. On a field of another kind it is left out.
    ///
    /// It tells the client how to ask, and is not asserted: an answer may hold anything that is a
    /// text of the right length, so parse it where that matters.
    #[must_use]
    pub fn format(mut self, value: TextFormat) -> Self {
        if let FieldKind::Text { format, .. } = &mut self.kind {
            *format = Some(value);
        }
        self
    }

    fn default_json(mut self, write: impl FnOnce(&mut JsonWriter<'_>)) -> Self {
        let mut bytes = Vec::new();
        write(&mut JsonWriter::new(&mut bytes));
        self.default = Some(String::from_utf8_lossy(&bytes).into_owned());
        self
    }

    pub(crate) fn is_required(&self) -> bool {
        self.required
    }

    /// Whether the revision has this kind of field.
    pub(crate) fn exists_in(&self, version: ProtocolVersion) -> bool {
        !matches!(self.kind, FieldKind::Choices { .. }) || version >= ProtocolVersion::V2025_11_25
    }

    /// Writes the schema of the field.
    pub(crate) fn write(&self, writer: &mut JsonWriter<'_>, version: ProtocolVersion) {
        writer.raw(b"{\"type\":");
        match &self.kind {
            FieldKind::Text {
                length_min,
                length_max,
                format,
            } => {
                writer.raw(b"\"string\"");
                integer(writer, "minLength", *length_min);
                integer(writer, "maxLength", *length_max);
                super::optional(writer, "format", format.map(TextFormat::as_str));
            }
            FieldKind::Number {
                integer,
                minimum,
                maximum,
            } => {
                writer.string(if *integer { "integer" } else { "number" });
                number(writer, "minimum", *minimum);
                number(writer, "maximum", *maximum);
            }
            FieldKind::Boolean => writer.raw(b"\"boolean\""),
            FieldKind::Choice { options, style } => {
                writer.raw(b"\"string\",");
                write_options(writer, options, *style, "oneOf", version);
            }
            FieldKind::Choices {
                options,
                style,
                items_min,
                items_max,
            } => {
                writer.raw(b"\"array\"");
                integer(writer, "minItems", *items_min);
                integer(writer, "maxItems", *items_max);
                writer.raw(b",\"items\":{");
                if *style == ChoiceStyle::Plain {
                    writer.raw(b"\"type\":\"string\",");
                }
                write_options(writer, options, *style, "anyOf", version);
                writer.raw(b"}");
            }
        }
        super::optional(writer, "title", self.title.as_deref());
        super::optional(writer, "description", self.description.as_deref());
        // 2025-06-18 has a default for booleans alone.
        let has_default =
            version >= ProtocolVersion::V2025_11_25 || matches!(self.kind, FieldKind::Boolean);
        if let Some(default) = self.default.as_ref().filter(|_| has_default) {
            writer.raw(b",\"default\":");
            writer.raw(default.as_bytes());
        }
        writer.raw(b"}");
    }
}

impl TextFormat {
    fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Date => "date",
            Self::DateTime => "date-time",
        }
    }
}

fn plain<T: Into<String>>(options: impl IntoIterator<Item = T>) -> Vec<Choice> {
    let choice = |value: T| Choice {
        value: value.into(),
        title: String::new(),
    };
    options.into_iter().map(choice).collect()
}

fn titled<V: Into<String>, T: Into<String>>(
    options: impl IntoIterator<Item = (V, T)>,
) -> Vec<Choice> {
    let choice = |(value, title): (V, T)| Choice {
        value: value.into(),
        title: title.into(),
    };
    options.into_iter().map(choice).collect()
}

/// Writes the options of a choice; `any` is the keyword under which titled ones stand.
fn write_options(
    writer: &mut JsonWriter<'_>,
    options: &[Choice],
    style: ChoiceStyle,
    any: &str,
    version: ProtocolVersion,
) {
    let strings = |writer: &mut JsonWriter<'_>, name: &str, text: fn(&Choice) -> &str| {
        writer.key(name);
        writer.raw(b"[");
        writer.items(options.iter(), |writer, option| {
            writer.string(text(option));
        });
        writer.raw(b"]");
    };
    let named = style == ChoiceStyle::Named
        || (style == ChoiceStyle::Titled && version < ProtocolVersion::V2025_11_25);
    if style == ChoiceStyle::Plain || named {
        strings(writer, "enum", |option| &option.value);
        if named {
            writer.raw(b",");
            strings(writer, "enumNames", |option| &option.title);
        }
        return;
    }
    writer.key(any);
    writer.raw(b"[");
    writer.items(options.iter(), |writer, option| {
        writer.raw(b"{\"const\":");
        writer.string(&option.value);
        writer.raw(b",\"title\":");
        writer.string(&option.title);
        writer.raw(b"}");
    });
    writer.raw(b"]");
}

fn integer(writer: &mut JsonWriter<'_>, name: &str, value: Option<u64>) {
    if let Some(value) = value {
        writer.raw(b",");
        writer.key(name);
        writer.u64(value);
    }
}

fn number(writer: &mut JsonWriter<'_>, name: &str, value: Option<f64>) {
    if let Some(value) = value {
        writer.raw(b",");
        writer.key(name);
        write_number(writer, value);
    }
}

/// Writes a number, a whole one without a fraction.
pub(crate) fn write_number(writer: &mut JsonWriter<'_>, value: f64) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[allow(clippy::cast_possible_truncation)]
        writer.i64(value as i64);
    } else {
        writer.f64(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(field: &Field, version: ProtocolVersion) -> String {
        let mut bytes = Vec::new();
        field.write(&mut JsonWriter::new(&mut bytes), version);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_bound_that_is_no_number_is_none() {
        let field = Field::number()
            .minimum(f64::NAN)
            .maximum(f64::INFINITY)
            .default_number(f64::NEG_INFINITY);
        assert_eq!(
            written(&field, ProtocolVersion::LATEST),
            r#"{"type":"number"}"#
        );
    }

    #[test]
    fn each_kind_is_written_as_its_revision_has_it() {
        let latest = ProtocolVersion::LATEST;
        let old = ProtocolVersion::V2025_06_18;
        let cases = [
            (
                Field::text()
                    .length_min(1)
                    .length_max(9)
                    .format(TextFormat::DateTime),
                latest,
                r#"{"type":"string","minLength":1,"maxLength":9,"format":"date-time"}"#,
            ),
            (
                Field::number()
                    .minimum(0.5)
                    .maximum(2.0)
                    .default_number(95.5),
                latest,
                r#"{"type":"number","minimum":0.5,"maximum":2,"default":95.5}"#,
            ),
            (
                Field::integer()
                    .title("Age")
                    .description("In years")
                    .default_number(30.0),
                old,
                r#"{"type":"integer","title":"Age","description":"In years"}"#,
            ),
            (
                Field::boolean().default_boolean(true),
                old,
                r#"{"type":"boolean","default":true}"#,
            ),
            (
                Field::choice(["a", "b"]).default_text("a"),
                latest,
                r#"{"type":"string","enum":["a","b"],"default":"a"}"#,
            ),
            (
                Field::titled_choice([("a", "A")]),
                latest,
                r#"{"type":"string","oneOf":[{"const":"a","title":"A"}]}"#,
            ),
            (
                Field::titled_choice([("a", "A")]),
                old,
                r#"{"type":"string","enum":["a"],"enumNames":["A"]}"#,
            ),
            (
                Field::named_choice([("a", "A")]),
                latest,
                r#"{"type":"string","enum":["a"],"enumNames":["A"]}"#,
            ),
            (
                Field::choices(["a"])
                    .length_min(1)
                    .length_max(2)
                    .default_texts(["a"]),
                latest,
                r#"{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a"]},"default":["a"]}"#,
            ),
            (
                Field::titled_choices([("a", "A")]),
                latest,
                r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#,
            ),
        ];
        for (field, version, expected) in cases {
            assert_eq!(written(&field, version), expected);
        }
        assert!(!Field::choices(["a"]).exists_in(old));
        assert!(Field::choice(["a"]).exists_in(old));
    }
}
