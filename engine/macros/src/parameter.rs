//! The parameters of a function: what each means to a client, and what stands behind it.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Error, Expr, FnArg, GenericArgument, Ident, LitStr, Pat, PatType, PathArguments,
    Receiver, Result, Type, TypeReference, ext::IdentExt, spanned::Spanned,
};

use crate::{docs, groups::opened, lifetimes};

/// One parameter.
pub(crate) enum Parameter {
    /// `&self`.
    Receiver,
    /// `&Context`.
    Context(Box<Type>),
    /// An argument of the client.
    Argument(Box<Argument>),
}

/// A parameter that the client gives the value of.
pub(crate) struct Argument {
    pub(crate) ident: Ident,
    /// As clients see it.
    pub(crate) name: LitStr,
    /// As it is written.
    pub(crate) ty: Type,
    pub(crate) description: Option<TokenStream>,
    pub(crate) default: Option<Expr>,
    /// The function that completes it.
    pub(crate) complete: Option<Expr>,
    /// The doc comments, and what serde and schemars are told of it, as they were written.
    pub(crate) attributes: Vec<Attribute>,
    /// What `#[arg(..)]` says, in the words of serde and schemars.
    pub(crate) options: Vec<Attribute>,
}

impl Parameter {
    /// Reads a parameter, and takes from it the attributes that only the macro understands.
    pub(crate) fn read(parameter: &mut FnArg) -> Result<Self> {
        let (FnArg::Receiver(Receiver { attrs, .. }) | FnArg::Typed(PatType { attrs, .. })) =
            &*parameter;
        if let Some(condition) = attrs
            .iter()
            .find(|attribute| attribute.path().is_ident("cfg"))
        {
            return Err(Error::new_spanned(
                condition,
                "a parameter cannot be there at times: a client sees one schema; write the \
                 function twice, and put `#[cfg(..)]` on each",
            ));
        }
        match parameter {
            FnArg::Receiver(_) => Ok(Self::Receiver),
            FnArg::Typed(typed) if is_context(&typed.ty) => Ok(Self::Context(typed.ty.clone())),
            FnArg::Typed(typed) => {
                Argument::read(typed).map(|argument| Self::Argument(Box::new(argument)))
            }
        }
    }
}

