//! The attribute macros of `tightwire`. Each will expand to one impl of a public trait that a
//! user could have written by hand; until they exist, write `Tool::typed`, `Resource::new` and
//! `Prompt::new`.
