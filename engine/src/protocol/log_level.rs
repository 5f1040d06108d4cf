//! How grave a log message is.

/// The levels of log messages, as RFC 5424 has them.
///
/// Specification: `server/utilities/logging`, Log Levels. Deprecated from 2026-07-28 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For debugging.
    Debug,
    /// General information.
    Info,
    /// Normal, but significant.
    Notice,
    /// A warning.
    Warning,
    /// An error.
    Error,
    /// A component fails.
    Critical,
    /// Action must be taken at once.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl LogLevel {
    /// All levels, from the least grave on.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// The level of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }

    /// All names, for a message that tells them.
    pub(crate) fn names() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }
}
