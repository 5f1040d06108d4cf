//! What stands in the brackets of the attributes: `#[tool(title = "Add", read_only)]`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Expr, Ident, Lit, LitBool, LitStr, Result, Token, meta::ParseNestedMeta, parse::Parser};

use crate::groups::opened;

/// Which of the attributes it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Prompt,
    Resource,
}

/// The options of one attribute.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<Expr>,
    pub(crate) description: Option<Expr>,
    pub(crate) uri: Option<LitStr>,
    pub(crate) blocking: Option<Span>,
    /// Where the timeout is given.
    pub(crate) timeout: Option<Span>,
    /// The setters that are called on the definition, with their arguments.
    setters: Vec<TokenStream>,
    /// The setters of the annotations of a tool.
    hints: Vec<TokenStream>,
    /// The setters of the annotations of a resource.
    annotations: Vec<TokenStream>,
    ttl_ms: Option<Expr>,
    cache_scope: Option<Ident>,
    seen: Vec<Ident>,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
        }
    }

    /// The kind of an attribute on a method, whose path may be qualified.
    pub(crate) fn of(path: &syn::Path) -> Option<Self> {
        let last = &path.segments.last()?.ident;
        [Self::Tool, Self::Prompt, Self::Resource]
            .into_iter()
            .find(|kind| last == kind.name())
    }

    /// The keys that the attribute takes, in the order in which they are listed to the user.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Tool => &[
                "name",
                "title",
                "description",
                "read_only",
                "destructive",
                "idempotent",
                "open_world",
                "icon",
                "meta",
                "blocking",
                "timeout",
                "task",
            ],
            Self::Prompt => &["name", "title", "description", "icon", "meta", "blocking"],
            Self::Resource => &[
                "uri",
                "name",
                "title",
                "description",
                "mime_type",
                "size",
                "audience",
                "priority",
                "last_modified",
                "ttl_ms",
                "cache_scope",
                "icon",
                "meta",
                "blocking",
            ],
        }
    }
}

impl Options {
    /// Reads what stands in the brackets of an attribute.
    pub(crate) fn read(kind: Kind, tokens: TokenStream) -> Result<Self> {
        let mut options = Self::default();
        syn::meta::parser(|meta| options.read_one(kind, &meta)).parse2(tokens)?;
        Ok(options)
    }

