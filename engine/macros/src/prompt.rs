//! `#[prompt]`: the expression that makes the `Prompt`.
//!
//! ```text
//! Prompt::new("review", |request, reply| {
//!     let code = request.argument("code").unwrap_or_default();
//!     IntoMessages::reply(review(code), reply)
//! })
//! .required("code", "The code")
//! ```

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Error, Result, spanned::Spanned};

use crate::{
    function::{Function, Place, Problems},
    parameter::Argument,
    text::{Form, Text, check_attributes, completers},
};

/// Checks what is special to prompts.
pub(crate) fn check(function: &Function) -> Result<()> {
    check_attributes(
        function,
        "`#[arg(name = \"..\", description = \"..\")]` names and describes an argument, and \
         `#[default(\"..\")]` lets it be left out",
    )?;
    let mut problems = Problems::default();
    for argument in function.arguments() {
        if Text::of(&argument.ty).form == Form::Parsed {
            problems.add(Error::new_spanned(
                &argument.ty,
                "the arguments of prompts are text: write `&str` or `String`, or an `Option` of \
                 one, and parse it in the body",
            ));
        }
    }
    problems.none()
}

/// The prompt as an expression.
pub(crate) fn definition(function: &Function, place: &Place<'_>) -> TokenStream {
    let name = function.name();
    let setters = function.setters();
    let completers = completers(function);
    let declarations = function.arguments().map(declaration);
    let (values, call) = function.taken(place, value);
    let answer = quote_spanned! {function.returned.span()=>
        ::tightwire::IntoMessages::reply(#call, __reply)
    };
    let state = function.state();
    quote!({
        #state
        ::tightwire::Prompt::new(
            #name,
            move |__request: ::tightwire::GetPrompt<'_>, __reply: ::tightwire::PromptReply<'_>| {
                #values
                #answer
            },
        )
        #(#declarations)*
        #completers
        #setters
    })
}

fn declaration(argument: &Argument) -> TokenStream {
    let name = &argument.name;
    let description = argument
        .description
        .as_ref()
        .map(|text| quote!(.description(#text)));
    let is_optional = argument.default.is_some() || Text::of(&argument.ty).is_optional;
    let required = (!is_optional).then(|| quote!(.required()));
    quote!(.argument(::tightwire::PromptArgument::new(#name) #description #required))
}

fn value(argument: &Argument) -> TokenStream {
    let name = &argument.name;
    let text = Text::of(&argument.ty);
    let found = quote!(__request.argument(#name));
    let given = text.value(&quote!(::core::unreachable!()));
    let missing = match (argument.default_value(), text.is_optional) {
        (Some(default), _) => default,
        (None, true) => quote!(::core::option::Option::None),
        (None, false) => text
            .form
            .value(&quote!(""), &quote!(::core::unreachable!())),
    };
    quote! {
        match #found {
            ::core::option::Option::Some(__text) => #given,
            ::core::option::Option::None => #missing,
        }
    }
}
