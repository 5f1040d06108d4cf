//! [`Tool`]: the definition of a tool and the function behind it.

use std::{fmt, sync::Arc, time::Duration};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use tightwire_codec::DeserializeError;

use super::{
    executor::{AsyncAnswer, AsyncFunction, BoxFuture},
    handler::{Call, ToolHandler},
    into_reply::{IntoReply, schema_of},
    reply::Reply,
    task::TaskOptions,
};
use crate::{
    error::one_line,
    model::{annotations::ToolAnnotations, tool::ToolDefinition},
};

/// A tool: what clients see of it, and the function that serves its calls.
///
/// ```
/// use tightwire::{Call, Reply, Tool};
///
/// let shout = Tool::new("shout", |call: Call<'_>, reply: Reply<'_>| {
///     let text = call.arguments().find("text").and_then(|text| text.as_str());
///     reply.text(&text.unwrap_or_default().to_uppercase());
/// })
/// .description("Say it louder")
/// .input_schema(r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#);
/// ```
#[derive(Clone)]
pub struct Tool {
    pub(crate) definition: ToolDefinition,
    pub(crate) execution: Execution,
    pub(crate) timeout: Option<Duration>,
    pub(crate) task: Option<Box<TaskOptions>>,
    pub(crate) function: Function,
}

/// The function behind a tool.
#[derive(Clone)]
pub(crate) enum Function {
    Sync(Arc<dyn ToolHandler>),
    Async(AsyncFunction),
}

/// Where a tool's function runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Execution {
    /// In the loop, between one line and the next.
    Inline,
    /// On a thread of the pool, with a copy of the arguments.
    Blocking,
    /// On the server's executor, with a copy of the arguments.
    Async,
}

impl Tool {
    /// A tool in the raw form. Without [`Tool::input_schema`] it takes any arguments.
    #[must_use]
    pub fn new(name: impl Into<String>, handler: impl ToolHandler) -> Self {
        Self::define(
            name.into(),
            Execution::Inline,
            Function::Sync(Arc::new(handler)),
        )
    }

