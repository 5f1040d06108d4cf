//! Schema text to the nodes of a [`Schema`](super::Schema).

use std::collections::HashMap;

use tightwire_codec::{Object, Value};

use super::{
    node::{
        Additional, ArrayNode, Branch, Condition, Contains, Lookup, Node, NodeId, NumberNode,
        ObjectNode, Property,
    },
    number::Decimal,
    pattern::Pattern,
    read::{
        boolean, constant, constants, count, number, object, repeated_name, string, strings, types,
    },
    reference::Place,
};
use crate::json::with_root;

/// Bounds against hostile schemas.
const NODES_MAX: usize = 10_000;
const DEPTH_MAX: usize = 64;
/// The sizes of all patterns together.
const PATTERNS_SIZE_MAX: usize = 50_000;

/// The nodes of a schema, the root first.
///
/// # Errors
///
/// What is wrong, and where as a JSON pointer: not JSON, no schema, a keyword that cannot be
/// checked.
pub(super) fn nodes(text: &str) -> Result<Vec<Node>, String> {
    with_root(text, |root| {
        let mut compiler = Compiler {
            nodes: Vec::new(),
            by_pointer: HashMap::new(),
            referred: Vec::new(),
            patterns_size: 0,
        };
        compiler.subschema(root, &Place::root(root))?;
        // What is referred to is compiled apart: a chain of references is no nesting.
        while let Some((id, value, place)) = compiler.referred.pop() {
            compiler.fill(id, value, &place)?;
        }
        Ok(compiler.nodes)
    })
}

struct Compiler<'a> {
    nodes: Vec<Node>,
    /// Where the subschema of a pointer is, so that each is compiled once and may refer to itself.
    by_pointer: HashMap<String, NodeId>,
    /// Nodes that have their places, and are to be compiled yet.
    referred: Vec<(NodeId, Value<'a>, Place<'a>)>,
    patterns_size: usize,
}

/// Whether the keyword was one of those that a function knows.
type Known = Result<bool, String>;

impl<'a> Compiler<'a> {
    /// Compiles the subschema at a place, if it is not yet.
    fn subschema(&mut self, value: Value<'a>, place: &Place<'a>) -> Result<NodeId, String> {
        if let Some(id) = self.by_pointer.get(&place.pointer) {
            return Ok(*id);
        }
        let id = self.reserve(place)?;
        self.fill(id, value, place)?;
        Ok(id)
    }

    fn reserve(&mut self, place: &Place<'a>) -> Result<NodeId, String> {
        if self.nodes.len() >= NODES_MAX {
            return Err(format!("it has more than {NODES_MAX} subschemas"));
        }
        let id = self.nodes.len();
        self.by_pointer.insert(place.pointer.clone(), id);
        self.nodes.push(Node::default());
        Ok(id)
    }

    fn fill(&mut self, id: NodeId, value: Value<'a>, place: &Place<'a>) -> Result<(), String> {
        let pointer = &place.pointer;
        if place.depth > DEPTH_MAX {
            return Err(format!("{pointer} is nested deeper than {DEPTH_MAX}"));
        }
        self.nodes[id] = match (value.as_bool(), value.as_object()) {
            (Some(allowed), _) => Node {
                never: !allowed,
                types_only: allowed,
                ..Node::default()
            },
            (None, Some(schema)) => self.node(schema, &place.clone().enter(value))?,
            (None, None) => return Err(format!("{pointer} must be an object or a boolean")),
        };
        Ok(())
    }

    fn node(&mut self, schema: Object<'a>, place: &Place<'a>) -> Result<Node, String> {
        let at = &place.pointer;
        if let Some(name) = repeated_name(schema) {
            return Err(format!("{at} has `{name}` twice"));
        }
        let mut node = Node {
            types_only: true,
            ..Node::default()
        };
        for (keyword, value) in schema {
            let here = place.member(keyword);
            if keyword == "type" {
                node.types = Some(types(value, &here.pointer)?);
            } else if self.of_any_value(&mut node, schema, keyword, value, &here)?
                || self.of_objects(&mut node, keyword, value, &here)?
                || self.of_arrays(&mut node, schema, keyword, value, &here)?
                || of_numbers(&mut node, keyword, value, &here.pointer)?
                || self.of_strings(&mut node, keyword, value, &here.pointer)?
            {
                node.types_only = false;
            } else if asserts_what_is_not_checked(keyword) {
                return Err(format!("{}: `{keyword}` cannot be checked", here.pointer));
            } else if keyword == "$schema" {
                check_dialect(value, &here.pointer)?;
            }
            // All else describes, identifies or defines, or is unknown, and asserts nothing.
        }
        if let Some(required) = schema.find("required") {
            let required = strings(required, &place.member("required").pointer)?;
            self.require(&mut node, required);
        }
        node.lookup = Lookup::of(&node.properties);
        node.has_applicators = !node.in_place().is_empty();
        Ok(node)
    }

