//! Contexts that there are not.

use tightwire::{Context, tool};

#[tool]
fn two(one: &Context<'_>, other: &Context<'_>) -> bool {
    one.is_cancelled() && other.is_cancelled()
}

#[tool]
fn owned(context: Context<'_>) -> bool {
    context.is_cancelled()
}

#[tool]
fn mutable(context: &mut Context<'_>) -> bool {
    context.is_cancelled()
}

fn main() {}
