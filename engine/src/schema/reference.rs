//! `$ref`: where in the schema a reference points. Nothing outside it is ever looked at.
//!
//! A subschema with an `$id` is a resource of its own: a pointer in it starts there and not at
//! the root of the whole.
//!
//! JSON Schema Core 2020-12, sections 8.2.1 and 9.2; RFC 6901, section 6.

use tightwire_codec::Value;

/// A place in the schema that is being compiled.
#[derive(Clone, Debug)]
pub(super) struct Place<'a> {
    /// From the root of the whole, in the one way to write it, so that each place has one.
    pub(super) pointer: String,
    /// How many subschemas are around it; none are, for what is referred to.
    pub(super) depth: usize,
    /// The resource it is in.
    resource: Resource<'a>,
}

#[derive(Clone, Copy, Debug)]
struct Resource<'a> {
    value: Value<'a>,
    /// How many bytes of the pointer lead to it.
    pointer_len: usize,
}

impl<'a> Place<'a> {
    pub(super) fn root(value: Value<'a>) -> Self {
        Self {
            pointer: "#".to_owned(),
            depth: 0,
            resource: Resource {
                value,
                pointer_len: 1,
            },
        }
    }

    /// The place of a keyword of the subschema here, or of what is in it.
    pub(super) fn member(&self, name: &str) -> Self {
        Self {
            pointer: format!("{}/{}", self.pointer, escape(name)),
            ..*self
        }
    }

    /// The place of another keyword than the one here, of the same subschema.
    pub(super) fn beside(&self, keyword: &str) -> Self {
        let parent = self.pointer.rsplit_once('/').map(|(parent, _)| parent);
        Self {
            pointer: format!("{}/{keyword}", parent.unwrap_or(&self.pointer)),
            ..*self
        }
    }

    /// The place of an item of the list here.
    pub(super) fn item(&self, index: usize) -> Self {
        Self {
            pointer: format!("{}/{index}", self.pointer),
            ..*self
        }
    }

    /// The same, one subschema further down, for the subschema that is here.
    pub(super) fn enter(mut self, schema: Value<'a>) -> Self {
        self.depth += 1;
        self.pass(schema);
        self
    }

    /// Starts a resource, if this is the root of one.
    fn pass(&mut self, value: Value<'a>) {
        let id = value.as_object().and_then(|object| object.find("$id"));
        if id.and_then(Value::as_str).is_some() {
            let pointer_len = self.pointer.len();
            self.resource = Resource { value, pointer_len };
        }
    }

    /// What a `$ref` here points to, and its place.
    ///
    /// # Errors
    ///
    /// What is wrong with the reference, or cannot be done.
    pub(super) fn resolve(&self, reference: &str) -> Result<(Value<'a>, Self), String> {
        let fragment = reference.strip_prefix('#').ok_or_else(|| {
            format!("`{reference}` does not point into the schema itself, and nothing is fetched")
        })?;
        let pointer = percent_decode(fragment)
            .ok_or_else(|| format!("`{reference}` is no reference: its `%` stand for no text"))?;
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(format!(
                "`{reference}` refers to an `$anchor`, which cannot be done"
            ));
        }
        let mut place = Self {
            pointer: self.pointer[..self.resource.pointer_len].to_owned(),
            depth: 0,
            resource: self.resource,
        };
        let mut value = self.resource.value;
        for segment in pointer.split('/').skip(1) {
            let name = segment.replace("~1", "/").replace("~0", "~");
            let next = match (value.as_object(), value.as_array()) {
                (Some(object), _) => object.find(&name),
                (None, Some(array)) => index(&name).and_then(|index| array.iter().nth(index)),
                (None, None) => None,
            };
            value = next.ok_or_else(|| format!("there is no `{reference}`"))?;
            place = place.member(&name);
            place.pass(value);
        }
        Ok((value, place))
    }
}

/// An index of an array, as a pointer has it.
fn index(text: &str) -> Option<usize> {
    let is_canonical = text == "0" || text.starts_with(|first| matches!(first, '1'..='9'));
    text.parse().ok().filter(|_| is_canonical)
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The text with each `%41` replaced by the byte it stands for.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let value = digit()? * 16 + digit()?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
}
