//! Lifetimes in the types of a signature, named anew for where the type is written again.

use proc_macro2::Span;
use quote::ToTokens;
use syn::{
    Lifetime, ParenthesizedGenericArguments, ReturnType, Type, TypeFnPtr, TypeReference,
    visit_mut::VisitMut,
};

/// The type with each of its lifetimes, elided or named, replaced by this one. `'static` stays.
pub(crate) fn with_lifetime(ty: &Type, name: &str) -> Type {
    let mut ty = ty.clone();
    Rename { name, found: false }.visit_type_mut(&mut ty);
    ty
}

/// Whether the type has a lifetime, elided or named, other than `'static`.
pub(crate) fn has_lifetime(ty: &Type) -> bool {
    let mut ty = ty.clone();
    let mut rename = Rename {
        name: "'_",
        found: false,
    };
    rename.visit_type_mut(&mut ty);
    rename.found
}

/// Whether the type names `'static`.
pub(crate) fn is_static(ty: &Type) -> bool {
    ty.to_token_stream().to_string().contains("'static")
}

/// The type that a function returns.
pub(crate) fn returned(output: &ReturnType) -> Type {
    match output {
        ReturnType::Default => syn::parse_quote!(()),
        ReturnType::Type(_, ty) => (**ty).clone(),
    }
}

struct Rename<'a> {
    name: &'a str,
    found: bool,
}

impl Rename<'_> {
    fn lifetime(&mut self, span: Span) -> Lifetime {
        self.found = true;
        Lifetime::new(self.name, span)
    }
}

impl VisitMut for Rename<'_> {
    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        match &mut reference.lifetime {
            Some(lifetime) => self.visit_lifetime_mut(lifetime),
            None => reference.lifetime = Some(self.lifetime(reference.and_token.span)),
        }
        self.visit_type_mut(&mut reference.elem);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident != "static" {
            *lifetime = self.lifetime(lifetime.span());
        }
    }

    // The lifetimes elided in these are bound where they stand.
    fn visit_type_fn_ptr_mut(&mut self, _: &mut TypeFnPtr) {}

    fn visit_parenthesized_generic_arguments_mut(&mut self, _: &mut ParenthesizedGenericArguments) {
    }
}
