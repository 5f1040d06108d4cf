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
    function::{Function, Place, Problems, hidden},
    parameter::Argument,
    text::{Form, Text, completers},
};

/// Checks what is special to prompts.
pub(crate) fn check(function: &Function) -> Result<()> {
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
    let arguments: Vec<&Argument> = function.arguments().collect();
    let declarations = arguments.iter().map(|argument| declaration(argument));
    let values = arguments.iter().enumerate().map(|(index, argument)| {
        let hidden = hidden(index);
        let value = value(argument);
        quote!(let #hidden = #value;)
    });
    let names = (0..arguments.len()).map(|index| {
        let hidden = hidden(index);
        quote!(#hidden)
    });
    let call = function.call(place, &quote!(__request), names);
    let answer = quote_spanned! {function.returned.span()=>
        ::tightwire::IntoMessages::reply(#call, __reply)
    };
    let state = function
        .has_receiver()
        .then(|| quote!(let __state = ::std::sync::Arc::clone(&__state);));
    quote!({
        #state
        ::tightwire::Prompt::new(
            #name,
            move |__request: ::tightwire::GetPrompt<'_>, __reply: ::tightwire::PromptReply<'_>| {
                #(#values)*
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
    let given = text
        .form
        .value(&quote!(__text), &quote!(::core::unreachable!()));
    let missing = match (argument.default_value(), text.is_optional) {
        (Some(default), _) => default,
        (None, true) => quote!(::core::option::Option::None),
        (None, false) => text
            .form
            .value(&quote!(""), &quote!(::core::unreachable!())),
    };
    let given = if text.is_optional {
        quote!(::core::option::Option::Some(#given))
    } else {
        given
    };
    quote! {
        match #found {
            ::core::option::Option::Some(__text) => #given,
            ::core::option::Option::None => #missing,
        }
    }
}
