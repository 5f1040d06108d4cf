//! What `macro_rules!` puts around the fragments that it hands on: groups without delimiters, which
//! would hide what a type or an expression is.

use syn::{Expr, Signature, Type, visit_mut::VisitMut};

/// Has the types of a signature stand by themselves.
pub(crate) fn open_types(signature: &mut Signature) {
    Open.visit_signature_mut(signature);
}

/// The expression by itself.
pub(crate) fn opened(mut expression: Expr) -> Expr {
    while let Expr::Group(group) = expression {
        expression = *group.expr;
    }
    expression
}

struct Open;

impl VisitMut for Open {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        while let Type::Group(group) = ty {
            // Their bounds may not stand everywhere without something around them.
            if matches!(*group.elem, Type::TraitObject(_) | Type::ImplTrait(_)) {
                break;
            }
            *ty = (*group.elem).clone();
        }
        syn::visit_mut::visit_type_mut(self, ty);
    }
}
