//! Arguments against a [`Schema`].
//!
//! One walk serves two ends: [`Schema::is_valid`] stops at the first problem and allocates
//! nothing; [`Schema::problems`] goes on and words all of them.

use std::{fmt, ops::ControlFlow};

use tightwire_codec::{Kind, Number, Object, Value};

use super::{
    compile::{Additional, Branch, Constant, Node, NodeId, Property, Schema, Tag, Types},
    problem::{Problem, ProblemKind, cut},
};

impl Schema {
    /// Whether the arguments fit. Allocates nothing, unless the schema has very many properties.
    #[inline]
    pub(crate) fn is_valid(&self, arguments: Value<'_>) -> bool {
        let mut steps = Steps::enough_for(arguments);
        self.check(0, arguments, &Location::Root, &mut Stop(&mut steps))
            .is_continue()
    }

    /// All that is wrong with the arguments, in the order to tell it: by kind, then as the schema
    /// has it.
    pub(crate) fn problems(&self, arguments: Value<'_>) -> Vec<Problem> {
        let mut collect = Collect {
            problems: Vec::new(),
            steps: Steps::enough_for(arguments),
        };
        // It breaks off at the most problems worth telling.
        let _ = self.check(0, arguments, &Location::Root, &mut collect);
        let Collect {
            mut problems,
            steps,
        } = collect;
        if steps.are_used_up {
            return vec![Problem {
                kind: ProblemKind::Constraint,
                path: String::new(),
                text: "is too complex to check".to_owned(),
            }];
        }
        problems.sort_by_key(|problem| problem.kind);
        problems
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
        if node.has_applicators {
            self.applicators(node, value, at, sink)?;
        }
        ControlFlow::Continue(())
    }

    fn members<S: Sink>(
        &self,
        node: &Node,
        object: Object<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        sink.steps().spend(object.len())?;
        if S::ORDERED {
            return self.properties_in_order(node, object, at, sink);
        }
        let Some(lookup) = &node.lookup else {
            return self.properties_in_passing(
                node,
                object,
                |name, next| scan(&node.properties, name, next),
                &mut 0_u64,
                at,
                sink,
            );
        };
        let find = |name: &str, _| lookup.find(name);
        let mut small = [0; 16];
        let words = node.properties.len().div_ceil(64);
        let mut large = Vec::new();
        let seen = small.get_mut(..words).unwrap_or_else(|| {
            large.resize(words, 0);
            &mut large
        });
        self.properties_in_passing(node, object, find, seen, at, sink)
    }

