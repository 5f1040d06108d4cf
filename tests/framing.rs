//! Framing: how bytes become lines.