    fn of_any_value(
        &mut self,
        node: &mut Node,
        schema: Object<'a>,
        keyword: &str,
        value: Value<'a>,
        here: &Place<'a>,
    ) -> Known {
        match keyword {
            "enum" => node.values.push(constants(value, &here.pointer)?),
            "const" => node.values.push(vec![constant(value)]),
            "$ref" => node.reference = Some(self.reference(value, here)?),
            "allOf" => node.all_of = self.list(value, here)?,
            "anyOf" => node.any_of = self.branches(value, here)?,
            "oneOf" => node.one_of = self.branches(value, here)?,
            "not" => node.not = Some(self.subschema(value, here)?),
            "if" => {
                let [then, otherwise] = ["then", "else"].map(|keyword| {
                    let value = schema.find(keyword);
                    value.map(|value| self.subschema(value, &here.beside(keyword)))
                });
                let (then, otherwise) = (then.transpose()?, otherwise.transpose()?);
                if then.is_some() || otherwise.is_some() {
                    node.condition = Some(Box::new(Condition {
                        schema: self.subschema(value, here)?,
                        then,
                        otherwise,
                    }));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn of_objects(
        &mut self,
        node: &mut Node,
        keyword: &str,
        value: Value<'a>,
        here: &Place<'a>,
    ) -> Known {
        let at = &here.pointer;
        match keyword {
            "properties" => {
                for (name, schema) in object(value, at)? {
                    let schema = self.subschema(schema, &here.member(name))?;
                    let name = name.into();
                    node.properties.push(Property { name, schema });
                }
            }
            // When all properties are known.
            "required" => {}
            "patternProperties" => {
                for (pattern, schema) in object(value, at)? {
                    let here = here.member(pattern);
                    let pattern = self.pattern(pattern, &here.pointer)?;
                    node.patterns
                        .push((pattern, self.subschema(schema, &here)?));
                }
            }
            "additionalProperties" => {
                node.additional = match value.as_bool() {
                    Some(true) => Additional::Allowed,
                    Some(false) => Additional::Forbidden,
                    None => Additional::Checked(self.subschema(value, here)?),
                }
            }
            "minProperties" => node.object().min_properties = Some(count(value, at)?),
            "maxProperties" => node.object().max_properties = Some(count(value, at)?),
            "propertyNames" => node.object().names = Some(self.subschema(value, here)?),
            "dependentRequired" => {
                for (name, required) in object(value, at)? {
                    let required = strings(required, &here.member(name).pointer)?;
                    let dependent = (name.into(), required);
                    node.object().dependent_required.push(dependent);
                }
            }
            "dependentSchemas" => {
                for (name, schema) in object(value, at)? {
                    let schema = self.subschema(schema, &here.member(name))?;
                    node.object().dependent_schemas.push((name.into(), schema));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn of_arrays(
        &mut self,
        node: &mut Node,
        schema: Object<'a>,
        keyword: &str,
        value: Value<'a>,
        here: &Place<'a>,
    ) -> Known {
        let at = &here.pointer;
        match keyword {
            "items" => node.items = Some(self.subschema(value, here)?),
            "prefixItems" => node.array().prefix = self.list(value, here)?,
            "minItems" => node.min_items = Some(count(value, at)?),
            "maxItems" => node.max_items = Some(count(value, at)?),
            "uniqueItems" => node.array().is_unique = boolean(value, at)?,
            "contains" => {
                let bound = |keyword: &str| {
                    let value = schema.find(keyword);
                    value.map(|value| count(value, &here.beside(keyword).pointer))
                };
                node.array().contains = Some(Contains {
                    min: bound("minContains").transpose()?.unwrap_or(1),
                    max: bound("maxContains").transpose()?,
                    schema: self.subschema(value, here)?,
                });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn of_strings(&mut self, node: &mut Node, keyword: &str, value: Value<'a>, at: &str) -> Known {
        match keyword {
            "minLength" => node.min_length = Some(count(value, at)?),
            "maxLength" => node.max_length = Some(count(value, at)?),
            "pattern" => {
                let pattern = self.pattern(string(value, at)?, at)?;
                node.pattern = Some(Box::new(pattern));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn pattern(&mut self, text: &str, at: &str) -> Result<Pattern, String> {
        let pattern = Pattern::compile(text)
            .map_err(|reason| format!("{at}: the pattern `{text}` {reason}"))?;
        self.patterns_size += pattern.size;
        if self.patterns_size > PATTERNS_SIZE_MAX {
            return Err(format!(
                "its patterns together are larger than {PATTERNS_SIZE_MAX}"
            ));
        }
        Ok(pattern)
    }

    /// Notes what is required.
    fn require(&mut self, node: &mut Node, required: Vec<Box<str>>) {
        let places = node.properties.iter().map(|property| &property.name);
        let mut places: HashMap<Box<str>, usize> = places.cloned().zip(0..).collect();
        for name in required {
            let place = *places.entry(name).or_insert_with_key(|name| {
                // What a pattern names is checked as such.
                let is_named = node
                    .patterns
                    .iter()
                    .any(|(pattern, _)| pattern.matches_name(name));
                let additional = if is_named {
                    Additional::Allowed
                } else {
                    node.additional
                };
                let schema = self.additional(additional);
                let name = name.clone();
                node.properties.push(Property { name, schema });
                node.properties.len() - 1
            });
            node.required.push(place);
        }
        node.required.sort_unstable();
        node.required.dedup();
    }

    /// The subschema of what no property names.
    fn additional(&mut self, additional: Additional) -> NodeId {
        if let Additional::Checked(schema) = additional {
            return schema;
        }
        self.nodes.push(Node {
            never: matches!(additional, Additional::Forbidden),
            types_only: matches!(additional, Additional::Allowed),
            ..Node::default()
        });
        self.nodes.len() - 1
    }

    fn branches(&mut self, value: Value<'a>, here: &Place<'a>) -> Result<Vec<Branch>, String> {
        let schemas = self.list(value, here)?;
        let untagged = |schema| Branch {
            schema,
            tags: Vec::new(),
        };
        Ok(schemas.into_iter().map(untagged).collect())
    }

    fn list(&mut self, value: Value<'a>, here: &Place<'a>) -> Result<Vec<NodeId>, String> {
        let schemas = value
            .as_array()
            .filter(|schemas| !schemas.is_empty())
            .ok_or_else(|| format!("{} must be an array that is not empty", here.pointer))?;
        schemas
            .iter()
            .enumerate()
            .map(|(index, schema)| self.subschema(schema, &here.item(index)))
            .collect()
    }

    /// A reference within the schema itself. None other is ever followed.
    fn reference(&mut self, value: Value<'a>, here: &Place<'a>) -> Result<NodeId, String> {
        let at = &here.pointer;
        let (target, place) = here
            .resolve(string(value, at)?)
            .map_err(|reason| format!("{at}: {reason}"))?;
        if let Some(id) = self.by_pointer.get(&place.pointer) {
            return Ok(*id);
        }
        let id = self.reserve(&place)?;
        self.referred.push((id, target, place));
        Ok(id)
    }
}

fn of_numbers(node: &mut Node, keyword: &str, value: Value<'_>, at: &str) -> Known {
    match keyword {
        "minimum" => node.number().minimum = Some(number(value, at)?),
        "maximum" => node.number().maximum = Some(number(value, at)?),
        "exclusiveMinimum" => node.number().exclusive_minimum = Some(number(value, at)?),
        "exclusiveMaximum" => node.number().exclusive_maximum = Some(number(value, at)?),
        "multipleOf" => {
            let divisor = number(value, at)?;
            if divisor.as_f64() <= 0.0 {
                return Err(format!("{at} must be more than 0"));
            }
            node.number().multiple_of = Some((divisor, Decimal::of(divisor)));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

impl Node {
    fn object(&mut self) -> &mut ObjectNode {
        self.object.get_or_insert_default()
    }

    fn array(&mut self) -> &mut ArrayNode {
        self.array.get_or_insert_default()
    }

    fn number(&mut self) -> &mut NumberNode {
        self.number.get_or_insert_default()
    }
}

/// Keywords that assert something, here or in an older dialect, and that are not checked.
fn asserts_what_is_not_checked(keyword: &str) -> bool {
    matches!(
        keyword,
        "unevaluatedItems"
            | "unevaluatedProperties"
            | "$dynamicRef"
            | "$recursiveRef"
            | "dependencies"
            | "extends"
            | "disallow"
            | "divisibleBy"
    )
}

fn check_dialect(value: Value<'_>, at: &str) -> Result<(), String> {
    const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
    let dialect = string(value, at)?;
    // An empty fragment is none.
    if dialect.strip_suffix('#').unwrap_or(dialect) == DIALECT {
        return Ok(());
    }
    Err(format!("{at}: the dialect `{dialect}` cannot be checked"))
}
