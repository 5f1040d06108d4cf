//! A free function becomes a value that can be registered, and still be called.
//!
//! ```text
//! pub static add: __tool_add = __tool_add;      // in place of the function, with its docs
//! pub struct __tool_add;                        // hidden
//! const _: () = {
//!     fn add(a: f64, b: f64) -> f64 { a + b }   // the function as it was written
//!     impl Deref for __tool_add { type Target = fn(f64, f64) -> f64; .. }
//!     impl IntoTool for __tool_add { .. }
//! };
//! ```
//!
//! A function has no type that could be named, so no trait can be implemented for it. A static of
//! a type of its own can stand in its place: a call dereferences what it calls, and the static
//! dereferences to a function pointer. Unlike a unit struct, a static takes the name of the
//! function among values alone, as a function does, so that `mod add` and `use add::add` still
//! go together.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Attribute, FnArg, GenericParam, Ident, ItemFn, Lifetime, Type, ext::IdentExt, parse_quote,
};

use crate::{
    function::{Function, Place, hidden},
    lifetimes,
    options::Kind,
    prompt, resource, tool,
};

/// The items that a free function becomes.
pub(crate) fn expand(function: &Function, mut item: ItemFn) -> TokenStream {
    let ident = item.sig.ident.clone();
    let stand_in = format_ident!("__{}_{}", function.kind.name(), ident.unraw());
    let visibility = std::mem::replace(&mut item.vis, syn::Visibility::Inherited);
    // What tells whether and how the item is there goes with the name.
    let outer: Vec<Attribute> = taken(&mut item, &["cfg", "doc", "deprecated"]);
    let conditions: Vec<&Attribute> = outer
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .collect();
    let implementation = implementation(function, &stand_in);
    let pointer = pointer(function, &item);
    let Pointer {
        ty,
        function: pointed,
        wrapper,
    } = pointer;
    let shadowed = shadowed(function, &item);
    quote! {
        #(#outer)*
        #[allow(non_upper_case_globals)]
        #visibility static #ident: #stand_in = #stand_in;

        #(#conditions)*
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        #visibility struct #stand_in;

        #(#conditions)*
        const _: () = {
            #shadowed
            // The values were made for the call: it costs nothing to hand them over.
            #[allow(clippy::needless_pass_by_value)]
            #item
            #wrapper

            impl ::core::ops::Deref for #stand_in {
                type Target = #ty;

                #[inline]
                fn deref(&self) -> &Self::Target {
                    const __FUNCTION: #ty = #pointed;
                    &__FUNCTION
                }
            }

            #implementation
        };
    }
}

/// The impl of the public trait.
fn implementation(function: &Function, stand_in: &Ident) -> TokenStream {
    match function.kind {
        Kind::Tool => {
            let tool = tool::definition(function, &Place::Free);
            quote! {
                impl ::tightwire::IntoTool for #stand_in {
                    fn into_tool(self) -> ::tightwire::Tool { #tool }
                }
            }
        }
        Kind::Prompt => {
            let prompt = prompt::definition(function, &Place::Free);
            quote! {
                impl ::tightwire::IntoPrompt for #stand_in {
                    fn into_prompt(self) -> ::tightwire::Prompt { #prompt }
                }
            }
        }
        Kind::Resource => {
            let resource = resource::definition(function, &Place::Free);
            quote! {
                impl ::tightwire::IntoResource for #stand_in {
                    fn into_resource(self) -> ::tightwire::AnyResource {
                        ::tightwire::IntoResource::into_resource(#resource)
                    }
                }
            }
        }
    }
}

/// The pointer through which the function is called.
struct Pointer {
    ty: TokenStream,
    function: TokenStream,
    /// For an `async fn`, whose future has no name: a function that boxes it.
    wrapper: Option<TokenStream>,
}

fn pointer(function: &Function, item: &ItemFn) -> Pointer {
    let ident = &item.sig.ident;
    let types = item
        .sig
        .inputs
        .iter()
        .filter_map(|parameter| match parameter {
            FnArg::Typed(typed) => Some(&*typed.ty),
            FnArg::Receiver(_) => None,
        });
    if !function.is_async {
        let output = &item.sig.output;
        let lifetimes = lifetimes_of(item);
        let lifetimes = (!lifetimes.is_empty()).then(|| quote!(for<#(#lifetimes),*>));
        return Pointer {
            ty: quote!(#lifetimes fn(#(#types),*) #output),
            function: quote!(#ident),
            wrapper: None,
        };
    }
    // A future that borrows nothing lives as long as it likes.
    let (call, generics) = if types.clone().any(lifetimes::has_lifetime) {
        (quote!('call), quote!(<'call>))
    } else {
        (quote!('static), quote!())
    };
    let types: Vec<Type> = types.map(borrowed_for_the_call).collect();
    let returned = lifetimes::with_lifetime(&function.returned, "'static");
    let future = quote!(::tightwire::BoxFuture<#call, #returned>);
    let values: Vec<Ident> = (0..types.len()).map(hidden).collect();
    let bound = (!generics.is_empty()).then(|| quote!(for #generics));
    Pointer {
        ty: quote!(#bound fn(#(#types),*) -> #future),
        function: quote!(__boxed),
        wrapper: Some(quote! {
            #[allow(clippy::too_many_arguments)]
            fn __boxed #generics(#(#values: #types),*) -> #future {
                ::std::boxed::Box::pin(#ident(#(#values),*))
            }
        }),
    }
}

/// The type as the boxed future borrows it: an outer reference lives as long as the call, and
/// what is behind it longer.
fn borrowed_for_the_call(ty: &Type) -> Type {
    match ty {
        Type::Reference(reference) => {
            let mut reference = reference.clone();
            reference.lifetime = Some(parse_quote!('call));
            *reference.elem = lifetimes::with_lifetime(&reference.elem, "'_");
            Type::Reference(reference)
        }
        _ => lifetimes::with_lifetime(ty, "'call"),
    }
}

fn lifetimes_of(item: &ItemFn) -> Vec<&Lifetime> {
    let parameters = item.sig.generics.params.iter();
    parameters
        .filter_map(|parameter| match parameter {
            GenericParam::Lifetime(parameter) => Some(&parameter.lifetime),
            _ => None,
        })
        .collect()
}

/// A parameter cannot have the name of a static, and so not that of another tool in the module.
/// Functions can be shadowed by parameters: one of each parameter's name hides such a static.
fn shadowed(function: &Function, item: &ItemFn) -> TokenStream {
    let arguments = function.arguments();
    let hidden = arguments
        .filter(|argument| argument.ident != item.sig.ident)
        .filter(|argument| !function.uses(&argument.ident))
        .map(|argument| {
            let ident = &argument.ident;
            quote!(#[allow(dead_code, non_snake_case)] fn #ident() {})
        });
    quote!(#(#hidden)*)
}

/// Takes the attributes with these names from the function.
fn taken(item: &mut ItemFn, names: &[&str]) -> Vec<Attribute> {
    let (taken, left) = std::mem::take(&mut item.attrs)
        .into_iter()
        .partition(|attribute| names.iter().any(|name| attribute.path().is_ident(name)));
    item.attrs = left;
    taken
}
