//! The rules of the source tree.
