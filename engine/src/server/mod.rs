//! [`Server`]: register tools, resources and prompts, then freeze, then serve.
//!
//! ```text
//!   Server ── freeze ──▶ FrozenServer ── connect ──▶ ServerConnection (one per peer)
//!   builder              shared, constant            state machine: bytes in, bytes out
//! ```

/// The setters that everything with a definition has.
macro_rules! described {
    ($($type:ident)*) => {
        $(impl $type {
            /// Sets the description, which tells a model or a person what it is for.
            #[must_use]
            pub fn description(mut self, text: impl Into<String>) -> Self {
                self.definition.description = Some(text.into());
                self
            }

            /// Sets the name for people to read. Sent from 2025-06-18 on.
            #[must_use]
            pub fn title(mut self, text: impl Into<String>) -> Self {
                self.definition.title = Some(text.into());
                self
            }
        })*
    };
}

/// The setters of icons and metadata, which the same things have.
macro_rules! illustrated {
    ($($type:ident)*) => {
        $(impl $type {
            /// Adds an icon. Sent from 2025-11-25 on.
            #[must_use]
            pub fn icon(mut self, icon: crate::model::icon::Icon) -> Self {
                self.definition.icons.push(icon);
                self
            }

            /// Sets `_meta`, which must be a JSON object. Sent from 2025-06-18 on.
            #[must_use]
            pub fn meta(mut self, json: impl Into<String>) -> Self {
                self.definition.meta = Some(crate::model::meta::MetaObject::new(json));
                self
            }
        })*
    };
}

mod admission;
pub(crate) mod answers;
pub(crate) mod ask;
pub(crate) mod batch;
mod changes;
pub(crate) mod client;
pub(crate) mod completion;
pub(crate) mod connection;
mod content_reply;
pub(crate) mod context;
mod deferred;
mod dispatch;
pub(crate) mod executor;
pub(crate) mod extension;
pub(crate) mod handler;
pub(crate) mod hook;
pub(crate) mod hub;
pub(crate) mod into_contents;
pub(crate) mod into_messages;
pub(crate) mod into_reply;
pub(crate) mod into_tool;
pub(crate) mod job;
mod legacy;
mod log;
pub(crate) mod metrics;
mod modern;
pub(crate) mod output;
pub(crate) mod pages;
pub(crate) mod prompt;
mod question;
pub(crate) mod registry;
pub(crate) mod reply;
pub(crate) mod resource;
mod run;
pub(crate) mod seal;
mod session_tasks;
mod settings;
mod subscriptions;
pub(crate) mod task;
pub(crate) mod task_memory;
mod task_question;
pub(crate) mod task_store;
mod task_table;
mod task_watch;
mod tasks;
pub(crate) mod ticket;
pub(crate) mod tool;

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use self::{
    connection::ServerConnection,
    executor::{BoxFuture, Executor},
    extension::{Extension, ExtensionMethod},
    hook::{Hook, Hooks},
    hub::{Handle, Hub},
    into_reply::IntoReply,
    into_tool::{AnyResource, IntoPrompt, IntoResource, IntoTool, Tools},
    pages::ListSettings,
    registry::{Parts, Registry},
    resource::ResourceTemplate,
    task_store::TaskStore,
    tool::Tool,
};
use crate::{
    error::{Result, RpcError, one_line},
    limits::Limits,
    model::{caching::Caching, implementation::Implementation},
    schema::Compiler,
};

/// A server being put together.
#[derive(Debug)]
pub struct Server {
    parts: Parts,
    /// Once there is a handle.
    hub: Option<Arc<Hub>>,
}

