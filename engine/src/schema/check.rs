//! Values against a [`Schema`].
//!
//! One walk serves two ends: [`Schema::is_valid`] stops at the first problem and allocates
//! nothing; [`Schema::problems`] goes on and words all of them.

use std::ops::ControlFlow;

use tightwire_codec::{Kind, Object, Value};

use super::{
    Schema, foreign,
    node::{Branch, Node, NodeId, Tag},
    problem::{Problem, ProblemKind},
    sink::{Collect, Location, Sink, Steps, Stop},
    value::{check_number, check_string, equals, has_type, not_one_of, wrong_type},
};

impl Schema {
    /// Whether the value fits. Allocates nothing, unless the schema has very many properties, or
    /// is checked elsewhere.
    #[inline]
    pub(crate) fn is_valid(&self, value: Value<'_>) -> bool {
        if let Some(flat) = &self.flat {
            return flat.fits(value);
        }
        if let Some(foreign) = &self.foreign {
            return foreign::problems(&**foreign, value).is_empty();
        }
        let mut steps = Steps::enough_for(value);
        self.check(0, value, &Location::Root, &mut Stop(&mut steps))
            .is_continue()
    }

    /// All that is wrong with the value, in the order to tell it: by kind, then as the schema has
    /// it.
    pub(crate) fn problems(&self, value: Value<'_>) -> Vec<Problem> {
        let mut problems = match &self.foreign {
            Some(foreign) => foreign::problems(&**foreign, value),
            None => self.collect(0, value, Steps::enough_for(value)),
        };
        problems.sort_by_key(|problem| problem.kind);
        problems
    }

    /// All that is wrong, in the order it is found.
    pub(super) fn collect(&self, schema: NodeId, value: Value<'_>, steps: Steps) -> Vec<Problem> {
        let mut collect = Collect {
            problems: Vec::new(),
            steps,
        };
        // It breaks off at the most problems worth telling.
        let _ = self.check(schema, value, &Location::Root, &mut collect);
        if collect.steps.are_used_up {
            let text = "is too complex to check";
            return vec![Problem::new(ProblemKind::Constraint, "", text)];
        }
        collect.problems
    }

    pub(super) fn check<S: Sink>(
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
        for values in &node.values {
            // A comparison is less than a step, but there may be thousands of values.
            sink.steps().spend(values.len() / 8)?;
            if !values.iter().any(|constant| equals(value, constant)) {
                sink.problem(at, ProblemKind::Value, || not_one_of(values))?;
            }
        }
        match kind {
            Kind::Object => {
                self.members(node, value.as_object().unwrap_or(Object::EMPTY), at, sink)?;
            }
            Kind::Array => self.items(node, value, at, sink)?,
            Kind::Number => check_number(node, value, at, sink)?,
            Kind::String => check_string(node, value, at, sink)?,
            Kind::Null | Kind::Boolean => {}
        }
        if node.has_applicators {
            sink.steps().descend()?;
            self.applicators(node, value, at, sink)?;
            sink.steps().ascend();
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
        if !node.any_of.is_empty() && self.count_fits(&node.any_of, 1, value, sink)? == 0 {
            sink.problem(at, ProblemKind::Constraint, || {
                "fits none of the forms that are allowed".to_owned()
            })?;
        }
        if !node.one_of.is_empty() {
            let count = self.count_fits(&node.one_of, 2, value, sink)?;
            if count != 1 {
                sink.problem(at, ProblemKind::Constraint, || {
                    let how_many = if count == 0 { "none" } else { "more than one" };
                    format!("fits {how_many} of the forms of which it must be one")
                })?;
            }
        }
        if let Some(schema) = node.not
            && self.fits(schema, value, sink)?
        {
            sink.problem(at, ProblemKind::Constraint, || {
                "has a form that is not allowed".to_owned()
            })?;
        }
        if let Some(condition) = &node.condition {
            let holds = self.fits(condition.schema, value, sink)?;
            let schema = if holds {
                condition.then
            } else {
                condition.otherwise
            };
            if let Some(schema) = schema {
                self.check(schema, value, at, sink)?;
            }
        }
        if let (Some(more), Some(object)) = (&node.object, value.as_object()) {
            for (name, schema) in &more.dependent_schemas {
                sink.steps().spend(object.len())?;
                if object.find(name).is_some() {
                    self.check(*schema, value, at, sink)?;
                }
            }
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
            count += usize::from(self.fits(branch.schema, value, sink)?);
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
            let constants = self.nodes[*constants].values.first();
            let constants = constants.map(Vec::as_slice).unwrap_or_default();
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
    pub(super) fn fits<S: Sink>(
        &self,
        schema: NodeId,
        value: Value<'_>,
        sink: &mut S,
    ) -> ControlFlow<(), bool> {
        let steps = sink.steps();
        steps.spend(1)?;
        let depth = steps.depth;
        let fits = self
            .check(schema, value, &Location::Root, &mut Stop(steps))
            .is_continue();
        if steps.are_used_up {
            return ControlFlow::Break(());
        }
        // A check that broke off did not come back up.
        steps.depth = depth;
        ControlFlow::Continue(fits)
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