    /// One pass over the members: for the usual case, that all is well.
    #[inline]
    fn properties_in_passing<S: Sink>(
        &self,
        node: &Node,
        object: Object<'_>,
        find: impl Fn(&str, usize) -> Option<usize>,
        seen: &mut (impl Places + ?Sized),
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        let mut next = 0;
        for (name, value) in object {
            let Some(place) = find(name, next) else {
                self.additional(node, name, value, at, sink)?;
                continue;
            };
            if seen.has(place) {
                twice(at, name, sink)?;
            }
            seen.insert(place);
            next = place + 1;
            let schema = node.properties[place].schema;
            self.check(schema, value, &Location::Member(at, name), sink)?;
        }
        // At the first that is missing, the usual walk is over: as many are seen as were there.
        for place in &node.required {
            if !seen.has(*place) {
                missing(at, &node.properties[*place].name, sink)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// The members in the order of the properties, then those that are none.
    fn properties_in_order<S: Sink>(
        &self,
        node: &Node,
        object: Object<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        let place = |name: &str| match &node.lookup {
            Some(lookup) => lookup.find(name),
            None => scan(&node.properties, name, 0),
        };
        let mut members: Vec<(usize, &str, Value<'_>)> = object
            .iter()
            .map(|(name, value)| (place(name).unwrap_or(usize::MAX), name, value))
            .collect();
        // It is stable: what is no property stays in order.
        members.sort_by_key(|(place, ..)| *place);
        let mut required = node.required.iter().peekable();
        for same in members.chunk_by(|(one, ..), (other, ..)| one == other) {
            let (place, name, value) = same[0];
            while let Some(passed) = required.next_if(|required| **required < place) {
                missing(at, &node.properties[*passed].name, sink)?;
            }
            required.next_if_eq(&&place);
            let Some(property) = node.properties.get(place) else {
                for (_, name, value) in same {
                    self.additional(node, name, *value, at, sink)?;
                }
                break;
            };
            self.check(property.schema, value, &Location::Member(at, name), sink)?;
            if same.len() > 1 {
                twice(at, name, sink)?;
            }
        }
        for place in required {
            missing(at, &node.properties[*place].name, sink)?;
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
        sink.steps().spend(array.len())?;
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
        for schema in node.reference.iter().chain(&node.all_of) {
            sink.steps().spend(1)?;
            self.check(*schema, value, at, sink)?;
        }
        if !node.any_of.is_empty() && self.count_fits(&node.any_of, 1, value, at, sink)? == 0 {
            sink.problem(at, ProblemKind::Constraint, || {
                "fits none of the forms that are allowed".to_owned()
            })?;
        }
        if !node.one_of.is_empty() {
            let count = self.count_fits(&node.one_of, 2, value, at, sink)?;
            if count != 1 {
                sink.problem(at, ProblemKind::Constraint, || {
                    let how_many = if count == 0 { "none" } else { "more than one" };
                    format!("fits {how_many} of the forms of which it must be one")
                })?;
            }
        }
        if let Some(schema) = node.not
            && self.fits(schema, value, at, sink)?
        {
            sink.problem(at, ProblemKind::Constraint, || {
                "has a form that is not allowed".to_owned()
            })?;
        }
        ControlFlow::Continue(())
    }

    /// How many of the branches the value fits; no further than it takes to know that it is
    /// enough of them.
    fn count_fits<S: Sink>(
        &self,
        branches: &[Branch],
        enough: usize,
        value: Value<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<(), usize> {
        let mut tagged = value.as_object().map(Tagged::new);
        let mut count = 0;
        for branch in branches {
            sink.steps().spend(1)?;
            if let Some(tagged) = &mut tagged
                && !self.tags_fit(branch, tagged, sink.steps())?
            {
                continue;
            }
            count += usize::from(self.fits(branch.schema, value, at, sink)?);
            if count == enough {
                break;
            }
        }
        ControlFlow::Continue(count)
    }

    fn tags_fit<'s>(
        &self,
        branch: &'s Branch,
        tagged: &mut Tagged<'s, '_>,
        steps: &mut Steps,
    ) -> ControlFlow<(), bool> {
        for Tag { name, constants } in &branch.tags {
            let constants = self.nodes[*constants].values.as_deref().unwrap_or_default();
            let fits = tagged
                .find(name, steps)?
                .is_some_and(|value| constants.iter().any(|constant| equals(value, constant)));
            if !fits {
                return ControlFlow::Continue(false);
            }
        }
        ControlFlow::Continue(true)
    }

    /// Whether the value fits a subschema that it may also not fit.
    fn fits<S: Sink>(
        &self,
        schema: NodeId,
        value: Value<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<(), bool> {
        let steps = sink.steps();
        steps.spend(1)?;
        let fits = self
            .check(schema, value, at, &mut Stop(steps))
            .is_continue();
        if steps.are_used_up {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(fits)
    }
}

/// The place of the property. Mostly it is the next one.
#[inline]
fn scan(properties: &[Property], name: &str, next: usize) -> Option<usize> {
    let is_it = |property: &Property| *property.name == *name;
    if properties.get(next).is_some_and(is_it) {
        return Some(next);
    }
    properties.iter().position(is_it)
}

/// What a check may take. Most take as many steps as there are values, but a schema can be such
/// that they double with each level of the value.
struct Steps {
    left: usize,
    are_used_up: bool,
}

impl Steps {
    const AT_LEAST: usize = 100_000;
    const PER_NODE: usize = 64;

    #[inline]
    fn enough_for(value: Value<'_>) -> Self {
        Self {
            left: Self::AT_LEAST + Self::PER_NODE * value.node_count(),
            are_used_up: false,
        }
    }

    /// Breaks off when all are used up; and so must then everything that uses them.
    #[inline]
    fn spend(&mut self, steps: usize) -> ControlFlow<()> {
        match self.left.checked_sub(steps) {
            Some(left) => self.left = left,
            None => self.are_used_up = true,
        }
        if self.are_used_up {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// A set of places of properties.
trait Places {
    fn insert(&mut self, place: usize);
    fn has(&self, place: usize) -> bool;
}

impl Places for u64 {
    #[inline]
    fn insert(&mut self, place: usize) {
        *self |= 1 << place;
    }

    #[inline]
    fn has(&self, place: usize) -> bool {
        *self & (1 << place) != 0
    }
}

impl Places for [u64] {
    fn insert(&mut self, place: usize) {
        self[place / 64] |= 1 << (place % 64);
    }

    fn has(&self, place: usize) -> bool {
        self[place / 64] & (1 << (place % 64)) != 0
    }
}

/// An object of which branches ask for tags: mostly one after the other for the same.
struct Tagged<'s, 'v> {
    object: Object<'v>,
    last: Option<(&'s str, Option<Value<'v>>)>,
}

impl<'s, 'v> Tagged<'s, 'v> {
    fn new(object: Object<'v>) -> Self {
        Self { object, last: None }
    }

    fn find(&mut self, name: &'s str, steps: &mut Steps) -> ControlFlow<(), Option<Value<'v>>> {
        if let Some((last, value)) = self.last
            && last == name
        {
            return ControlFlow::Continue(value);
        }
        steps.spend(self.object.len())?;
        let value = self.object.find(name);
        self.last = Some((name, value));
        ControlFlow::Continue(value)
    }
}

/// Where problems go.
trait Sink {
    /// Whether problems must come in the order of the schema.
    const ORDERED: bool;

    /// What is left of the steps of the whole check.
    fn steps(&mut self) -> &mut Steps;

    fn problem(
        &mut self,
        at: &Location<'_>,
        kind: ProblemKind,
        text: impl FnOnce() -> String,
    ) -> ControlFlow<()>;
}

/// Breaks off at the first problem.
struct Stop<'a>(&'a mut Steps);

impl Sink for Stop<'_> {
    const ORDERED: bool = false;

    #[inline]
    fn steps(&mut self) -> &mut Steps {
        self.0
    }

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
struct Collect {
    problems: Vec<Problem>,
    steps: Steps,
}

impl Collect {
    const MAX: usize = 64;
}

impl Sink for Collect {
    const ORDERED: bool = true;

    fn steps(&mut self) -> &mut Steps {
        &mut self.steps
    }

    fn problem(
        &mut self,
        at: &Location<'_>,
        kind: ProblemKind,
        text: impl FnOnce() -> String,
    ) -> ControlFlow<()> {
        self.problems.push(Problem {
            kind,
            path: at.to_string(),
            text: text(),
        });
        if self.problems.len() < Self::MAX {
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

impl Location<'_> {
    /// Characters that are shown of a name.
    const NAME_MAX: usize = 100;
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(Self::Root, "") => f.write_str("\"\""),
            Self::Member(Self::Root, name) => f.write_str(&cut(name, Self::NAME_MAX)),
            Self::Member(parent, name) => write!(f, "{parent}.{}", cut(name, Self::NAME_MAX)),
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
    use crate::schema::describe;

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
                r#"{"type":"object","properties":{"a":{},"a":{"type":"null"}}}"#,
                "# has two properties `a`",
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

    /// A recursive enum as schemars makes it, the members that recurse before the tag.
    fn union(keyword: &str, tag: &str) -> String {
        let branch = |name: &str, inner: &str| {
            format!(
                r##"{{"type":"object","properties":{{"left":{{"$ref":"#/$defs/Tree"}},{inner}
                    "type":{}}},"required":["left","type"]}}"##,
                tag.replace("NAME", name)
            )
        };
        let right = r##""right":{"$ref":"#/$defs/Tree"},"##;
        format!(
            r##"{{"type":"object","properties":{{"tree":{{"$ref":"#/$defs/Tree"}}}},
            "$defs":{{"Tree":{{"{keyword}":[{},{},{},
            {{"type":"object","properties":{{"type":{}}},"required":["type"],
            "additionalProperties":false}}]}}}}}}"##,
            branch("plus", right),
            branch("minus", right),
            branch("negate", ""),
            tag.replace("NAME", "leaf"),
        )
    }

    fn tree(depth: usize, leaf: &str) -> String {
        let mut tree = format!(r#"{{"type":"{leaf}"}}"#);
        for level in 0..depth {
            let name = ["plus", "minus", "negate"][level % 3];
            tree = format!(r#"{{"left":{tree},"right":{{"type":"leaf"}},"type":"{name}"}}"#);
        }
        format!(r#"{{"tree":{tree}}}"#)
    }

    #[test]
    fn deep_values_of_a_tagged_union_are_checked() {
        for tag in [
            r#"{"type":"string","const":"NAME"}"#,
            r#"{"enum":["NAME"]}"#,
        ] {
            for (keyword, message) in [
                ("anyOf", "tree: fits none of the forms that are allowed"),
                (
                    "oneOf",
                    "tree: fits none of the forms of which it must be one",
                ),
            ] {
                let schema = union(keyword, tag);
                assert_eq!(problems(&schema, &tree(60, "leaf")), [""; 0]);
                assert_eq!(problems(&schema, &tree(60, "root")), [message]);
            }
        }
    }

    #[test]
    fn tags_are_found_behind_references() {
        let schema = r##"{"type":"object","properties":{"of":{"anyOf":[
            {"$ref":"#/$defs/A"},
            {"type":"object","properties":{"k":{"const":"b"}},"required":["k"],
             "$ref":"#/$defs/B"}]}},
            "$defs":{"A":{"allOf":[{"properties":{"of":{"$ref":"#/properties/of"},
            "k":{"$ref":"#/$defs/a"}},"required":["k"]}]},"a":{"const":"a"},
            "B":{"properties":{"of":{"$ref":"#/properties/of"}}}}}"##;
        for kind in ["a", "b"] {
            let mut value = format!(r#"{{"k":"{kind}"}}"#);
            for level in 0..60 {
                let kind = ["a", "b"][level % 2];
                value = format!(r#"{{"of":{value},"k":"{kind}"}}"#);
            }
            assert_eq!(problems(schema, &value), [""; 0]);
        }
        assert_eq!(
            problems(schema, r#"{"of":{"k":"c"}}"#),
            ["of: fits none of the forms that are allowed"]
        );
        // What is no object has no tag to miss.
        let schema = r#"{"type":"object","properties":{"x":{"anyOf":[
            {"properties":{"k":{"const":1}},"required":["k"]}]}}}"#;
        assert_eq!(problems(schema, r#"{"x":5}"#), [""; 0]);
        assert_eq!(problems(schema, r#"{"x":{}}"#).len(), 1);
    }

    #[test]
    fn what_takes_too_many_steps_is_refused() {
        let too_complex = [": is too complex to check"];
        // Nothing tells these branches apart before what is in them.
        let lengths = r#"{"type":"string","minLength":4,"not":{"const":"NAME!"}}"#;
        for keyword in ["anyOf", "oneOf"] {
            let schema = union(keyword, lengths);
            assert_eq!(
                problems(&schema, &tree(3, "leaf")).len(),
                usize::from(keyword == "oneOf")
            );
            assert_eq!(problems(&schema, &tree(60, "x")), too_complex);
        }
        for twice in [
            r##""allOf":[{"$ref":"#"},{"$ref":"#"}]"##,
            r##""not":{"not":{"oneOf":[{"$ref":"#"}]}},"anyOf":[{"$ref":"#"}]"##,
        ] {
            let schema = format!(
                r#"{{"type":"object","properties":{{"x":{{{twice}}},"n":{{"minimum":0}}}}}}"#
            );
            let nested = |depth: usize| {
                format!(
                    "{}{{}}{}",
                    r#"{"n":1,"x":"#.repeat(depth),
                    "}".repeat(depth)
                )
            };
            assert_eq!(problems(&schema, &nested(8)), [""; 0]);
            assert_eq!(problems(&schema, &nested(60)), too_complex);
        }
    }

    #[test]
    fn a_long_flat_value_is_not_too_complex() {
        let schema = r#"{"type":"object","properties":{"x":{"type":"array","items":{"oneOf":[
            {"type":"object","properties":{"k":{"const":1}},"required":["k"]},
            {"type":"object","properties":{"k":{"const":2}},"required":["k"]}]}}}}"#;
        let items = r#"{"k":1},{"k":2},"#.repeat(50_000);
        assert_eq!(
            problems(schema, &format!(r#"{{"x":[{items}{{"k":2}}]}}"#)),
            [""; 0]
        );
    }

    #[test]
    fn lengths_are_counted_in_characters() {
        let schema = r#"{"type":"object","properties":{"x":{"minLength":2,"maxLength":3}}}"#;
        for (text, fits) in [
            ("", false),
            ("é", false),
            ("éé", true),
            ("ééé", true),
            ("éééé", false),
            ("abcd", false),
        ] {
            let found = problems(schema, &format!(r#"{{"x":"{text}"}}"#));
            assert_eq!(found.is_empty(), fits, "{text}: {found:?}");
        }
        let schema = r#"{"type":"object","properties":{"x":{"minLength":0,"maxLength":0}}}"#;
        assert_eq!(problems(schema, r#"{"x":""}"#), [""; 0]);
    }

    #[test]
    fn many_properties_and_many_members_take_no_long_time() {
        for count in [64, 65, 1_000, 3_000] {
            let properties: Vec<String> = (0..count)
                .map(|index| format!(r#""p{index}":{{"type":"integer"}}"#))
                .collect();
            let required: Vec<String> = (0..count)
                .map(|index| format!(r#""p{index}","q{index}""#))
                .collect();
            let schema = format!(
                r#"{{"type":"object","properties":{{{}}},"required":[{}],
                "additionalProperties":{{"type":"string"}}}}"#,
                properties.join(","),
                required.join(",")
            );
            let mut members: Vec<String> = (0..count)
                .rev()
                .map(|index| format!(r#""p{index}":1,"q{index}":"""#))
                .chain((0..100_000).map(|index| format!(r#""r{index}":"""#)))
                .collect();
            let arguments = |members: &[String]| format!("{{{}}}", members.join(","));
            assert_eq!(problems(&schema, &arguments(&members)), [""; 0]);

            members[0] = r#""p5":"","#.to_owned() + r#""p7":"""#;
            members.push(r#""r":0"#.to_owned());
            let last = count - 1;
            assert_eq!(
                problems(&schema, &arguments(&members)),
                [
                    format!("p{last}: is required"),
                    format!("q{last}: is required"),
                    "p5: must be integer, not string".to_owned(),
                    "p7: must be integer, not string".to_owned(),
                    "r: must be string, not number".to_owned(),
                    "p5: is given more than once".to_owned(),
                    "p7: is given more than once".to_owned(),
                ]
            );
        }
    }

    #[test]
    fn what_is_told_is_bounded() {
        let key = "k".repeat(1 << 20);
        let members: Vec<String> = (0..64).map(|index| format!(r#""m{index}":1"#)).collect();
        let text = format!(r#"{{"{key}":{{{}}}}}"#, members.join(","));
        let mut bytes = text.into_bytes();
        let len = bytes.len();
        bytes.resize(len + LINE_PADDING, 0);
        let mut line = Line::padded(&mut bytes, len).unwrap();
        let mut parser = Parser::default();
        let document = parser.parse(&mut line).unwrap();
        let schema = Schema::compile(
            r#"{"type":"object","additionalProperties":{"additionalProperties":false}}"#,
        )
        .unwrap();
        let problems = schema.problems(document.root());
        assert_eq!(problems.len(), 64);
        assert_eq!(problems[0].path, "k".repeat(100) + "….m0");
        assert!(describe("tool", &problems).len() < 5 * 1024);
    }

    #[test]
    fn a_schema_that_only_refers_to_itself_ends() {
        let error = Schema::compile(r##"{"type":"object","allOf":[{"$ref":"#"}]}"##).unwrap_err();
        assert!(error.contains("refers to itself"), "{error}");
    }
}
