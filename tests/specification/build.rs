//! What an example shows, built with the API as a user would write it.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use tightwire::{
    Annotations, Call, Content, Elicitation, Field, Icon, Inputs, Prompt, PromptArgument,
    PromptMessage, Reply, Resource, ResourceContents, ResourceLink, ResourceTemplate, Role,
    Sampling, TextFormat, Tool, ToolChoice,
};

/// A text, if the value is one.
pub(super) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// A text that the example must have.
pub(super) fn must(value: &Value) -> String {
    text(value).unwrap_or_else(|| panic!("a string, not {value}"))
}

/// The items of an array, which may be missing.
pub(super) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The members of an object, which may be missing.
pub(super) fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Hands a text to a setter, if the example has it.
macro_rules! set {
    ($built:ident, $value:expr, $($setter:ident: $name:literal),*) => {
        $(if let Some(text) = text(&$value[$name]) {
            $built = $built.$setter(text);
        })*
    };
}

fn bytes(value: &Value) -> Vec<u8> {
    STANDARD.decode(must(value)).expect("it is base64")
}

fn icons(value: &Value) -> impl Iterator<Item = Icon> {
    items(&value["icons"]).map(|icon| {
        let mut built = Icon::new(must(&icon["src"]));
        set!(built, icon, mime_type: "mimeType");
        items(&icon["sizes"]).fold(built, |built, size| built.size(must(size)))
    })
}

fn annotations(value: &Value) -> Annotations {
    let role = |role: &Value| match role.as_str() {
        Some("user") => Role::User,
        _ => Role::Assistant,
    };
    let audience: Vec<Role> = items(&value["audience"]).map(role).collect();
    let mut built = Annotations::new().audience(&audience);
    if let Some(priority) = value["priority"].as_f64() {
        built = built.priority(priority);
    }
    set!(built, value, last_modified: "lastModified");
    built
}

pub(super) fn content(value: &Value) -> Content {
    let built = match value["type"].as_str() {
        Some("text") => Content::text(must(&value["text"])),
        Some("image") => Content::image(bytes(&value["data"]), must(&value["mimeType"])),
        Some("audio") => Content::audio(bytes(&value["data"]), must(&value["mimeType"])),
        Some("resource") => Content::resource(contents(&value["resource"])),
        Some("resource_link") => {
            let mut link = ResourceLink::new(must(&value["uri"]), must(&value["name"]));
            set!(link, value, title: "title", description: "description", mime_type: "mimeType");
            Content::link(link)
        }
        _ => panic!("no content that a server sends: {value}"),
    };
    match value.get("annotations") {
        Some(hints) => built.annotations(annotations(hints)),
        None => built,
    }
}

pub(super) fn contents(value: &Value) -> ResourceContents {
    let uri = must(&value["uri"]);
    let mut built = match text(&value["text"]) {
        Some(text) => ResourceContents::text(uri, text),
        None => ResourceContents::blob(uri, bytes(&value["blob"])),
    };
    set!(built, value, mime_type: "mimeType");
    built
}

pub(super) fn tool(value: &Value) -> Tool {
    let handler = |_: Call<'_>, reply: Reply<'_>| reply.error("the example does not say");
    let mut built = Tool::new(must(&value["name"]), handler);
    set!(built, value, title: "title", description: "description");
    if let Some(schema) = value.get("inputSchema") {
        built = built.input_schema(schema.to_string());
    }
    if let Some(schema) = value.get("outputSchema") {
        built = built.output_schema(schema.to_string());
    }
    icons(value).fold(built, Tool::icon)
}

pub(super) fn resource(value: &Value) -> Resource {
    let (uri, name) = (must(&value["uri"]), must(&value["name"]));
    let mut built = Resource::new(uri, name, |_, reply| reply.not_found());
    set!(built, value, title: "title", description: "description", mime_type: "mimeType");
    if let Some(hints) = value.get("annotations") {
        built = built.annotations(annotations(hints));
    }
    icons(value).fold(built, Resource::icon)
}

pub(super) fn template(value: &Value) -> ResourceTemplate {
    let (uri, name) = (must(&value["uriTemplate"]), must(&value["name"]));
    let mut built = ResourceTemplate::new(uri, name, |_, reply| reply.not_found());
    set!(built, value, title: "title", description: "description", mime_type: "mimeType");
    icons(value).fold(built, ResourceTemplate::icon)
}

pub(super) fn prompt(value: &Value) -> Prompt {
    let mut built = Prompt::new(must(&value["name"]), |_, reply| reply.user_text(""));
    set!(built, value, title: "title", description: "description");
    for argument in items(&value["arguments"]) {
        let mut of = PromptArgument::new(must(&argument["name"]));
        set!(of, argument, title: "title", description: "description");
        let is_required = argument["required"] == true;
        built = built.argument(if is_required { of.required() } else { of });
    }
    icons(value).fold(built, Prompt::icon)
}

