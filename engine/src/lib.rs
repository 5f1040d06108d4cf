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
//! What is where:
//!
//! | for | see |
//! | --- | --- |
//! | functions as tools, prompts and resources | [`macro@tool`], [`macro@prompt`], [`macro@resource`]; [`macro@tools`] for the methods of a state |
//! | the same without macros | [`Tool`], [`Prompt`], [`Resource`], [`ResourceTemplate`]; [`Call`] and [`Reply`] |
//! | what a function may return | [`IntoReply`]: [`Content`], [`Json`]; [`IntoMessages`], [`IntoContents`] |
//! | putting a server together | [`Server`], [`Limits`], [`Files`] |
//! | who asks, progress, logging, cancellation | [`Context`] |
//! | asking the user, the client's model, for roots | [`Context::ask`], [`Inputs`]; [`Context::require_urls`] for a call that has to wait for a page |
//! | answering later | [`Reply::defer`] and [`Ticket`], [`Reply::after`], [`Tool::blocking`], [`Tool::asynchronous`], [`Tool::task`] |
//! | completion of arguments | [`Complete`], [`Completion`] |
//! | changes while serving | [`Handle`] |
//! | metrics, limits of rate, traces | [`Hook`], [`Metrics`] |
//! | extensions, and methods of one's own | [`Server::extension`], [`ExtensionMethod`] |
//! | schemas that the built-in check refuses | [`schema`], [`Server::schema_compiler`] |
//! | serving one client, or many | [`Server::serve_stdio`]; on Unix `Server::serve_unix`, `Server::serve_tcp`, `Listener` |
//! | embedding | [`FrozenServer`], [`Memory`], [`ServerConnection`] |
//!
//! The folder `examples` of the repository has a small program for each of these.

#![forbid(unsafe_code)]

mod error;
mod json;
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
    input::{Elicitation, Inputs, UrlElicitation},
    prompt::{PromptArgument, PromptMessage},
    resource::ResourceContents,
    sampling::{IncludeContext, Sampling, ToolChoice},
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
    answers::{Answers, Elicited, Sampled},
    ask::Ask,
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
    task_memory::MemoryTaskStore,
    task_store::{TaskStore, TaskStoreFull},
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
