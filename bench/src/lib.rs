//! The message corpus, and what drives servers with it.