pub(super) fn message(value: &Value) -> PromptMessage {
    let content = content(&value["content"]);
    match value["role"].as_str() {
        Some("user") => PromptMessage::user(content),
        _ => PromptMessage::assistant(content),
    }
}

/// What a client is asked for, from `InputRequests`.
pub(super) fn inputs(requests: &Value) -> Inputs {
    members(requests).fold(Inputs::new(), |inputs, (key, request)| {
        let params = &request["params"];
        match request["method"].as_str() {
            Some("elicitation/create") if params["mode"] == "url" => {
                inputs.elicit_url(key, must(&params["message"]), must(&params["url"]))
            }
            Some("elicitation/create") => inputs.elicit(key, form(params)),
            Some("sampling/createMessage") => inputs.sample(key, sampling(params)),
            Some("roots/list") => inputs.roots(key),
            _ => panic!("nothing that a client is asked for: {request}"),
        }
    })
}

fn form(params: &Value) -> Elicitation {
    let schema = &params["requestedSchema"];
    let form = Elicitation::form(must(&params["message"]));
    members(&schema["properties"]).fold(form, |form, (name, property)| {
        let is_required = items(&schema["required"]).any(|required| required == name.as_str());
        let built = field(property);
        form.field(name, if is_required { built.required() } else { built })
    })
}

pub(super) fn field(schema: &Value) -> Field {
    let mut built = field_kind(schema);
    set!(built, schema, title: "title", description: "description");
    if let Some(value) = schema["minimum"].as_f64() {
        built = built.minimum(value);
    }
    if let Some(value) = schema["maximum"].as_f64() {
        built = built.maximum(value);
    }
    let length = |names: [&str; 2]| names.into_iter().find_map(|name| schema[name].as_u64());
    if let Some(length) = length(["minLength", "minItems"]) {
        built = built.length_min(length);
    }
    if let Some(length) = length(["maxLength", "maxItems"]) {
        built = built.length_max(length);
    }
    if let Some(format) = schema["format"].as_str() {
        built = built.format(match format {
            "email" => TextFormat::Email,
            "uri" => TextFormat::Uri,
            "date" => TextFormat::Date,
            _ => TextFormat::DateTime,
        });
    }
    match schema.get("default") {
        None => built,
        Some(Value::Bool(value)) => built.default_boolean(*value),
        Some(Value::Number(value)) => built.default_number(value.as_f64().unwrap_or_default()),
        Some(Value::String(text)) => built.default_text(text),
        Some(several) => built.default_texts(items(several).map(must)),
    }
}

fn field_kind(schema: &Value) -> Field {
    let plain = |options: &Value| items(options).map(must).collect::<Vec<_>>();
    let titled = |options: &Value| {
        let pair = |option: &Value| (must(&option["const"]), must(&option["title"]));
        items(options).map(pair).collect::<Vec<_>>()
    };
    match schema["type"].as_str() {
        Some("boolean") => Field::boolean(),
        Some("number") => Field::number(),
        Some("integer") => Field::integer(),
        Some("array") if schema["items"].get("anyOf").is_some() => {
            Field::titled_choices(titled(&schema["items"]["anyOf"]))
        }
        Some("array") => Field::choices(plain(&schema["items"]["enum"])),
        _ if schema.get("oneOf").is_some() => Field::titled_choice(titled(&schema["oneOf"])),
        _ if schema.get("enum").is_some() => Field::choice(plain(&schema["enum"])),
        _ => Field::text(),
    }
}

pub(super) fn sampling(params: &Value) -> Sampling {
    let tokens = params["maxTokens"].as_u64().expect("maxTokens is a number");
    let mut built = Sampling::new(tokens);
    for message in items(&params["messages"]) {
        built = match (message["role"].as_str(), text(&message["content"]["text"])) {
            (Some("user"), Some(text)) => built.user(text),
            (Some("assistant"), Some(text)) => built.assistant(text),
            _ => built.message_json(message.to_string()),
        };
    }
    set!(built, params, system: "systemPrompt");
    if let Some(preferences) = params.get("modelPreferences") {
        for hint in items(&preferences["hints"]) {
            built = built.hint(must(&hint["name"]));
        }
        let priority = |name: &str| preferences[name].as_f64();
        built = built.priorities(
            priority("costPriority"),
            priority("speedPriority"),
            priority("intelligencePriority"),
        );
    }
    for tool in items(&params["tools"]) {
        built = built.tool_json(tool.to_string());
    }
    match params["toolChoice"]["mode"].as_str() {
        Some("auto") => built.tool_choice(ToolChoice::Auto),
        Some("required") => built.tool_choice(ToolChoice::Required),
        Some("none") => built.tool_choice(ToolChoice::None),
        _ => built,
    }
}
