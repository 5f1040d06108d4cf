//! What is wrong with the arguments of a call, in words that a model can act on.

use std::{borrow::Cow, fmt::Write};

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Of what kind it is: problems are told by kind.
    pub kind: ProblemKind,
    /// Where it is, as a path: `location`, `items[2].name`; empty for the value as a whole.
    pub path: String,
    /// What is wrong, in words that go on after the path: `must be integer, not string`.
    pub text: String,
}

impl Problem {
    /// A problem of this kind at this place.
    #[must_use]
    pub fn new(kind: ProblemKind, path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            kind,
            path: path.into(),
            text: text.into(),
        }
    }
}

/// The kinds of problems, in the order they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// What is required is not there.
    Missing,
    /// It is of another JSON type.
    Type,
    /// It is none of the values that are listed, or not the one.
    Value,
    /// Anything else that must hold.
    Constraint,
    /// It is there and must not be.
    Unexpected,
}

/// Bytes that all problems together are told in, but for the last line.
const TEXT_BYTES_MAX: usize = 4 * 1024;
/// Characters that are shown of a path, and of what is wrong there.
const PART_MAX: usize = 400;

/// The problems of a call to this tool as one text, as many as it has room for.
pub(crate) fn describe(tool: &str, problems: &[Problem]) -> String {
    tell(
        format!("Invalid arguments for {tool}:"),
        "arguments",
        problems,
    )
}

/// The problems of what this tool answered as one text, as many as it has room for.
pub(crate) fn describe_output(tool: &str, problems: &[Problem]) -> String {
    let head = format!("The output of {tool} does not fit its output schema:");
    tell(head, "output", problems)
}

/// Adds the problems to the first line of a text; `whole` names what is checked.
fn tell(mut text: String, whole: &str, problems: &[Problem]) -> String {
    for (told, problem) in problems.iter().enumerate() {
        let path = if problem.path.is_empty() {
            whole
        } else {
            &cut(&problem.path, PART_MAX)
        };
        let line = format!("\n- {path}: {}", cut(&problem.text, PART_MAX));
        if told > 0 && text.len() + line.len() > TEXT_BYTES_MAX {
            let left = problems.len() - told;
            let problems = if left == 1 { "problem" } else { "problems" };
            // Writing to a String does not fail.
            let _ = write!(text, "\n- and {left} more {problems}");
            break;
        }
        text += &line;
    }
    text
}

/// As much of the text as this many characters, with an ellipsis if there is more.
pub(super) fn cut(text: &str, chars_max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(path: &str, text: &str) -> Problem {
        Problem {
            kind: ProblemKind::Type,
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn problems_are_told_as_far_as_there_is_room() {
        assert_eq!(
            describe("t", &[problem("", "is bad"), problem("a[0]", "is worse")]),
            "Invalid arguments for t:\n- arguments: is bad\n- a[0]: is worse"
        );
        let long = problem(&"ä".repeat(1000), &"ü".repeat(1000));
        for count in [1, 2, 3, 64] {
            let text = describe("t", &vec![long.clone(); count]);
            assert!(text.len() < 5 * 1024);
            let told = text.matches('ä').count() / PART_MAX;
            assert_eq!(told, count.min(2));
            match count - told {
                0 => assert!(text.ends_with("ü…")),
                1 => assert!(text.ends_with("\n- and 1 more problem")),
                left => assert!(text.ends_with(&format!("\n- and {left} more problems"))),
            }
        }
        let short = vec![problem("path", "is bad"); 64];
        assert_eq!(describe("t", &short).lines().count(), 65);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöü", 2), "äö…");
        assert_eq!(cut("", 0), "");
    }
}
