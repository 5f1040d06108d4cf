//! Checkers from elsewhere, for schemas that are refused here.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use tightwire_codec::Value;

use super::problem::{Problem, ProblemKind};

/// Makes checkers of the schemas that the compiled check refuses: see
/// [`Server::schema_compiler`](crate::Server::schema_compiler). The crate `tightwire-jsonschema`
/// has one for all of JSON Schema.
pub trait Compiler: fmt::Debug + Send + Sync {
    /// Compiles a schema, given as JSON text: at the freeze, and again with every change that a
    /// [`Handle`](crate::Handle) makes, on the thread that makes it. It cannot make such a change
    /// itself: that is [`Error::Compiling`](crate::Error::Compiling).
    ///
    /// # Errors
    ///
    /// What is wrong with the schema, which is told as
    /// [`Error::Schema`](crate::Error::Schema). A schema that cannot be checked in full must be
    /// refused, and no reference may be fetched.
    fn compile(&self, schema: &str) -> Result<Box<dyn Checker>, String>;
}

/// Checks values against one schema.
///
/// It is called for each value on the thread that serves, and may be on several at once. Time and
/// memory that a value costs are its own to bound.
pub trait Checker: fmt::Debug + Send + Sync {
    /// All that is wrong with the value; nothing if it is valid. The order does not matter.
    fn problems(&self, value: Value<'_>) -> Vec<Problem>;
}

/// Asks a checker. If it panics, the value counts as not valid, and nothing else is lost.
pub(super) fn problems(checker: &dyn Checker, value: Value<'_>) -> Vec<Problem> {
    catch_unwind(AssertUnwindSafe(|| checker.problems(value))).unwrap_or_else(|_| {
        vec![Problem::new(
            ProblemKind::Constraint,
            "",
            "cannot be checked",
        )]
    })
}
