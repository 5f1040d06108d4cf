//! What a client says it can do.
//!
//! Specification: 2026-07-28, `basic/index`, Capabilities; 2025-11-25, `basic/lifecycle`.

use tightwire_codec::{JsonWriter, Object};

/// What the client of a request declared: with the request itself from 2026-07-28 on, in the
/// handshake before. To say what a request needs, see
/// [`Context::require`](crate::Context::require), it is put together from nothing:
///
/// ```
/// use tightwire::{Ask, ClientCapabilities, Context};
///
/// fn plan(context: &Context<'_>) -> Result<String, Ask> {
///     context.require(ClientCapabilities::default().with_roots().with_elicitation_form())?;
///     // …
///     Ok("It is planned".to_owned())
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// It can ask its user to fill in a form.
    pub elicitation_form: bool,
    /// It can ask its user to open a URL.
    pub elicitation_url: bool,
    /// It can have a model write a message.
    pub sampling: bool,
    /// That model can be given tools.
    pub sampling_tools: bool,
    /// That model can be given context of the client's servers.
    pub sampling_context: bool,
    /// It can tell its roots.
    pub roots: bool,
}

impl ClientCapabilities {
    /// Adds that it can ask its user to fill in a form.
    #[must_use]
    pub const fn with_elicitation_form(mut self) -> Self {
        self.elicitation_form = true;
        self
    }

    /// Adds that it can ask its user to open a URL.
    #[must_use]
    pub const fn with_elicitation_url(mut self) -> Self {
        self.elicitation_url = true;
        self
    }

    /// Adds that it can have a model write a message.
    #[must_use]
    pub const fn with_sampling(mut self) -> Self {
        self.sampling = true;
        self
    }

    /// Adds that it can have a model write a message with tools.
    #[must_use]
    pub const fn with_sampling_tools(mut self) -> Self {
        self.sampling_tools = true;
        self
    }

    /// Adds that it can have a model write a message with context of its servers.
    #[must_use]
    pub const fn with_sampling_context(mut self) -> Self {
        self.sampling_context = true;
        self
    }

    /// Adds that it can tell its roots.
    #[must_use]
    pub const fn with_roots(mut self) -> Self {
        self.roots = true;
        self
    }

    /// Reads the capabilities that are declared with an object, as all are.
    pub(crate) fn read(declared: Object<'_>) -> Self {
        let part = |name: &str| declared.find(name).and_then(|value| value.as_object());
        let has = |part: Option<Object<'_>>, name: &str| {
            part.and_then(|part| part.find(name))
                .is_some_and(|value| value.as_object().is_some())
        };
        let elicitation = part("elicitation");
        let sampling = part("sampling");
        let url = has(elicitation, "url");
        Self {
            // An empty object means forms, as it did before there were modes.
            elicitation_form: elicitation.is_some() && (has(elicitation, "form") || !url),
            elicitation_url: url,
            sampling: sampling.is_some(),
            sampling_tools: has(sampling, "tools"),
            sampling_context: has(sampling, "context"),
            roots: part("roots").is_some(),
        }
    }

    /// What of this the other lacks.
    pub(crate) fn lacking_in(self, other: Self) -> Self {
        Self {
            elicitation_form: self.elicitation_form && !other.elicitation_form,
            elicitation_url: self.elicitation_url && !other.elicitation_url,
            sampling: self.sampling && !other.sampling,
            sampling_tools: self.sampling_tools && !other.sampling_tools,
            sampling_context: self.sampling_context && !other.sampling_context,
            roots: self.roots && !other.roots,
        }
    }

    /// This and the other.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            elicitation_form: self.elicitation_form || other.elicitation_form,
            elicitation_url: self.elicitation_url || other.elicitation_url,
            sampling: self.sampling || other.sampling,
            sampling_tools: self.sampling_tools || other.sampling_tools,
            sampling_context: self.sampling_context || other.sampling_context,
            roots: self.roots || other.roots,
        }
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Writes them as a client would declare them.
    pub(crate) fn write(self, writer: &mut JsonWriter<'_>) {
        let groups = [
            (
                "elicitation",
                self.elicitation_form || self.elicitation_url,
                [
                    ("form", self.elicitation_form),
                    ("url", self.elicitation_url),
                ],
            ),
            (
                "sampling",
                self.sampling || self.sampling_tools || self.sampling_context,
                [
                    ("tools", self.sampling_tools),
                    ("context", self.sampling_context),
                ],
            ),
            ("roots", self.roots, [("", false), ("", false)]),
        ];
        let declared = groups.into_iter().filter(|(_, has, _)| *has);
        writer.raw(b"{");
        writer.items(declared, |writer, (name, _, parts)| {
            writer.key(name);
            writer.raw(b"{");
            let parts = parts.into_iter().filter(|(_, has)| *has);
            writer.items(parts, |writer, (part, _)| {
                writer.key(part);
                writer.raw(b"{}");
            });
            writer.raw(b"}");
        });
        writer.raw(b"}");
    }

    /// Names them in a sentence.
    pub(crate) fn names(self) -> String {
        let all = [
            ("elicitation by form", self.elicitation_form),
            ("elicitation by URL", self.elicitation_url),
            ("sampling", self.sampling),
            ("sampling with tools", self.sampling_tools),
            ("sampling with context", self.sampling_context),
            ("roots", self.roots),
        ];
        let names: Vec<&str> = all
            .iter()
            .filter(|(_, has)| *has)
            .map(|(name, _)| *name)
            .collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use tightwire_codec::{LINE_PADDING, Line, Parser};

    use super::*;

    fn read(json: &str) -> ClientCapabilities {
        let mut bytes = json.as_bytes().to_vec();
        bytes.resize(json.len() + LINE_PADDING, 0);
        let mut line = Line::padded(&mut bytes, json.len()).unwrap();
        let mut parser = Parser::default();
        let document = parser.parse(&mut line).unwrap();
        ClientCapabilities::read(document.root().as_object().unwrap())
    }

    #[test]
    fn an_empty_elicitation_is_one_of_forms() {
        assert!(read(r#"{"elicitation":{}}"#).elicitation_form);
        assert!(!read(r#"{"elicitation":{}}"#).elicitation_url);
        let url = read(r#"{"elicitation":{"url":{}}}"#);
        assert!(url.elicitation_url && !url.elicitation_form);
        let both = read(r#"{"elicitation":{"form":{},"url":{}}}"#);
        assert!(both.elicitation_url && both.elicitation_form);
        assert!(read(r#"{"elicitation":true,"sampling":null,"roots":[]}"#).is_empty());
    }

    #[test]
    fn each_setter_sets_its_own() {
        let none = ClientCapabilities::default();
        for (set, names) in [
            (none.with_elicitation_form(), "elicitation by form"),
            (none.with_elicitation_url(), "elicitation by URL"),
            (none.with_sampling(), "sampling"),
            (none.with_sampling_tools(), "sampling with tools"),
            (none.with_sampling_context(), "sampling with context"),
            (none.with_roots(), "roots"),
            (none.with_sampling().with_roots(), "sampling, roots"),
        ] {
            assert_eq!(set.names(), names);
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for json in [
            "{}",
            r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{}}"#,
            r#"{"sampling":{}}"#,
            r#"{"elicitation":{"url":{}},"roots":{}}"#,
        ] {
            let capabilities = read(json);
            let mut out = Vec::new();
            capabilities.write(&mut JsonWriter::new(&mut out));
            assert_eq!(read(std::str::from_utf8(&out).unwrap()), capabilities);
        }
    }
}
