//! [`Value`]: the borrowed view of a JSON value in a parsed line.
//!
//! A value is a place on the parser's tape. It is `Copy`, costs nothing to make, and its strings
//! are slices of the line, valid as long as the [`Document`](crate::Document) is.

use std::fmt;

use serde::Deserialize;
use simd_json::{Node, StaticNode};

use crate::{de::DeserializeError, write::JsonWriter};

/// A JSON value in a parsed line.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    /// The value's node, what belongs to it, and whatever follows on the tape.
    nodes: &'a [Node<'a>],
}

/// What a [`Value`] is, in JSON's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

/// A JSON number. Integers beyond 64 bits are floats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer that is not negative.
    Unsigned(u64),
    /// A negative integer. `-0` is 0 here.
    Signed(i64),
    /// Written with a fraction or an exponent, or an integer beyond 64 bits. Always finite.
    Float(f64),
}

impl Value<'static> {
    /// The object without members: what absent parameters and arguments mean.
    pub const EMPTY_OBJECT: Self = Self {
        nodes: &[Node::Object { len: 0, count: 0 }],
    };
}

impl<'a> Value<'a> {
    pub(crate) fn new(nodes: &'a [Node<'a>]) -> Self {
        Self { nodes }
    }

    /// What the value is.
    #[must_use]
    #[inline]
    pub fn kind(self) -> Kind {
        match self.node() {
            Node::String(_) => Kind::String,
            Node::Object { .. } => Kind::Object,
            Node::Array { .. } => Kind::Array,
            Node::Static(StaticNode::Null) => Kind::Null,
            Node::Static(StaticNode::Bool(_)) => Kind::Boolean,
            Node::Static(_) => Kind::Number,
        }
    }

    /// The string, if it is one.
    #[must_use]
    #[inline]
    pub fn as_str(self) -> Option<&'a str> {
        match self.nodes.first() {
            Some(Node::String(string)) => Some(string),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    #[must_use]
    #[inline]
    pub fn as_bool(self) -> Option<bool> {
        match self.node() {
            Node::Static(StaticNode::Bool(value)) => Some(value),
            _ => None,
        }
    }

    /// The number, if it is one.
    #[must_use]
    #[inline]
    pub fn as_number(self) -> Option<Number> {
        match self.node() {
            Node::Static(StaticNode::U64(value)) => Some(Number::Unsigned(value)),
            Node::Static(StaticNode::I64(value)) => Some(Number::Signed(value)),
            Node::Static(StaticNode::F64(value)) => Some(Number::Float(value)),
            _ => None,
        }
    }

    /// The number as a float, if it is one; the nearest float for integers above 2^53.
    #[must_use]
    #[inline]
    #[allow(clippy::cast_precision_loss)]
    pub fn as_f64(self) -> Option<f64> {
        self.as_number().map(Number::as_f64)
    }

    /// The number as an integer, if it is a whole number that fits: `2.0` does.
    #[must_use]
    #[inline]
    pub fn as_i64(self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// The number as an integer, if it is a whole number, not negative, that fits.
    #[must_use]
    #[inline]
    pub fn as_u64(self) -> Option<u64> {
        self.as_number().and_then(Number::as_u64)
    }

    /// Whether it is null.
    #[must_use]
    #[inline]
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// The members, if it is an object.
    #[must_use]
    #[inline]
    pub fn as_object(self) -> Option<Object<'a>> {
        match self.nodes.split_first() {
            Some((Node::Object { len, .. }, members)) => Some(Object {
                nodes: members,
                len: *len,
            }),
            _ => None,
        }
    }

    /// The items, if it is an array.
    #[must_use]
    #[inline]
    pub fn as_array(self) -> Option<Array<'a>> {
        match self.nodes.split_first() {
            Some((Node::Array { len, .. }, items)) => Some(Array {
                nodes: items,
                len: *len,
            }),
            _ => None,
        }
    }

    /// How many nodes the value takes in memory: one for itself, and for each name and value in it.
    #[must_use]
    #[inline]
    pub fn node_count(self) -> usize {
        Self::extent(self.nodes)
    }

    /// Reads the value into a type, whose `&str` fields borrow from the line.
    ///
    /// # Errors
    ///
    /// [`DeserializeError`] if the value does not fit the type.
    pub fn deserialize<T: Deserialize<'a>>(self) -> Result<T, DeserializeError> {
        T::deserialize(self)
    }

    /// The id, method and params of a request as nearly everyone writes it, these members in this
    /// order and no other: told at one look at the tape.
    #[inline]
    pub(crate) fn usual_request(self) -> Option<(Value<'a>, &'a str, Object<'a>)> {
        let [
            Node::Object { len: 4, .. },
            Node::String("jsonrpc"),
            Node::String("2.0"),
            Node::String("id"),
            // An array or object here has what belongs to it next, and is no id.
            _,
            Node::String("method"),
            Node::String(method),
            Node::String("params"),
            Node::Object { len, .. },
            members @ ..,
        ] = self.nodes
        else {
            return None;
        };
        let params = Object {
            nodes: members,
            len: *len,
        };
        Some((Value::new(&self.nodes[4..]), method, params))
    }

    #[inline]
    fn node(self) -> Node<'a> {
        self.nodes
            .first()
            .copied()
            .unwrap_or(Node::Static(StaticNode::Null))
    }

    /// How many nodes of the tape are left from this one on: tells where the value stands.
    pub(crate) fn nodes_left(self) -> usize {
        self.nodes.len()
    }

    /// How many nodes the value takes on the tape.
    #[inline]
    fn extent(nodes: &[Node<'_>]) -> usize {
        match nodes.first() {
            Some(Node::Object { count, .. } | Node::Array { count, .. }) => count + 1,
            _ => 1,
        }
    }
}

