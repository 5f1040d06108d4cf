//! `#[tool]`: the expression that makes the `Tool`.
//!
//! ```text
//! Tool::new("add", |call, reply| match call.parse::<Arguments>() {
//!     Ok(Arguments { a, b }) => IntoReply::reply(add(a, b), reply),
//!     Err(error) => reply.invalid_arguments(call.name(), &error),
//! })
//! .takes::<Arguments>()
//! .returns::<f64>()
//! .description("Add two numbers")
//! ```

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Error, Result, Type, spanned::Spanned};

use crate::{
    function::{Function, Place, Problems, hidden},
    lifetimes,
    parameter::{Argument, Held},
};

/// Checks what is special to tools.
pub(crate) fn check(function: &Function) -> Result<()> {
    let mut problems = Problems::default();
    for complete in function
        .arguments()
        .filter_map(|argument| argument.complete.as_ref())
    {
        problems.add(Error::new_spanned(
            complete,
            "the arguments of tools are not completed: those of prompts and templates are",
        ));
    }
    problems.none()
}

/// The tool as an expression.
pub(crate) fn definition(function: &Function, place: &Place<'_>) -> TokenStream {
    let name = function.name();
    let setters = function.setters();
    let returned = lifetimes::with_lifetime(&function.returned, "'static");
    let span = function.returned.span();
    let returns = quote_spanned!(span=> .returns::<#returned>());
    let arguments = Arguments::of(function);
    let structure = &arguments.structure;
    let takes = (!arguments.held.is_empty()).then(|| {
        let ty = arguments.ty();
        quote!(.takes::<#ty>())
    });
    let tool = if function.is_async {
        asynchronous(function, place, &arguments, &name)
    } else {
        plain(function, place, &arguments, &name)
    };
    let derived = (!arguments.held.is_empty()).then(|| derived_names(function));
    quote!({
        #derived
        #structure
        #tool #takes #returns #setters
    })
}

/// The derived code has names that it cannot have where a static has them, and so not where another
/// tool of the module has one for its own. A function of that name hides such a static from it.
fn derived_names(function: &Function) -> TokenStream {
    let names = ["generator", "schema", "struct_default"]
        .map(|name| syn::Ident::new(name, Span::call_site()));
    let hidden = names
        .iter()
        .filter(|name| function.ident != **name && !function.uses(name));
    quote!(#(#[allow(dead_code)] fn #hidden() {})*)
}

fn plain(
    function: &Function,
    place: &Place<'_>,
    arguments: &Arguments,
    name: &TokenStream,
) -> TokenStream {
    let call = function.call(place, &quote!(__call), arguments.lent());
    let answer = quote_spanned! {function.returned.span()=>
        ::tightwire::IntoReply::reply(#call, __reply)
    };
    let body = arguments.parsed(
        &answer,
        &quote! {
            __reply.invalid_arguments(__call.name(), &__error)
        },
    );
    let state = function.state();
    quote!({
        #state
        ::tightwire::Tool::new(
            #name,
            move |__call: ::tightwire::Call<'_>, __reply: ::tightwire::Reply<'_>| #body,
        )
    })
}

/// The same for an `async fn`: its result is kept until the executor has it, and then written.
fn asynchronous(
    function: &Function,
    place: &Place<'_>,
    arguments: &Arguments,
    name: &TokenStream,
) -> TokenStream {
    let call = function.call(place, &quote!(__call), arguments.lent());
    let answer = quote_spanned! {function.returned.span()=>
        let __result = #call.await;
        let __answer: ::tightwire::AsyncAnswer = ::std::boxed::Box::new(
            move |__reply| ::tightwire::IntoReply::reply(__result, __reply),
        );
        __answer
    };
    let body = arguments.parsed(
        &quote!({ #answer }),
        &quote! {{
            let __name = ::std::string::String::from(__call.name());
            let __answer: ::tightwire::AsyncAnswer = ::std::boxed::Box::new(
                move |__reply| __reply.invalid_arguments(&__name, &__error),
            );
            __answer
        }},
    );
    // Part of the handler, and of a future of it.
    let state = function.state();
    quote!({
        #state
        ::tightwire::Tool::asynchronous(
            #name,
            move |__call: ::tightwire::Call<'_>| {
                #state
                ::std::boxed::Box::pin(async move { #body })
            },
        )
    })
}

/// The type that the arguments are read into.
struct Arguments {
    structure: TokenStream,
    fields: Vec<TokenStream>,
    held: Vec<Held>,
    borrows: bool,
}

impl Arguments {
    fn of(function: &Function) -> Self {
        let arguments: Vec<&Argument> = function.arguments().collect();
        let held: Vec<Held> = arguments
            .iter()
            .map(|argument| Held::of(&argument.ty))
            .collect();
        let borrows = held.iter().any(|held| lifetimes::has_lifetime(&held.ty));
        let fields: Vec<TokenStream> = arguments
            .iter()
            .map(|argument| {
                let ident = &argument.ident;
                quote!(#ident)
            })
            .collect();
        let lifetime = borrows.then(|| quote!(<'line>));
        let members = arguments.iter().zip(&held).enumerate();
        let members = members.map(|(index, (argument, held))| member(index, argument, &held.ty));
        let readable = held.iter().map(|held| {
            let ty = &held.ty;
            quote_spanned!(ty.span()=> __is::<#ty>();)
        });
        let defaults = arguments.iter().zip(&held).enumerate();
        let defaults =
            defaults.filter_map(|(index, (argument, held))| default(index, argument, &held.ty));
        let structure = (!held.is_empty()).then(|| {
            quote! {
                #[derive(::tightwire::serde::Deserialize, ::tightwire::schemars::JsonSchema)]
                #[serde(crate = "::tightwire::serde")]
                #[schemars(crate = "::tightwire::schemars")]
                struct __Arguments #lifetime { #(#members),* }
            // Tells more plainly than the derived code what a type lacks.
            #[allow(dead_code)]
            fn __readable<'line>() {
                fn __is<'line, T: ::tightwire::ToolArgument<'line>>() {}
                #(#readable)*
            }
                #(#defaults)*
            }
        });
        Self {
            structure: structure.unwrap_or_default(),
            fields,
            held,
            borrows,
        }
    }

    fn ty(&self) -> TokenStream {
        let lifetime = self.borrows.then(|| quote!(<'_>));
        quote!(__Arguments #lifetime)
    }

    /// The values as the function takes them.
    fn lent(&self) -> Vec<TokenStream> {
        let held = self.held.iter().enumerate();
        held.map(|(index, held)| held.lent(&hidden(index)))
            .collect()
    }

    /// Reads the arguments, and goes on with `answer`, or with `refuse` if they do not fit.
    fn parsed(&self, answer: &TokenStream, refuse: &TokenStream) -> TokenStream {
        if self.held.is_empty() {
            return answer.clone();
        }
        let ty = self.ty();
        let fields = &self.fields;
        let values = (0..fields.len()).map(hidden);
        quote! {
            match __call.parse::<#ty>() {
                ::core::result::Result::Ok(__Arguments { #(#fields: #values),* }) => #answer,
                ::core::result::Result::Err(__error) => #refuse,
            }
        }
    }
}

fn member(index: usize, argument: &Argument, ty: &Type) -> TokenStream {
    let ident = &argument.ident;
    let attributes = argument.attributes.iter().chain(&argument.options);
    let borrow = lifetimes::has_lifetime(ty).then(|| quote!(#[serde(borrow)]));
    let default = argument.default.as_ref().map(|_| {
        let function = default_function(index).to_string();
        quote!(#[serde(default = #function)])
    });
    quote!(#(#attributes)* #borrow #default #ident: #ty)
}

fn default(index: usize, argument: &Argument, ty: &Type) -> Option<TokenStream> {
    let value = argument.default_value()?;
    let name = default_function(index);
    let lifetime = lifetimes::has_lifetime(ty).then(|| quote!(<'line>));
    let value = if argument.is_slice() {
        quote!(::std::vec::Vec::from(#value))
    } else {
        value
    };
    Some(quote!(fn #name #lifetime() -> #ty { #value }))
}

fn default_function(index: usize) -> syn::Ident {
    quote::format_ident!("__default_{index}", span = Span::call_site())
}
