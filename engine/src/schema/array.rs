//! The items of an array, and what is asserted of all of them together.

use std::ops::ControlFlow;

use tightwire_codec::{Array, Value};

use super::{
    Schema,
    node::{ArrayNode, Contains, Node},
    problem::ProblemKind,
    sink::{Location, Sink},
    unique::repeated,
    value::out_of_range,
};

impl Schema {
    pub(super) fn items<S: Sink>(
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
        let more = node.array.as_deref();
        let prefix = more.map(|more| more.prefix.as_slice()).unwrap_or_default();
        for (index, item) in array.iter().enumerate() {
            let Some(schema) = prefix.get(index).copied().or(node.items) else {
                break;
            };
            self.check(schema, item, &Location::Item(at, index), sink)?;
        }
        match more {
            Some(more) => self.array(more, array, at, sink),
            None => ControlFlow::Continue(()),
        }
    }

    /// What is asserted beside the items and their number.
    fn array<S: Sink>(
        &self,
        more: &ArrayNode,
        array: Array<'_>,
        at: &Location<'_>,
        sink: &mut S,
    ) -> ControlFlow<()> {
        if let Some(contains) = &more.contains {
            let Contains { schema, min, max } = *contains;
            // More than that need not be told apart.
            let enough = max.map_or(min, |max| max.saturating_add(1).max(min));
            let mut count = 0;
            for item in array {
                if count == enough {
                    break;
                }
                count += u64::from(self.fits(schema, item, sink)?);
            }
            if count < min {
                sink.problem(at, ProblemKind::Constraint, || {
                    format!(
                        "must have at least {min} items of the form that is wanted, not {count}"
                    )
                })?;
            }
            if let Some(max) = max
                && count > max
            {
                sink.problem(at, ProblemKind::Constraint, || {
                    format!("must have at most {max} items of the form that is wanted")
                })?;
            }
        }
        if more.is_unique
            && let Some((first, second)) = repeated(array, sink.steps())?
        {
            sink.problem(at, ProblemKind::Constraint, || {
                format!("must have no item twice, but [{second}] is equal to [{first}]")
            })?;
        }
        ControlFlow::Continue(())
    }
}
