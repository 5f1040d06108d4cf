//! Tools whose calls become tasks, and one whose calls do not.

use std::time::Duration;

use tightwire::{
    Ask, Call, Context, Elicitation, Elicited, Field, Inputs, IntoTool, Reply, RpcError, Server,
    TaskOptions, TaskSupport, Tool, tool,
};

use crate::asking::{greeting, name_form};

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(greet)
        .tool(slow_compute())
        .tool(failing_job())
        .tool(protocol_error_job())
        .tool(
            confirm_delete
                .into_tool()
                .task(options(TaskSupport::Optional)),
        )
        .tool(multi_input.into_tool().task(options(TaskSupport::Optional)))
        .tool(test_tool_with_task())
}

/// The suite asks as often as it is told to, so it is told to be quick.
fn options(support: TaskSupport) -> TaskOptions {
    TaskOptions::new(support).poll_interval(Duration::from_millis(100))
}

/// Greet, at once
#[tool]
fn greet(
    /// Whom to greet
    name: &str,
) -> String {
    format!("Hello, {name}!")
}

/// What takes no time is no task.
fn slow_compute() -> Tool {
    let seconds = |call: &Call<'_>| {
        let seconds = call.arguments().find("seconds");
        seconds.and_then(|seconds| seconds.as_f64()).unwrap_or(0.0)
    };
    Tool::new("slow_compute", move |call: Call<'_>, reply: Reply<'_>| {
        let label = call.arguments().find("label");
        let label = label.and_then(|label| label.as_str()).unwrap_or("nothing");
        let label = label.to_owned();
        let delay = Duration::try_from_secs_f64(seconds(&call)).unwrap_or_default();
        reply.after(delay, move |reply| {
            reply.display(format_args!("computed {label}"));
        });
    })
    .description("Compute for some seconds")
    .input_schema(
        r#"{
            "type": "object",
            "properties": {
                "seconds": { "type": "number", "description": "How long it takes" },
                "label": { "type": "string", "description": "What the result is called" }
            }
        }"#,
    )
    .task(options(TaskSupport::Optional).when(move |call| Ok(seconds(&call) > 0.0)))
}

fn failing_job() -> Tool {
    Tool::new("failing_job", |_: Call<'_>, reply: Reply<'_>| {
        reply.after(Duration::from_secs(1), |reply| {
            reply.error("This job fails, as it should");
        });
    })
    .description("Fail after a second, with a tool execution error")
    .task(options(TaskSupport::Required))
}

fn protocol_error_job() -> Tool {
    Tool::new("protocol_error_job", |_: Call<'_>, reply: Reply<'_>| {
        reply.after(Duration::from_millis(100), |reply| {
            reply.protocol_error(&RpcError::internal("This job cannot be served"));
        });
    })
    .description("Fail after a moment, with a JSON-RPC error")
    .task(options(TaskSupport::Optional))
}

/// Delete a file, if the user says so
#[tool]
fn confirm_delete(
    context: &Context<'_>,
    /// The file
    filename: &str,
) -> Result<String, Ask> {
    let form = Elicitation::form(format!("Delete {filename}?"))
        .field("confirm", Field::boolean().required());
    let answers = context.ask(Inputs::new().elicit("confirm", form))?;
    let answer = answers.elicited("confirm").content();
    let confirmed = answer.and_then(|form| form.find("confirm")?.as_bool());
    Ok(match confirmed {
        Some(true) => format!("Deleted {filename}"),
        Some(false) | None => format!("Kept {filename}"),
    })
}

/// Ask the user for two things at once
#[tool]
fn multi_input(context: &Context<'_>) -> Result<String, Ask> {
    let form = |message: &str| Elicitation::form(message).field("value", Field::text());
    let inputs = Inputs::new()
        .elicit("first", form("The first?"))
        .elicit("second", form("The second?"));
    let answers = context.ask(inputs)?;
    let value = |answer: Elicited<'_>| {
        let value = answer
            .content()
            .and_then(|form| form.find("value")?.as_str());
        value.unwrap_or("nothing").to_owned()
    };
    Ok(format!(
        "{} and {}",
        value(answers.elicited("first")),
        value(answers.elicited("second"))
    ))
}

/// Asks for a name before there is a task, whose function finds the answer.
fn test_tool_with_task() -> Tool {
    let name = |context: &Context<'_>| -> Result<String, Ask> {
        let answers = context.ask(Inputs::new().elicit("user_name", name_form()))?;
        Ok(greeting(answers.elicited("user_name")))
    };
    Tool::new(
        "test_tool_with_task",
        move |call: Call<'_>, reply: Reply<'_>| match name(call.context()) {
            Ok(greeting) => reply.text(&greeting),
            Err(ask) => reply.error(ask),
        },
    )
    .description("Ask for a name, and greet in a task")
    .task(options(TaskSupport::Required).when(move |call| name(call.context()).map(|_| true)))
}
