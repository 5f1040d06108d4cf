//! Asynchronous tools: what the author implements, and the executor that runs it.

use std::{fmt, pin::Pin, sync::Arc};

use super::{handler::Call, reply::Reply};

/// A future on the heap that may run on any thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The function behind an asynchronous tool. What its future gives answers the call.
///
/// Implemented by functions from a [`Call`] to a boxed future.
pub trait AsyncToolHandler: Send + Sync + 'static {
    /// Serves one call. The future is dropped when the call is cancelled.
    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, AsyncAnswer>;
}

/// What an asynchronous tool answers its call with.
pub type AsyncAnswer = Box<dyn FnOnce(Reply<'_>) + Send>;

impl<F> AsyncToolHandler for F
where
    F: for<'a> Fn(Call<'a>) -> BoxFuture<'a, AsyncAnswer> + Send + Sync + 'static,
{
    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, AsyncAnswer> {
        self(call)
    }
}

/// What takes the futures of asynchronous tools.
#[derive(Clone)]
pub(crate) struct Executor(Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>);

impl Executor {
    pub(crate) fn new(spawn: impl Fn(BoxFuture<'static, ()>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(spawn))
    }

    pub(crate) fn spawn(&self, future: BoxFuture<'static, ()>) {
        (self.0)(future);
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Executor")
    }
}
