//! The flat check: one pass for the usual schema of a tool, an object of few properties that have
//! their types and nothing else to fit. It tells only whether all is well; what is wrong is found
//! by the walk that all schemas have.

use tightwire_codec::Value;

use super::{
    Schema,
    node::{Additional, NodeId, Types},
    value::has_type,
};

/// A schema that is flat.
#[derive(Debug)]
pub(super) struct Flat {
    properties: Box<[(Box<str>, Types)]>,
    /// The places of those that are required, as bits.
    required: u64,
    /// The types of what is no property.
    others: Types,
}

impl Flat {
    /// As many places as `required` has bits.
    const PROPERTIES_MAX: usize = 64;

    pub(super) fn of(schema: &Schema) -> Option<Self> {
        let root = schema.nodes.first()?;
        let is_flat = root.types == Types::NONE.with("object")
            && root.properties.len() <= Self::PROPERTIES_MAX
            && root.values.is_empty()
            && root.patterns.is_empty()
            && root.object.is_none()
            && !root.has_applicators;
        if !is_flat {
            return None;
        }
        let types = |id: NodeId| {
            let node = &schema.nodes[id];
            let types = node.types.unwrap_or(Types::ALL);
            match node.never {
                true => Some(Types::NONE),
                false => node.types_only.then_some(types),
            }
        };
        let properties = root.properties.iter();
        Some(Self {
            properties: properties
                .map(|property| Some((property.name.clone(), types(property.schema)?)))
                .collect::<Option<_>>()?,
            required: root
                .required
                .iter()
                .fold(0, |bits, place| bits | 1 << place),
            others: match root.additional {
                Additional::Allowed => Types::ALL,
                Additional::Forbidden => Types::NONE,
                Additional::Checked(schema) => types(schema)?,
            },
        })
    }

    /// Whether the value fits.
    #[inline]
    pub(super) fn fits(&self, value: Value<'_>) -> bool {
        let Some(object) = value.as_object() else {
            return false;
        };
        let mut seen: u64 = 0;
        let mut next = 0;
        for (name, value) in object {
            let is_it = |(property, _): &(Box<str>, Types)| **property == *name;
            // Mostly it is the next one.
            let place = match self.properties.get(next) {
                Some(property) if is_it(property) => Some(next),
                _ => self.properties.iter().position(is_it),
            };
            let types = match place {
                Some(place) if seen & (1 << place) != 0 => return false,
                Some(place) => {
                    seen |= 1 << place;
                    next = place + 1;
                    self.properties[place].1
                }
                None => self.others,
            };
            if !has_type(types, value, value.kind()) {
                return false;
            }
        }
        seen & self.required == self.required
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_schemas_of_types_alone_are_flat() {
        let is_flat = |members: &str| {
            let text = format!(r#"{{"type":"object",{members}}}"#);
            Flat::of(&Schema::compile(&text).unwrap()).is_some()
        };
        for members in [
            r#""properties":{"a":{"type":["string","null"],"title":"A","format":"date"},
                "b":{},"c":true,"d":false,"e":{"type":"object"}},"required":["a","x"]"#,
            r#""additionalProperties":false"#,
            r#""additionalProperties":{"type":"string"},"required":["a"]"#,
            r#""title":"t","$defs":{"a":{"minimum":1}},"x-y":1"#,
        ] {
            assert!(is_flat(members), "{members}");
        }
        let many: Vec<String> = (0..65).map(|index| format!(r#""p{index}":{{}}"#)).collect();
        for members in [
            r#""properties":{"a":{"minimum":1}}"#,
            r#""properties":{"a":{"const":1}}"#,
            r#""properties":{"a":{"type":"object","required":["b"]}}"#,
            r##""properties":{"a":{"$ref":"#"}}"##,
            r#""additionalProperties":{"enum":[1]}"#,
            r#""patternProperties":{"a":{}}"#,
            r#""minProperties":1"#,
            r#""dependentRequired":{"a":["b"]}"#,
            r#""dependentSchemas":{"a":{}}"#,
            r#""enum":[{}]"#,
            r#""not":{}"#,
            &format!(r#""properties":{{{}}}"#, many.join(",")),
        ] {
            assert!(!is_flat(members), "{members}");
        }
        let schema = Schema::compile(r#"{"type":["object","null"]}"#).unwrap();
        assert!(Flat::of(&schema).is_none());
    }
}
