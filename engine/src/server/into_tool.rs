//! What [`Server::tool`] and its siblings take: a definition, or what a macro made of a function.
//!
//! `#[tool] fn add(..)` expands to an impl of [`IntoTool`] for the value `add`, `#[prompt]` to one
//! of [`IntoPrompt`], `#[resource]` to one of [`IntoResource`], and `#[tools] impl State` to one of
//! [`Tools`] for `State`. Each can be written by hand as well.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Server,
    prompt::Prompt,
    resource::{Resource, ResourceTemplate},
    tool::Tool,
};

/// What can be served as a tool.
///
/// Implemented by [`Tool`] and, through `#[tool]`, for functions.
///
/// ```
/// use tightwire::{Call, IntoTool, Reply, Server, Tool};
///
/// /// A tool that says what it was made with.
/// struct Say(&'static str);
///
/// impl IntoTool for Say {
///     fn into_tool(self) -> Tool {
///         Tool::new("say", move |_: Call<'_>, reply: Reply<'_>| reply.text(self.0))
///     }
/// }
///
/// let server = Server::new("demo", "1.0.0").tool(Say("Hello!"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "neither a `Tool` nor a function with `#[tool]`",
    note = "put `#[tool]` on the function, or make a `Tool` of it: `Tool::typed(name, function)`"
)]
pub trait IntoTool {
    /// Makes the tool.
    fn into_tool(self) -> Tool;
}

/// What can be an argument of a function with `#[tool]`, if it is lent the request for `'line`.
///
/// Implemented by all that serde reads and schemars describes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a tool",
    label = "it cannot be read, or has no schema",
    note = "derive both for it: `#[derive(Deserialize, JsonSchema)]`, from serde and schemars, or \
            from `tightwire::serde` and `tightwire::schemars` with `#[serde(crate = \
            \"tightwire::serde\")]` and `#[schemars(crate = \"tightwire::schemars\")]`"
)]
pub trait ToolArgument<'line>: Deserialize<'line> + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<'line, T: Deserialize<'line> + JsonSchema> ToolArgument<'line> for T {}

/// What can be served as a prompt.
///
/// Implemented by [`Prompt`] and, through `#[prompt]`, for functions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a prompt",
    label = "neither a `Prompt` nor a function with `#[prompt]`",
    note = "put `#[prompt]` on the function, or make a `Prompt` of it: `Prompt::new(name, handler)`"
)]
pub trait IntoPrompt {
    /// Makes the prompt.
    fn into_prompt(self) -> Prompt;
}

/// What can be served as a resource, or as a template of resources.
///
/// Implemented by [`Resource`], [`ResourceTemplate`] and, through `#[resource]`, for functions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resource",
    label = "neither a `Resource` nor a function with `#[resource]`",
    note = "put `#[resource(uri = \"..\")]` on the function, or make a `Resource` of it: \
            `Resource::new(uri, name, handler)`"
)]
pub trait IntoResource {
    /// Makes the resource or the template.
    fn into_resource(self) -> AnyResource;
}

/// A resource or a template of resources.
#[derive(Clone, Debug)]
pub enum AnyResource {
    /// One URI.
    Resource(Resource),
    /// The URIs of a form.
    Template(ResourceTemplate),
}

/// A state whose methods are tools, prompts and resources: see [`Server::tools`].
///
/// Implemented through `#[tools]` on an impl block, and by an [`Arc`] of what implements it.
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
/// use tightwire::{Call, Reply, Server, Tool, Tools};
///
/// struct Counter(AtomicU64);
///
/// impl Tools for Counter {
///     fn add_to(self: Arc<Self>, server: Server) -> Server {
///         server.tool(Tool::new("count", move |_: Call<'_>, reply: Reply<'_>| {
///             reply.display(self.0.fetch_add(1, Ordering::Relaxed));
///         }))
///     }
/// }
///
/// let server = Server::new("demo", "1.0.0").tools(Counter(AtomicU64::new(0)));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no tools",
    label = "there is no `#[tools] impl` for it",
    note = "put `#[tools]` on the impl block, and `#[tool]` on its methods"
)]
pub trait Tools: Send + Sync + 'static {
    /// Adds what it serves to a server.
    fn add_to(self: Arc<Self>, server: Server) -> Server;
}

impl IntoTool for Tool {
    fn into_tool(self) -> Tool {
        self
    }
}

impl IntoPrompt for Prompt {
    fn into_prompt(self) -> Prompt {
        self
    }
}

impl IntoResource for Resource {
    fn into_resource(self) -> AnyResource {
        AnyResource::Resource(self)
    }
}

impl IntoResource for ResourceTemplate {
    fn into_resource(self) -> AnyResource {
        AnyResource::Template(self)
    }
}

impl IntoResource for AnyResource {
    fn into_resource(self) -> AnyResource {
        self
    }
}

/// A state that others hold too.
impl<S: Tools> Tools for Arc<S> {
    fn add_to(self: Arc<Self>, server: Server) -> Server {
        S::add_to(Self::clone(&self), server)
    }
}
