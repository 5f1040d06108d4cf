//! Prompts.

use tightwire::{
    Ask, Complete, Completion, Content, Context, Elicitation, Field, Inputs, PromptMessage,
    ResourceContents, Server, prompt,
};

use crate::contents::IMAGE;

pub(crate) fn add_to(server: Server) -> Server {
    server
        .prompt(test_simple_prompt)
        .prompt(test_prompt_with_arguments)
        .prompt(test_prompt_with_embedded_resource)
        .prompt(test_prompt_with_image)
        .prompt(test_input_required_result_prompt)
}

/// A text
#[prompt]
fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

/// A text with two values
#[prompt]
fn test_prompt_with_arguments(
    /// The first value
    #[arg(complete = suggested)]
    arg1: &str,
    /// The second value
    arg2: &str,
) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

/// A resource, and a text about it
#[prompt(name = "test_prompt_with_embedded_resource")]
fn test_prompt_with_embedded_resource(
    /// The URI of the resource
    #[arg(name = "resourceUri")]
    resource_uri: &str,
) -> [PromptMessage; 2] {
    let contents = ResourceContents::text(resource_uri.to_owned(), "An embedded resource.");
    [
        PromptMessage::user(contents.mime_type("text/plain")),
        PromptMessage::user("Please look at the resource above."),
    ]
}

/// An image, and a text about it
#[prompt]
fn test_prompt_with_image() -> [PromptMessage; 2] {
    [
        PromptMessage::user(Content::image(IMAGE, "image/png")),
        PromptMessage::user("Please look at the image above."),
    ]
}

/// A text with what the user says when asked
#[prompt]
fn test_input_required_result_prompt(context: &Context<'_>) -> Result<String, Ask> {
    let form = Elicitation::form("What is it about?").field("context", Field::text().required());
    let answers = context.ask(Inputs::new().elicit("user_context", form))?;
    let content = answers.elicited("user_context").content();
    let subject = content.and_then(|form| form.find("context")?.as_str());
    Ok(format!(
        "Let us talk about {}.",
        subject.unwrap_or("nothing")
    ))
}

fn suggested(complete: Complete<'_>) -> Completion {
    complete.among(["testing", "test data", "something else"])
}