    /// An asynchronous tool: its future runs on the [`Server::executor`](crate::Server::executor),
    /// with a copy of the arguments, and is dropped when the call is cancelled. Without
    /// [`Tool::input_schema`] it takes any arguments.
    ///
    /// ```
    /// use tightwire::{AsyncAnswer, Call, Reply, Tool};
    ///
    /// let lookup = Tool::asynchronous("lookup", |call: Call<'_>| {
    ///     Box::pin(async move {
    ///         let city = call.arguments().find("city").and_then(|city| city.as_str());
    ///         let city = city.unwrap_or("nowhere").to_owned();
    ///         // … ask a slow database, and await its answer …
    ///         let answer: AsyncAnswer = Box::new(move |reply: Reply<'_>| reply.text(&city));
    ///         answer
    ///     })
    /// });
    /// ```
    #[must_use]
    pub fn asynchronous(
        name: impl Into<String>,
        function: impl for<'a> Fn(Call<'a>) -> BoxFuture<'a, AsyncAnswer> + Send + Sync + 'static,
    ) -> Self {
        Self::define(
            name.into(),
            Execution::Async,
            Function::Async(Arc::new(function)),
        )
    }

    fn define(name: String, execution: Execution, function: Function) -> Self {
        Self {
            definition: ToolDefinition::new(name),
            execution,
            timeout: None,
            task: None,
            function,
        }
    }

    /// A tool whose arguments are read into a type and whose input schema is that of the type. The
    /// doc comments of the type's fields describe the arguments.
    ///
    /// ```
    /// use tightwire::{Tool, schemars, serde};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// #[serde(crate = "tightwire::serde")]
    /// #[schemars(crate = "tightwire::schemars")]
    /// struct Add {
    ///     /// The first number.
    ///     a: f64,
    ///     b: f64,
    /// }
    ///
    /// let add = Tool::typed("add", |args: Add| args.a + args.b).description("Add two numbers");
    /// ```
    #[must_use]
    pub fn typed<A, R>(
        name: impl Into<String>,
        function: impl Fn(A) -> R + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: IntoReply + 'static,
    {
        let handler = move |call: Call<'_>, reply: Reply<'_>| match call.parse::<A>() {
            Ok(arguments) => function(arguments).reply(reply),
            Err(error) => reply.invalid_arguments(call.name(), &error),
        };
        Self::new(name, handler).takes::<A>().returns::<R>()
    }

    /// Sets the input schema to that of a type, for a tool whose handler reads its arguments with
    /// [`Call::parse`]. Unlike that of [`Tool::typed`] the type may borrow from the call.
    ///
    /// ```
    /// use tightwire::{Call, Reply, Tool, schemars, serde};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// #[serde(crate = "tightwire::serde")]
    /// #[schemars(crate = "tightwire::schemars")]
    /// struct Echo<'a> {
    ///     message: &'a str,
    /// }
    ///
    /// let echo = Tool::new("echo", |call: Call<'_>, reply: Reply<'_>| {
    ///     match call.parse::<Echo<'_>>() {
    ///         Ok(arguments) => reply.text(arguments.message),
    ///         Err(error) => reply.invalid_arguments(call.name(), &error),
    ///     }
    /// })
    /// .takes::<Echo<'_>>();
    /// ```
    #[must_use]
    pub fn takes<A: JsonSchema>(self) -> Self {
        self.input_schema(schema_of::<A>(SchemaSettings::for_deserialize))
    }

    /// Sets the output schema to that of a type, if it has one.
    #[must_use]
    pub fn returns<R: IntoReply>(mut self) -> Self {
        self.definition.output_schema = R::output_schema().map(one_line);
        self
    }

    /// Sets the input schema: JSON Schema 2020-12, of type object. It is checked when the server
    /// is frozen.
    #[must_use]
    pub fn input_schema(mut self, json: impl Into<String>) -> Self {
        self.definition.input_schema = one_line(json.into());
        self
    }

    /// Sets the output schema: JSON Schema 2020-12, of any type in 2026-07-28 and of type object
    /// where 2025-06-18 and 2025-11-25 are to have it. It is checked when the server is frozen.
    /// The handler must answer with [`Reply::structured`], unless with an error.
    #[must_use]
    pub fn output_schema(mut self, json: impl Into<String>) -> Self {
        self.definition.output_schema = Some(one_line(json.into()));
        self
    }

    /// Sets the hints on what the tool does. Sent from 2025-03-26 on.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.definition.annotations = Some(annotations);
        self
    }

    /// Runs the function on a thread of the pool, where it may wait. Without this it runs in the
    /// loop, which is faster and must not wait. Of no meaning to an asynchronous tool.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        if self.execution == Execution::Inline {
            self.execution = Execution::Blocking;
        }
        self
    }

    /// Sets how long a call may take that is not answered in the loop, if that is less than
    /// [`Limits::deferred_ms_max`](crate::Limits::deferred_ms_max). After it the call is cancelled
    /// and answered with -32603. One that asks its client has this time each time that it is called:
    /// what the client takes to answer is not counted.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Lets calls become tasks: they are answered with a handle at once, and the client asks later
    /// what has become of them, from whatever connection, or is told if it is subscribed to them
    /// (`notifications/tasks`). The function is the same: it runs where
    /// it would have run otherwise, and may answer, fail, wait, and ask the client, as for any
    /// call. It may take as long as the task lives, or for [`Tool::timeout`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use tightwire::{Call, Reply, TaskOptions, TaskSupport, Tool};
    ///
    /// let bake = Tool::new("bake", |_: Call<'_>, reply: Reply<'_>| {
    ///     reply.after(Duration::from_secs(3600), |reply| reply.text("a cake"));
    /// })
    /// .task(TaskOptions::new(TaskSupport::Required).ttl(Duration::from_secs(7200)));
    /// ```
    ///
    /// In 2025-11-25 it is the client that makes a task of a call, with `params.task`, and it asks from
    /// the session in which it did: at the session's end its tasks are cancelled and forgotten. The
    /// tool is listed as one that may, or must, be called so. In revisions before it calls never
    /// become tasks, and those that would have to are a tool execution error.
    ///
    /// Specification: extension `io.modelcontextprotocol/tasks`; 2025-11-25,
    /// `basic/utilities/tasks`.
    #[must_use]
    pub fn task(mut self, options: impl Into<TaskOptions>) -> Self {
        self.task = Some(Box::new(options.into()));
        self
    }
}

described!(Tool);
illustrated!(Tool);

impl Reply<'_> {
    /// Answers with a tool execution error: the arguments fit the input schema, but not the type
    /// that [`Call::parse`](crate::Call::parse) read them into.
    pub fn invalid_arguments(self, tool: &str, error: &DeserializeError) {
        self.error(format_args!("Invalid arguments for {tool}: {error}"));
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("definition", &self.definition)
            .field("execution", &self.execution)
            .finish_non_exhaustive()
    }
}
