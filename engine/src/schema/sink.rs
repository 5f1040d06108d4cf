//! What a check carries along: where it is, where problems go, and how many steps are left.

use std::{fmt, ops::ControlFlow};

use tightwire_codec::Value;

use super::problem::{Problem, ProblemKind, cut};

/// Where problems go.
pub(super) trait Sink {
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
pub(super) struct Stop<'a>(pub(super) &'a mut Steps);

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
pub(super) struct Collect {
    pub(super) problems: Vec<Problem>,
    pub(super) steps: Steps,
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
        let problem = Problem::new(kind, at.to_string(), text());
        // Several subschemas may say the same.
        if self.problems.contains(&problem) {
            return ControlFlow::Continue(());
        }
        self.problems.push(problem);
        if self.problems.len() < Self::MAX {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

/// Where in the arguments the check is: a list on the stack, written out when a problem needs it.
pub(super) enum Location<'a> {
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

/// What a check may take. Most take as many steps as there are values, but a schema can be such
/// that they double with each level of the value.
pub(super) struct Steps {
    left: usize,
    pub(super) are_used_up: bool,
    /// How many applicators the check is in.
    pub(super) depth: usize,
}

impl Steps {
    const AT_LEAST: usize = 100_000;
    const PER_NODE: usize = 64;
    /// A schema can have a chain of references at each level of the value, and the stack must
    /// have room for all of them.
    const DEPTH_MAX: usize = 512;

    #[inline]
    pub(super) fn enough_for(value: Value<'_>) -> Self {
        Self {
            left: Self::AT_LEAST + Self::PER_NODE * value.node_count(),
            are_used_up: false,
            depth: 0,
        }
    }

    /// Breaks off when all are used up; and so must then everything that uses them.
    #[inline]
    pub(super) fn spend(&mut self, steps: usize) -> ControlFlow<()> {
        match self.left.checked_sub(steps) {
            Some(left) => self.left = left,
            None => self.are_used_up = true,
        }
        if self.are_used_up {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Enters an applicator. Breaks off as [`Steps::spend`] does if it is in too many.
    #[inline]
    pub(super) fn descend(&mut self) -> ControlFlow<()> {
        self.depth += 1;
        if self.depth > Self::DEPTH_MAX {
            self.are_used_up = true;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Leaves an applicator.
    #[inline]
    pub(super) fn ascend(&mut self) {
        self.depth -= 1;
    }
}
