//! [`Hook`]: what happens around the handlers of a server: metrics, limits of rate, audit, traces.
//!
//! ```text
//!   request ─▶ before ─ Err ─▶ refused ────────────────────────┐
//!                │                                             ▼
//!                └─ Ok ─▶ around( handler ) ─▶ answer ─▶ after(Finished)
//! ```

use std::{fmt, sync::Arc, time::Duration};

use super::{
    context::{Asked, Context},
    handler::guard,
    log::Log,
    reply::Answer,
};
use crate::{error::RpcError, protocol::method::Method};

/// What happens around the handlers of a server: of tools, resources and prompts, of completion,
/// and of methods of its own.
///
/// All of it runs in the loop but [`Hook::around`], which runs where the handler does. It must not
/// wait.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use tightwire::{Context, Finished, Hook, RpcError, Server};
///
/// /// Serves so many calls and no more.
/// struct Quota(AtomicUsize);
///
/// impl Hook for Quota {
///     fn before(&self, _: &Context<'_>) -> Result<(), RpcError> {
///         let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
///         taken.map(drop).map_err(|_| RpcError::internal("The quota is used up"))
///     }
///
///     fn after(&self, finished: &Finished<'_>) {
///         eprintln!("{} took {:?}", finished.name(), finished.took());
///     }
/// }
///
/// let server = Server::new("demo", "1.0.0").hook(Quota(AtomicUsize::new(1000)));
/// ```
pub trait Hook: Send + Sync + 'static {
    /// Before a handler runs, which for a `blocking` or asynchronous one is before it is handed over.
    /// An error refuses the request, and neither the hooks after this one nor the handler are called.
    ///
    /// A handler that asks the client is called once in each round, and so is this: in 2026-07-28,
    /// where each round is a request of its own, and before it, where all rounds are one request. For
    /// a task it is called once, when the task is made. A call whose arguments do not fit the schema is
    /// told of, too, though it does not reach its tool; what comes to no handler otherwise, as a list or
    /// an unknown name, is not.
    ///
    /// # Errors
    ///
    /// What the request is refused with.
    fn before(&self, context: &Context<'_>) -> Result<(), RpcError> {
        let _ = context;
        Ok(())
    }

    /// Around a handler, on the thread that it runs on: must call `handler` once. A future is
    /// polled within it, each time. A handler that is not called answers -32603, and one that is
    /// called again does nothing.
    fn around(&self, context: &Context<'_>, handler: &mut dyn FnMut()) {
        let _ = context;
        handler();
    }

    /// After a request was answered, refused or cancelled, or given up since its connection ended;
    /// after a task has ended. It is called of all hooks, also of those that another refused the
    /// request before.
    ///
    /// A call that asks the client is told of once in each round in 2026-07-28, each but the last as
    /// [`Ending::InputRequired`]; before it, once for all rounds, as it ended. So there may be more
    /// [`Hook::before`] than this where a session's call is called again.
    fn after(&self, finished: &Finished<'_>) {
        let _ = finished;
    }
}

/// A request that is over.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    pub(crate) method: &'static str,
    pub(crate) name: &'a str,
    pub(crate) ending: Ending,
    pub(crate) took: Duration,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// With a result.
    Result,
    /// With a tool execution error.
    ToolError,
    /// With a JSON-RPC error of this code.
    Error(i32),
    /// With a question to the client, who makes the request again.
    InputRequired,
    /// Without an answer, since the client cancelled it, or is gone.
    Cancelled,
}

impl<'a> Finished<'a> {
    /// The method: that of a tool's call, a resource's reading, a prompt's getting or a completion.
    /// Empty for a method of the server's own.
    #[must_use]
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// The name of the tool or prompt, of the argument that is completed, or of the method of the
    /// server's own. Empty for resources, whose URIs are without number.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// How it ended.
    #[must_use]
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// How long it took: a handler in the loop, by itself; any other, and one that has asked the
    /// client of a session, from the request to the answer.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.took
    }
}

/// The hooks of a server, in the order in which they were added.
#[derive(Clone, Default)]
pub(crate) struct Hooks(Vec<Arc<dyn Hook>>);

impl Hooks {
    pub(crate) fn push(&mut self, hook: Arc<dyn Hook>) {
        self.0.push(hook);
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs a handler, unless a hook refuses it. One that only has the real one run elsewhere is
    /// not run within them: that one is.
    pub(crate) fn run(
        &self,
        context: &Context<'_>,
        answer: Answer<'_>,
        is_here: bool,
        handler: impl FnOnce(&Context<'_>, Answer<'_>),
    ) {
        if let Err(error) = self.before(context) {
            return answer.error(&error);
        }
        if !is_here {
            return handler(context, answer);
        }
        let mut once = Some((handler, answer));
        self.around(context, &mut || {
            if let Some((handler, answer)) = once.take() {
                handler(context, answer);
            }
        });
    }

    /// The first refusal, if there is one.
    pub(super) fn before(&self, context: &Context<'_>) -> Result<(), RpcError> {
        self.0.iter().try_for_each(|hook| hook.before(context))
    }

    /// The first hook is the outermost.
    pub(crate) fn around(&self, context: &Context<'_>, handler: &mut dyn FnMut()) {
        fn nest(hooks: &[Arc<dyn Hook>], context: &Context<'_>, handler: &mut dyn FnMut()) {
            match hooks.split_first() {
                None => handler(),
                Some((first, rest)) => {
                    first.around(context, &mut || nest(rest, context, handler));
                }
            }
        }
        nest(&self.0, context, handler);
    }

    /// Tells of a request that is over. Where a hook panics, the log says so and the others are told
    /// all the same: the answer is out, so there is nobody else to tell.
    pub(super) fn after(&self, finished: &Finished<'_>, log: &mut Log) {
        for hook in &self.0 {
            if let Err(message) = guard(|| hook.after(finished)) {
                log.push(&format!("a hook panicked: {message}"));
            }
        }
    }
}

/// The requests that a line was, for when it is known how long it took.
#[derive(Debug, Default)]
pub(super) struct FinishedLine {
    list: Vec<(Method, Ending, usize)>,
    /// One after the other, up to the length that stands in the list.
    names: String,
}

impl FinishedLine {
    pub(super) fn push(&mut self, asked: Asked<'_>, ending: Ending) {
        self.names.push_str(metered_name(asked.method, asked.name));
        self.list.push((asked.method, ending, self.names.len()));
    }

    pub(super) fn tell(&mut self, hooks: &Hooks, took: Duration, log: &mut Log) {
        let mut start = 0;
        for (method, ending, end) in self.list.drain(..) {
            let finished = Finished {
                method: method.as_str(),
                name: &self.names[start..end],
                ending,
                took,
            };
            hooks.after(&finished, log);
            start = end;
        }
        self.names.clear();
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// The name that a request is told under.
pub(super) fn metered_name(method: Method, name: &str) -> &str {
    match method {
        Method::ResourcesRead => "",
        _ => name,
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hooks").field(&self.0.len()).finish()
    }
}
