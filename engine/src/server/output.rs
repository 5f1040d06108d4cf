//! The output schema of a tool, and whether what the tool answers fits it.
//!
//! Specification: `server/tools`, Output Schema: a tool that has one must give structured results
//! that conform to it.

use std::sync::Arc;

use tightwire_codec::{LINE_PADDING, Line, Parser};

use super::{
    executor::AsyncAnswer,
    handler::{Call, ToolHandler},
    reply::Reply,
    tool::Function,
};
use crate::{
    error::RpcError,
    schema::{Schema, describe_output},
};

/// The compiled output schema of a tool.
#[derive(Debug)]
pub(crate) struct OutputSchema {
    tool: Box<str>,
    schema: Schema,
}

impl OutputSchema {
    pub(super) fn new(tool: &str, schema: Schema) -> Self {
        Self {
            tool: tool.into(),
            schema,
        }
    }

    /// The function of a tool, made to check what it answers.
    pub(super) fn checking(self, function: Function) -> Function {
        let output = Arc::new(self);
        match function {
            Function::Sync(handler) => Function::Sync(Arc::new(Checked { handler, output })),
            Function::Async(function) => Function::Async(Arc::new(move |call| {
                let (future, output) = (function(call), Arc::clone(&output));
                Box::pin(async move {
                    let answer = future.await;
                    let checked: AsyncAnswer =
                        Box::new(move |reply: Reply<'_>| answer(reply.checked(Some(&output))));
                    checked
                })
            })),
        }
    }

    /// Checks structured content.
    ///
    /// # Errors
    ///
    /// -32603 telling what does not fit.
    pub(super) fn check(&self, json: &str) -> Result<(), RpcError> {
        let mut bytes = json.as_bytes().to_vec();
        bytes.resize(json.len() + LINE_PADDING, 0);
        let mut parser = Parser::default();
        let Some(mut line) = Line::padded(&mut bytes, json.len()) else {
            return Ok(());
        };
        let document = parser.parse(&mut line).map_err(|error| {
            RpcError::internal(format!(
                "The output of {} cannot be checked: {error}",
                self.tool
            ))
        })?;
        let value = document.root();
        if self.schema.is_valid(value) {
            return Ok(());
        }
        let problems = self.schema.problems(value);
        Err(RpcError::internal(describe_output(&self.tool, &problems)))
    }

    /// -32603, for an answer without structured content.
    #[cold]
    pub(super) fn missing(&self) -> RpcError {
        RpcError::internal(format!(
            "The output of {} has no structured content, which its output schema asks for",
            self.tool
        ))
    }
}

/// A tool whose answers are checked: the replies that its handler gets know the schema.
struct Checked {
    handler: Arc<dyn ToolHandler>,
    output: Arc<OutputSchema>,
}

impl ToolHandler for Checked {
    fn call(&self, call: Call<'_>, reply: Reply<'_>) {
        self.handler.call(call, reply.checked(Some(&self.output)));
    }
}
