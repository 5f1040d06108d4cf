//! All of JSON Schema for the argument checking of [`tightwire`], through the crate `jsonschema`.
//!
//! The check that is built into `tightwire` covers what tool schemas use, allocates nothing, and
//! refuses the rest by name when the server is frozen. With [`AllDialects`] plugged in, what it
//! refuses is checked here: `unevaluatedProperties` and `unevaluatedItems`, `$dynamicRef`,
//! references to an `$anchor` or an `$id`, patterns with look-around or Unicode properties, and
//! the dialects draft-04 to 2020-12 by `$schema`.
//!
//! ```
//! use tightwire::{Call, Reply, Server, Tool};
//! use tightwire_jsonschema::AllDialects;
//!
//! let tool = Tool::new("book", |_: Call<'_>, reply: Reply<'_>| reply.text("booked"))
//!     .input_schema(r#"{
//!         "$schema": "http://json-schema.org/draft-07/schema#",
//!         "type": "object",
//!         "properties": { "from": { "type": "string" }, "to": { "type": "string" } },
//!         "dependencies": { "to": ["from"] }
//!     }"#);
//! assert!(Server::new("travel", "1.0.0").tool(tool.clone()).freeze().is_err());
//! let server = Server::new("travel", "1.0.0").schema_compiler(AllDialects).tool(tool);
//! assert!(server.freeze().is_ok());
//! ```
//!
//! What to know:
//!
//! - Nothing is ever fetched: a `$ref` that leaves the schema is refused, but for one to the
//!   metaschemas, which are built in.
//! - `format` and `contentEncoding` and the like are annotations, in every dialect.
//! - Each value is copied before it is checked, so such a check allocates and is slower.
//! - A check has no budget of steps, as the built-in one has: a schema that refers to itself in
//!   several branches at each level can take time exponential in the depth of the value. Give
//!   schemas that are your own, not those of strangers.

#![forbid(unsafe_code)]

use jsonschema::{
    ValidationError, Validator,
    error::ValidationErrorKind,
    paths::{Location, LocationSegment},
};
use serde_json::{Map, Number};
use tightwire::{
    codec::{self, Value},
    schema::{Checker, Compiler, Problem, ProblemKind},
};

/// Compiles schemas of every dialect that the crate `jsonschema` knows; without `$schema`, a
/// schema is one of 2020-12. For [`Server::schema_compiler`](tightwire::Server::schema_compiler).
#[derive(Clone, Copy, Debug, Default)]
pub struct AllDialects;

impl Compiler for AllDialects {
    fn compile(&self, schema: &str) -> Result<Box<dyn Checker>, String> {
        let schema: serde_json::Value =
            serde_json::from_str(schema).map_err(|error| format!("it is not JSON: {error}"))?;
        let validator = jsonschema::options()
            .offline()
            .should_validate_formats(false)
            .without_content_encoding_support("base64")
            .without_content_media_type_support("application/json")
            .build(&schema)
            .map_err(|error| format!("#{}: {error}", error.instance_path()))?;
        Ok(Box::new(Compiled(validator)))
    }
}

/// One schema.
#[derive(Debug)]
struct Compiled(Validator);

impl Checker for Compiled {
    fn problems(&self, value: Value<'_>) -> Vec<Problem> {
        /// More than anyone would read.
        const PROBLEMS_MAX: usize = 64;
        let value = match copy(value) {
            Ok(value) => value,
            Err(name) => {
                let text = format!("has `{name}` twice");
                return vec![Problem::new(ProblemKind::Constraint, "", text)];
            }
        };
        let errors = self.0.iter_errors(&value).take(PROBLEMS_MAX);
        errors.flat_map(|error| problems_of(&error)).collect()
    }
}

/// The value as `jsonschema` takes it.
///
/// # Errors
///
/// A name that is twice in an object: of which of the two would be checked, and which used,
/// nothing is known.
fn copy(value: Value<'_>) -> Result<serde_json::Value, String> {
    if let Some(members) = value.as_object() {
        let mut object = Map::new();
        for (name, value) in members {
            if object.insert(name.to_owned(), copy(value)?).is_some() {
                return Err(name.to_owned());
            }
        }
        return Ok(serde_json::Value::Object(object));
    }
    if let Some(items) = value.as_array() {
        return items.iter().map(copy).collect();
    }
    let scalar = match (value.as_str(), value.as_bool(), value.as_number()) {
        (Some(text), ..) => text.into(),
        (_, Some(boolean), _) => boolean.into(),
        (.., Some(codec::Number::Unsigned(number))) => number.into(),
        (.., Some(codec::Number::Signed(number))) => number.into(),
        // It is finite.
        (.., Some(codec::Number::Float(number))) => Number::from_f64(number).into(),
        (None, None, None) => serde_json::Value::Null,
    };
    Ok(scalar)
}

/// One problem, or one for each member that is not expected.
fn problems_of(error: &ValidationError<'_>) -> Vec<Problem> {
    let place = error.instance_path();
    let unexpected = |names: &[String]| {
        let problem = |name: &String| {
            let path = path(&place.join(name.as_str()));
            Problem::new(ProblemKind::Unexpected, path, "is not expected")
        };
        names.iter().map(problem).collect()
    };
    let (kind, text) = match error.kind() {
        ValidationErrorKind::Required { property } => {
            let path = path(&place.join(property.as_str().unwrap_or_default()));
            return vec![Problem::new(ProblemKind::Missing, path, "is required")];
        }
        ValidationErrorKind::AdditionalProperties { unexpected: names }
        | ValidationErrorKind::UnevaluatedProperties { unexpected: names } => {
            return unexpected(names);
        }
        ValidationErrorKind::FalseSchema => (ProblemKind::Unexpected, "is not allowed".to_owned()),
        ValidationErrorKind::Type { .. } => (ProblemKind::Type, error.masked().to_string()),
        ValidationErrorKind::Enum { .. } | ValidationErrorKind::Constant { .. } => {
            (ProblemKind::Value, error.masked().to_string())
        }
        // Without the value, which may be long.
        _ => (ProblemKind::Constraint, error.masked().to_string()),
    };
    vec![Problem::new(kind, path(place), text)]
}

/// A place as problems have it: `items[2].name`.
fn path(place: &Location) -> String {
    let mut path = String::new();
    for segment in place.segments() {
        match segment {
            LocationSegment::Index(index) => path += &format!("[{index}]"),
            LocationSegment::Property(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path += &name;
            }
        }
    }
    path
}
