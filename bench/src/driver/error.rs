//! What can go wrong before there are figures.

use std::{fmt, io};

/// Why the driver could not measure. What a server answers wrongly while it is measured is no
/// error but part of the figures.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system refused something.
    Io(io::Error),
    /// The server ended, or closed its output, in the middle of the conversation.
    Closed {
        /// What was being asked of it.
        during: String,
        /// What it said last.
        last_words: String,
    },
    /// The server did not answer in time.
    Silent {
        /// What was asked of it.
        during: String,
        /// What it said last.
        last_words: String,
    },
    /// The server refused what the conversation needs.
    Refused {
        /// What was asked of it.
        during: String,
        /// Its answer.
        answer: String,
    },
    /// What was asked for cannot be done with this server.
    Unusable(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, words) = match self {
            Self::Io(error) => return write!(f, "{error}"),
            Self::Closed { during, last_words } => (
                format!("the server closed its output before it answered {during}"),
                last_words,
            ),
            Self::Silent { during, last_words } => (
                format!("the server did not answer {during} in time"),
                last_words,
            ),
            Self::Refused { during, answer } => {
                return write!(f, "the server refused {during}: {answer}");
            }
            Self::Unusable(text) => return f.write_str(text),
        };
        f.write_str(&text)?;
        for line in words.lines() {
            write!(f, "\n  | {line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Short for the results of this module.
pub type Result<T> = std::result::Result<T, Error>;
