//! Doc comments as descriptions.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, ExprLit, Lit};

/// The text of the doc comments as an expression; `None` if there are none. Each line loses one
/// leading space, as rustdoc has it.
pub(crate) fn description(attributes: &[Attribute]) -> Option<TokenStream> {
    let lines: Vec<&Expr> = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
        .filter_map(|attribute| attribute.meta.require_name_value().ok())
        .map(|meta| &meta.value)
        .collect();
    let texts: Option<Vec<String>> = lines.iter().map(|line| literal(line)).collect();
    match texts {
        Some(texts) => {
            let text = texts.join("\n").trim().to_owned();
            (!text.is_empty()).then(|| quote!(#text))
        }
        // A line such as `#[doc = include_str!("add.md")]`.
        None => Some(quote!(::core::concat!(#(#lines, "\n"),*).trim())),
    }
}

fn literal(line: &Expr) -> Option<String> {
    match line {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => {
            let text = text.value();
            Some(text.strip_prefix(' ').unwrap_or(&text).to_owned())
        }
        _ => None,
    }
}
