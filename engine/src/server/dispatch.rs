//! What each method does with an admitted request.

use std::sync::Arc;

use bytes::Bytes;
use tightwire_codec::{Id, JsonWriter, Object, Value};

use super::{
    batch::BatchKey,
    connection::{Core, Now},
    excerpt,
    handler::{Call, guard},
    job::Job,
    prompt::{GetPrompt, PromptReply, check_arguments},
    registry::PerVersion,
    reply::{Answer, Answering, Outcome, Reply, begin_result},
    resource::{Read, ReadHandler, ReadReply, not_found},
    tool::Execution,
};
use crate::{
    error::RpcError,
    protocol::{
        method::Method,
        params::{Params, optional_object, required_str},
        version::ProtocolVersion,
    },
    schema::describe,
};

/// A request on its way through dispatch.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) now: Now,
    pub(super) id: Id<'a>,
    pub(super) version: ProtocolVersion,
    pub(super) batch: Option<BatchKey>,
}

/// What of the user's ran in the loop last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ran {
    /// By its place in the table.
    Tool(usize),
    Resource,
    Prompt,
    /// What [`Reply::after`] was given.
    Delayed,
    /// Several.
    Batch,
}

impl Ran {
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Tool(_) => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
            Self::Delayed => "a delayed answer",
            Self::Batch => "a batch",
        }
    }
}

/// An id up to this many bytes is not worth counting.
const ID_BYTES_SHORT: usize = 4096;

impl Core {
    #[inline]
    pub(super) fn dispatch(
        &mut self,
        method: Method,
        params: &Params<'_>,
        context: &Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let features = self.registry.features;
        match method {
            Method::Initialize => {
                let version = self.session.initialize(params)?;
                constant(&self.registry.initialize[version.index()], context, out);
                Ok(())
            }
            Method::Ping => {
                constant(b"{}}\n", context, out);
                Ok(())
            }
            Method::Discover => {
                constant(&self.registry.discover, context, out);
                Ok(())
            }
            Method::ToolsList | Method::ToolsCall if !features.tools => Err(no_feature("tools")),
            Method::ResourcesList | Method::ResourceTemplatesList | Method::ResourcesRead
                if !features.resources =>
            {
                Err(no_feature("resources"))
            }
            Method::PromptsList | Method::PromptsGet if !features.prompts => {
                Err(no_feature("prompts"))
            }
            Method::ToolsList => list(&self.registry.tools_list, params, context, out),
            Method::ToolsCall => self.call_tool(params, context, out),
            Method::ResourcesList => list(&self.registry.resources_list, params, context, out),
            Method::ResourceTemplatesList => {
                list(&self.registry.templates_list, params, context, out)
            }
            Method::ResourcesRead => self.read_resource(params, context, out),
            Method::PromptsList => list(&self.registry.prompts_list, params, context, out),
            Method::PromptsGet => self.get_prompt(params, context, out),
        }
    }

    /// Specification: `server/tools`, Calling Tools.
    #[inline]
    fn call_tool(
        &mut self,
        params: &Params<'_>,
        context: &Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let name = required_str(params.name, "name")?;
        optional_object(params.arguments, "arguments")?;
        let arguments = params.arguments.unwrap_or(Value::EMPTY_OBJECT);
        let registry = Arc::clone(&self.registry);
        let Some((place, tool)) = registry.tools.find(name) else {
            return Err(RpcError::invalid_params(format!(
                "Unknown tool: {}",
                excerpt(name)
            )));
        };
        self.check_room(&context.id, tool.execution == Execution::Blocking)?;
        let call = Call {
            name: &tool.name,
            arguments,
            meta: params.meta.and_then(Value::as_object),
            cancellation: None,
        };
        if !tool.schema.is_valid(arguments) {
            let text = describe(&tool.name, &tool.schema.problems(arguments));
            self.run(context, Ran::Tool(place), name, out, |answer| {
                Reply::new(answer).error(text);
            });
            self.ran = None;
            return Ok(());
        }
        match tool.execution {
            Execution::Inline => {
                self.run(context, Ran::Tool(place), name, out, |answer| {
                    tool.handler.call(call, Reply::new(answer));
                });
            }
            Execution::Blocking => {
                let mut job = None;
                let serial = self.serial + 1;
                self.run(context, Ran::Tool(place), name, out, |answer| {
                    let ticket = Reply::new(answer).defer();
                    job = Some(Job::new(&registry, place, &call, ticket, serial));
                });
                self.jobs.extend(job);
            }
        }
        Ok(())
    }

