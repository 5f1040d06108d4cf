//! All of JSON Schema, and its older dialects, by the crate `tightwire-jsonschema`.
//!
//! ```text
//! cargo run -p how-to --bin full_schema
//! ```
//!
//! Without it, a schema that the built-in check does not assert in full is refused by name when
//! the server starts.

use tightwire::{Call, Reply, Server, Tool};
use tightwire_jsonschema::AllDialects;

fn main() -> tightwire::Result<()> {
    let book = Tool::new("book", |_: Call<'_>, reply: Reply<'_>| reply.text("booked"))
        .description("Book a journey")
        .input_schema(JOURNEY);
    Server::new("full_schema", "1.0.0")
        .schema_compiler(AllDialects)
        .tool(book)
        .serve_stdio()
}

/// `unevaluatedProperties` looks through `allOf`, where `additionalProperties` does not.
const JOURNEY: &str = r##"{
    "type": "object",
    "allOf": [{ "$ref": "#/$defs/journey" }],
    "properties": { "class": { "enum": [1, 2] } },
    "unevaluatedProperties": false,
    "$defs": {
        "journey": {
            "properties": { "from": { "type": "string" }, "to": { "type": "string" } },
            "required": ["from", "to"]
        }
    }
}"##;
