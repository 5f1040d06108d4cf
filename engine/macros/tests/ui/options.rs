//! Options that there are not.

use tightwire::{prompt, resource, tool, tools};

#[tool(readonly)]
fn unknown(#[default(1)] n: u8) -> u8 {
    n
}

#[tool(title = "A", title = "B")]
fn twice() {}

#[tool(timeout = "soon")]
fn soon() {}

#[tool(timeout = "10s")]
fn unbounded() {}

#[tool(task = "forbidden")]
fn forbidden() {}

#[tool(task, task)]
fn twice_a_task() {}

#[tool(icon(src = "a", theme = "blue"))]
fn blue() {}

#[resource(uri = "x://z", audience(nobody))]
fn nobody() -> &'static str {
    ""
}

#[tool]
fn completed(#[arg(complete = unknown)] text: &str) -> &str {
    text
}

#[tool(icon(mime_type = "image/png"))]
fn icon() {}

#[prompt(read_only)]
fn unknown_of_prompts() -> &'static str {
    ""
}

#[resource(uri = "x://y", destructive)]
fn unknown_of_resources() -> &'static str {
    ""
}

#[tool]
fn argument(#[arg(title = "A")] a: u8) -> u8 {
    a
}

struct State;

#[tools(blocking)]
impl State {
    #[tool]
    fn nothing(&self) {}
}

struct Empty;

#[tools]
impl Empty {}

fn main() {}
