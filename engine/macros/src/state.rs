//! `#[tools] impl State`: the methods with attributes become what the state serves.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, ImplItem, ImplItemFn, ItemImpl, Meta, Result};

use crate::{
    check,
    function::{Function, Place, Problems},
    options::{Kind, Options},
    prompt, resource, tool,
};

/// The impl block as it was written, without the attributes, and the impl of `Tools`.
pub(crate) fn expand(attribute: &TokenStream, mut item: ItemImpl) -> TokenStream {
    let problems = match statements(attribute, &mut item) {
        Ok(statements) => {
            let (generics, _, clause) = item.generics.split_for_impl();
            let state = &item.self_ty;
            return quote! {
                #item

                const _: () = {
                    impl #generics ::tightwire::Tools for #state #clause {
                        fn add_to(
                            self: ::std::sync::Arc<Self>,
                            __server: ::tightwire::Server,
                        ) -> ::tightwire::Server {
                            let __state = self;
                            #(#statements)*
                            __server
                        }
                    }
                };
            };
        }
        Err(problems) => problems.to_compile_error(),
    };
    quote!(#item #problems)
}

/// What each method adds to the server.
fn statements(attribute: &TokenStream, item: &mut ItemImpl) -> Result<Vec<TokenStream>> {
    let mut problems = Problems::default();
    if !attribute.is_empty() {
        problems.add(Error::new_spanned(
            attribute,
            "`#[tools]` has no options: they stand on the methods, as in `#[tool(read_only)]`",
        ));
    }
    if let Some((path, _)) = &item.trait_ {
        problems.add(Error::new_spanned(
            path,
            "`#[tools]` stands on an inherent impl: `impl State { .. }`",
        ));
    }
    let state = item.self_ty.clone();
    let place = Place::Method(&state);
    let mut statements = Vec::new();
    for method in &mut item.items {
        if let ImplItem::Fn(method) = method {
            match statement(method, &place) {
                Ok(statement) => statements.extend(statement),
                Err(error) => problems.add(error),
            }
        }
    }
    if statements.is_empty() && problems.0.is_none() {
        problems.add(Error::new_spanned(
            &item.self_ty,
            "no method here is served: put `#[tool]`, `#[prompt]` or `#[resource]` on those that \
             are to be",
        ));
    }
    problems.none()?;
    Ok(statements)
}

fn statement(method: &mut ImplItemFn, place: &Place<'_>) -> Result<Option<TokenStream>> {
    let Some((kind, tokens)) = take_attribute(method)? else {
        return Ok(None);
    };
    // What only the macro understands is taken from the parameters in any case.
    let options = Options::read(kind, tokens);
    let mut read = |options| Function::read(kind, options, &method.attrs, &mut method.sig, place);
    let function = match options {
        Ok(options) => read(options)?,
        Err(error) => {
            // The other problems are told when this one is mended.
            let _ = read(Options::default());
            return Err(error);
        }
    };
    check(&function)?;
    // The values were made for the call: it costs nothing to hand them over.
    let allow = syn::parse_quote!(#[allow(clippy::needless_pass_by_value)]);
    method.attrs.push(allow);
    let setter = match kind {
        Kind::Tool => {
            let tool = tool::definition(&function, place);
            quote!(tool(#tool))
        }
        Kind::Prompt => {
            let prompt = prompt::definition(&function, place);
            quote!(prompt(#prompt))
        }
        Kind::Resource => {
            let resource = resource::definition(&function, place);
            quote!(resource(#resource))
        }
    };
    // What is not compiled is not served.
    let conditions = method
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"));
    Ok(Some(quote! {
        #(#conditions)*
        let __server = __server.#setter;
    }))
}

/// Takes the attribute that tells what the method is, with what stands in its brackets.
fn take_attribute(method: &mut ImplItemFn) -> Result<Option<(Kind, TokenStream)>> {
    let mut found = None;
    let mut problem = None;
    method.attrs.retain(|attribute| {
        let Some(kind) = Kind::of(attribute.path()) else {
            return true;
        };
        if found.is_some() {
            problem = Some(Error::new_spanned(
                attribute,
                "a method is one thing: a tool, a prompt or a resource",
            ));
        }
        match &attribute.meta {
            Meta::Path(_) => found = Some((kind, TokenStream::new())),
            Meta::List(list) => found = Some((kind, list.tokens.clone())),
            Meta::NameValue(_) => {
                problem = Some(Error::new_spanned(
                    attribute,
                    "options stand in brackets: `#[tool(title = \"..\")]`",
                ));
            }
        }
        false
    });
    problem.map_or(Ok(found), Err)
}
