//! The attribute macros of `tightwire`.
//!
//! Each expands to one impl of a public trait that a user could have written by hand: `#[tool]` to
//! one of `IntoTool`, `#[prompt]` to one of `IntoPrompt`, `#[resource]` to one of `IntoResource`,
//! and `#[tools]` to one of `Tools`. They are reached through `tightwire`, which documents them.
//!
//! ```text
//!   attribute ──▶ options ──┐
//!   signature ──▶ parameter ┼─▶ function ──▶ tool / prompt / resource ──▶ an expression
//!   doc comments ──▶ docs ──┘                                              │
//!                                   callable: an item that can be called ◀─┤
//!                                   state: the impl of a state struct    ◀─┘
//! ```

mod callable;
mod docs;
mod function;
mod groups;
mod lifetimes;
mod options;
mod parameter;
mod prompt;
mod resource;
mod state;
mod text;
mod tool;

use proc_macro::TokenStream;
use quote::quote;
use syn::{ItemFn, ItemImpl, Result, parse_macro_input};

use crate::{
    function::{Function, Place},
    options::{Kind, Options},
};

/// Makes a function a tool: a value for `Server::tool`.
///
/// ```
/// use tightwire::{Server, tool};
///
/// /// Add two numbers
/// #[tool]
/// fn add(
///     /// The first number
///     a: f64,
///     b: f64,
/// ) -> f64 {
///     a + b
/// }
///
/// let server = Server::new("demo", "1.0.0").tool(add);
/// assert_eq!(add(1.0, 2.0), 3.0);
/// ```
///
/// Doc comments, on the function and on each argument, are what clients are told of them. The
/// types of the arguments become the input schema, which every call is checked against before the
/// function runs.
///
/// # Arguments
///
/// | type | what it is for clients |
/// | --- | --- |
/// | `&str` | a string, borrowed from the request: nothing is allocated |
/// | any type that serde reads and schemars describes | what these make of it |
/// | `&T`, `&[T]`, `&Path` | the same as `T`, `Vec<T>`, `PathBuf`: such a value is made of the request, and lent |
/// | `Option<..>` of any of these | the same, and may be left out |
/// | `&Context`, once | nothing: the request, to report progress, to log, to ask the client back |
///
/// `#[default(5)]` before an argument says what it is when it is left out. `#[arg(..)]` takes
/// `name`, `description` and `default`. `#[serde(..)]` and `#[schemars(..)]` are handed on, so that
/// `#[schemars(range(min = 1))]` puts a bound into the schema.
///
/// A text is read without a copy as `&str` or `Cow<'_, str>`, and into a type of one's own with such
/// fields. Memory is allocated for a `String`, for a `Vec<T>`, and for a `&[T]`, which is lent from a
/// `Vec<T>`. What is `blocking` or an `async fn` borrows from a copy that is made of its arguments.
///
/// The derives of a type of one's own come from serde and schemars, or, without these as
/// dependencies, from `tightwire`:
///
/// ```
/// use tightwire::{schemars::JsonSchema, serde::Deserialize, tool};
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(crate = "tightwire::serde")]
/// #[schemars(crate = "tightwire::schemars")]
/// enum Units {
///     Celsius,
///     Fahrenheit,
/// }
///
/// #[tool(title = "Weather", read_only, open_world)]
/// fn forecast(city: &str, #[default(1)] days: u32, units: Option<Units>) -> Result<String, String> {
///     match units {
///         Some(Units::Fahrenheit) => Ok(format!("{city}, {days} days: 68 °F")),
///         Some(Units::Celsius) | None => Err(format!("there is no {city}")),
///     }
/// }
/// ```
///
/// # What it returns
///
/// Anything that is `IntoReply`. An `Err` is a tool execution error, which a model can act on.
///
/// # Options
///
/// | option | what it sets |
/// | --- | --- |
/// | `name`, `title`, `description` | the definition; without them the function's name, none, and its doc comment |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | the hints; `read_only = false` says the contrary |
/// | `icon = "https://.."`, `icon(src = "..", mime_type = "..", size = "48x48", theme = "dark")` | an icon, each time |
/// | `meta = "{..}"` | `_meta`, an object of JSON |
/// | `blocking` | it runs on a thread of the pool, and may wait |
/// | `timeout = "10s"` | how long it may take, in `ms`, `s`, `m` or `h`, if it is `blocking` or an `async fn` |
/// | `task`, `task = "required"`, `task = TaskOptions::new(..)` | its calls may, or must, become tasks: `Tool::task` |
///
/// An `async fn` runs on the `Server::executor`; what it returns cannot borrow from its arguments.
/// Called as a function it gives its future in a box.
///
/// # What becomes of the function
///
/// It becomes a static of a hidden type, which dereferences to a function pointer: that is what a
/// call `add(1.0, 2.0)` goes through, and `*add` is the pointer itself. What follows from it:
///
/// - A parameter or `let` in the same module cannot have the name of the static: rustc says that
///   it "cannot shadow statics". The parameters of other tools can. Methods of a state (`#[tools]`)
///   have no static; tools in a module of their own, `.tool(tools::add)`, are out of the way.
/// - As with any function, a module or a type may have the same name, and `pub use` hands it on.
/// - It cannot be generic, `const` or `unsafe`, since there is one schema and one pointer.
/// - The expansion names `::tightwire`: the dependency cannot be renamed.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    free(Kind::Tool, attribute, parse_macro_input!(item as ItemFn))
}

