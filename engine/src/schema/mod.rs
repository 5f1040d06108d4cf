//! Argument checking: the input schema of a tool, compiled when the server is frozen, checked
//! over the borrowed arguments without allocating.
//!
//! ```text
//!   schema text ─▶ compile ─▶ Schema (a flat list of nodes) ─▶ check(arguments) ─▶ problems
//! ```
//!
//! JSON Schema 2020-12 is checked but for `unevaluatedItems` and `unevaluatedProperties`,
//! `$dynamicRef`, references to an `$anchor` or an `$id`, and patterns with look-around,
//! references back or Unicode properties. A keyword is asserted, or asserts nothing by the
//! specification, or the schema is refused by name: nothing is silently taken as permissive, and
//! no `$ref` is ever fetched. What is refused can be checked by a [`Compiler`] of the user's.
//!
//! Integers beyond 64 bits are compared as the floats nearest to them.
//!
//! Specification: 2026-07-28, `basic/index`, JSON Schema Usage.

mod array;
mod check;
mod compile;
mod flat;
mod foreign;
mod node;
mod number;
mod object;
mod pattern;
mod problem;
mod read;
mod reference;
mod shape;
mod sink;
#[cfg(test)]
mod tests;
mod unique;
mod value;

use tightwire_codec::{Object, Value};

use crate::json::with_root;

pub use foreign::{Checker, Compiler};
pub use problem::{Problem, ProblemKind};

pub(crate) use problem::{describe, describe_output};

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Schema {
    /// The root is the first.
    nodes: Vec<node::Node>,
    /// If the schema is flat.
    flat: Option<flat::Flat>,
    /// Checks instead of the nodes, of which there are then none.
    foreign: Option<Box<dyn Checker>>,
}

impl Schema {
    /// Compiles any schema.
    ///
    /// # Errors
    ///
    /// What is wrong, and where as a JSON pointer: not JSON, no schema, a keyword that cannot be
    /// checked.
    pub(crate) fn compile(text: &str) -> Result<Self, String> {
        let mut schema = Self {
            nodes: compile::nodes(text)?,
            flat: None,
            foreign: None,
        };
        schema.check_ends()?;
        schema.tag_branches();
        schema.flat = flat::Flat::of(&schema);
        Ok(schema)
    }

    /// Compiles any schema; what cannot be checked here is left to the other compiler, if there
    /// is one.
    ///
    /// # Errors
    ///
    /// As [`Schema::compile`], or what the other compiler says.
    pub(crate) fn compile_or(text: &str, other: Option<&dyn Compiler>) -> Result<Self, String> {
        match (Self::compile(text), other) {
            (Err(_), Some(other)) => Ok(Self {
                nodes: Vec::new(),
                flat: None,
                foreign: Some(other.compile(text)?),
            }),
            (result, _) => result,
        }
    }

    /// Compiles the input schema of a tool, whose root has the type `object`.
    ///
    /// # Errors
    ///
    /// As [`Schema::compile_or`], or that it is of another type.
    pub(crate) fn of_arguments(text: &str, other: Option<&dyn Compiler>) -> Result<Self, String> {
        with_root(text, |root| {
            if root_object(root)?.find("type").and_then(Value::as_str) != Some("object") {
                return Err("its `type` must be `object`".to_owned());
            }
            Ok(())
        })?;
        Self::compile_or(text, other)
    }

    /// Compiles the output schema of a tool, which is an object of any type.
    ///
    /// # Errors
    ///
    /// As [`Schema::compile_or`], or that it is no object.
    pub(crate) fn of_output(text: &str, other: Option<&dyn Compiler>) -> Result<Self, String> {
        with_root(text, |root| root_object(root).map(|_| ()))?;
        Self::compile_or(text, other)
    }
}

fn root_object(root: Value<'_>) -> Result<Object<'_>, String> {
    root.as_object()
        .ok_or_else(|| format!("it must be an object, not {}", root.kind().as_str()))
}
