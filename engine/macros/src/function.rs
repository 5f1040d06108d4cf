//! A function with one of the attributes: what is checked of it, and how it is called.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{
    Attribute, Error, GenericParam, Ident, Result, ReturnType, Safety, Signature, Type,
    ext::IdentExt, spanned::Spanned,
};

use crate::{
    docs, groups, lifetimes,
    options::{Kind, Options},
    parameter::{Argument, Parameter},
};

/// A function that becomes a tool, a prompt or a resource.
pub(crate) struct Function {
    pub(crate) kind: Kind,
    pub(crate) options: Options,
    pub(crate) ident: Ident,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) returned: Type,
    pub(crate) is_async: bool,
    /// The doc comments.
    description: Option<TokenStream>,
}

/// Where a function stands, and how it is reached from there.
pub(crate) enum Place<'a> {
    /// On its own.
    Free,
    /// In the impl block of this type.
    Method(&'a Type),
}

impl Function {
    /// Reads a function, and takes from its parameters the attributes that only the macro
    /// understands.
    pub(crate) fn read(
        kind: Kind,
        options: Options,
        attributes: &[Attribute],
        signature: &mut Signature,
        place: &Place<'_>,
    ) -> Result<Self> {
        groups::open_types(signature);
        let mut problems = Problems::default();
        let mut parameters = Vec::new();
        for parameter in &mut signature.inputs {
            match Parameter::read(parameter) {
                Ok(parameter) => parameters.push(parameter),
                Err(error) => problems.add(error),
            }
        }
        check_receiver(signature, place, &mut problems);
        check_signature(kind, signature, &mut problems);
        check_contexts(&parameters, &mut problems);
        if let (Kind::Prompt | Kind::Resource, Some(asyncness)) = (kind, signature.asyncness) {
            problems.add(Error::new_spanned(
                asyncness,
                format_args!(
                    "only a tool can be an `async fn`: let a plain one wait, with `{}(blocking)`",
                    kind.name()
                ),
            ));
        }
        if let (Some(span), Some(_)) = (options.blocking, signature.asyncness) {
            problems.add(Error::new(
                span,
                "an `async fn` runs on the executor and cannot be `blocking`: leave out one of both",
            ));
        }
        if let (Some(span), None, None) = (options.timeout, options.blocking, signature.asyncness) {
            problems.add(Error::new(
                span,
                "a function in the loop cannot be interrupted: add `blocking`, or make it an \
                 `async fn`",
            ));
        }
        problems.none()?;
        Ok(Self {
            kind,
            ident: signature.ident.clone(),
            parameters,
            returned: lifetimes::returned(&signature.output),
            is_async: signature.asyncness.is_some(),
            description: docs::description(attributes),
            options,
        })
    }

