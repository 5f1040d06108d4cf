//! Arguments against a [`Schema`].
//!
//! One walk serves two ends: [`Schema::is_valid`] stops at the first problem and allocates
//! nothing; [`Schema::problems`] goes on and words all of them.

use std::{fmt, ops::ControlFlow};

use tightwire_codec::{Kind, Number, Object, Value};

use super::{
    compile::{Additional, Constant, Node, NodeId, Property, Schema, Types},
    problem::{Problem, ProblemKind},
};

impl Schema {
    /// Whether the arguments fit. Allocates nothing.
    #[inline]
    pub(crate) fn is_valid(&self, arguments: Value<'_>) -> bool {
        self.check(0, arguments, &Location::Root, &mut Stop)
            .is_continue()
    }

    /// All that is wrong with the arguments, in the order to tell it: by kind, then as the schema
    /// has it.
    pub(crate) fn problems(&self, arguments: Value<'_>) -> Vec<Problem> {
        let mut collect = Collect(Vec::new());
        // It breaks off at the most problems worth telling.
        let _ = self.check(0, arguments, &Location::Root, &mut collect);
        collect.0.sort_by_key(|problem| problem.kind);
        collect.0
    }

    fn check<S: Sink>(
        &self,
        id: NodeId,
        value: Value<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        let node = &self.nodes[id];
        let kind = value.kind();
        if let Some(types) = node.types
            && !has_type(types, value, kind)
        {
            // What else the schema says is about values of its types.
            return sink.problem(at, ProblemKind::Type, || wrong_type(types, kind));
        }
        if node.types_only {
            return ControlFlow::Continue(());
        }
        self.check_rest(node, value, kind, at, sink)
    }

    /// All but the types.
    fn check_rest<S: Sink>(
        &self,
        node: &Node,
        value: Value<'_>,
        kind: Kind,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        if node.never {
            return sink.problem(at, ProblemKind::Unexpected, || "is not allowed".to_owned());
        }
        if let Some(values) = &node.values
            && !values.iter().any(|constant| equals(value, constant))
        {
            sink.problem(at, ProblemKind::Value, || not_one_of(values))?;
        }
        match kind {
            Kind::Object => {
                self.members(node, value.as_object().unwrap_or(Object::EMPTY), at, sink)?;
            }
            Kind::Array => self.items(node, value, at, sink)?,
            Kind::Number => check_bounds(node, value, at, sink)?,
            Kind::String => check_length(node, value, at, sink)?,
            Kind::Null | Kind::Boolean => {}
        }
        self.applicators(node, value, at, sink)
    }

