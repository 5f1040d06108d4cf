//! `#[resource(uri = "..")]`: the expression that makes the `Resource` or `ResourceTemplate`.
//!
//! ```text
//! ResourceTemplate::new("greeting://{name}", "greeting", |request, reply| {
//!     IntoContents::reply(greeting(request.variable("name")), reply)
//! })
//! ```

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Error, LitStr, Result, spanned::Spanned};

use crate::{
    function::{Function, Place, Problems},
    parameter::Argument,
    text::{Text, check_attributes, completers},
};

/// Checks what is special to resources: each variable has its argument, and each argument its
/// variable.
pub(crate) fn check(function: &Function) -> Result<()> {
    let Some(uri) = &function.options.uri else {
        return Err(Error::new(
            Span::call_site(),
            "a resource needs its URI: `#[resource(uri = \"notes://all\")]`, or a template: \
             `#[resource(uri = \"notes://{id}\")]`",
        ));
    };
    let variables = variables(uri)?;
    check_attributes(
        function,
        "`#[arg(name = \"..\")]` says which variable of the URI an argument is, and \
         `#[default(..)]` what it is where that is empty",
    )?;
    let mut problems = Problems::default();
    for argument in function.arguments() {
        let name = argument.name.value();
        if !variables.contains(&name) {
            problems.add(Error::new(
                argument.ident.span(),
                format_args!("the URI has no variable of this name: write `{{{name}}}` in it"),
            ));
        }
    }
    for variable in &variables {
        let mut arguments = function.arguments();
        if !arguments.any(|argument| argument.name.value() == *variable) {
            problems.add(Error::new(
                uri.span(),
                format_args!(
                    "the function has no argument for `{{{variable}}}`: add `{variable}: &str`"
                ),
            ));
        }
    }
    problems.none()
}

/// The resource or the template as an expression.
pub(crate) fn definition(function: &Function, place: &Place<'_>) -> TokenStream {
    let name = function.name();
    let setters = function.setters();
    let completers = completers(function);
    let uri = &function.options.uri;
    let is_template = uri.as_ref().is_some_and(|uri| uri.value().contains('{'));
    let definition = if is_template {
        quote!(::tightwire::ResourceTemplate)
    } else {
        quote!(::tightwire::Resource)
    };
    let (values, call) = function.taken(place, value);
    let answer = quote_spanned! {function.returned.span()=>
        ::tightwire::IntoContents::reply(#call, __reply)
    };
    let state = function.state();
    quote!({
        #state
        #definition::new(
            #uri,
            #name,
            move |__request: ::tightwire::Read<'_>, __reply: ::tightwire::ReadReply<'_>| {
                #values
                #answer
            },
        )
        #completers
        #setters
    })
}

/// An empty variable is one that is not there. What cannot be parsed names no resource.
fn value(argument: &Argument) -> TokenStream {
    let name = &argument.name;
    let text = Text::of(&argument.ty);
    let found = quote!(__request.variable(#name));
    let given = text.value(&quote!(return __reply.not_found()));
    let missing = match (argument.default_value(), text.is_optional) {
        (Some(default), _) => Some(default),
        (None, true) => Some(quote!(::core::option::Option::None)),
        (None, false) => None,
    };
    let missing = missing.map(|missing| quote!("" => #missing,));
    quote! {
        match #found {
            #missing
            __text => #given,
        }
    }
}

/// The names of the variables of a URI template.
///
/// RFC 6570, section 2: an expression in braces has an operator, and variables with modifiers.
fn variables(uri: &LitStr) -> Result<Vec<String>> {
    let text = uri.value();
    let problem = |message: &str| Err(Error::new(uri.span(), message));
    if text.is_empty() {
        return problem("a resource's URI is not empty");
    }
    let mut variables = Vec::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find(['{', '}']) {
        let expression = rest[start..].strip_prefix('{');
        let Some((expression, after)) = expression.and_then(|rest| rest.split_once('}')) else {
            return problem("a brace has no other: a variable is written `{name}`");
        };
        let names = expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']);
        for name in names.split(',') {
            let name = name
                .split(':')
                .next()
                .unwrap_or_default()
                .trim_end_matches('*');
            if name.is_empty() || name.contains('{') {
                return problem("a variable has a name: `{name}`");
            }
            variables.push(name.to_owned());
        }
        rest = after;
    }
    Ok(variables)
}
