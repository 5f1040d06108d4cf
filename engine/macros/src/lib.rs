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

/// Makes a function a tool.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    free(Kind::Tool, attribute, parse_macro_input!(item as ItemFn))
}

/// Makes a function a prompt.
#[proc_macro_attribute]
pub fn prompt(attribute: TokenStream, item: TokenStream) -> TokenStream {
    free(Kind::Prompt, attribute, parse_macro_input!(item as ItemFn))
}

/// Makes a function a resource, or a template of resources.
#[proc_macro_attribute]
pub fn resource(attribute: TokenStream, item: TokenStream) -> TokenStream {
    free(
        Kind::Resource,
        attribute,
        parse_macro_input!(item as ItemFn),
    )
}

/// Makes the methods of a state tools, prompts and resources.
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
        Kind::Tool => Ok(()),
        Kind::Prompt => prompt::check(function),
        Kind::Resource => resource::check(function),
    }
}
