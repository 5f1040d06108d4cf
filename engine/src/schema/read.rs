//! The values of keywords, read into what they must be.

use std::collections::HashSet;

use tightwire_codec::{Number, Object, Value};

use super::node::{Constant, Types};

pub(super) fn object<'a>(value: Value<'a>, at: &str) -> Result<Object<'a>, String> {
    let object = value
        .as_object()
        .ok_or_else(|| format!("{at} must be an object"))?;
    // Which of them holds is not for us to say.
    match repeated_name(object) {
        Some(name) => Err(format!("{at} has `{name}` twice")),
        None => Ok(object),
    }
}

/// The first name that is there for the second time.
pub(super) fn repeated_name(object: Object<'_>) -> Option<&str> {
    let mut names = HashSet::new();
    object
        .iter()
        .map(|(name, _)| name)
        .find(|name| !names.insert(*name))
}

pub(super) fn number(value: Value<'_>, at: &str) -> Result<Number, String> {
    value
        .as_number()
        .ok_or_else(|| format!("{at} must be a number"))
}

pub(super) fn count(value: Value<'_>, at: &str) -> Result<u64, String> {
    value
        .as_u64()
        .ok_or_else(|| format!("{at} must be an integer that is not negative"))
}

pub(super) fn boolean(value: Value<'_>, at: &str) -> Result<bool, String> {
    value
        .as_bool()
        .ok_or_else(|| format!("{at} must be a boolean"))
}

pub(super) fn string<'a>(value: Value<'a>, at: &str) -> Result<&'a str, String> {
    value
        .as_str()
        .ok_or_else(|| format!("{at} must be a string"))
}

pub(super) fn strings(value: Value<'_>, at: &str) -> Result<Vec<Box<str>>, String> {
    let strings = value.as_array().and_then(|array| {
        array
            .iter()
            .map(|item| item.as_str().map(Box::from))
            .collect()
    });
    strings.ok_or_else(|| format!("{at} must be an array of strings"))
}

pub(super) fn types(value: Value<'_>, at: &str) -> Result<Types, String> {
    let names = match value.as_str() {
        Some(name) => vec![name.into()],
        None => strings(value, at)?,
    };
    if names.is_empty() {
        return Err(format!("{at} must name a type"));
    }
    names.iter().try_fold(Types::NONE, |types, name| {
        types
            .with(name)
            .ok_or_else(|| format!("{at}: there is no type `{name}`"))
    })
}

pub(super) fn constants(value: Value<'_>, at: &str) -> Result<Vec<Constant>, String> {
    let values = value
        .as_array()
        .ok_or_else(|| format!("{at} must be an array"))?;
    Ok(values.iter().map(constant).collect())
}

pub(super) fn constant(value: Value<'_>) -> Constant {
    if let Some(text) = value.as_str() {
        Constant::String(text.into())
    } else if let Some(value) = value.as_bool() {
        Constant::Boolean(value)
    } else if let Some(number) = value.as_number() {
        Constant::Number(number)
    } else if let Some(items) = value.as_array() {
        Constant::Array(items.iter().map(constant).collect())
    } else if let Some(members) = value.as_object() {
        Constant::Object(
            members
                .iter()
                .map(|(name, value)| (name.into(), constant(value)))
                .collect(),
        )
    } else {
        Constant::Null
    }
}
