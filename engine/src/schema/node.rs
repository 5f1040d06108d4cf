//! What a compiled schema is: a flat list of nodes, one for each subschema.

use std::collections::HashMap;

use tightwire_codec::Number;

use super::{number::Decimal, pattern::Pattern};

/// The place of a subschema among the nodes of its schema.
pub(super) type NodeId = usize;

/// What one subschema asserts. What few schemas use is behind a box each.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Whether the types are all that it asserts.
    pub(super) types_only: bool,
    /// The boolean schema `false`.
    pub(super) never: bool,
    pub(super) types: Option<Types>,
    /// The values it must be one of: those of `enum`, that of `const`.
    pub(super) values: Vec<Vec<Constant>>,
    /// The properties, then what is required and is none of them.
    pub(super) properties: Vec<Property>,
    /// The places of the required ones in `properties`, in order.
    pub(super) required: Vec<usize>,
    /// If there are more properties than [`Lookup::SCANNED_MAX`].
    pub(super) lookup: Option<Box<Lookup>>,
    pub(super) patterns: Vec<(Pattern, NodeId)>,
    pub(super) additional: Additional,
    pub(super) object: Option<Box<ObjectNode>>,
    pub(super) items: Option<NodeId>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) array: Option<Box<ArrayNode>>,
    pub(super) number: Option<Box<NumberNode>>,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) pattern: Option<Box<Pattern>>,
    /// Whether there is any of what follows: subschemas that apply to the value itself.
    pub(super) has_applicators: bool,
    pub(super) reference: Option<NodeId>,
    pub(super) all_of: Vec<NodeId>,
    pub(super) any_of: Vec<Branch>,
    pub(super) one_of: Vec<Branch>,
    pub(super) not: Option<NodeId>,
    pub(super) condition: Option<Box<Condition>>,
}

impl Node {
    /// The subschemas that apply to the same value.
    pub(super) fn in_place(&self) -> Vec<NodeId> {
        let branches = self.any_of.iter().chain(&self.one_of);
        let mut ids: Vec<NodeId> = branches.map(|branch| branch.schema).collect();
        ids.extend(&self.all_of);
        ids.extend(self.reference);
        ids.extend(self.not);
        if let Some(condition) = &self.condition {
            ids.push(condition.schema);
            ids.extend(condition.then);
            ids.extend(condition.otherwise);
        }
        if let Some(object) = &self.object {
            ids.extend(object.dependent_schemas.iter().map(|(_, schema)| schema));
        }
        ids
    }
}

/// What is asserted of an object, its properties apart.
#[derive(Debug, Default)]
pub(super) struct ObjectNode {
    pub(super) min_properties: Option<u64>,
    pub(super) max_properties: Option<u64>,
    pub(super) names: Option<NodeId>,
    /// For a property that may be there, those that must then be there too.
    pub(super) dependent_required: Vec<(Box<str>, Vec<Box<str>>)>,
    pub(super) dependent_schemas: Vec<(Box<str>, NodeId)>,
}

/// What is asserted of an array, its length and its other items apart.
#[derive(Debug, Default)]
pub(super) struct ArrayNode {
    /// The subschemas of the first items.
    pub(super) prefix: Vec<NodeId>,
    pub(super) contains: Option<Contains>,
    pub(super) is_unique: bool,
}

/// How many items must fit a subschema.
#[derive(Debug)]
pub(super) struct Contains {
    pub(super) schema: NodeId,
    pub(super) min: u64,
    pub(super) max: Option<u64>,
}

/// What is asserted of a number.
#[derive(Debug, Default)]
pub(super) struct NumberNode {
    pub(super) minimum: Option<Number>,
    pub(super) maximum: Option<Number>,
    pub(super) exclusive_minimum: Option<Number>,
    pub(super) exclusive_maximum: Option<Number>,
    /// The number as written, and as it is computed with.
    pub(super) multiple_of: Option<(Number, Decimal)>,
}

/// `if` with its `then` and `else`.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) schema: NodeId,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

/// A property and what it must fit.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: Box<str>,
    pub(super) schema: NodeId,
}

/// The places of many properties by their names.
#[derive(Debug)]
pub(super) struct Lookup {
    places: HashMap<Box<str>, usize>,
    name_bytes_max: usize,
}

impl Lookup {
    /// As many properties as this are found by looking at each of them.
    pub(super) const SCANNED_MAX: usize = 64;

    pub(super) fn of(properties: &[Property]) -> Option<Box<Self>> {
        if properties.len() <= Self::SCANNED_MAX {
            return None;
        }
        let names = properties.iter().map(|property| &property.name);
        let name_bytes_max = names.clone().map(|name| name.len()).max()?;
        let places = names.cloned().zip(0..).collect();
        Some(Box::new(Self {
            places,
            name_bytes_max,
        }))
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        // A name of the peer may take long to hash.
        if name.len() > self.name_bytes_max {
            return None;
        }
        self.places.get(name).copied()
    }
}

/// One of the forms of `anyOf` and `oneOf`.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) schema: NodeId,
    /// What tells it from the others, to be looked at first: without that, a value of a recursive
    /// form would be checked all the way down for each form, at each of its levels.
    pub(super) tags: Vec<Tag>,
}

/// A property that is required, and is one of few constants.
#[derive(Debug)]
pub(super) struct Tag {
    pub(super) name: Box<str>,
    /// The subschema that has the constants.
    pub(super) constants: NodeId,
}

/// What becomes of members that no property and no pattern names.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Additional {
    #[default]
    Allowed,
    Forbidden,
    Checked(NodeId),
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const NAMES: [&'static str; 7] = [
        "null", "boolean", "integer", "number", "string", "array", "object",
    ];
    pub(super) const NONE: Self = Self(0);
    pub(super) const ALL: Self = Self(0x7F);

    pub(super) fn with(self, name: &str) -> Option<Self> {
        let bit = Self::NAMES.iter().position(|known| *known == name)?;
        Some(Self(self.0 | 1 << bit))
    }

    #[inline]
    pub(super) fn has(self, bit: usize) -> bool {
        self.0 & (1 << bit) != 0
    }
}

/// A JSON value of a schema, kept.
#[derive(Clone, Debug)]
pub(super) enum Constant {
    Null,
    Boolean(bool),
    Number(Number),
    String(Box<str>),
    Array(Vec<Constant>),
    Object(Vec<(Box<str>, Constant)>),
}