/// Makes a function a prompt: a value for `Server::prompt`.
///
/// ```
/// use tightwire::{Server, prompt};
///
/// /// Ask for a review of some code
/// #[prompt(title = "Review")]
/// fn review(
///     /// The code
///     code: &str,
///     /// What to look for
///     focus: Option<&str>,
/// ) -> String {
///     format!("Please review this code, and look for {}:\n\n{code}", focus.unwrap_or("mistakes"))
/// }
///
/// let server = Server::new("demo", "1.0.0").prompt(review);
/// ```
///
/// The arguments of prompts are text: `&str`, `String` or `Cow<str>`; an `Option` of one, or one
/// with a `#[default("..")]`, may be left out. `#[arg(complete = function)]` completes one, as
/// `Prompt::complete` does, and `#[arg(name = "..", description = "..")]` sets what clients are told of
/// it; `#[serde(..)]` and `#[schemars(..)]`, which have no part in text, are refused. It returns anything that is `IntoMessages`; an `Err`
/// is a JSON-RPC error. The options are `name`, `title`, `description`, `icon`, `meta` and
/// `blocking`, as for [`macro@tool`], which also tells what becomes of the function.
#[proc_macro_attribute]
pub fn prompt(attribute: TokenStream, item: TokenStream) -> TokenStream {
    free(Kind::Prompt, attribute, parse_macro_input!(item as ItemFn))
}

/// Makes a function a resource, or a template of resources: a value for `Server::resource`.
///
/// ```
/// use tightwire::{Server, resource};
///
/// /// A greeting to everyone
/// #[resource(uri = "demo://greeting", mime_type = "text/plain")]
/// fn greeting() -> &'static str {
///     "Hello!"
/// }
///
/// /// A note
/// #[resource(uri = "notes://{id}")]
/// fn note(id: u32) -> Option<String> {
///     (id < 3).then(|| format!("The note {id}"))
/// }
///
/// let server = Server::new("demo", "1.0.0").resource(greeting).resource(note);
/// ```
///
/// Each variable of the URI template is an argument: `&str`, `String`, `Cow<str>`, or any type
/// that is `FromStr`, whose error says that there is no such resource. An `Option`, or an argument
/// with a `#[default(..)]`, is for a variable that may be empty. `#[arg(complete = function)]`
/// completes one, as `ResourceTemplate::complete` does, and `#[arg(name = "..")]` says which variable
/// it is. Clients are told no descriptions of variables; `#[serde(..)]` and `#[schemars(..)]`, which
/// have no part in text, are refused. It returns anything that is
/// `IntoContents`; `None` says that there is no such resource, and an `Err` is a JSON-RPC error.
///
/// The options are `name`, `title`, `description`, `icon`, `meta` and `blocking`, as for
/// [`macro@tool`], which also tells what becomes of the function; and
///
/// | option | what it sets |
/// | --- | --- |
/// | `uri` | the URI or the template; it has to be there |
/// | `mime_type` | the media type |
/// | `size` | the size in bytes, of a resource |
/// | `audience(user, assistant)`, `priority = 0.5`, `last_modified = "2026-07-28T12:00:00Z"` | the annotations |
/// | `ttl_ms = 60_000`, `cache_scope = "public"` | how long clients may keep what they read, and for whom |
#[proc_macro_attribute]
pub fn resource(attribute: TokenStream, item: TokenStream) -> TokenStream {
    free(
        Kind::Resource,
        attribute,
        parse_macro_input!(item as ItemFn),
    )
}

/// Makes the methods of a state tools, prompts and resources: the state is for `Server::tools`.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use tightwire::{Server, tools};
///
/// struct Counter(AtomicU64);
///
/// #[tools]
/// impl Counter {
///     /// Count up
///     #[tool]
///     fn count(&self, #[default(1)] by: u64) -> u64 {
///         self.0.fetch_add(by, Ordering::Relaxed) + by
///     }
///
///     /// What was counted
///     #[resource(uri = "counter://value")]
///     fn value(&self) -> String {
///         self.0.load(Ordering::Relaxed).to_string()
///     }
/// }
///
/// let server = Server::new("demo", "1.0.0").tools(Counter(AtomicU64::new(0)));
/// ```
///
/// In the impl block `#[tool]`, `#[prompt]` and `#[resource]` are written as on functions; what is
/// without one stays as it is. The methods take `&self`, since all calls share the state, or no
/// `self` at all, and stay methods. A type has one such block.
#[proc_macro_attribute]
pub fn tools(attribute: TokenStream, item: TokenStream) -> TokenStream {
    state::expand(&attribute.into(), parse_macro_input!(item as ItemImpl)).into()
}

/// A free function, or the function as it was and what is wrong with it.
fn free(kind: Kind, attribute: TokenStream, mut item: ItemFn) -> TokenStream {
    let options = Options::read(kind, attribute.into());
    let mut read = |options| {
        let function = Function::read(kind, options, &item.attrs, &mut item.sig, &Place::Free)?;
        check(&function)?;
        Ok(function)
    };
    let function = match options {
        Ok(options) => read(options),
        // The attributes that only the macro understands are taken from the parameters in any
        // case; the other problems are told when this one is mended.
        Err(error) => {
            let _ = read(Options::default());
            Err(error)
        }
    };
    match function {
        Ok(function) => callable::expand(&function, item).into(),
        Err(problems) => {
            let problems = problems.to_compile_error();
            quote!(#item #problems).into()
        }
    }
}

/// Checks what is special to the kind.
fn check(function: &Function) -> Result<()> {
    match function.kind {
        Kind::Tool => tool::check(function),
        Kind::Prompt => prompt::check(function),
        Kind::Resource => resource::check(function),
    }
}
