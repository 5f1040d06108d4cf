//! A serde `Deserializer` over [`Value`] and [`Object`]: how typed arguments are read.
//!
//! Strings are lent to the type (`&str` fields borrow from the line). A whole float is taken
//! where an integer is wanted, since JSON does not tell `2.0` from `2`. Where serde keeps a value to
//! look at it again (in enums that are tagged within, or untagged, and in what is flattened) nobody
//! knows yet what is wanted, so `2.0` stays a float there, and is refused for an integer. The names
//! of members are read into numbers and booleans where a map has such keys, as serde_json reads them.

use std::fmt;

use serde::{
    Deserializer,
    de::{
        self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
        Visitor,
    },
    forward_to_deserialize_any,
};

use crate::value::{ArrayIter, Kind, Number, Object, ObjectIter, Value};

/// A JSON value does not fit the type it was to be read into.
///
/// It says where, as a path, and what is wrong there: `items[2].name: invalid type: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeserializeError {
    /// Empty for the value as a whole.
    path: String,
    message: String,
}

impl DeserializeError {
    /// The same, of the member of this name, or of the item of this index in brackets.
    #[cold]
    fn within(mut self, place: &str) -> Self {
        let is_name = !self.path.is_empty() && !self.path.starts_with('[');
        let dot = if is_name { "." } else { "" };
        self.path = format!("{place}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for DeserializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl std::error::Error for DeserializeError {}

impl de::Error for DeserializeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            path: String::new(),
            message: message.to_string(),
        }
    }
}

