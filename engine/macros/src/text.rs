//! Arguments that come as text: those of prompts, and the variables of URI templates.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Result, Type};

use crate::{
    function::{Function, Problems},
    parameter::{is_named, is_str, optional},
};

/// The setters of the functions that complete arguments.
pub(crate) fn completers(function: &Function) -> TokenStream {
    let completers = function.arguments().filter_map(|argument| {
        let name = &argument.name;
        let complete = argument.complete.as_ref()?;
        Some(quote!(.complete(#name, #complete)))
    });
    quote!(#(#completers)*)
}

/// Refuses what is said to serde and schemars, who have no part in text: left out in silence, it
/// would look as if it held. `instead` is what can be written.
pub(crate) fn check_attributes(function: &Function, instead: &str) -> Result<()> {
    let mut problems = Problems::default();
    let attributes = function
        .arguments()
        .flat_map(|argument| &argument.attributes)
        .filter(|attribute| !attribute.path().is_ident("doc"));
    for attribute in attributes {
        problems.add(Error::new_spanned(
            attribute,
            format_args!("serde and schemars have no part in text: {instead}"),
        ));
    }
    problems.none()
}

/// A type that a text is turned into.
pub(crate) struct Text {
    /// Whether it may be left out.
    pub(crate) is_optional: bool,
    pub(crate) form: Form,
}

/// How a text is turned into a type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `&str`: as it is.
    Borrowed,
    /// `String` or `Cow<str>`.
    Into,
    /// Anything else: through `FromStr`.
    Parsed,
}

impl Text {
    pub(crate) fn of(ty: &Type) -> Self {
        let inner = optional(ty);
        Self {
            is_optional: inner.is_some(),
            form: Form::of(inner.as_ref().unwrap_or(ty)),
        }
    }

    /// The value from `__text`, which is there; `refuse` is what to do with one that cannot be
    /// parsed.
    pub(crate) fn value(&self, refuse: &TokenStream) -> TokenStream {
        let value = self.form.value(&quote!(__text), refuse);
        if self.is_optional {
            quote!(::core::option::Option::Some(#value))
        } else {
            value
        }
    }
}

impl Form {
    fn of(ty: &Type) -> Self {
        if is_str(ty) {
            Self::Borrowed
        } else if is_named(ty, "String") || is_named(ty, "Cow") {
            Self::Into
        } else {
            Self::Parsed
        }
    }

    /// The value from a text; `refuse` is what to do with one that cannot be parsed.
    pub(crate) fn value(self, text: &TokenStream, refuse: &TokenStream) -> TokenStream {
        match self {
            Self::Borrowed => quote!(#text),
            Self::Into => quote!(::core::convert::From::from(#text)),
            Self::Parsed => quote! {
                match ::core::str::FromStr::from_str(#text) {
                    ::core::result::Result::Ok(__value) => __value,
                    ::core::result::Result::Err(_) => #refuse,
                }
            },
        }
    }
}