    fn members<S: Sink>(
        &self,
        node: &Node,
        object: Object<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        if S::ORDERED || node.properties.len() > 64 {
            self.properties_in_order(node, object, at, sink)?;
        } else {
            self.properties_in_passing(node, object, at, sink)?;
        }
        for name in &node.required_others {
            if object.find(name).is_none() {
                missing(at, name, sink)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// One pass over the members: for the usual case, that all is well.
    fn properties_in_passing<S: Sink>(
        &self,
        node: &Node,
        object: Object<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        let mut seen = 0_u64;
        for (name, value) in object {
            let place = node
                .properties
                .iter()
                .position(|property| *property.name == *name);
            let Some(place) = place else {
                self.additional(node, name, value, at, sink)?;
                continue;
            };
            if seen & (1 << place) != 0 {
                twice(at, name, sink)?;
            }
            seen |= 1 << place;
            let schema = node.properties[place].schema;
            self.check(schema, value, &Location::Member(at, name), sink)?;
        }
        for (place, property) in node.properties.iter().enumerate() {
            if property.required && seen & (1 << place) == 0 {
                missing(at, &property.name, sink)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// A pass over the properties of the schema, then one over what none of them names.
    fn properties_in_order<S: Sink>(
        &self,
        node: &Node,
        object: Object<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        for Property {
            name,
            schema,
            required,
        } in &node.properties
        {
            let mut values = object.iter().filter(|(key, _)| *key == &**name);
            match values.next() {
                Some((_, value)) => {
                    self.check(*schema, value, &Location::Member(at, name), sink)?;
                }
                None if *required => missing(at, name, sink)?,
                None => {}
            }
            if values.next().is_some() {
                twice(at, name, sink)?;
            }
        }
        for (name, value) in object {
            if !node
                .properties
                .iter()
                .any(|property| *property.name == *name)
            {
                self.additional(node, name, value, at, sink)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn additional<S: Sink>(
        &self,
        node: &Node,
        name: &str,
        value: Value<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        let at = Location::Member(at, name);
        match node.additional {
            Additional::Allowed => ControlFlow::Continue(()),
            Additional::Checked(schema) => self.check(schema, value, &at, sink),
            Additional::Forbidden => sink.problem(&at, ProblemKind::Unexpected, || {
                "is not expected".to_owned()
            }),
        }
    }

    fn items<S: Sink>(
        &self,
        node: &Node,
        value: Value<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        let Some(array) = value.as_array() else {
            return ControlFlow::Continue(());
        };
        let len = array.len() as u64;
        if node.min_items.is_some_and(|min| len < min)
            || node.max_items.is_some_and(|max| len > max)
        {
            sink.problem(at, ProblemKind::Constraint, || {
                out_of_range("items", len, node.min_items, node.max_items)
            })?;
        }
        if let Some(schema) = node.items {
            for (index, item) in array.iter().enumerate() {
                self.check(schema, item, &Location::Item(at, index), sink)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn applicators<S: Sink>(
        &self,
        node: &Node,
        value: Value<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        if let Some(reference) = node.reference {
            self.check(reference, value, at, sink)?;
        }
        for schema in &node.all_of {
            self.check(*schema, value, at, sink)?;
        }
        let fits = |schema: &NodeId| self.check(*schema, value, at, &mut Stop).is_continue();
        if !node.any_of.is_empty() && !node.any_of.iter().any(fits) {
            sink.problem(at, ProblemKind::Constraint, || {
                "fits none of the forms that are allowed".to_owned()
            })?;
        }
        if !node.one_of.is_empty() {
            let count = node
                .one_of
                .iter()
                .filter(|schema| fits(schema))
                .take(2)
                .count();
            if count != 1 {
                sink.problem(at, ProblemKind::Constraint, || {
                    let how_many = if count == 0 { "none" } else { "more than one" };
                    format!("fits {how_many} of the forms of which it must be one")
                })?;
            }
        }
        if node.not.as_ref().is_some_and(fits) {
            sink.problem(at, ProblemKind::Constraint, || {
                "has a form that is not allowed".to_owned()
            })?;
        }
        ControlFlow::Continue(())
    }
}

/// Where problems go.
trait Sink {
    /// Whether problems must come in the order of the schema.
    const ORDERED: bool;

    fn problem(
        &mut self,
        at: &Location<'_>,
        kind: ProblemKind,
        text: impl FnOnce() -> String,
    ) -> ControlFlow<()>;
}

/// Breaks off at the first problem.
struct Stop;

impl Sink for Stop {
    const ORDERED: bool = false;

    #[inline]
    fn problem(
        &mut self,
        _at: &Location<'_>,
        _kind: ProblemKind,
        _text: impl FnOnce() -> String,
    ) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

/// Collects the problems, as many as anyone would read.
struct Collect(Vec<Problem>);

impl Collect {
    const MAX: usize = 64;
}

impl Sink for Collect {
    const ORDERED: bool = true;

    fn problem(
        &mut self,
        at: &Location<'_>,
        kind: ProblemKind,
        text: impl FnOnce() -> String,
    ) -> ControlFlow<()> {
        self.0.push(Problem {
            kind,
            path: at.to_string(),
            text: text(),
        });
        if self.0.len() < Self::MAX {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

/// Where in the arguments the check is: a list on the stack, written out when a problem needs it.
enum Location<'a> {
    Root,
    Member(&'a Location<'a>, &'a str),
    Item(&'a Location<'a>, usize),
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(Self::Root, "") => f.write_str("\"\""),
            Self::Member(Self::Root, name) => f.write_str(name),
            Self::Member(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

fn missing<S: Sink>(at: &Location<'_>, name: &str, sink: &mut S) -> ControlFlow<()> {
    sink.problem(&Location::Member(at, name), ProblemKind::Missing, || {
        "is required".to_owned()
    })
}

fn twice<S: Sink>(at: &Location<'_>, name: &str, sink: &mut S) -> ControlFlow<()> {
    sink.problem(&Location::Member(at, name), ProblemKind::Constraint, || {
        "is given more than once".to_owned()
    })
}

#[inline]
fn has_type(types: Types, value: Value<'_>, kind: Kind) -> bool {
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

fn wrong_type(types: Types, kind: Kind) -> String {
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

fn not_one_of(values: &[Constant]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    match &values[..] {
        [value] => format!("must be {value}"),
        values => format!("must be one of {}", values.join(", ")),
    }
}

fn out_of_range(what: &str, found: u64, min: Option<u64>, max: Option<u64>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("must have {min} to {max} {what}, not {found}"),
        (Some(min), None) => format!("must have at least {min} {what}, not {found}"),
        (None, max) => format!(
            "must have at most {} {what}, not {found}",
            max.unwrap_or_default()
        ),
    }
}

fn check_bounds<S: Sink>(
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

fn check_length<S: Sink>(
    node: &Node,
    value: Value<'_>,
    at: &Location<'_>,
    sink: &mut S,
) -> ControlFlow<()> {
    if node.min_length.is_none() && node.max_length.is_none() {
        return ControlFlow::Continue(());
    }
    let len = value.as_str().map_or(0, |text| text.chars().count()) as u64;
    if node.min_length.is_some_and(|min| len < min) || node.max_length.is_some_and(|max| len > max)
    {
        sink.problem(at, ProblemKind::Constraint, || {
            out_of_range("characters", len, node.min_length, node.max_length)
        })?;
    }
    ControlFlow::Continue(())
}

/// Equality as JSON Schema has it: numbers by value, objects whatever the order of their members.
fn equals(value: Value<'_>, constant: &Constant) -> bool {
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

#[cfg(test)]
mod tests {
    use tightwire_codec::{LINE_PADDING, Line, Parser};

    use super::*;

    fn problems(schema: &str, arguments: &str) -> Vec<String> {
        let schema = Schema::compile(schema).unwrap();
        let mut bytes = arguments.as_bytes().to_vec();
        bytes.resize(arguments.len() + LINE_PADDING, 0);
        let mut line = Line::padded(&mut bytes, arguments.len()).unwrap();
        let mut parser = Parser::default();
        let document = parser.parse(&mut line).unwrap();
        let problems = schema.problems(document.root());
        assert_eq!(
            schema.is_valid(document.root()),
            problems.is_empty(),
            "both walks agree about {arguments}"
        );
        problems
            .into_iter()
            .map(|problem| format!("{}: {}", problem.path, problem.text))
            .collect()
    }

    const FORECAST: &str = r#"{"type":"object","properties":{
        "location":{"type":"string"},"days":{"type":"integer"},
        "units":{"type":"string","enum":["c","f"]}},
        "required":["location"],"additionalProperties":false}"#;

    #[test]
    fn all_problems_are_told_in_the_stated_order() {
        assert_eq!(
            problems(FORECAST, r#"{"zone":1,"units":"k","days":"soon"}"#),
            [
                "location: is required",
                "days: must be integer, not string",
                r#"units: must be one of "c", "f""#,
                "zone: is not expected",
            ]
        );
        for valid in [
            r#"{"location":""}"#,
            r#"{"units":"c","days":2.0,"location":"x"}"#,
            r#"{"location":"x","days":1e20}"#,
            r#"{"location":"x","days":-0}"#,
        ] {
            assert_eq!(problems(FORECAST, valid), [""; 0], "{valid}");
        }
        assert_eq!(
            problems(FORECAST, r#"{"location":"x","days":2.5}"#),
            ["days: must be integer, not a number with a fraction"]
        );
        assert_eq!(
            problems(FORECAST, r#"{"location":"x","location":"y"}"#),
            ["location: is given more than once"]
        );
        assert_eq!(
            problems(FORECAST, r#"{"location":"x","":1}"#),
            ["\"\": is not expected"]
        );
    }

    #[test]
    fn nested_values_are_named_by_their_path() {
        let schema = r##"{"type":"object","properties":{"items":{"type":"array","minItems":1,
            "items":{"$ref":"#/$defs/item"}},"when":{"anyOf":[{"type":"null"},
            {"type":"string","minLength":2}]},"n":{"type":"number","minimum":0,
            "exclusiveMaximum":1},"k":{"const":[1,{"a":null}]},"o":{"oneOf":[
            {"type":"integer"},{"type":"number"}]},"s":{"not":{"type":"string"}}},
            "$defs":{"item":{"type":"object","properties":{"name":{"type":"string"},
            "sub":{"$ref":"#/$defs/item"}},"required":["name"]}},"title":"t","x-y":1,
            "required":["other"]}"##;
        assert_eq!(
            problems(
                schema,
                r#"{"items":[{"name":"a"},{"name":1},{"name":"b","sub":{}}],"when":"x","n":1,
                    "k":[1.0,{"a":0}],"o":1,"s":"x"}"#
            ),
            [
                "items[2].sub.name: is required",
                "other: is required",
                "items[1].name: must be string, not number",
                "k: must be the array of the schema",
                "when: fits none of the forms that are allowed",
                "n: must be less than 1",
                "o: fits more than one of the forms of which it must be one",
                "s: has a form that is not allowed",
            ]
        );
        assert_eq!(
            problems(
                schema,
                r#"{"other":0,"items":[{"name":"a"}],"when":null,"n":0.5,"k":[1.0,{"a":null}],
                    "o":1.5,"s":1}"#
            ),
            [""; 0]
        );
        assert_eq!(
            problems(schema, r#"{"other":0,"items":[]}"#),
            ["items: must have at least 1 items, not 0"]
        );
    }

    #[test]
    fn what_cannot_be_checked_is_refused_by_name() {
        for (schema, reason) in [
            ("[]", "it must be an object, not array"),
            ("{", "it is not JSON"),
            ("{}", "its `type` must be `object`"),
            (
                r#"{"type":"object","unevaluatedProperties":false}"#,
                "unevaluatedProperties",
            ),
            (
                r##"{"type":"object","$dynamicRef":"#a"}"##,
                "`$dynamicRef` cannot be checked",
            ),
            (
                r##"{"type":"object","$ref":"#/$defs/x"}"##,
                "there is no `#/$defs/x`",
            ),
            (
                r#"{"type":"object","$ref":"https://example.com/s"}"#,
                "does not point into",
            ),
            (
                r#"{"type":"object","$schema":"http://json-schema.org/draft-07/schema#"}"#,
                "draft-07",
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"text"}}}"#,
                "no type `text`",
            ),
            (
                r#"{"type":"object","properties":{"a/b":{"pattern":"x"}}}"#,
                "#/properties/a~1b/pattern",
            ),
            (
                r#"{"type":"object","required":"a"}"#,
                "#/required must be an array of strings",
            ),
        ] {
            let error = Schema::compile(schema).unwrap_err();
            assert!(error.contains(reason), "{schema}: {error}");
        }
    }

    #[test]
    fn a_schema_that_only_refers_to_itself_ends() {
        let error = Schema::compile(r##"{"type":"object","allOf":[{"$ref":"#"}]}"##).unwrap_err();
        assert!(error.contains("refers to itself"), "{error}");
    }
}
