//! What a tool's author implements, and what is handed to it.

use std::{
    any::Any,
    cell::Cell,
    fmt,
    panic::{AssertUnwindSafe, Location, catch_unwind},
    time::Duration,
};

use serde::Deserialize;
use tightwire_codec::{DeserializeError, Object, Value};

use super::{context::Context, reply::Reply};

/// The function behind a tool.
///
/// Implemented by closures over a [`Call`] and a [`Reply`]: the raw form, which the others are
/// built on. It must use up the reply.
pub trait ToolHandler: Send + Sync + 'static {
    /// Serves one call.
    fn call(&self, call: Call<'_>, reply: Reply<'_>);
}

impl<F> ToolHandler for F
where
    F: Fn(Call<'_>, Reply<'_>) + Send + Sync + 'static,
{
    fn call(&self, call: Call<'_>, reply: Reply<'_>) {
        self(call, reply);
    }
}

/// One call of a tool, borrowed from the line that it came in. Its arguments fit the tool's input
/// schema.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub(crate) name: &'a str,
    pub(crate) arguments: Value<'a>,
    pub(crate) context: &'a Context<'a>,
}

impl<'a> Call<'a> {
    /// The name of the tool.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The arguments.
    #[must_use]
    #[inline]
    pub fn arguments(&self) -> Object<'a> {
        self.arguments.as_object().unwrap_or(Object::EMPTY)
    }

    /// The arguments as a type, whose `&str` fields borrow from the line.
    ///
    /// # Errors
    ///
    /// [`DeserializeError`] if they do not fit the type.
    pub fn parse<T: Deserialize<'a>>(&self) -> Result<T, DeserializeError> {
        self.arguments.deserialize()
    }

    /// The metadata of the request.
    #[must_use]
    pub fn meta(&self) -> Option<Object<'a>> {
        self.context.meta()
    }

    /// The request that the call is: who asks, and the means to report progress, to log and to ask
    /// back.
    #[must_use]
    pub fn context(&self) -> &'a Context<'a> {
        self.context
    }

    /// Whether the client has cancelled the call, or its time is up: seen by blocking tools. An
    /// inline tool holds the loop that would learn of it.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.context.is_cancelled()
    }

    /// Waits, for a blocking tool, until the call is cancelled, at most for `timeout`. Whether it
    /// was. An inline tool must not wait, and gets `false` at once.
    #[must_use]
    pub fn wait_cancelled(&self, timeout: Duration) -> bool {
        self.context.wait_cancelled(timeout)
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("name", &self.name)
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

thread_local! {
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
    static PANICKED_AT: Cell<Option<String>> = const { Cell::new(None) };
}

/// Whether this thread is inside of a handler: a panic there is reported by the engine, in a line
/// that cannot block.
pub(crate) fn in_handler() -> bool {
    // Gone while the thread ends: then no handler runs in it.
    IN_HANDLER.try_with(Cell::get).unwrap_or(false)
}

/// Runs a handler, or what drops one. A panic in it ends here, as its message.
#[inline]
pub(crate) fn guard(handler: impl FnOnce()) -> Result<(), String> {
    let outer = IN_HANDLER.replace(true);
    // What a handler leaves half done is its own: the engine's state is not reachable from it,
    // and the output is restored by the reply.
    let result = catch_unwind(AssertUnwindSafe(handler));
    IN_HANDLER.set(outer);
    result.map_err(panic_message)
}

/// Notes where a handler is panicking, for the message that [`guard`] makes of it.
pub(crate) fn note_panic_location(location: Option<&Location<'_>>) {
    let text = location.map(|location| format!(", at {location}"));
    // Gone while the thread ends: then no handler runs in it.
    let _ = PANICKED_AT.try_with(|place| place.replace(text));
}

fn panic_message(payload: Box<dyn Any + Send>) -> String {
    let message = match payload.downcast::<&str>().map(|text| (*text).to_owned()) {
        Ok(text) => text,
        Err(payload) => payload.downcast::<String>().map_or_else(
            |payload| {
                // It may panic once more when it is dropped, and nobody would catch that.
                std::mem::forget(payload);
                "no message".to_owned()
            },
            |text| *text,
        ),
    };
    let place = PANICKED_AT.take().unwrap_or_default();
    format!("{message}{place}")
}
