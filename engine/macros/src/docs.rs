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
            Some(match text.split_once('\n') {
                None => text.strip_prefix(' ').unwrap_or(&text).to_owned(),
                Some((first, rest)) => format!("{}\n{}", first.trim(), block(rest)),
            })
        }
        _ => None,
    }
}

/// The lines of a block comment after its first, without the margin that they have in common: of
/// spaces, or up to an asterisk in each.
fn block(lines: &str) -> String {
    let full = || lines.lines().filter(|line| !line.trim().is_empty());
    let has_stars = full().all(|line| line.trim_start().starts_with('*'));
    let indent = |line: &str| line.len() - line.trim_start().len();
    let margin = full().map(indent).min().unwrap_or_default();
    let inner = lines.lines().map(|line| {
        let line = line.get(margin..).unwrap_or_default();
        match line.trim_start().strip_prefix('*') {
            Some(text) if has_stars => text.strip_prefix(' ').unwrap_or(text),
            _ => line,
        }
    });
    inner.collect::<Vec<_>>().join("\n")
}
