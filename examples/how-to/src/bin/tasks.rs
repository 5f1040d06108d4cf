//! Calls that become tasks: they are answered with a handle at once, and the client asks later what
//! has become of them.
//!
//! ```text
//! cargo run -p how-to --bin tasks
//! ```
//!
//! Clients of 2026-07-28 that declare the extension `io.modelcontextprotocol/tasks` have such handles,
//! and ask from whatever connection. Clients of 2025-11-25 have them where they say so in the call,
//! with `task`, and ask in the same session. The others wait for the answer, as ever; the function is
//! the same.

use std::time::Duration;

use tightwire::{Ask, Context, Elicitation, Field, Inputs, Server, TaskOptions, TaskSupport, tool};

/// Train a model, and publish it if somebody agrees
#[tool(blocking, task = options())]
fn train(context: &Context<'_>, epochs: u32, #[default(20)] ms: u64) -> Result<String, Ask> {
    // It is called once more when the answer is there: what is done already is kept.
    if context.state().is_none() {
        for epoch in 1..=epochs {
            if context.wait_cancelled(Duration::from_millis(ms)) {
                return Ok("cancelled".to_owned());
            }
            // The message is what the client is told with the status of the task.
            let message = format!("epoch {epoch} of {epochs}");
            context.progress(epoch.into(), Some(epochs.into()), Some(&message));
        }
        context.keep("trained");
    }
    let form = Elicitation::form("The model is trained. Publish it?")
        .field("publish", Field::boolean().required());
    let answers = context.ask(Inputs::new().elicit("publish", form))?;
    let form = answers.elicited("publish").content();
    let publish = form.and_then(|form| form.find("publish")?.as_bool());
    Ok(match publish {
        Some(true) => "published".to_owned(),
        Some(false) | None => "kept".to_owned(),
    })
}

/// Count the words of a text that nobody wants to wait for
#[tool(task = "required")]
fn count(text: &str) -> usize {
    text.split_whitespace().count()
}

fn options() -> TaskOptions {
    TaskOptions::new(TaskSupport::Optional)
        .ttl(Duration::from_secs(3600))
        .poll_interval(Duration::from_millis(100))
}

fn main() -> tightwire::Result<()> {
    // Tasks are kept in memory; `Server::task_store` keeps them elsewhere.
    Server::new("tasks", "1.0.0")
        .tool(train)
        .tool(count)
        .serve_stdio()
}
