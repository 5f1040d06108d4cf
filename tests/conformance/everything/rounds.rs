//! Tools that ask the client more than once, or keep a state while they do.

use tightwire::{Ask, Context, Elicitation, Field, Inputs, Sampling, Server, tool};

use crate::asking::{greeting, name_form};

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(test_input_required_result_request_state)
        .tool(test_input_required_result_multiple_inputs)
        .tool(test_input_required_result_multi_round)
        .tool(test_input_required_result_tampered_state)
}

/// Ask the user, with a state that has to come back
#[tool]
fn test_input_required_result_request_state(context: &Context<'_>) -> Result<String, Ask> {
    confirmed(context, "confirm")
}

/// Ask the user, with a state that nobody may change
#[tool]
fn test_input_required_result_tampered_state(context: &Context<'_>) -> Result<String, Ask> {
    confirmed(context, "confirm")
}

/// Ask the client for three things at once
#[tool]
fn test_input_required_result_multiple_inputs(context: &Context<'_>) -> Result<String, Ask> {
    context.keep("asked");
    let inputs = Inputs::new()
        .elicit("user_name", name_form())
        .sample("greeting", Sampling::new(50).user("Write a greeting."))
        .roots("client_roots");
    let answers = context.ask(inputs)?;
    Ok(format!(
        "{} The model said: {}. There are {} roots.",
        greeting(answers.elicited("user_name")),
        answers.sampled("greeting").text().unwrap_or_default(),
        answers.roots("client_roots").count(),
    ))
}

/// Ask the user for a name, and then for a color
#[tool]
fn test_input_required_result_multi_round(context: &Context<'_>) -> Result<String, Ask> {
    context.keep("the name is asked for");
    let name = context.ask(Inputs::new().elicit("step1", name_form()))?;
    context.keep("the color is asked for");
    let form =
        Elicitation::form("What is your favorite color?").field("color", Field::text().required());
    let color = context.ask(Inputs::new().elicit("step2", form))?;
    let color = color.elicited("step2").content();
    let color = color.and_then(|form| form.find("color")?.as_str());
    Ok(format!(
        "{} Your color is {}.",
        greeting(name.elicited("step1")),
        color.unwrap_or("unknown")
    ))
}

/// Asks for a confirmation, and says whether the state came back.
fn confirmed(context: &Context<'_>, key: &str) -> Result<String, Ask> {
    let is_back = context.state() == Some("kept");
    context.keep("kept");
    let form = Elicitation::form("Please confirm.").field("ok", Field::boolean().required());
    let answers = context.ask(Inputs::new().elicit(key, form))?;
    let state = if is_back { "state-ok" } else { "no state" };
    Ok(format!("{}: {state}", answers.elicited(key).action()))
}
