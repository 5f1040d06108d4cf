//! Asynchronous tools: what the author implements, and the executor that runs it.

use std::{fmt, pin::Pin, sync::Arc};

use super::{handler::Call, reply::Reply};

/// A future on the heap that may run on any thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The function behind an asynchronous tool: from a [`Call`] to a future, which may borrow from the
/// call, and whose value answers it.
pub(crate) type AsyncFunction =
    Arc<dyn for<'a> Fn(Call<'a>) -> BoxFuture<'a, AsyncAnswer> + Send + Sync>;

/// What an asynchronous tool answers its call with.
pub type AsyncAnswer = Box<dyn FnOnce(Reply<'_>) + Send>;

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
