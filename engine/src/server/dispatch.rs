//! What each method does with an admitted request.

use std::{sync::Arc, time::Duration};

use tightwire_codec::{Id, JsonWriter, LINE_PADDING, Line, Object, Parser, ParserLimits, Value};

use super::{
    ask::{Given, RESPONSES_MAX},
    batch::BatchKey,
    connection::{Core, Now},
    context::{Asked, Context},
    excerpt,
    handler::Call,
    job::Target,
    method_not_found,
    pages::List,
    prompt::check_arguments,
    reply::{Answer, Reply, begin_result},
    resource::not_found,
    run::{Ran, Run},
    seal::{PRINCIPAL, bind},
    tool::{Execution, Function},
};
use crate::{
    error::RpcError,
    protocol::{
        log_level::LogLevel,
        method::Method,
        params::{Params, optional_object, required_str},
        version::{Era, ProtocolVersion},
    },
    schema::describe,
};

/// A request on its way through dispatch.
#[derive(Clone, Copy)]
pub(super) struct Serving<'a> {
    pub(super) now: Now,
    /// When the request came, on the monotonic clock. It may be served more than once.
    pub(super) since: Duration,
    pub(super) id: Id<'a>,
    pub(super) version: ProtocolVersion,
    pub(super) method: Method,
    /// What the request is about, once that is known.
    pub(super) name: &'a str,
    pub(super) batch: Option<BatchKey>,
    /// If it is served once more, now that the client has answered.
    pub(super) again: Option<Again<'a>>,
}

/// A request of a legacy session that is served once more.
#[derive(Clone, Copy)]
pub(super) struct Again<'a> {
    /// What was known when the client was asked.
    pub(super) payload: Option<&'a str>,
}

impl Core {
    #[inline]
    pub(super) fn dispatch(
        &mut self,
        params: &Params<'_>,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let features = self.registry.features;
        match serving.method {
            Method::Initialize => self.initialize(params, serving, out),
            Method::Ping => {
                constant(b"{}}\n", serving, out);
                Ok(())
            }
            Method::Discover => {
                constant(&self.registry.discover, serving, out);
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
            Method::ToolsList => list(&self.registry.tools_list, params, serving, out),
            Method::ToolsCall | Method::ResourcesRead | Method::PromptsGet => {
                self.with_given(params, serving, out)
            }
            Method::ResourcesList => list(&self.registry.resources_list, params, serving, out),
            Method::ResourceTemplatesList => {
                list(&self.registry.templates_list, params, serving, out)
            }
            Method::PromptsList => list(&self.registry.prompts_list, params, serving, out),
            Method::Complete if !features.completions => Err(no_feature("completions")),
            Method::Complete => self.complete(params, serving, out),
            Method::LoggingSetLevel if features.logging => self.set_log_level(params, serving, out),
            Method::LoggingSetLevel => Err(no_feature("logging")),
            Method::SubscriptionsListen => self.listen(params, serving, out),
            method @ (Method::ResourcesSubscribe | Method::ResourcesUnsubscribe)
                if !features.changes =>
            {
                Err(method_not_found(method.as_str()))
            }
            Method::ResourcesSubscribe => {
                self.subscribe(params, serving.version)?;
                constant(b"{}}\n", serving, out);
                Ok(())
            }
            Method::ResourcesUnsubscribe => {
                self.unsubscribe(params)?;
                constant(b"{}}\n", serving, out);
                Ok(())
            }
            // Served before they come here.
            Method::TasksGet
            | Method::TasksUpdate
            | Method::TasksCancel
            | Method::TasksResult
            | Method::TasksList
            | Method::Own(_) => Err(no_feature("such extension")),
        }
    }

    /// Specification: 2025-11-25, `basic/lifecycle`, Initialization.
    fn initialize(
        &mut self,
        params: &Params<'_>,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let version = self.session.initialize(params)?;
        let has_tasks = self.registry.tasks.is_some();
        self.session_tasks.declare(version, has_tasks);
        constant(&self.registry.initialize[version.index()], serving, out);
        Ok(())
    }

    /// Serves a request for which the client may be asked back, with what it has answered so far.
    ///
    /// Specification: 2026-07-28, `basic/patterns/mrtr`.
    #[inline]
    fn with_given(
        &mut self,
        params: &Params<'_>,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        if !params.has_input() && serving.again.is_none() {
            return self.serve(params, serving, Given::default(), out);
        }
        self.with_input(params, serving, out)
    }

