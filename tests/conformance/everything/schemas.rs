//! Tools whose input schemas the suite looks at.

use tightwire::{Call, Reply, Server, Tool, tool};

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(json_schema_2020_12_tool())
        .tool(test_custom_header)
}

/// Say a value that HTTP clients repeat in a header
#[tool]
fn test_custom_header(#[schemars(extend("x-mcp-header" = "Value"))] value: &str) -> &str {
    value
}

/// What no Rust type would say, in the words of the dialect.
fn json_schema_2020_12_tool() -> Tool {
    Tool::new(
        "json_schema_2020_12_tool",
        |call: Call<'_>, reply: Reply<'_>| {
            reply.display(format_args!("{} arguments", call.arguments().len()));
        },
    )
    .description("Take arguments that its schema describes in many words")
    .input_schema(
        r##"{
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {
                        "street": { "type": "string" },
                        "city": { "type": "string" }
                    }
                }
            },
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" },
                "email": { "type": "string" }
            },
            "allOf": [
                { "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }
            ],
            "if": {
                "properties": { "contactMethod": { "const": "phone" } },
                "required": ["contactMethod"]
            },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false
        }"##,
    )
}
