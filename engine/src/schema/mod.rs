//! Argument checking: the input schema of a tool, compiled when the server is frozen, checked
//! over the borrowed arguments without allocating.
//!
//! ```text
//!   schema text ─▶ compile ─▶ Schema (a flat list of nodes) ─▶ check(arguments) ─▶ problems
//! ```
//!
//! A keyword is asserted, or known to assert nothing, or the schema is refused by name: nothing
//! is silently taken as permissive, and no `$ref` is ever fetched.
//!
//! Specification: 2026-07-28, `basic/index`, JSON Schema Usage.

mod check;
mod compile;
mod problem;
mod sink;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use compile::Schema;
pub(crate) use problem::describe;
