//! Arguments against a [`Schema`].
//!
//! One walk serves two ends: [`Schema::is_valid`] stops at the first problem and allocates
//! nothing; [`Schema::problems`] goes on and words all of them.

use std::ops::ControlFlow;

use tightwire_codec::{Kind, Object, Value};

use super::{
    compile::{Additional, Branch, Node, NodeId, Property, Schema, Tag},
    problem::{Problem, ProblemKind},
    sink::{Collect, Location, Sink, Steps, Stop},
    value::{check_bounds, check_length, equals, has_type, not_one_of, out_of_range, wrong_type},
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
