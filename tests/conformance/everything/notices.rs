//! Tools that say something before they answer: how far they are, and what they do.

use std::time::Duration;

use tightwire::{Context, LogLevel, Server, tool};

/// Between one notice and the next.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(test_tool_with_progress)
        .tool(test_tool_with_logging)
        .tool(test_logging_tool)
}

/// Report progress, three times
#[tool(blocking)]
fn test_tool_with_progress(context: &Context<'_>) -> String {
    for progress in [0.0, 50.0, 100.0] {
        context.progress(progress, Some(100.0), None);
        if context.wait_cancelled(PAUSE) {
            return "cancelled".to_owned();
        }
    }
    "done, and told so on the way".to_owned()
}

/// Send log messages, three times
#[tool(blocking)]
fn test_tool_with_logging(context: &Context<'_>) -> String {
    let messages = ["started", "processing data", "completed"];
    for (index, message) in messages.into_iter().enumerate() {
        if index > 0 && context.wait_cancelled(PAUSE) {
            return "cancelled".to_owned();
        }
        let subject = if index == 1 { "Tool" } else { "Tool execution" };
        context.log(LogLevel::Info, None, format!("{subject} {message}"));
    }
    "logged".to_owned()
}

/// Send a log message, if the request wants any
#[tool]
fn test_logging_tool(context: &Context<'_>) -> &'static str {
    context.log(LogLevel::Info, Some("everything"), "The tool was called.");
    "logged, if that was wanted"
}
