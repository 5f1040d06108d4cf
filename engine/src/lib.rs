//! A Model Context Protocol engine for programs that count microseconds.
//!
//! It serves revision 2026-07-28, where every request carries its own metadata, and the four
//! handshake revisions before it, on one connection at the same time.
//!
//! ```no_run
//! use tightwire::{Server, tool};
//!
//! /// Add two numbers
//! #[tool]
//! fn add(a: f64, b: f64) -> f64 {
//!     a + b
//! }
//!
//! fn main() -> tightwire::Result<()> {
//!     Server::new("demo", "1.0.0").tool(add).serve_stdio()
//! }
//! ```
//!
//! - [`macro@tool`], [`macro@prompt`] and [`macro@resource`] make functions what is served,
//!   [`macro@tools`] the methods of a state. All that they do can be written without them.
//! - [`Server`] is the builder; [`Tool`], [`Resource`], [`ResourceTemplate`] and [`Prompt`] are
//!   what it serves.
//! - A tool's function gets a [`Call`], borrowed from the receive buffer, and a [`Reply`] that is
//!   used up once: answered, deferred to a [`Ticket`], or continued after a delay.
//! - A [`Handle`] adds and removes tools, resources and prompts while the server serves.
//! - [`ServerConnection`] is the protocol as a state machine without I/O, to be embedded in a loop
//!   of one's own; [`Memory`] drives one in memory, and shows how.
//! - [`Server::serve_stdio`] serves one client; `serve_unix`, `serve_tcp` and `Listener` serve many, on
//!   Unix.
//! - [`Limits`] holds every bound.

#![forbid(unsafe_code)]

mod error;
mod limits;
mod model;
mod protocol;
#[cfg(unix)]
mod provider;
mod random;
pub mod schema;
mod server;
mod transport;

pub use error::{Error, Result, RpcError};
pub use limits::Limits;
pub use model::{
    annotations::{Annotations, Role, ToolAnnotations},
    caching::CacheScope,
    content::{Content, ResourceLink},
    form::{Field, TextFormat},
    icon::{Icon, Theme},
    input::{Elicitation, IncludeContext, Inputs, Sampling, ToolChoice},
    prompt::{PromptArgument, PromptMessage},
    resource::ResourceContents,
    task::{TaskRecord, TaskState, TaskSupport},
};
pub use protocol::{
    capabilities::ClientCapabilities,
    log_level::LogLevel,
    version::{Era, ProtocolVersion},
};
#[cfg(unix)]
pub use provider::files::Files;
pub use server::{
    FrozenServer, Server,
    ask::{Answers, Ask, Elicited, Sampled},
    completion::{Complete, Completion},
    connection::{Now, ServerConnection},
    context::{ClientInfo, Context, TraceContext},
    executor::{AsyncAnswer, BoxFuture},
    extension::{ExtensionCall, ExtensionMethod, ExtensionReply},
    handler::{Call, ToolHandler},
    hook::{Ending, Finished, Hook},
    hub::Handle,
    into_contents::IntoContents,
    into_messages::IntoMessages,
    into_reply::{IntoReply, Json},
    into_tool::{AnyResource, IntoPrompt, IntoResource, IntoTool, ToolArgument, Tools},
    job::Job,
    metrics::{Metrics, SeriesSnapshot},
    pages::ListKind,
    prompt::{GetPrompt, Prompt, PromptReply},
    reply::Reply,
    resource::{Read, ReadReply, Resource, ResourceTemplate},
    task::TaskOptions,
    task_store::{MemoryTaskStore, TaskStore, TaskStoreFull},
    ticket::{Cancellation, Ticket},
    tool::Tool,
};
#[cfg(unix)]
pub use transport::listener::Listener;
pub use transport::memory::Memory;

pub use schemars;
pub use serde;
pub use tightwire_codec as codec;
pub use tightwire_macros::{prompt, resource, tool, tools};

/// The code in README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
