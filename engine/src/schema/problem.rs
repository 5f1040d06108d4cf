//! What is wrong with the arguments of a call, in words that a model can act on.

use std::fmt::Write;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) kind: ProblemKind,
    /// The argument, as a path: `location`, `items[2].name`; empty for the arguments as a whole.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The kinds of problems, in the order they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProblemKind {
    Missing,
    Type,
    Value,
    Constraint,
    Unexpected,
}

/// All problems of a call to this tool as one text.
pub(crate) fn describe(tool: &str, problems: &[Problem]) -> String {
    let mut text = format!("Invalid arguments for {tool}:");
    for problem in problems {
        let path = if problem.path.is_empty() {
            "arguments"
        } else {
            &problem.path
        };
        // Writing to a String does not fail.
        let _ = write!(text, "\n- {path}: {}", problem.text);
    }
    text
}
