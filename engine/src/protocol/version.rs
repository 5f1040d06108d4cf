//! The revisions of the specification, and the two eras they fall into.
//!
//! Specification: 2026-07-28, `basic/versioning`.

use std::fmt;

/// A revision of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProtocolVersion {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26: the only one with batches.
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25: the last one with a handshake.
    V2025_11_25,
    /// 2026-07-28: stateless.
    V2026_07_28,
}

/// How a revision conveys who speaks and what they can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// With every request, in `_meta`: 2026-07-28 and later.
    Modern,
    /// Once, in the `initialize` handshake: 2025-11-25 and earlier.
    Legacy,
}

impl ProtocolVersion {
    /// Every revision, oldest first. There will be more of them.
    pub const ALL: &'static [Self] = &[
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];
    /// The newest revision with a handshake.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;
    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The revision as it is written on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision that this text names.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|version| version.as_str() == text)
    }

    /// The era of the revision.
    #[must_use]
    pub const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }

    /// The place of the revision in [`ProtocolVersion::ALL`].
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_places_agree() {
        for (index, version) in ProtocolVersion::ALL.iter().copied().enumerate() {
            assert_eq!(version.index(), index);
            assert_eq!(ProtocolVersion::parse(version.as_str()), Some(version));
            assert_eq!(
                version.era() == Era::Modern,
                version == ProtocolVersion::LATEST
            );
        }
        assert_eq!(ProtocolVersion::parse("2026-07-2"), None);
    }
}
