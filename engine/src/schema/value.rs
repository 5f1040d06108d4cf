//! What a subschema asserts of a value with no look at what is in it: types, constants, bounds.

use std::{fmt, ops::ControlFlow};

use tightwire_codec::{Kind, Number, Value};

use super::{
    compile::{Constant, Node, Types},
    problem::ProblemKind,
    sink::{Location, Sink},
};

#[inline]
pub(super) fn has_type(types: Types, value: Value<'_>, kind: Kind) -> bool {
    match kind {
        Kind::Null => types.has(0),
        Kind::Boolean => types.has(1),
        Kind::Number => {
            types.has(3) || (types.has(2) && value.as_number().is_some_and(Number::is_integer))
        }
        Kind::String => types.has(4),
        Kind::Array => types.has(5),
        Kind::Object => types.has(6),
    }
}

pub(super) fn wrong_type(types: Types, kind: Kind) -> String {
    let names: Vec<&str> = Types::NAMES
        .iter()
        .enumerate()
        .filter_map(|(bit, name)| types.has(bit).then_some(*name))
        .collect();
    let found = match kind {
        Kind::Number if types.has(2) => "a number with a fraction",
        kind => kind.as_str(),
    };
    format!("must be {}, not {found}", names.join(" or "))
}

pub(super) fn not_one_of(values: &[Constant]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    match &values[..] {
        [value] => format!("must be {value}"),
        values => format!("must be one of {}", values.join(", ")),
    }
}

pub(super) fn out_of_range(what: &str, found: u64, min: Option<u64>, max: Option<u64>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("must have {min} to {max} {what}, not {found}"),
        (Some(min), None) => format!("must have at least {min} {what}, not {found}"),
        (None, max) => format!(
            "must have at most {} {what}, not {found}",
            max.unwrap_or_default()
        ),
    }
}

pub(super) fn check_bounds<S: Sink>(
    node: &Node,
    value: Value<'_>,
    at: &Location<'_>,
    sink: &mut S,
) -> ControlFlow<()> {
    let number = value.as_f64().unwrap_or_default();
    let checks: [(Option<f64>, bool, &str); 4] = [
        (
            node.minimum,
            node.minimum.is_none_or(|min| number >= min),
            "at least",
        ),
        (
            node.maximum,
            node.maximum.is_none_or(|max| number <= max),
            "at most",
        ),
        (
            node.exclusive_minimum,
            node.exclusive_minimum.is_none_or(|min| number > min),
            "more than",
        ),
        (
            node.exclusive_maximum,
            node.exclusive_maximum.is_none_or(|max| number < max),
            "less than",
        ),
    ];
    for (bound, fits, words) in checks {
        if !fits {
            sink.problem(at, ProblemKind::Constraint, || {
                format!("must be {words} {}", bound.unwrap_or_default())
            })?;
        }
    }
    ControlFlow::Continue(())
}

pub(super) fn check_length<S: Sink>(
    node: &Node,
    value: Value<'_>,
    at: &Location<'_>,
    sink: &mut S,
) -> ControlFlow<()> {
    if node.min_length.is_none() && node.max_length.is_none() {
        return ControlFlow::Continue(());
    }
    // Counted no further than the bounds are, since a long string may be looked at many times.
    let text = value.as_str().unwrap_or_default();
    let is_longer_than = |len: u64| {
        usize::try_from(len).is_ok_and(|len| text.len() > len && text.chars().nth(len).is_some())
    };
    let is_short = node
        .min_length
        .is_some_and(|min| min > 0 && !is_longer_than(min - 1));
    if is_short || node.max_length.is_some_and(is_longer_than) {
        sink.problem(at, ProblemKind::Constraint, || {
            let len = text.chars().count() as u64;
            out_of_range("characters", len, node.min_length, node.max_length)
        })?;
    }
    ControlFlow::Continue(())
}

/// Equality as JSON Schema has it: numbers by value, objects whatever the order of their members.
pub(super) fn equals(value: Value<'_>, constant: &Constant) -> bool {
    match constant {
        Constant::Null => value.is_null(),
        Constant::Boolean(wanted) => value.as_bool() == Some(*wanted),
        Constant::String(wanted) => value.as_str() == Some(wanted),
        Constant::Number(wanted) => value
            .as_number()
            .is_some_and(|number| numbers_equal(number, *wanted)),
        Constant::Array(wanted) => value.as_array().is_some_and(|items| {
            items.len() == wanted.len()
                && items
                    .iter()
                    .zip(wanted)
                    .all(|(item, wanted)| equals(item, wanted))
        }),
        Constant::Object(wanted) => value.as_object().is_some_and(|members| {
            members.len() == wanted.len()
                && wanted.iter().all(|(name, wanted)| {
                    members
                        .find(name)
                        .is_some_and(|value| equals(value, wanted))
                })
        }),
    }
}

fn numbers_equal(one: Number, other: Number) -> bool {
    match (one, other) {
        (Number::Float(_), _) | (_, Number::Float(_)) => {
            // A whole float equals the integer it stands for.
            match (one.as_i64(), other.as_i64()) {
                (Some(one), Some(other)) => one == other,
                _ => one.as_f64() == other.as_f64(),
            }
        }
        (Number::Unsigned(one), Number::Unsigned(other)) => one == other,
        (Number::Signed(one), Number::Signed(other)) => one == other,
        (Number::Unsigned(one), Number::Signed(other))
        | (Number::Signed(other), Number::Unsigned(one)) => one == 0 && other == 0,
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Number(Number::Unsigned(value)) => write!(f, "{value}"),
            Self::Number(Number::Signed(value)) => write!(f, "{value}"),
            Self::Number(Number::Float(value)) => write!(f, "{value}"),
            Self::String(text) => write!(f, "{text:?}"),
            Self::Array(_) => f.write_str("the array of the schema"),
            Self::Object(_) => f.write_str("the object of the schema"),
        }
    }
}
