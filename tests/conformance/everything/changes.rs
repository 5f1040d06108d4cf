//! Tools that change what is served.

use tightwire::{Call, Handle, Prompt, Reply, Tool, tools};

/// A tool and a prompt that come and go.
pub(crate) struct Changes {
    handle: Handle,
}

impl Changes {
    pub(crate) fn new(handle: Handle) -> Self {
        Self { handle }
    }
}

#[tools]
impl Changes {
    /// Add a tool, or remove it if it is there
    #[tool]
    fn test_trigger_tool_change(&self) -> tightwire::Result<&'static str> {
        const NAME: &str = "test_changing_tool";
        if self.handle.remove_tool(NAME)? {
            return Ok("removed a tool");
        }
        let tool = Tool::new(NAME, |_: Call<'_>, reply: Reply<'_>| reply.text("Hello!"));
        self.handle.add_tool(tool.description("Come and go"))?;
        Ok("added a tool")
    }

    /// Add a prompt, or remove it if it is there
    #[tool]
    fn test_trigger_prompt_change(&self) -> tightwire::Result<&'static str> {
        const NAME: &str = "test_changing_prompt";
        if self.handle.remove_prompt(NAME)? {
            return Ok("removed a prompt");
        }
        let prompt = Prompt::new(NAME, |_, reply| reply.user_text("Hello!"));
        self.handle.add_prompt(prompt.description("Come and go"))?;
        Ok("added a prompt")
    }
}