impl Kind {
    /// The JSON Schema name of the type.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

impl Number {
    /// The nearest float.
    #[must_use]
    #[inline]
    #[allow(clippy::cast_precision_loss)]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Unsigned(value) => value as f64,
            Self::Signed(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// The integer, if it is a whole number that fits.
    #[must_use]
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Self::Unsigned(value) => value.try_into().ok(),
            Self::Signed(value) => Some(value),
            Self::Float(value) => {
                let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0)
                    .contains(&value)
                    && value.fract() == 0.0;
                fits.then_some(value as i64)
            }
        }
    }

    /// The integer, if it is a whole number, not negative, that fits.
    #[must_use]
    #[inline]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn as_u64(self) -> Option<u64> {
        match self {
            Self::Unsigned(value) => Some(value),
            Self::Signed(value) => value.try_into().ok(),
            Self::Float(value) => {
                let fits =
                    (0.0..18_446_744_073_709_551_616.0).contains(&value) && value.fract() == 0.0;
                fits.then_some(value as u64)
            }
        }
    }

    /// Whether it is a whole number, as JSON Schema's `integer` means it.
    #[must_use]
    #[inline]
    pub fn is_integer(self) -> bool {
        match self {
            Self::Unsigned(_) | Self::Signed(_) => true,
            Self::Float(value) => value.fract() == 0.0,
        }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut json = Vec::new();
        JsonWriter::new(&mut json).value(*self);
        f.write_str(&String::from_utf8_lossy(&json))
    }
}

/// The members of a JSON object, in the order they were written, repeated names included.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a> {
    nodes: &'a [Node<'a>],
    len: usize,
}

impl<'a> Object<'a> {
    /// The object without members.
    pub const EMPTY: Object<'static> = Object { nodes: &[], len: 0 };

    /// The number of members.
    #[must_use]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The value of the first member with this name.
    #[must_use]
    pub fn find(self, name: &str) -> Option<Value<'a>> {
        self.iter()
            .find_map(|(key, value)| (key == name).then_some(value))
    }

    /// Reads the object into a type, whose `&str` fields borrow from the line.
    ///
    /// # Errors
    ///
    /// [`DeserializeError`] if the object does not fit the type.
    pub fn deserialize<T: Deserialize<'a>>(self) -> Result<T, DeserializeError> {
        T::deserialize(self)
    }

    /// The names of the members, each as a value that is a string.
    pub fn names(self) -> impl Iterator<Item = Value<'a>> {
        let mut members = self.iter();
        std::iter::from_fn(move || {
            let name = members.nodes.first().map(std::slice::from_ref);
            members.next()?;
            name.map(Value::new)
        })
    }

    /// The members.
    #[inline]
    pub fn iter(self) -> ObjectIter<'a> {
        ObjectIter {
            nodes: self.nodes,
            left: self.len,
        }
    }
}

impl<'a> IntoIterator for Object<'a> {
    type Item = (&'a str, Value<'a>);
    type IntoIter = ObjectIter<'a>;

    fn into_iter(self) -> ObjectIter<'a> {
        self.iter()
    }
}

/// Iterator over the members of an [`Object`].
#[derive(Clone, Debug)]
pub struct ObjectIter<'a> {
    nodes: &'a [Node<'a>],
    left: usize,
}