    /// Specification: `server/resources`, Reading Resources.
    fn read_resource(
        &mut self,
        params: &Params<'_>,
        context: &Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let uri = required_str(params.uri, "uri")?;
        self.check_room(&context.id, false)?;
        let registry = Arc::clone(&self.registry);
        if let Some((_, resource)) = registry.resources.find(uri) {
            let read = Read {
                uri,
                variables: &[],
            };
            let mime_type = resource.mime_type.as_deref();
            self.read(context, &resource.handler, read, mime_type, out);
            return Ok(());
        }
        for template in &registry.templates {
            if let Some(variables) = template.template.matches(uri) {
                let read = Read {
                    uri,
                    variables: &variables,
                };
                let mime_type = template.mime_type.as_deref();
                self.read(context, &template.handler, read, mime_type, out);
                return Ok(());
            }
        }
        Err(not_found(context.version, uri))
    }

    fn read(
        &mut self,
        context: &Context<'_>,
        handler: &ReadHandler,
        read: Read<'_>,
        mime_type: Option<&str>,
        out: &mut Vec<u8>,
    ) {
        self.run(context, Ran::Resource, read.uri, out, |answer| {
            let reply = ReadReply {
                answer,
                uri: read.uri,
                mime_type,
            };
            handler(read, reply);
        });
    }

    /// Specification: `server/prompts`, Getting a Prompt.
    fn get_prompt(
        &mut self,
        params: &Params<'_>,
        context: &Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let name = required_str(params.name, "name")?;
        let arguments = optional_object(params.arguments, "arguments")?.unwrap_or(Object::EMPTY);
        let registry = Arc::clone(&self.registry);
        let Some((_, prompt)) = registry.prompts.find(name) else {
            return Err(RpcError::invalid_params(format!(
                "Unknown prompt: {}",
                excerpt(name)
            )));
        };
        check_arguments(&prompt.definition, arguments)?;
        self.check_room(&context.id, false)?;
        self.run(context, Ran::Prompt, name, out, |answer| {
            let reply = PromptReply {
                answer,
                description: prompt.definition.description.as_deref(),
            };
            (prompt.handler)(GetPrompt { arguments }, reply);
        });
        Ok(())
    }

    /// Refuses a call when as many as may be are in flight, or as much memory is kept for them as
    /// may be and this one would keep more.
    fn check_room(&self, id: &Id<'_>, keeps_arguments: bool) -> Result<(), RpcError> {
        if self.pending.is_full() {
            return Err(RpcError::internal(format!(
                "Too many requests in flight: {} wait for an answer",
                self.pending.len()
            )));
        }
        let is_long = matches!(id, Id::String(id) | Id::Source(id) if id.len() > ID_BYTES_SHORT);
        if (keeps_arguments || is_long) && self.held_bytes() > self.registry.limits.held_bytes_max {
            return Err(RpcError::internal(format!(
                "The requests in flight hold {} bytes; try again later",
                self.held_bytes()
            )));
        }
        Ok(())
    }

    /// Runs a handler, guarded, and keeps what it deferred.
    #[inline]
    fn run(
        &mut self,
        context: &Context<'_>,
        what: Ran,
        name: &str,
        out: &mut Vec<u8>,
        handler: impl FnOnce(Answer<'_>),
    ) {
        self.serial += 1;
        self.ran = Some(what);
        let start = out.len();
        let mut outcome = Outcome::Answered;
        let answering = Answering {
            id: context.id,
            version: context.version,
            serial: self.serial,
            registry: &self.registry,
            completions: &self.completions,
            cancellation: None,
        };
        let result = guard(|| handler(Answer::new(out, answering, &mut outcome)));
        if let Err(message) = result {
            self.log.push(&format!(
                "{} {} panicked: {message}",
                what.kind(),
                excerpt(name)
            ));
        }
        if matches!(outcome, Outcome::Answered) && out.len() > start {
            return;
        }
        let expires = context.now.monotonic + self.registry.limits.deferred_max();
        self.settle(outcome, context, expires, None, start, out);
    }
}

/// Answers with what was written at the freeze.
#[inline]
fn constant(result: &[u8], context: &Context<'_>, out: &mut Vec<u8>) {
    let mut writer = JsonWriter::new(out);
    begin_result(&mut writer, &context.id);
    writer.raw(result);
}

/// Answers with a list, all of it on one page.
///
/// Specification: `server/utilities/pagination`: a cursor that was never issued is -32602.
fn list(
    results: &PerVersion,
    params: &Params<'_>,
    context: &Context<'_>,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    if params.cursor.is_some() {
        return Err(RpcError::invalid_params(
            "params.cursor is not one that this server issued",
        ));
    }
    let result: &Bytes = &results[context.version.index()];
    constant(result, context, out);
    Ok(())
}

fn no_feature(name: &str) -> RpcError {
    RpcError::method_not_found(format!("Method not found: this server has no {name}"))
}