macro_rules! integers {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
            match self.as_number() {
                Some(Number::Float(_)) => match (self.as_i64(), self.as_u64()) {
                    (Some(value), _) => visitor.visit_i64(value),
                    (None, Some(value)) => visitor.visit_u64(value),
                    (None, None) => self.deserialize_any(visitor),
                },
                _ => self.deserialize_any(visitor),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = DeserializeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        if let Some(string) = self.as_str() {
            return visitor.visit_borrowed_str(string);
        }
        if let Some(object) = self.as_object() {
            return object.deserialize_any(visitor);
        }
        if let Some(array) = self.as_array() {
            return visitor.visit_seq(Items {
                items: array.iter(),
                index: 0,
            });
        }
        if let Some(value) = self.as_bool() {
            return visitor.visit_bool(value);
        }
        match self.as_number() {
            Some(Number::Unsigned(value)) => visitor.visit_u64(value),
            Some(Number::Signed(value)) => visitor.visit_i64(value),
            Some(Number::Float(value)) => visitor.visit_f64(value),
            None => visitor.visit_unit(),
        }
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        if self.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        if let Some(variant) = self.as_str() {
            return visitor.visit_enum(variant.into_deserializer());
        }
        match self.as_object() {
            Some(object) => object.deserialize_enum(name, variants, visitor),
            None => Err(no_variant(unexpected(self))),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}

impl<'de> IntoDeserializer<'de, DeserializeError> for Value<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Object<'de> {
    type Error = DeserializeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_map(Members {
            members: self.iter(),
            name: "",
            value: None,
        })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        match (self.len(), self.iter().next()) {
            (1, Some((variant, value))) => visitor.visit_enum(Variant { variant, value }),
            _ => Err(no_variant(de::Unexpected::Map)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier
    }
}

fn no_variant(found: de::Unexpected<'_>) -> DeserializeError {
    de::Error::invalid_type(found, &"a string, or an object with one member")
}

fn unexpected(value: Value<'_>) -> de::Unexpected<'_> {
    match value.kind() {
        Kind::Null => de::Unexpected::Unit,
        Kind::Boolean => de::Unexpected::Bool(value.as_bool().unwrap_or_default()),
        Kind::Number => de::Unexpected::Float(value.as_f64().unwrap_or_default()),
        Kind::String => de::Unexpected::Str(value.as_str().unwrap_or_default()),
        Kind::Array => de::Unexpected::Seq,
        Kind::Object => de::Unexpected::Map,
    }
}

struct Members<'de> {
    members: ObjectIter<'de>,
    /// Of the member whose value is next.
    name: &'de str,
    value: Option<Value<'de>>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = DeserializeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DeserializeError> {
        let Some((key, value)) = self.members.next() else {
            return Ok(None);
        };
        (self.name, self.value) = (key, Some(value));
        seed.deserialize(Key(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DeserializeError> {
        let value = self.value.take();
        seed.deserialize(value.ok_or_else(|| de::Error::custom("value asked for before its key"))?)
            .map_err(|error: DeserializeError| error.within(self.name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

/// The name of a member, as the key of a map.
#[derive(Clone, Copy)]
struct Key<'de>(&'de str);

impl<'de> Key<'de> {
    fn as_str(self) -> de::value::BorrowedStrDeserializer<'de, DeserializeError> {
        de::value::BorrowedStrDeserializer::new(self.0)
    }

    /// The name as the number that it is written like.
    fn number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match parse_number(self.0) {
            Some(Number::Unsigned(value)) => visitor.visit_u64(value),
            Some(Number::Signed(value)) => visitor.visit_i64(value),
            Some(Number::Float(value)) => visitor.visit_f64(value),
            None => self.as_str().deserialize_any(visitor),
        }
    }
}

macro_rules! numeric_keys {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
            self.number(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = DeserializeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_borrowed_str(self.0)
    }

    numeric_keys! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.0.parse() {
            Ok(value) if is_number(self.0) => visitor.visit_i128(value),
            _ => self.number(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.0.parse() {
            Ok(value) if is_number(self.0) => visitor.visit_u128(value),
            _ => self.number(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.as_str().deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// The number that the whole text is, as JSON writes them.
fn parse_number(text: &str) -> Option<Number> {
    if !is_number(text) {
        return None;
    }
    // A negative zero is a float, as serde_json has it.
    match (text.parse(), text.parse()) {
        (Ok(value), _) => Some(Number::Unsigned(value)),
        (Err(_), Ok(value)) if value != 0 => Some(Number::Signed(value)),
        _ => {
            let value: f64 = text.parse().ok()?;
            value.is_finite().then_some(Number::Float(value))
        }
    }
}

fn is_number(text: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((text, exponent)) => (text, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (text, "0"),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_padded = whole.len() > 1 && whole.starts_with('0');
    is_digits(whole) && !is_padded && is_digits(fraction) && is_digits(exponent)
}

struct Items<'de> {
    items: ArrayIter<'de>,
    /// Of the next.
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = DeserializeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DeserializeError> {
        let Some(value) = self.items.next() else {
            return Ok(None);
        };
        let index = self.index;
        self.index += 1;
        seed.deserialize(value)
            .map(Some)
            .map_err(|error: DeserializeError| error.within(&format!("[{index}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Variant<'de> {
    variant: &'de str,
    value: Value<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = DeserializeError;
    type Variant = Value<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Value<'de>), DeserializeError> {
        let variant = de::value::BorrowedStrDeserializer::<DeserializeError>::new(self.variant);
        Ok((seed.deserialize(variant)?, self.value))
    }
}

impl<'de> VariantAccess<'de> for Value<'de> {
    type Error = DeserializeError;

    fn unit_variant(self) -> Result<(), DeserializeError> {
        serde::Deserialize::deserialize(self)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DeserializeError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.deserialize_any(visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fmt::Debug};

    use serde::Deserialize;

    use crate::{LINE_PADDING, Line, Parser};

    fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Option<T> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(text.len() + LINE_PADDING, 0);
        let mut line = Line::padded(&mut bytes, text.len()).unwrap();
        let mut parser = Parser::default();
        let document = parser.parse(&mut line).unwrap();
        document.root().deserialize().ok()
    }

    fn refused<T: for<'de> Deserialize<'de>>(text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(text.len() + LINE_PADDING, 0);
        let mut line = Line::padded(&mut bytes, text.len()).unwrap();
        let mut parser = Parser::default();
        let document = parser.parse(&mut line).unwrap();
        let refused = document.root().deserialize::<T>().err();
        refused.map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_whole_float_is_an_integer_where_one_is_wanted() {
        #[derive(Debug, PartialEq, Deserialize)]
        #[serde(tag = "kind")]
        enum Tagged {
            Side { length: f64 },
        }

        assert_eq!(read::<i32>("2.0"), Some(2));
        assert_eq!(read::<u128>("2.0"), Some(2));
        assert_eq!(read::<i128>("-2e3"), Some(-2000));
        assert_eq!(read::<u128>("18446744073709551615"), Some(u64::MAX.into()));
        // Of one beyond 64 bits the digits are lost.
        for refused in ["2.5", "18446744073709551616", "1e30"] {
            assert_eq!(read::<u128>(refused), None, "{refused}");
        }
        assert_eq!(read::<u128>("-2.0"), None);
        // What is kept as it was keeps that it was a float.
        assert_eq!(read("2.0"), Some(serde_json::json!(2.0)));
        let side = Tagged::Side { length: 2.0 };
        assert_eq!(read(r#"{"kind":"Side","length":2}"#), Some(side));
    }

    #[test]
    fn an_error_says_where_it_is() {
        type Orders = BTreeMap<String, Vec<BTreeMap<String, u8>>>;
        type Grid = Vec<Vec<u8>>;
        let told = "invalid type: string \"x\", expected u8";
        for (error, path) in [
            (refused::<Orders>(r#"{"a":[{},{"b":"x"}]}"#), "a[1].b: "),
            (refused::<Grid>(r#"[[],[1,"x"]]"#), "[1][1]: "),
            (refused::<u8>(r#""x""#), ""),
        ] {
            assert_eq!(error, format!("{path}{told}"));
        }
        #[derive(Debug, Deserialize)]
        #[allow(dead_code)]
        struct Table {
            guests: u8,
        }
        assert_eq!(refused::<Table>("{}"), "missing field `guests`");
        let within = refused::<Vec<Table>>("[{}]");
        assert_eq!(within, "[0]: missing field `guests`");
    }

    #[test]
    fn an_object_reads_as_the_value_that_it_is() {
        #[derive(Debug, PartialEq, Deserialize)]
        enum Shape {
            Side(u8),
        }
        #[derive(Debug, PartialEq, Deserialize)]
        struct Whole(BTreeMap<String, u8>);

        let text = r#"{"Side":2}"#;
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(text.len() + LINE_PADDING, 0);
        let mut line = Line::padded(&mut bytes, text.len()).unwrap();
        let mut parser = Parser::default();
        let document = parser.parse(&mut line).unwrap();
        let object = document.root().as_object().unwrap();
        assert_eq!(object.deserialize(), Ok(Shape::Side(2)));
        assert_eq!(object.deserialize(), Ok(Some(Shape::Side(2))));
        let whole = Whole(BTreeMap::from([("Side".to_owned(), 2)]));
        assert_eq!(object.deserialize(), Ok(whole));
        assert_eq!(object.deserialize(), Ok(serde_json::json!({ "Side": 2 })));
        let error = object.deserialize::<u8>().unwrap_err().to_string();
        assert_eq!(error, "invalid type: map, expected u8");
    }

    fn agrees<K: for<'de> Deserialize<'de> + Ord + Debug>(key: &str) {
        let text = format!("{{{key:?}:1}}");
        assert_eq!(
            read::<BTreeMap<K, u8>>(&text),
            serde_json::from_str(&text).ok(),
            "{} from {text}",
            std::any::type_name::<K>()
        );
    }

    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
    struct Number(u32);

    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
    enum Letter {
        A,
    }

    #[derive(Debug, Deserialize)]
    struct Float(f64);

    impl PartialEq for Float {
        fn eq(&self, other: &Self) -> bool {
            self.0.to_bits() == other.0.to_bits()
        }
    }
    impl Eq for Float {}
    impl PartialOrd for Float {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Float {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            self.0.total_cmp(&other.0)
        }
    }

    #[test]
    fn keys_are_read_as_serde_json_reads_them() {
        let keys = [
            "0",
            "1",
            "-1",
            "-0",
            "255",
            "256",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775808",
            "-170141183460469231731687303715884105728",
            "1.0",
            "1.5",
            "1e2",
            "1E+2",
            "1e400",
            "01",
            "-",
            "+1",
            "1.",
            ".5",
            "1e",
            " 1",
            "1 ",
            "",
            "inf",
            "NaN",
            "true",
            "false",
            "True",
            "A",
            "b",
        ];
        for key in keys {
            agrees::<u8>(key);
            agrees::<i8>(key);
            agrees::<u64>(key);
            agrees::<i64>(key);
            agrees::<u128>(key);
            agrees::<i128>(key);
            agrees::<Float>(key);
            agrees::<bool>(key);
            agrees::<Number>(key);
            agrees::<Option<u16>>(key);
            agrees::<Letter>(key);
            agrees::<char>(key);
            agrees::<String>(key);
        }
        assert_eq!(
            read::<BTreeMap<u64, u8>>(r#"{"1":2}"#),
            Some([(1, 2)].into())
        );
    }
}