    #[cold]
    fn with_input(
        &mut self,
        params: &Params<'_>,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let payload = match (serving.version.era(), serving.again) {
            (Era::Modern, _) => self.open_state(params, serving)?,
            (Era::Legacy, Some(again)) => again.payload.map(|payload| payload.as_bytes().to_vec()),
            // The era knows neither.
            (Era::Legacy, None) => {
                return self.serve(params, serving, Given::default(), out);
            }
        };
        let responses = optional_object(params.input_responses, "inputResponses")?;
        // What nobody asks for is kept too: see `Given::known`.
        if responses.is_some_and(|responses| responses.len() > RESPONSES_MAX) {
            return Err(RpcError::invalid_params(format!(
                "params.inputResponses must have {RESPONSES_MAX} members at most"
            )));
        }
        let Some(payload) = payload else {
            let given = Given::read(responses, None);
            return self.serve(params, serving, given, out);
        };
        self.with_kept(payload, |core, payload| {
            let given = Given::read(responses, Some(payload));
            core.serve(params, serving, given, out)
        })
    }

    /// Reads an object again that was kept as JSON, or travelled through the client sealed.
    pub(super) fn with_kept(
        &mut self,
        mut json: Vec<u8>,
        serve: impl FnOnce(&mut Self, Object<'_>) -> Result<(), RpcError>,
    ) -> Result<(), RpcError> {
        let unreadable = || RpcError::internal("what was kept could not be read again");
        let len = json.len();
        json.resize(len + LINE_PADDING, 0);
        let mut parser = Parser::new(ParserLimits {
            // Parts of a line that was admitted stand deeper in it.
            nesting_max: self.registry.limits.nesting_max.saturating_add(2),
            values_max: usize::MAX,
            ..ParserLimits::default()
        });
        let mut line = Line::padded(&mut json, len).ok_or_else(unreadable)?;
        let document = parser.parse(&mut line).map_err(|_| unreadable())?;
        serve(self, document.root().as_object().unwrap_or(Object::EMPTY))
    }

    /// The payload of the request's state.
    fn open_state(
        &self,
        params: &Params<'_>,
        serving: &Serving<'_>,
    ) -> Result<Option<Vec<u8>>, RpcError> {
        if params.request_state.is_none() {
            return Ok(None);
        }
        let state = required_str(params.request_state, "requestState")?;
        // A resource has no arguments: a member of that name is ignored, as others are.
        let (name, arguments) = match serving.method {
            Method::ResourcesRead => (required_str(params.uri, "uri")?, None),
            _ => (required_str(params.name, "name")?, params.arguments),
        };
        let binding = bind(PRINCIPAL, serving.method.as_str(), name, arguments);
        let now = serving.now.unix_ms;
        self.registry.seal.open(state, &binding, now).map(Some)
    }

    #[inline]
    fn serve(
        &mut self,
        params: &Params<'_>,
        serving: &Serving<'_>,
        given: Given<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        match serving.method {
            Method::ResourcesRead => self.read_resource(params, serving, given, out),
            Method::PromptsGet => self.get_prompt(params, serving, given, out),
            _ => self.call_tool(params, serving, given, out),
        }
    }

    /// Specification: `server/tools`, Calling Tools.
    #[inline]
    fn call_tool(
        &mut self,
        params: &Params<'_>,
        serving: &Serving<'_>,
        given: Given<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let name = required_str(params.name, "name")?;
        optional_object(params.arguments, "arguments")?;
        let arguments = params.arguments.unwrap_or(Value::EMPTY_OBJECT);
        let Some((place, tool)) = self.registry.tools.find(name) else {
            return Err(unknown("Unknown tool: ", name));
        };
        self.check_room(&serving.id, tool.execution != Execution::Inline)?;
        let run = Run {
            what: Ran::Tool(place),
            asked: Asked {
                method: Method::ToolsCall,
                name,
                arguments: params.arguments,
            },
            meta: params.meta.and_then(Value::as_object),
            given,
            execution: tool.execution,
            timeout: tool.timeout,
        };
        let is_plain = tool.execution == Execution::Inline
            && tool.task.is_none()
            && !self.session_tasks.are_known(serving.version);
        if !is_plain || !tool.schema.is_valid(arguments) {
            return self.call_tool_in_full(place, params, serving, &run, out);
        }
        self.run(serving, &run, out, |context, answer| {
            call_here(place, arguments, context, answer);
        });
        Ok(())
    }

    /// Calls a tool that is more than a function which runs in the loop, or whose arguments do not
    /// fit.
    fn call_tool_in_full(
        &mut self,
        place: usize,
        params: &Params<'_>,
        serving: &Serving<'_>,
        run: &Run<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let registry = Arc::clone(&self.registry);
        let Some(tool) = registry.tools.get(place) else {
            return Err(unknown("Unknown tool: ", run.asked.name));
        };
        let arguments = params.arguments.unwrap_or(Value::EMPTY_OBJECT);
        if self.session_tasks.are_known(serving.version)
            && self.call_in_session(tool, params, serving, run, out)?
        {
            return Ok(());
        }
        if !tool.schema.is_valid(arguments) {
            let text = describe(&tool.name, &tool.schema.problems(arguments));
            self.run(serving, run, out, |_, answer| {
                Reply::new(answer).error(text);
            });
            self.ran = None;
            return Ok(());
        }
        if let Some(options) = &tool.task
            && self.call_as_task(tool, options, serving, run, out)?
        {
            return Ok(());
        }
        if tool.execution == Execution::Inline {
            self.run(serving, run, out, |context, answer| {
                call_here(place, arguments, context, answer);
            });
        } else {
            self.run_elsewhere(serving, run, Target::Tool(place), out);
        }
        Ok(())
    }

    /// Specification: `server/resources`, Reading Resources.
    fn read_resource(
        &mut self,
        params: &Params<'_>,
        serving: &Serving<'_>,
        given: Given<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let uri = required_str(params.uri, "uri")?;
        let registry = Arc::clone(&self.registry);
        let exact = registry.resources.find(uri).map(|(place, resource)| {
            (
                Target::Resource(place),
                resource.readable.execution,
                Vec::new(),
            )
        });
        let found = exact.or_else(|| {
            let templates = registry.templates.iter().enumerate();
            templates.into_iter().find_map(|(place, template)| {
                let variables = template.template.matches(uri)?;
                Some((
                    Target::Template(place),
                    template.readable.execution,
                    variables,
                ))
            })
        });
        let Some((target, execution, variables)) = found else {
            return Err(not_found(serving.version, uri));
        };
        self.check_room(&serving.id, execution != Execution::Inline)?;
        let run = Run {
            what: Ran::Resource,
            asked: Asked {
                method: Method::ResourcesRead,
                name: uri,
                arguments: None,
            },
            meta: params.meta.and_then(Value::as_object),
            given,
            execution,
            timeout: None,
        };
        if execution == Execution::Inline {
            self.run(serving, &run, out, |context, answer| {
                target.read(&registry, uri, &variables, context, answer);
            });
        } else {
            self.run_elsewhere(serving, &run, target, out);
        }
        Ok(())
    }

    /// Specification: `server/prompts`, Getting a Prompt.
    fn get_prompt(
        &mut self,
        params: &Params<'_>,
        serving: &Serving<'_>,
        given: Given<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let name = required_str(params.name, "name")?;
        let arguments = optional_object(params.arguments, "arguments")?.unwrap_or(Object::EMPTY);
        let registry = Arc::clone(&self.registry);
        let Some((place, prompt)) = registry.prompts.find(name) else {
            return Err(unknown("Unknown prompt: ", name));
        };
        check_arguments(&prompt.definition, arguments)?;
        self.check_room(&serving.id, prompt.execution != Execution::Inline)?;
        let run = Run {
            what: Ran::Prompt,
            asked: Asked {
                method: Method::PromptsGet,
                name,
                arguments: params.arguments,
            },
            meta: params.meta.and_then(Value::as_object),
            given,
            execution: prompt.execution,
            timeout: None,
        };
        let target = Target::Prompt(place);
        if prompt.execution == Execution::Inline {
            self.run(serving, &run, out, |context, answer| {
                target.get(&registry, arguments, context, answer);
            });
        } else {
            self.run_elsewhere(serving, &run, target, out);
        }
        Ok(())
    }

    /// Specification: 2025-11-25, `server/utilities/logging`, Setting Log Level.
    fn set_log_level(
        &self,
        params: &Params<'_>,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let level = required_str(params.level, "level")?;
        let level = LogLevel::parse(level).ok_or_else(|| {
            RpcError::invalid_params(format!(
                "params.level must be one of {}, not {}",
                LogLevel::names(),
                excerpt(level)
            ))
        })?;
        self.session.client().set_log_level(level);
        constant(b"{}}\n", serving, out);
        Ok(())
    }
}

/// Calls the function of a tool in the loop.
#[inline]
fn call_here(place: usize, arguments: Value<'_>, context: &Context<'_>, answer: Answer<'_>) {
    // Without one, the answer says that there was none.
    if let Some(tool) = context.registry.tools.get(place)
        && let Function::Sync(handler) = &tool.function
    {
        let call = Call {
            name: &tool.name,
            arguments,
            context,
        };
        handler.call(call, Reply::new(answer));
    }
}

/// Answers with what was written at the freeze.
#[inline]
fn constant(result: &[u8], serving: &Serving<'_>, out: &mut Vec<u8>) {
    let mut writer = JsonWriter::new(out);
    begin_result(&mut writer, &serving.id);
    writer.raw(result);
}

/// Answers with a page of a list.
fn list(
    list: &List,
    params: &Params<'_>,
    serving: &Serving<'_>,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    constant(list.page(params.cursor, serving.version)?, serving, out);
    Ok(())
}

fn unknown(what: &str, name: &str) -> RpcError {
    RpcError::invalid_params([what, &excerpt(name)].concat())
}

fn no_feature(name: &str) -> RpcError {
    RpcError::method_not_found(format!("Method not found: this server has no {name}"))
}