    /// The setters to be called on the definition, in the order in which they were written.
    pub(crate) fn setters(&self) -> TokenStream {
        let setters = &self.setters;
        let hints = (!self.hints.is_empty()).then(|| {
            let hints = &self.hints;
            quote!(.annotations(::tightwire::ToolAnnotations::new() #(#hints)*))
        });
        let annotations = (!self.annotations.is_empty()).then(|| {
            let annotations = &self.annotations;
            quote!(.annotations(::tightwire::Annotations::new() #(#annotations)*))
        });
        let cache = (self.ttl_ms.is_some() || self.cache_scope.is_some()).then(|| {
            let ttl_ms = match &self.ttl_ms {
                Some(ttl_ms) => quote!(#ttl_ms),
                None => quote!(0),
            };
            let scope = match &self.cache_scope {
                Some(scope) => quote!(#scope),
                None => quote!(Private),
            };
            quote!(.cache(#ttl_ms, ::tightwire::CacheScope::#scope))
        });
        let blocking = self.blocking.map(|_| quote!(.blocking()));
        quote!(#(#setters)* #hints #annotations #cache #blocking)
    }

    fn read_one(&mut self, kind: Kind, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let key = meta.path.get_ident().map(ToString::to_string);
        let key = key.unwrap_or_default();
        if !kind.keys().contains(&key.as_str()) {
            return Err(meta.error(unknown_key(kind)));
        }
        if let Some(ident) = meta.path.get_ident() {
            // Only a definition's icons are several.
            if key != "icon" && self.seen.contains(ident) {
                return Err(meta.error(format_args!("`{key}` is given twice")));
            }
            self.seen.push(ident.clone());
        }
        match key.as_str() {
            "name" => self.name = Some(meta.value()?.parse()?),
            "description" => self.description = Some(meta.value()?.parse()?),
            "uri" => self.uri = Some(meta.value()?.parse()?),
            "title" | "mime_type" | "meta" | "size" => {
                let setter = &meta.path;
                let value: Expr = meta.value()?.parse()?;
                self.setters.push(quote!(.#setter(#value)));
            }
            "icon" => {
                let icon = icon(meta)?;
                self.setters.push(quote!(.icon(#icon)));
            }
            "read_only" | "destructive" | "idempotent" | "open_world" => {
                let setter = &meta.path;
                let value = flag(meta)?;
                self.hints.push(quote!(.#setter(#value)));
            }
            "audience" => {
                let roles = audience(meta)?;
                self.annotations.push(quote!(.audience(#roles)));
            }
            "priority" | "last_modified" => {
                let setter = &meta.path;
                let value: Expr = meta.value()?.parse()?;
                self.annotations.push(quote!(.#setter(#value)));
            }
            "ttl_ms" => self.ttl_ms = Some(meta.value()?.parse()?),
            "cache_scope" => {
                let scopes = [("private", "Private"), ("public", "Public")];
                self.cache_scope = Some(chosen(&meta.value()?.parse()?, &scopes)?);
            }
            "task" => {
                let task = task(meta)?;
                self.setters.push(quote!(.task(#task)));
            }
            "blocking" => {
                if flag(meta)?.value {
                    self.blocking = Some(meta.path.segments[0].ident.span());
                }
            }
            _ => {
                self.timeout = Some(meta.path.segments[0].ident.span());
                let timeout = milliseconds(&meta.value()?.parse()?)?;
                self.setters
                    .push(quote!(.timeout(::core::time::Duration::from_millis(#timeout))));
            }
        }
        Ok(())
    }
}

fn unknown_key(kind: Kind) -> String {
    format!(
        "`#[{}]` has no such option; it has {}",
        kind.name(),
        kind.keys().join(", ")
    )
}

/// `read_only` or `read_only = false`.
fn flag(meta: &ParseNestedMeta<'_>) -> Result<LitBool> {
    if meta.input.peek(Token![=]) {
        meta.value()?.parse()
    } else {
        Ok(LitBool::new(true, Span::call_site()))
    }
}

/// `task`, `task = "required"` or `task = TaskOptions::new(..)`.
fn task(meta: &ParseNestedMeta<'_>) -> Result<TokenStream> {
    if !meta.input.peek(Token![=]) {
        return Ok(quote!(::tightwire::TaskSupport::Optional));
    }
    let options = opened(meta.value()?.parse()?);
    if let Expr::Lit(literal) = &options
        && let Lit::Str(support) = &literal.lit
    {
        let supports = [("optional", "Optional"), ("required", "Required")];
        let support = chosen(support, &supports)?;
        return Ok(quote!(::tightwire::TaskSupport::#support));
    }
    Ok(quote!(#options))
}

/// `icon = "https://.."` or `icon(src = "https://..", mime_type = "image/png", ..)`.
fn icon(meta: &ParseNestedMeta<'_>) -> Result<TokenStream> {
    if meta.input.peek(Token![=]) {
        let source: Expr = meta.value()?.parse()?;
        return Ok(quote!(::tightwire::Icon::new(#source)));
    }
    let mut source: Option<Expr> = None;
    let mut setters = TokenStream::new();
    meta.parse_nested_meta(|part| {
        let setter = &part.path;
        if setter.is_ident("src") {
            source = Some(part.value()?.parse()?);
        } else if setter.is_ident("mime_type") || setter.is_ident("size") {
            let value: Expr = part.value()?.parse()?;
            setters.extend(quote!(.#setter(#value)));
        } else if setter.is_ident("theme") {
            let themes = [("light", "Light"), ("dark", "Dark")];
            let theme = chosen(&part.value()?.parse()?, &themes)?;
            setters.extend(quote!(.theme(::tightwire::Theme::#theme)));
        } else {
            return Err(part.error("an icon has `src`, `mime_type`, `size` and `theme`"));
        }
        Ok(())
    })?;
    match source {
        Some(source) => Ok(quote!(::tightwire::Icon::new(#source) #setters)),
        None => Err(meta.error("an icon needs its `src`: `icon(src = \"https://..\")`")),
    }
}

/// `audience(user, assistant)`.
fn audience(meta: &ParseNestedMeta<'_>) -> Result<TokenStream> {
    let mut roles = Vec::new();
    meta.parse_nested_meta(|part| {
        roles.push(if part.path.is_ident("user") {
            quote!(::tightwire::Role::User)
        } else if part.path.is_ident("assistant") {
            quote!(::tightwire::Role::Assistant)
        } else {
            return Err(part.error("an audience is `user`, `assistant` or both"));
        });
        Ok(())
    })?;
    Ok(quote!(&[#(#roles),*]))
}

/// The variant that a text stands for.
fn chosen(text: &LitStr, variants: &[(&str, &str)]) -> Result<Ident> {
    let value = text.value();
    let variant = variants.iter().find(|(name, _)| *name == value);
    variant
        .map(|(_, variant)| Ident::new(variant, text.span()))
        .ok_or_else(|| {
            let names: Vec<String> = variants
                .iter()
                .map(|(name, _)| format!("{name:?}"))
                .collect();
            syn::Error::new(
                text.span(),
                format_args!("this is one of {}", names.join(", ")),
            )
        })
}

/// A time such as `500ms`, `10s` or `2m`.
fn milliseconds(literal: &LitStr) -> Result<u64> {
    let text = literal.value();
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let factor = match unit.trim() {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let number: Option<u64> = number.parse().ok();
    match number.zip(factor).map(|(a, b)| a.checked_mul(b)) {
        Some(Some(milliseconds)) if milliseconds > 0 => Ok(milliseconds),
        _ => Err(syn::Error::new(
            literal.span(),
            "a timeout is a whole number of `ms`, `s`, `m` or `h`, such as \"10s\"",
        )),
    }
}
