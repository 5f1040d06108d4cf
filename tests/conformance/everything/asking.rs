//! Tools that ask the client, once. One function serves both eras: where the suite has a name of
//! its own for the tool in each, both are here.

use serde_json::Value;
use tightwire::{
    Ask, ClientCapabilities, Context, Elicitation, Elicited, Field, Inputs, Sampling, Server,
    TextFormat, tool,
};

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(test_sampling)
        .tool(test_elicitation)
        .tool(test_elicitation_sep1034_defaults)
        .tool(test_elicitation_sep1330_enums)
        .tool(test_missing_capability)
        .tool(test_streaming_elicitation)
        .tool(test_input_required_result_elicitation)
        .tool(test_input_required_result_sampling)
        .tool(test_input_required_result_list_roots)
        .tool(test_input_required_result_capabilities)
}

/// Have a model of the client answer a prompt
#[tool]
fn test_sampling(
    context: &Context<'_>,
    /// What the model is asked
    prompt: &str,
) -> Result<String, Ask> {
    let sampling = Sampling::new(100).user(prompt);
    let answers = context.ask(Inputs::new().sample("answer", sampling))?;
    let answer = answers.sampled("answer");
    Ok(format!(
        "LLM response: {}",
        answer.text().unwrap_or_default()
    ))
}

/// Ask the user for a name and an address
#[tool]
fn test_elicitation(
    context: &Context<'_>,
    /// What the user is shown
    message: &str,
) -> Result<String, Ask> {
    let form = Elicitation::form(message)
        .field("username", Field::text().description("A name").required())
        .field(
            "email",
            Field::text()
                .description("An address for mail")
                .format(TextFormat::Email)
                .required(),
        );
    Ok(format!("User response: {}", filled_in(context, form)?))
}

/// Ask the user with a form whose fields have defaults
#[tool]
fn test_elicitation_sep1034_defaults(context: &Context<'_>) -> Result<String, Ask> {
    let form = Elicitation::form("Please look through the defaults.")
        .field("name", Field::text().default_text("John Doe"))
        .field("age", Field::integer().default_number(30.0))
        .field("score", Field::number().default_number(95.5))
        .field(
            "status",
            Field::choice(["active", "inactive", "pending"]).default_text("active"),
        )
        .field("verified", Field::boolean().default_boolean(true));
    Ok(format!(
        "Elicitation completed: {}",
        filled_in(context, form)?
    ))
}

/// Ask the user with a form of choices of every kind
#[tool]
fn test_elicitation_sep1330_enums(context: &Context<'_>) -> Result<String, Ask> {
    let options = ["option1", "option2", "option3"];
    let titled = [
        ("value1", "First option"),
        ("value2", "Second option"),
        ("value3", "Third option"),
    ];
    let named = [
        ("opt1", "Option one"),
        ("opt2", "Option two"),
        ("opt3", "Option three"),
    ];
    let form = Elicitation::form("Please choose.")
        .field("untitledSingle", Field::choice(options))
        .field("titledSingle", Field::titled_choice(titled))
        .field("legacyEnum", Field::named_choice(named))
        .field("untitledMulti", Field::choices(options))
        .field("titledMulti", Field::titled_choices(titled));
    Ok(format!(
        "Elicitation completed: {}",
        filled_in(context, form)?
    ))
}

/// Refuse clients without sampling
#[tool]
fn test_missing_capability(context: &Context<'_>) -> Result<&'static str, Ask> {
    let mut required = ClientCapabilities::default();
    required.sampling = true;
    context.require(required)?;
    Ok("the client has sampling")
}

/// Ask the user, after saying that this is about to happen
#[tool]
fn test_streaming_elicitation(context: &Context<'_>) -> Result<String, Ask> {
    context.progress(0.0, Some(1.0), Some("The user is asked"));
    let form = Elicitation::form("Go on?").field("ok", Field::boolean().required());
    Ok(format!("The user said: {}", filled_in(context, form)?))
}

/// Ask the user for a name, and greet
#[tool]
fn test_input_required_result_elicitation(context: &Context<'_>) -> Result<String, Ask> {
    let answers = context.ask(Inputs::new().elicit("user_name", name_form()))?;
    Ok(greeting(answers.elicited("user_name")))
}

/// Have a model of the client say what the capital of France is
#[tool]
fn test_input_required_result_sampling(context: &Context<'_>) -> Result<String, Ask> {
    let sampling = Sampling::new(100).user("What is the capital of France?");
    let answers = context.ask(Inputs::new().sample("capital_question", sampling))?;
    let answer = answers.sampled("capital_question");
    Ok(format!(
        "The model said: {}",
        answer.text().unwrap_or_default()
    ))
}

/// Name the roots of the client
#[tool]
fn test_input_required_result_list_roots(context: &Context<'_>) -> Result<String, Ask> {
    let answers = context.ask(Inputs::new().roots("client_roots"))?;
    let roots = answers.roots("client_roots");
    let roots: Vec<String> = roots
        .map(|(uri, name)| format!("{} ({uri})", name.unwrap_or("a root")))
        .collect();
    Ok(format!("Roots: {}", roots.join(", ")))
}

/// Ask the client for what it can be asked for
#[tool]
fn test_input_required_result_capabilities(context: &Context<'_>) -> Result<String, Ask> {
    let capabilities = context.capabilities();
    let mut inputs = Inputs::new();
    if capabilities.elicitation_form {
        inputs = inputs.elicit("user_name", name_form());
    }
    if capabilities.sampling {
        inputs = inputs.sample("greeting", Sampling::new(100).user("Greet somebody."));
    }
    let answers = context.ask(inputs)?;
    let asked = ["user_name", "greeting"];
    let asked = asked.into_iter().filter(|key| answers.value(key).is_some());
    Ok(format!("Asked for {}", asked.count()))
}

/// A form with one field, a name.
pub(crate) fn name_form() -> Elicitation {
    Elicitation::form("What is your name?").field("name", Field::text().required())
}

pub(crate) fn greeting(name: Elicited<'_>) -> String {
    let name = name.content().and_then(|form| form.find("name"));
    let name = name.and_then(|name| name.as_str());
    format!("Hello, {}!", name.unwrap_or("whoever you are"))
}

/// What the user did with a form, and what was filled in.
fn filled_in(context: &Context<'_>, form: Elicitation) -> Result<String, Ask> {
    let answers = context.ask(Inputs::new().elicit("form", form))?;
    let action = answers.elicited("form").action();
    let content = answers
        .value("form")
        .and_then(|answer| answer.find("content")?.deserialize().ok())
        .unwrap_or(Value::Null);
    Ok(format!("action={action}, content={content}"))
}
