//! Steady state allocates nothing.
