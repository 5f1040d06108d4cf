//! What a subschema asserts of a value with no look at what is in it: types, constants, bounds.

use std::{cmp::Ordering, fmt, ops::ControlFlow};

use tightwire_codec::{Kind, Number, Value};

use super::{
    node::{Constant, Node, Types},
    number::{Decimal, compare},
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

pub(super) fn check_number<S: Sink>(
    node: &Node,
    value: Value<'_>,
    at: &Location<'_>,
    sink: &mut S,
) -> ControlFlow<()> {
    let (Some(node), Some(number)) = (&node.number, value.as_number()) else {
        return ControlFlow::Continue(());
    };
    type Fits = fn(Ordering) -> bool;
    let checks = [
        (node.minimum, Ordering::is_ge as Fits, "at least"),
        (node.maximum, Ordering::is_le, "at most"),
        (node.exclusive_minimum, Ordering::is_gt, "more than"),
        (node.exclusive_maximum, Ordering::is_lt, "less than"),
    ];
    for (bound, fits, words) in checks {
        if let Some(bound) = bound
            && !fits(compare(number, bound))
        {
            sink.problem(at, ProblemKind::Constraint, || {
                format!("must be {words} {}", Constant::Number(bound))
            })?;
        }
    }
    if let Some((number_of, divisor)) = node.multiple_of
        && !Decimal::of(number).is_multiple_of(divisor)
    {
        sink.problem(at, ProblemKind::Constraint, || {
            format!("must be a multiple of {}", Constant::Number(number_of))
        })?;
    }
    ControlFlow::Continue(())
}

pub(super) fn check_string<S: Sink>(
    node: &Node,
    value: Value<'_>,
    at: &Location<'_>,
    sink: &mut S,
) -> ControlFlow<()> {
    let text = value.as_str().unwrap_or_default();
    if node.min_length.is_some() || node.max_length.is_some() {
        check_length(node, text, at, sink)?;
    }
    if let Some(pattern) = &node.pattern
        && !pattern.is_match(text, sink.steps())?
    {
        sink.problem(at, ProblemKind::Constraint, || {
            format!("must match the pattern {}", pattern.text)
        })?;
    }
    ControlFlow::Continue(())
}

fn check_length<S: Sink>(
    node: &Node,
    text: &str,
    at: &Location<'_>,
    sink: &mut S,
) -> ControlFlow<()> {
    // Counted no further than the bounds are, since a long string may be looked at many times.
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
            .is_some_and(|number| compare(number, *wanted).is_eq()),
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