    /// The arguments of the client.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.parameters
            .iter()
            .filter_map(|parameter| match parameter {
                Parameter::Argument(argument) => Some(&**argument),
                Parameter::Receiver | Parameter::Context(_) => None,
            })
    }

    /// Whether what is said of an argument has this name, so that it must not be hidden.
    pub(crate) fn uses(&self, ident: &Ident) -> bool {
        self.arguments().any(|argument| argument.uses(ident))
    }

    /// The name as an expression.
    pub(crate) fn name(&self) -> TokenStream {
        match &self.options.name {
            Some(name) => quote!(#name),
            None => {
                let name = self.ident.unraw().to_string();
                quote!(#name)
            }
        }
    }

    /// The setters of the definition, from the attribute and the doc comments.
    pub(crate) fn setters(&self) -> TokenStream {
        let setters = self.options.setters();
        let description = match &self.options.description {
            Some(text) => Some(quote!(#text)),
            None => self.description.clone(),
        };
        let description = description.map(|text| quote!(.description(#text)));
        quote!(#description #setters)
    }

    /// The call of the function: `arguments` are its arguments as they are handed over, and
    /// `context` is what gives the context.
    pub(crate) fn call(
        &self,
        place: &Place<'_>,
        context: &TokenStream,
        arguments: impl IntoIterator<Item = TokenStream>,
    ) -> TokenStream {
        let ident = &self.ident;
        let path = match place {
            Place::Free => quote!(#ident),
            Place::Method(state) => quote!(<#state>::#ident),
        };
        let mut arguments = arguments.into_iter();
        let parameters = self.parameters.iter().map(|parameter| match parameter {
            Parameter::Receiver => quote!(&__state),
            Parameter::Context(_) => quote!(#context.context()),
            Parameter::Argument(_) => arguments.next().unwrap_or_default(),
        });
        // An error that the result is of no use points at its type.
        let arguments = quote!(#(#parameters),*);
        quote_spanned!(self.returned.span()=> #path(#arguments))
    }

    /// The statements that take the arguments from a request, each by `value`, and the call with
    /// them.
    pub(crate) fn taken(
        &self,
        place: &Place<'_>,
        value: impl Fn(&Argument) -> TokenStream,
    ) -> (TokenStream, TokenStream) {
        let values = self.arguments().enumerate().map(|(index, argument)| {
            let hidden = hidden(index);
            let value = value(argument);
            quote!(let #hidden = #value;)
        });
        let values = quote!(#(#values)*);
        let names = (0..self.arguments().count()).map(|index| {
            let hidden = hidden(index);
            quote!(#hidden)
        });
        (values, self.call(place, &quote!(__request), names))
    }

    /// The state for a closure of its own, if the function is a method.
    pub(crate) fn state(&self) -> Option<TokenStream> {
        self.has_receiver()
            .then(|| quote!(let __state = ::std::sync::Arc::clone(&__state);))
    }

    /// Whether it needs the state that it is a method of.
    pub(crate) fn has_receiver(&self) -> bool {
        self.parameters
            .iter()
            .any(|parameter| matches!(parameter, Parameter::Receiver))
    }
}

/// The name that a value has in the expansion: nobody else's.
pub(crate) fn hidden(index: usize) -> Ident {
    format_ident!("__argument_{index}", span = Span::mixed_site())
}

/// Errors that are told at once.
#[derive(Default)]
pub(crate) struct Problems(pub(crate) Option<Error>);

impl Problems {
    pub(crate) fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    pub(crate) fn none(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

fn check_receiver(signature: &Signature, place: &Place<'_>, problems: &mut Problems) {
    let Some(receiver) = signature.receiver() else {
        return;
    };
    let message = match place {
        Place::Free => {
            "a method needs its state: put `#[tools]` on the impl block, and register it with \
             `Server::tools(state)`"
        }
        Place::Method(_) if is_shared_reference(receiver) => return,
        Place::Method(_) => {
            "the state is shared by all calls: take `&self`, and put what changes into a `Mutex` \
             or an atomic"
        }
    };
    problems.add(Error::new_spanned(receiver, message));
}

fn is_shared_reference(receiver: &syn::Receiver) -> bool {
    matches!(receiver.kind, syn::ReceiverKind::Reference(_, _, None))
}

fn check_signature(kind: Kind, signature: &Signature, problems: &mut Problems) {
    let kind = kind.name();
    let generics = &signature.generics;
    for parameter in &generics.params {
        match parameter {
            GenericParam::Lifetime(lifetime) if lifetime.bounds.is_empty() => {}
            GenericParam::Lifetime(lifetime) => problems.add(Error::new_spanned(
                lifetime,
                format_args!("the lifetimes of a {kind} have no bounds: leave them out"),
            )),
            other => problems.add(Error::new_spanned(
                other,
                format_args!(
                    "a {kind} cannot be generic: a client sees one schema; write the type, or a \
                     function with `#[{kind}]` for each type"
                ),
            )),
        }
    }
    if let Some(clause) = &generics.where_clause {
        problems.add(Error::new_spanned(
            clause,
            format_args!("a {kind} cannot be generic, so there is nothing for `where` to say"),
        ));
    }
    if let ReturnType::Type(_, ty) = &signature.output
        && matches!(**ty, Type::ImplTrait(_))
    {
        problems.add(Error::new_spanned(
            ty,
            format_args!("the type that a {kind} returns has to be named: `impl Trait` is not"),
        ));
    }
    let returned = lifetimes::returned(&signature.output);
    if signature.asyncness.is_some() && lifetimes::has_lifetime(&returned) {
        problems.add(Error::new_spanned(
            &returned,
            "what an `async fn` returns is written after the request is gone, and cannot borrow \
             from it: return an owned type, such as `String`",
        ));
    }
    let qualifier = match (&signature.constness, &signature.safety, &signature.abi) {
        (Some(constness), _, _) => Some(constness.span()),
        (_, Safety::Unsafe(safety), _) => Some(safety.span()),
        (_, Safety::Safe(safety), _) => Some(safety.span()),
        (_, _, Some(abi)) => Some(abi.span()),
        _ => None,
    };
    if let Some(span) = qualifier {
        problems.add(Error::new(
            span,
            format_args!("a {kind} is a plain `fn` or an `async fn`"),
        ));
    }
}

fn check_contexts(parameters: &[Parameter], problems: &mut Problems) {
    let contexts = parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Context(ty) => Some(ty),
        Parameter::Receiver | Parameter::Argument(_) => None,
    });
    for ty in contexts.skip(1) {
        problems.add(Error::new_spanned(
            ty,
            "there is one context for each call: leave out this one",
        ));
    }
}
