//! The members of an object: its properties, and what is asserted of all of them together.

use std::ops::ControlFlow;

use tightwire_codec::{Object, Value};

use super::{
    Schema,
    node::{Additional, Lookup, Node, NodeId, ObjectNode, Property},
    problem::ProblemKind,
    sink::{Location, Sink, Steps},
    value::out_of_range,
};

impl Schema {
    pub(super) fn members<S: Sink>(
        &self,
        node: &Node,
        object: Object<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        sink.steps().spend(object.len())?;
        if S::ORDERED {
            self.properties_in_order(node, object, at, sink)?;
        } else if let Some(lookup) = &node.lookup {
            self.many_properties_in_passing(node, lookup, object, at, sink)?;
        } else {
            let find = |name: &str, next| scan(&node.properties, name, next);
            self.properties_in_passing(node, object, find, &mut 0_u64, at, sink)?;
        }
        match &node.object {
            Some(more) => self.object(more, object, at, sink),
            None => ControlFlow::Continue(()),
        }
    }

    fn many_properties_in_passing<S: Sink>(
        &self,
        node: &Node,
        lookup: &Lookup,
        object: Object<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
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
            if !node.patterns.is_empty() {
                self.patterns(node, name, value, at, sink)?;
            }
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
            self.patterns(node, name, value, at, sink)?;
            if same.len() > 1 {
                twice(at, name, sink)?;
            }
        }
        for place in required {
            missing(at, &node.properties[*place].name, sink)?;
        }
        ControlFlow::Continue(())
    }

    /// A member that is no property.
    fn additional<S: Sink>(
        &self,
        node: &Node,
        name: &str,
        value: Value<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        if self.patterns(node, name, value, at, sink)? {
            return ControlFlow::Continue(());
        }
        let at = Location::Member(at, name);
        match node.additional {
            Additional::Allowed => ControlFlow::Continue(()),
            Additional::Checked(schema) => self.check(schema, value, &at, sink),
            Additional::Forbidden => sink.problem(&at, ProblemKind::Unexpected, || {
                "is not expected".to_owned()
            }),
        }
    }

    /// Checks a member as each pattern says that its name matches. Returns whether there is one.
    fn patterns<S: Sink>(
        &self,
        node: &Node,
        name: &str,
        value: Value<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<(), bool> {
        let mut is_named = false;
        for (pattern, schema) in &node.patterns {
            if pattern.is_match(name, sink.steps())? {
                is_named = true;
                self.check(*schema, value, &Location::Member(at, name), sink)?;
            }
        }
        ControlFlow::Continue(is_named)
    }

    /// What is asserted beside the properties.
    fn object<S: Sink>(
        &self,
        more: &ObjectNode,
        object: Object<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        let len = object.len() as u64;
        if more.min_properties.is_some_and(|min| len < min)
            || more.max_properties.is_some_and(|max| len > max)
        {
            sink.problem(at, ProblemKind::Constraint, || {
                out_of_range("properties", len, more.min_properties, more.max_properties)
            })?;
        }
        if let Some(schema) = more.names {
            for name in object.names() {
                if !self.fits(schema, name, sink)? {
                    let at = &Location::Member(at, name.as_str().unwrap_or_default());
                    sink.problem(at, ProblemKind::Constraint, || self.bad_name(schema, name))?;
                }
            }
        }
        for (name, required) in &more.dependent_required {
            sink.steps().spend(object.len())?;
            if object.find(name).is_none() {
                continue;
            }
            for other in required {
                sink.steps().spend(object.len())?;
                if object.find(other).is_none() {
                    let at = &Location::Member(at, other);
                    sink.problem(at, ProblemKind::Missing, || {
                        format!("is required where there is `{name}`")
                    })?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn bad_name(&self, schema: NodeId, name: Value<'_>) -> String {
        let problems = self.collect(schema, name, Steps::enough_for(name));
        let reasons: Vec<&str> = problems
            .iter()
            .map(|problem| problem.text.as_str())
            .collect();
        format!("has a name that {}", reasons.join(" and "))
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