impl Server {
    /// A server with this name and version, and nothing to serve yet.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            parts: Parts {
                implementation: Implementation::new(name.into(), version.into()),
                instructions: None,
                limits: Limits::default(),
                schema_compiler: None,
                lists: ListSettings::default(),
                discover_caching: Caching::LISTS,
                check_output: cfg!(debug_assertions),
                tools: Vec::new(),
                resources: Vec::new(),
                templates: Vec::new(),
                prompts: Vec::new(),
                logging: false,
                state_key: None,
                executor: None,
                hooks: Hooks::default(),
                changes: false,
                task_store: None,
                tasks: Arc::default(),
                extensions: Vec::new(),
                methods: Vec::new(),
            },
            hub: None,
        }
    }

    /// Sets the name for people to read. Sent from 2025-06-18 on.
    #[must_use]
    pub fn title(mut self, text: impl Into<String>) -> Self {
        self.parts.implementation.title = Some(text.into());
        self
    }

    /// Sets the instructions, which tell a model how to use the server.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.parts.instructions = Some(text.into());
        self
    }

    /// Sets what compiles the schemas that the built-in check refuses: see [`schema`](crate::schema).
    #[must_use]
    pub fn schema_compiler(mut self, compiler: impl Compiler + 'static) -> Self {
        self.parts.schema_compiler = Some(Arc::new(compiler));
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.parts.limits = limits;
        self
    }

    /// Lets handlers send log messages to clients: see [`Context::log`](crate::Context::log).
    ///
    /// Specification: 2026-07-28, `server/utilities/logging`: deprecated there.
    #[must_use]
    pub fn logging(mut self) -> Self {
        self.parts.logging = true;
        self
    }

    /// Sets the key that the state of questions to the client is sealed with: see
    /// [`Context::keep`](crate::Context::keep). With a key of its own, a server accepts what it sealed before it was
    /// started again, and what others with the same key have sealed. Without, the key is random.
    #[must_use]
    pub fn state_key(mut self, key: [u8; 32]) -> Self {
        self.parts.state_key = Some(key);
        self
    }

    /// Sets where asynchronous tools run: `spawn` is handed their futures.
    #[must_use]
    pub fn executor(
        mut self,
        spawn: impl Fn(BoxFuture<'static, ()>) + Send + Sync + 'static,
    ) -> Self {
        self.parts.executor = Some(Executor::new(spawn));
        self
    }

    /// Adds a hook around the handlers. The first that is added is the outermost.
    #[must_use]
    pub fn hook(mut self, hook: impl Hook) -> Self {
        self.parts.hooks.push(Arc::new(hook));
        self
    }

    /// Sets where tasks are kept: see [`Tool::task`]. Without this they are kept in memory, within
    /// [`Limits::tasks_max`] and [`Limits::task_bytes_max`].
    #[must_use]
    pub fn task_store(mut self, store: impl TaskStore) -> Self {
        self.parts.task_store = Some(Arc::new(store));
        self
    }

    /// Adds a tool: a [`Tool`], or a function with `#[tool]`.
    ///
    /// Its name should have 1 to 128 characters, of letters and digits of ASCII, `_`, `-` and `.`: the
    /// specification says so as a recommendation, so that other names are served as they are, but
    /// clients may not take them. [`Server::freeze`] refuses a name that another tool has.
    ///
    /// Specification: 2026-07-28, `server/tools`, Tool Names.
    #[must_use]
    pub fn tool(mut self, tool: impl IntoTool) -> Self {
        self.parts.tools.push(tool.into_tool());
        self
    }

    /// Adds the tools, prompts and resources that are methods of a state: a type with a
    /// `#[tools] impl`, or an [`Arc`] of one where others hold the state too.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use tightwire::{Server, tools};
    ///
    /// struct Counter(AtomicU64);
    ///
    /// #[tools]
    /// impl Counter {
    ///     /// Count one up
    ///     #[tool]
    ///     fn count(&self) -> u64 {
    ///         self.0.fetch_add(1, Ordering::Relaxed)
    ///     }
    /// }
    ///
    /// let server = Server::new("demo", "1.0.0").tools(Counter(AtomicU64::new(0)));
    /// ```
    #[must_use]
    pub fn tools(self, state: impl Tools) -> Self {
        Arc::new(state).add_to(self)
    }

    /// Adds a tool that is a function over a type: see [`Tool::typed`].
    #[must_use]
    pub fn tool_fn<A, R>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        function: impl Fn(A) -> R + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: IntoReply + 'static,
    {
        self.tool(Tool::typed(name, function).description(description))
    }

    /// Adds a resource, or a template of resources: a [`Resource`](crate::Resource), a
    /// [`ResourceTemplate`], or a function with `#[resource]`, which is a template if its URI has
    /// variables. Of several templates that match a URI, the one added first reads it.
    #[must_use]
    pub fn resource(mut self, resource: impl IntoResource) -> Self {
        match resource.into_resource() {
            AnyResource::Resource(resource) => self.parts.resources.push(resource),
            AnyResource::Template(template) => self.parts.templates.push(template),
        }
        self
    }

    /// Adds a resource template, as [`Server::resource`] does, which takes templates too. This one
    /// takes nothing else.
    #[must_use]
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.parts.templates.push(template);
        self
    }

    /// Adds a prompt: a [`Prompt`](crate::Prompt), or a function with `#[prompt]`.
    #[must_use]
    pub fn prompt(mut self, prompt: impl IntoPrompt) -> Self {
        self.parts.prompts.push(prompt.into_prompt());
        self
    }

    /// A handle, with which tools, resources and prompts come and go while the server serves, and
    /// with which clients are told that a resource changed.
    ///
    /// With it the server declares `listChanged` for all three and `subscribe` for resources, and
    /// lists that are empty are served. The handle takes effect once the server is frozen; until then
    /// its changes are refused with [`Error::NotServing`](crate::Error::NotServing), since what is
    /// there from the start is added to the server itself.
    #[must_use]
    pub fn handle(&mut self) -> Handle {
        self.parts.changes = true;
        self.hub.get_or_insert_default().handle()
    }

    /// Declares an extension, with its settings: a JSON object, `{}` if there are none. What the
    /// extension needs is made of the general means: tools and their metadata, resources, methods
    /// of its own ([`Server::method`]). `io.modelcontextprotocol/tasks` is declared by
    /// [`Tool::task`].
    ///
    /// From 2026-07-28 on it is declared under `extensions`, before under `experimental`, which
    /// those revisions have instead.
    ///
    /// Specification: 2026-07-28, `basic/versioning`, Extension Negotiation.
    #[must_use]
    pub fn extension(mut self, identifier: impl Into<String>, settings: impl Into<String>) -> Self {
        self.parts.extensions.push(Extension {
            identifier: identifier.into(),
            settings: one_line(settings.into()),
            is_legacy: true,
        });
        self
    }

    /// Adds a method of the server's own.
    #[must_use]
    pub fn method(mut self, method: ExtensionMethod) -> Self {
        self.parts.methods.push(method);
        self
    }

    /// Builds the tables and writes the constant answers, once for all connections.
    ///
    /// # Errors
    ///
    /// [`Error::Duplicate`](crate::Error::Duplicate) if two things of a kind have one name;
    /// [`Error::Schema`](crate::Error::Schema) or
    /// [`Error::OutputSchema`](crate::Error::OutputSchema) if a schema cannot be checked;
    /// [`Error::Template`](crate::Error::Template) if a URI template cannot be matched;
    /// [`Error::Meta`](crate::Error::Meta) if a `_meta` is not an object;
    /// [`Error::Completion`](crate::Error::Completion) if what is completed does not exist;
    /// [`Error::Extension`](crate::Error::Extension) if an extension or a method of the server's
    /// own cannot be served;
    /// [`Error::NoExecutor`](crate::Error::NoExecutor) if a tool is asynchronous and there is
    /// nothing to run it; [`Error::Io`](crate::Error::Io) if the system has no random numbers.
    pub fn freeze(mut self) -> Result<FrozenServer> {
        let Some(hub) = self.hub else {
            let registry = Arc::new(Registry::freeze(self.parts)?);
            return Ok(FrozenServer {
                registry,
                hub: None,
            });
        };
        self.parts.settle()?;
        let registry = Arc::new(Registry::freeze(self.parts.clone())?);
        hub.serve(self.parts, Arc::clone(&registry));
        Ok(FrozenServer {
            registry,
            hub: Some(hub),
        })
    }

    /// Freezes the server and serves it on stdin and stdout until the input ends, the output is
    /// closed, or SIGTERM or SIGINT arrives: see [`FrozenServer::serve_stdio`].
    ///
    /// # Errors
    ///
    /// As [`Server::freeze`] and [`FrozenServer::serve_stdio`].
    pub fn serve_stdio(self) -> Result<()> {
        self.freeze()?.serve_stdio()
    }
}

/// A server that is ready: cheap to clone, shared by its connections.
#[derive(Clone, Debug)]
pub struct FrozenServer {
    /// What was frozen.
    registry: Arc<Registry>,
    hub: Option<Arc<Hub>>,
}

impl FrozenServer {
    /// A connection to one peer.
    #[must_use]
    pub fn connect(&self) -> ServerConnection {
        match &self.hub {
            None => ServerConnection::new(Arc::clone(&self.registry), None),
            Some(hub) => hub.connect(&self.registry),
        }
    }

    /// The limits it was built with.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.registry.limits
    }
}

/// A time in whole milliseconds.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A peer's text, short enough to be shown in a message.
fn excerpt(text: &str) -> String {
    const CHARACTERS: usize = 100;
    match text.char_indices().nth(CHARACTERS) {
        None => format!("`{text}`"),
        Some((end, _)) => format!("`{}…`", &text[..end]),
    }
}

fn method_not_found(method: &str) -> RpcError {
    RpcError::method_not_found(format!("Method not found: {}", excerpt(method)))
}
