//! Schema text to [`Schema`], a flat list of nodes.

use std::collections::HashMap;

use tightwire_codec::{LINE_PADDING, Line, Number, Object, Parser, Value};

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Schema {
    /// The root is the first.
    pub(super) nodes: Vec<Node>,
}

/// The place of a subschema in [`Schema::nodes`].
pub(super) type NodeId = usize;

/// What one subschema asserts.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Whether the types are all that it asserts.
    pub(super) types_only: bool,
    /// The boolean schema `false`.
    pub(super) never: bool,
    pub(super) types: Option<Types>,
    pub(super) values: Option<Vec<Constant>>,
    /// The properties, then what is required and is none of them.
    pub(super) properties: Vec<Property>,
    /// The places of the required ones in `properties`, in order.
    pub(super) required: Vec<usize>,
    /// If there are more properties than [`Lookup::SCANNED_MAX`].
    pub(super) lookup: Option<Box<Lookup>>,
    pub(super) additional: Additional,
    pub(super) items: Option<NodeId>,
    pub(super) minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_minimum: Option<f64>,
    pub(super) exclusive_maximum: Option<f64>,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    /// Whether there is any of what follows: subschemas that apply to the value itself.
    pub(super) has_applicators: bool,
    pub(super) reference: Option<NodeId>,
    pub(super) all_of: Vec<NodeId>,
    pub(super) any_of: Vec<Branch>,
    pub(super) one_of: Vec<Branch>,
    pub(super) not: Option<NodeId>,
}

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

    fn of(properties: &[Property]) -> Option<Box<Self>> {
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

/// What becomes of members that no property names.
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
    const NONE: Self = Self(0);

    fn with(self, name: &str) -> Option<Self> {
        let bit = Self::NAMES.iter().position(|known| *known == name)?;
        Some(Self(self.0 | 1 << bit))
    }

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

impl Schema {
    /// Bounds against hostile schemas.
    const NODES_MAX: usize = 10_000;
    const DEPTH_MAX: usize = 64;
    /// How many subschemas are searched for the tags of a branch, and how many tags it may have.
    const TAGGED_MAX: usize = 16;
    const TAGS_MAX: usize = 4;

    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// What is wrong, and where as a JSON pointer: not JSON, not an object of type object, a
    /// keyword that cannot be checked.
    pub(crate) fn compile(text: &str) -> Result<Self, String> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(text.len() + LINE_PADDING, 0);
        let mut line = Line::padded(&mut bytes, text.len()).ok_or("it is too long")?;
        let mut parser = Parser::default();
        let document = parser
            .parse(&mut line)
            .map_err(|error| format!("it is not JSON: {error}"))?;
        let root = document.root();
        let object = root
            .as_object()
            .ok_or_else(|| format!("it must be an object, not {}", root.kind().as_str()))?;
        if object.find("type").and_then(Value::as_str) != Some("object") {
            return Err("its `type` must be `object`".to_owned());
        }
        let mut compiler = Compiler {
            root,
            nodes: Vec::new(),
            by_pointer: HashMap::new(),
        };
        compiler.subschema(root, "#", 0)?;
        let mut schema = Self {
            nodes: compiler.nodes,
        };
        schema.check_ends()?;
        schema.tag_branches();
        Ok(schema)
    }

    /// Finds what tells the branches from each other.
    fn tag_branches(&mut self) {
        for id in 0..self.nodes.len() {
            let node = &mut self.nodes[id];
            let mut any_of = std::mem::take(&mut node.any_of);
            let mut one_of = std::mem::take(&mut node.one_of);
            for branch in any_of.iter_mut().chain(&mut one_of) {
                branch.tags = self.tags(branch.schema);
            }
            let node = &mut self.nodes[id];
            (node.any_of, node.one_of) = (any_of, one_of);
        }
    }

    /// The tags of what holds whenever this subschema does.
    fn tags(&self, schema: NodeId) -> Vec<Tag> {
        let mut tags = Vec::new();
        let mut schemas = vec![schema];
        let mut index = 0;
        while index < schemas.len().min(Self::TAGGED_MAX) {
            let node = &self.nodes[schemas[index]];
            index += 1;
            for place in &node.required {
                let Property { name, schema } = &node.properties[*place];
                if let Some(constants) = self.constants(*schema) {
                    let name = name.clone();
                    tags.push(Tag { name, constants });
                }
            }
            schemas.extend(node.reference);
            schemas.extend(&node.all_of);
        }
        tags.truncate(Self::TAGS_MAX);
        tags
    }

    /// The subschema with the constants that this one allows, if it allows no other.
    fn constants(&self, schema: NodeId) -> Option<NodeId> {
        let next = |id: &NodeId| self.nodes[*id].reference;
        std::iter::successors(Some(schema), next)
            .take(Self::TAGGED_MAX)
            .find(|id| self.nodes[*id].values.is_some())
    }

    /// Refuses a subschema that applies to a value because it applies to that value: to check it
    /// would never end.
    fn check_ends(&self) -> Result<(), String> {
        // 0: not looked at; 1: being looked at; 2: it ends.
        let mut state = vec![0_u8; self.nodes.len()];
        let mut stack: Vec<(NodeId, Vec<NodeId>)> = Vec::new();
        for start in 0..self.nodes.len() {
            if state[start] != 0 {
                continue;
            }
            state[start] = 1;
            stack.push((start, self.nodes[start].in_place()));
            while let Some((node, next)) = stack.last_mut() {
                let Some(id) = next.pop() else {
                    state[*node] = 2;
                    stack.pop();
                    continue;
                };
                match state[id] {
                    0 => {
                        state[id] = 1;
                        stack.push((id, self.nodes[id].in_place()));
                    }
                    1 => return Err("a `$ref` in it refers to itself without end".to_owned()),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

impl Node {
    /// The subschemas that apply to the same value.
    fn in_place(&self) -> Vec<NodeId> {
        let branches = self.any_of.iter().chain(&self.one_of);
        let mut ids: Vec<NodeId> = branches.map(|branch| branch.schema).collect();
        ids.extend(&self.all_of);
        ids.extend(self.reference);
        ids.extend(self.not);
        ids
    }
}

struct Compiler<'a> {
    root: Value<'a>,
    nodes: Vec<Node>,
    /// Where the subschema of a pointer is, so that each is compiled once and may refer to itself.
    by_pointer: HashMap<String, NodeId>,
}

impl<'a> Compiler<'a> {
    fn subschema(&mut self, value: Value<'a>, at: &str, depth: usize) -> Result<NodeId, String> {
        if let Some(id) = self.by_pointer.get(at) {
            return Ok(*id);
        }
        if self.nodes.len() >= Schema::NODES_MAX {
            return Err(format!("it has more than {} subschemas", Schema::NODES_MAX));
        }
        if depth > Schema::DEPTH_MAX {
            return Err(format!("{at} is nested deeper than {}", Schema::DEPTH_MAX));
        }
        let id = self.nodes.len();
        self.by_pointer.insert(at.to_owned(), id);
        self.nodes.push(Node::default());
        let node = match (value.as_bool(), value.as_object()) {
            (Some(allowed), _) => Node {
                never: !allowed,
                ..Node::default()
            },
            (None, Some(object)) => self.node(object, at, depth)?,
            (None, None) => return Err(format!("{at} must be an object or a boolean")),
        };
        self.nodes[id] = node;
        Ok(id)
    }

    fn node(&mut self, schema: Object<'a>, at: &str, depth: usize) -> Result<Node, String> {
        let mut node = Node {
            types_only: true,
            ..Node::default()
        };
        let mut required = Vec::new();
        for (keyword, value) in schema {
            node.types_only &= keyword == "type" || asserts_nothing(keyword);
            let here = format!("{at}/{}", escape_pointer(keyword));
            match keyword {
                "type" => node.types = Some(types(value, &here)?),
                "enum" => node.values = Some(constants(value, &here)?),
                "const" => node.values = Some(vec![constant(value)]),
                "properties" => {
                    for (name, schema) in object(value, &here)? {
                        let pointer = format!("{here}/{}", escape_pointer(name));
                        let schema = self.subschema(schema, &pointer, depth + 1)?;
                        let name = name.into();
                        node.properties.push(Property { name, schema });
                    }
                }
                "required" => required = strings(value, &here)?,
                "additionalProperties" => {
                    node.additional = match value.as_bool() {
                        Some(true) => Additional::Allowed,
                        Some(false) => Additional::Forbidden,
                        None => Additional::Checked(self.subschema(value, &here, depth + 1)?),
                    }
                }
                "items" => node.items = Some(self.subschema(value, &here, depth + 1)?),
                "minimum" => node.minimum = Some(number(value, &here)?),
                "maximum" => node.maximum = Some(number(value, &here)?),
                "exclusiveMinimum" => node.exclusive_minimum = Some(number(value, &here)?),
                "exclusiveMaximum" => node.exclusive_maximum = Some(number(value, &here)?),
                "minLength" => node.min_length = Some(count(value, &here)?),
                "maxLength" => node.max_length = Some(count(value, &here)?),
                "minItems" => node.min_items = Some(count(value, &here)?),
                "maxItems" => node.max_items = Some(count(value, &here)?),
                "$ref" => node.reference = Some(self.reference(value, &here, depth)?),
                "allOf" => node.all_of = self.list(value, &here, depth)?,
                "anyOf" => node.any_of = self.branches(value, &here, depth)?,
                "oneOf" => node.one_of = self.branches(value, &here, depth)?,
                "not" => node.not = Some(self.subschema(value, &here, depth + 1)?),
                "$schema" => check_dialect(value, &here)?,
                _ if asserts_nothing(keyword) => {}
                _ => return Err(format!("{here}: `{keyword}` cannot be checked")),
            }
        }
        self.require(&mut node, required)
            .map_err(|name| format!("{at} has two properties `{name}`"))?;
        node.lookup = Lookup::of(&node.properties);
        node.has_applicators = !node.in_place().is_empty();
        Ok(node)
    }

    /// Notes what is required.
    ///
    /// # Errors
    ///
    /// The first name that is there twice among the properties.
    fn require(&mut self, node: &mut Node, required: Vec<Box<str>>) -> Result<(), Box<str>> {
        let mut places: HashMap<Box<str>, usize> = HashMap::new();
        for (place, property) in node.properties.iter().enumerate() {
            if places.insert(property.name.clone(), place).is_some() {
                return Err(property.name.clone());
            }
        }
        let mut other = None;
        for name in required {
            let place = *places.entry(name).or_insert_with_key(|name| {
                let schema = *other.get_or_insert_with(|| self.additional(node.additional));
                let name = name.clone();
                node.properties.push(Property { name, schema });
                node.properties.len() - 1
            });
            node.required.push(place);
        }
        node.required.sort_unstable();
        node.required.dedup();
        Ok(())
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

    fn branches(
        &mut self,
        value: Value<'a>,
        at: &str,
        depth: usize,
    ) -> Result<Vec<Branch>, String> {
        let schemas = self.list(value, at, depth)?;
        let untagged = |schema| Branch {
            schema,
            tags: Vec::new(),
        };
        Ok(schemas.into_iter().map(untagged).collect())
    }

    fn list(&mut self, value: Value<'a>, at: &str, depth: usize) -> Result<Vec<NodeId>, String> {
        let schemas = value
            .as_array()
            .filter(|schemas| !schemas.is_empty())
            .ok_or_else(|| format!("{at} must be an array that is not empty"))?;
        schemas
            .iter()
            .enumerate()
            .map(|(index, schema)| self.subschema(schema, &format!("{at}/{index}"), depth + 1))
            .collect()
    }

    /// A reference within the schema itself. None other is ever followed.
    fn reference(&mut self, value: Value<'a>, at: &str, depth: usize) -> Result<NodeId, String> {
        let reference = value
            .as_str()
            .ok_or_else(|| format!("{at} must be a string"))?;
        let pointer = reference
            .strip_prefix('#')
            .filter(|pointer| pointer.is_empty() || pointer.starts_with('/'))
            .ok_or_else(|| format!("{at}: `{reference}` does not point into the schema itself"))?;
        let mut target = self.root;
        for segment in pointer.split('/').skip(1) {
            let name = segment.replace("~1", "/").replace("~0", "~");
            let next = match (target.as_object(), target.as_array()) {
                (Some(object), _) => object.find(&name),
                (None, Some(array)) => name.parse().ok().and_then(|index| array.iter().nth(index)),
                (None, None) => None,
            };
            target = next.ok_or_else(|| format!("{at}: there is no `{reference}`"))?;
        }
        self.subschema(target, reference, depth + 1)
    }
}

/// Keywords that describe, identify or define, and assert nothing themselves.
fn asserts_nothing(keyword: &str) -> bool {
    keyword.starts_with("x-")
        || matches!(
            keyword,
            "title"
                | "description"
                | "default"
                | "examples"
                | "deprecated"
                | "readOnly"
                | "writeOnly"
                | "format"
                | "$id"
                | "$anchor"
                | "$comment"
                | "$defs"
                | "definitions"
                | "contentEncoding"
                | "contentMediaType"
                | "contentSchema"
        )
}

fn check_dialect(value: Value<'_>, at: &str) -> Result<(), String> {
    match value.as_str() {
        Some("https://json-schema.org/draft/2020-12/schema") => Ok(()),
        Some(dialect) => Err(format!("{at}: the dialect `{dialect}` cannot be checked")),
        None => Err(format!("{at} must be a string")),
    }
}

fn escape_pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn object<'a>(value: Value<'a>, at: &str) -> Result<Object<'a>, String> {
    value
        .as_object()
        .ok_or_else(|| format!("{at} must be an object"))
}

fn number(value: Value<'_>, at: &str) -> Result<f64, String> {
    value
        .as_f64()
        .ok_or_else(|| format!("{at} must be a number"))
}

fn count(value: Value<'_>, at: &str) -> Result<u64, String> {
    value
        .as_u64()
        .ok_or_else(|| format!("{at} must be an integer that is not negative"))
}

fn strings(value: Value<'_>, at: &str) -> Result<Vec<Box<str>>, String> {
    let strings = value.as_array().and_then(|array| {
        array
            .iter()
            .map(|item| item.as_str().map(Box::from))
            .collect()
    });
    strings.ok_or_else(|| format!("{at} must be an array of strings"))
}

fn types(value: Value<'_>, at: &str) -> Result<Types, String> {
    let names = match value.as_str() {
        Some(name) => vec![name.into()],
        None => strings(value, at)?,
    };
    names.iter().try_fold(Types::NONE, |types, name| {
        types
            .with(name)
            .ok_or_else(|| format!("{at}: there is no type `{name}`"))
    })
}

fn constants(value: Value<'_>, at: &str) -> Result<Vec<Constant>, String> {
    let values = value
        .as_array()
        .ok_or_else(|| format!("{at} must be an array"))?;
    Ok(values.iter().map(constant).collect())
}

fn constant(value: Value<'_>) -> Constant {
    if let Some(text) = value.as_str() {
        Constant::String(text.into())
    } else if let Some(value) = value.as_bool() {
        Constant::Boolean(value)
    } else if let Some(number) = value.as_number() {
        Constant::Number(number)
    } else if let Some(items) = value.as_array() {
        Constant::Array(items.iter().map(constant).collect())
    } else if let Some(members) = value.as_object() {
        Constant::Object(
            members
                .iter()
                .map(|(name, value)| (name.into(), constant(value)))
                .collect(),
        )
    } else {
        Constant::Null
    }
}