impl Argument {
    fn read(typed: &mut PatType) -> Result<Self> {
        let mut own = Own::default();
        let mut attributes = Vec::new();
        let mut problem = None;
        typed.attrs.retain(|attribute| {
            let path = attribute.path();
            if path.is_ident("arg") || path.is_ident("default") {
                if let Err(error) = own.read(attribute) {
                    problem = Some(error);
                }
                return false;
            }
            let is_handed_on = ["doc", "serde", "schemars"]
                .iter()
                .any(|name| path.is_ident(name));
            if is_handed_on {
                attributes.push(attribute.clone());
            }
            !is_handed_on
        });
        if let Some(problem) = problem {
            return Err(problem);
        }
        let ident = identifier(&typed.pat)?;
        check_type(&typed.ty)?;
        let description = match &own.description {
            Some(text) => Some(text.to_token_stream()),
            None => docs::description(&attributes),
        };
        let mut options = Vec::new();
        if let Some(text) = &own.description {
            attributes.retain(|attribute| !attribute.path().is_ident("doc"));
            options.push(syn::parse_quote!(#[schemars(description = #text)]));
        }
        if let Some(name) = &own.name {
            options.push(syn::parse_quote!(#[serde(rename = #name)]));
        }
        let name = own
            .name
            .unwrap_or_else(|| LitStr::new(&ident.unraw().to_string(), ident.span()));
        Ok(Self {
            name,
            ident,
            ty: (*typed.ty).clone(),
            description,
            default: own.default,
            complete: own.complete,
            attributes,
            options,
        })
    }

    /// Whether its default, or what serde and schemars are told of it, has this name.
    pub(crate) fn uses(&self, ident: &Ident) -> bool {
        let attributes = self.attributes.iter();
        let told = attributes.filter(|attribute| !attribute.path().is_ident("doc"));
        let told = told.map(ToTokens::to_token_stream);
        let default = self.default.as_ref().map(ToTokens::to_token_stream);
        let name = ident.to_string();
        told.chain(default).any(|tokens| has_name(tokens, &name))
    }

    /// Whether the type is a slice.
    pub(crate) fn is_slice(&self) -> bool {
        matches!(&self.ty, Type::Reference(reference) if matches!(*reference.elem, Type::Slice(_)))
    }

    /// The default as an expression of the type that holds it: a string literal is turned into
    /// whatever string type that is.
    pub(crate) fn default_value(&self) -> Option<TokenStream> {
        let default = self.default.as_ref()?;
        Some(match default {
            Expr::Lit(literal) if matches!(literal.lit, syn::Lit::Str(_)) && !is_str(&self.ty) => {
                quote!(::core::convert::From::from(#default))
            }
            _ => quote!(#default),
        })
    }
}

/// How a value is held until the function is called, and handed to it.
pub(crate) struct Held {
    /// The type that is read. Its lifetimes are `'line`.
    pub(crate) ty: Type,
    /// Whether the value is lent to the function.
    pub(crate) lend: Lend,
}

/// How a held value is lent.
#[derive(Clone, Copy)]
pub(crate) enum Lend {
    /// Not at all: it is moved.
    Move,
    /// As `&value`.
    Reference,
    /// As `value.as_ref()`, of an `Option`.
    OptionReference,
    /// As `value.as_deref()`, of an `Option`.
    OptionDeref,
}

impl Held {
    /// How a value of this type is held.
    pub(crate) fn of(ty: &Type) -> Self {
        let held = |ty: Type, lend| Self {
            ty: lifetimes::with_lifetime(&ty, "'line"),
            lend,
        };
        if let Some((owned, _)) = referenced(ty) {
            return held(owned, Lend::Reference);
        }
        match optional(ty).and_then(|inner| referenced(&inner)) {
            Some((owned, true)) => held(option_of(&owned), Lend::OptionDeref),
            Some((owned, false)) => held(option_of(&owned), Lend::OptionReference),
            None => held(ty.clone(), Lend::Move),
        }
    }

    /// The value as the function takes it.
    pub(crate) fn lent(&self, value: &Ident) -> TokenStream {
        match self.lend {
            Lend::Move => quote!(#value),
            Lend::Reference => quote!(&#value),
            Lend::OptionReference => quote!(#value.as_ref()),
            Lend::OptionDeref => quote!(#value.as_deref()),
        }
    }
}

/// What `#[arg(..)]` and `#[default(..)]` say.
#[derive(Default)]
struct Own {
    name: Option<LitStr>,
    description: Option<Expr>,
    default: Option<Expr>,
    complete: Option<Expr>,
}

impl Own {
    fn read(&mut self, attribute: &Attribute) -> Result<()> {
        if attribute.path().is_ident("default") {
            let default = attribute.parse_args().map_err(|error| {
                Error::new(error.span(), "a default is an expression: `#[default(5)]`")
            })?;
            self.default = Some(opened(default));
            return Ok(());
        }
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("name") {
                self.name = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("description") {
                self.description = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("default") {
                self.default = Some(opened(meta.value()?.parse()?));
            } else if meta.path.is_ident("complete") {
                self.complete = Some(meta.value()?.parse()?);
            } else {
                return Err(meta.error(
                    "`#[arg]` has no such option; it has name, description, default, complete",
                ));
            }
            Ok(())
        })
    }
}

/// Whether the type is `&str`.
pub(crate) fn is_str(ty: &Type) -> bool {
    matches!(ty, Type::Reference(reference) if is_named(&reference.elem, "str"))
}

/// Whether the type is a path that ends in this name.
pub(crate) fn is_named(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path)
        if path.path.segments.last().is_some_and(|segment| segment.ident == name))
}

/// The type in an `Option`.
pub(crate) fn optional(ty: &Type) -> Option<Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    match (last.ident == "Option", arguments.args.first()) {
        (true, Some(GenericArgument::Type(ty))) => Some(ty.clone()),
        _ => None,
    }
}

fn option_of(ty: &Type) -> Type {
    syn::parse_quote!(::core::option::Option<#ty>)
}

/// The type that is read for a reference, but for `&str`, which borrows from the line; and whether
/// the reference is got by deref.
fn referenced(ty: &Type) -> Option<(Type, bool)> {
    match ty {
        Type::Reference(TypeReference { elem, .. }) => match &**elem {
            _ if is_named(elem, "str") => None,
            Type::Slice(slice) => {
                let element = &slice.elem;
                let owned = syn::parse_quote_spanned!(elem.span()=> ::std::vec::Vec<#element>);
                Some((owned, true))
            }
            _ if is_named(elem, "Path") => {
                let owned = syn::parse_quote_spanned!(elem.span()=> ::std::path::PathBuf);
                Some((owned, true))
            }
            owned => Some((owned.clone(), false)),
        },
        _ => None,
    }
}

/// Whether a name is in there, perhaps in a string: `default = "path::name"`.
fn has_name(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Group(group) => has_name(group.stream(), name),
        TokenTree::Literal(literal) => {
            let text = literal.to_string();
            text.trim_matches('"').split("::").any(|part| part == name)
        }
        TokenTree::Punct(_) => false,
    })
}

fn is_context(ty: &Type) -> bool {
    matches!(ty, Type::Reference(reference)
        if reference.mutability.is_none() && is_named(&reference.elem, "Context"))
}

fn identifier(pattern: &Pat) -> Result<Ident> {
    match pattern {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
            Ok(pattern.ident.clone())
        }
        _ => Err(Error::new_spanned(
            pattern,
            "an argument needs a name that clients can give it by: write `name: Type`, and take \
             it apart in the body",
        )),
    }
}

fn check_type(ty: &Type) -> Result<()> {
    let message = match ty {
        Type::Reference(reference) if reference.mutability.is_some() => {
            if is_named(&reference.elem, "Context") {
                "the context is not mutable: write `&Context`"
            } else {
                "an argument cannot be `&mut`: take it by value, as `mut name: Type`"
            }
        }
        _ if is_named(ty, "Context") => "the context is borrowed: write `&Context`",
        Type::ImplTrait(_) => "an argument needs a type of its own, which tells how to read it",
        _ if lifetimes::is_static(ty) => {
            "an argument is borrowed from the request, and lives no longer: leave out `'static`"
        }
        _ => return Ok(()),
    };
    Err(Error::new_spanned(ty, message))
}