impl<'a> Iterator for ObjectIter<'a> {
    type Item = (&'a str, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let [Node::String(key), first, after @ ..] = self.nodes else {
            return None;
        };
        let value = &self.nodes[1..];
        self.nodes = match first {
            Node::Object { count, .. } | Node::Array { count, .. } => {
                after.get(*count..).unwrap_or_default()
            }
            _ => after,
        };
        Some((key, Value::new(value)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for ObjectIter<'_> {}

/// The items of a JSON array.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a> {
    nodes: &'a [Node<'a>],
    len: usize,
}

impl<'a> Array<'a> {
    /// The number of items.
    #[must_use]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The items.
    #[inline]
    pub fn iter(self) -> ArrayIter<'a> {
        ArrayIter {
            nodes: self.nodes,
            left: self.len,
        }
    }
}

impl<'a> IntoIterator for Array<'a> {
    type Item = Value<'a>;
    type IntoIter = ArrayIter<'a>;

    fn into_iter(self) -> ArrayIter<'a> {
        self.iter()
    }
}

/// Iterator over the items of an [`Array`].
#[derive(Clone, Debug)]
pub struct ArrayIter<'a> {
    nodes: &'a [Node<'a>],
    left: usize,
}

impl<'a> Iterator for ArrayIter<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let nodes = self.nodes;
        self.nodes = nodes.get(Value::extent(nodes)..).unwrap_or_default();
        Some(Value::new(nodes))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for ArrayIter<'_> {}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::{LINE_PADDING, Line, Parser};

    fn with<T>(text: &str, check: impl FnOnce(Value<'_>) -> T) -> T {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(text.len() + LINE_PADDING, 0);
        let mut line = Line::padded(&mut bytes, text.len()).unwrap();
        let mut parser = Parser::default();
        let document = parser.parse(&mut line).unwrap();
        check(document.root())
    }

    #[test]
    fn members_and_items_are_found_behind_nested_ones() {
        with(
            r#"{"a":{"x":[1,2,{"y":null}]},"b":[[],{},"c"],"d":true}"#,
            |value| {
                let object = value.as_object().unwrap();
                assert_eq!(object.len(), 3);
                assert_eq!(value.node_count(), 17);
                assert_eq!(object.find("d").map(Value::node_count), Some(1));
                let keys: Vec<_> = object.iter().map(|(key, _)| key).collect();
                assert_eq!(keys, ["a", "b", "d"]);
                assert_eq!(object.find("d").and_then(Value::as_bool), Some(true));
                let items: Vec<_> = object
                    .find("b")
                    .unwrap()
                    .as_array()
                    .unwrap()
                    .iter()
                    .collect();
                assert_eq!(items.len(), 3);
                assert_eq!(items[1].kind(), Kind::Object);
                assert_eq!(items[2].as_str(), Some("c"));
                assert!(object.find("x").is_none());
            },
        );
    }

    #[test]
    fn numbers_keep_their_kind_and_whole_floats_are_integers() {
        with("[0,-1,2.0,2.5,18446744073709551615,1e20,-0]", |value| {
            let numbers: Vec<_> = value
                .as_array()
                .unwrap()
                .iter()
                .map(|value| (value.as_i64(), value.as_u64(), value.as_f64().unwrap()))
                .collect();
            assert_eq!(
                numbers,
                [
                    (Some(0), Some(0), 0.0),
                    (Some(-1), None, -1.0),
                    (Some(2), Some(2), 2.0),
                    (None, None, 2.5),
                    (None, Some(u64::MAX), 1.844_674_407_370_955_2e19),
                    (None, None, 1e20),
                    (Some(0), Some(0), 0.0),
                ]
            );
        });
    }

    #[test]
    fn types_borrow_from_the_line() {
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Unit {
            C,
            F,
        }
        #[derive(Deserialize)]
        struct Forecast<'a> {
            location: &'a str,
            days: Option<u8>,
            unit: Option<Unit>,
            #[serde(default)]
            tags: Vec<&'a str>,
        }
        with(
            r#"{"location":"Os\u006co","days":3.0,"tags":["a","b"],"more":{"x":[1]},"unit":"f"}"#,
            |value| {
                let forecast: Forecast<'_> = value.deserialize().unwrap();
                assert_eq!(forecast.location, "Oslo");
                assert_eq!(forecast.days, Some(3));
                assert_eq!(forecast.tags, ["a", "b"]);
                assert!(matches!(forecast.unit, Some(Unit::F)));
            },
        );
        with(r#"{"location":null}"#, |value| {
            assert!(value.deserialize::<Forecast<'_>>().is_err());
        });
        with(r#"{"location":"x","unit":"c","days":2.5}"#, |value| {
            assert!(value.deserialize::<Forecast<'_>>().is_err());
        });
        let _ = Unit::C;
    }
}
