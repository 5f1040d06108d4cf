//! The panic hook: what a handler panics with is told in the log alone.

use std::sync::Once;

use crate::server::handler::{in_handler, note_panic_location};

/// Keeps panics in handlers off stderr: the standard hook would block where nobody reads it. They
/// are told in the log instead, in a line each. All other panics are reported as before.
pub(super) fn install_panic_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let outer = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if in_handler() {
                note_panic_location(info.location());
            } else {
                outer(info);
            }
        }));
    });
}
