//! Requests whose handlers run outside of the loop: on a thread of the pool, or as a future.

use std::{
    fmt,
    future::poll_fn,
    sync::{Arc, Mutex, Weak},
    task::{Poll, Waker},
    time::Duration,
};

use tightwire_codec::{JsonWriter, LINE_PADDING, Line, Object, Parser, ParserLimits, Value};

use super::{
    ask::{Given, write_object},
    client::Client,
    context::{Asked, Context, Outbox, Remote},
    executor::BoxFuture,
    handler::{Call, guard},
    hook::Hooks,
    prompt::{GetPrompt, PromptReply},
    registry::Registry,
    reply::{Answer, Reply},
    resource::{Read, ReadReply},
    task_table::Caller,
    ticket::{Cancellation, Completion, CompletionKind, Completions, JobBytes, Ticket, lock},
    tool::Function,
};
use crate::{
    error::RpcError,
    protocol::{method::Method, version::ProtocolVersion},
};

/// A request to be served on another thread, or to be refused, with a copy of its parameters.
///
/// Dropped instead, it answers -32603.
pub struct Job {
    registry: Arc<Registry>,
    target: Target,
    head: Head,
    /// `{"name":…,"arguments":…,"_meta":…,"responses":…,"answers":…,"state":…,"kept":…,"progress":…}`
    /// and the padding after it.
    line: Vec<u8>,
    len: usize,
    ticket: Ticket,
    _bytes: JobBytes,
}

/// What a request is, besides its members.
struct Head {
    version: ProtocolVersion,
    method: Method,
    unix_ms: u64,
    client: Arc<Client>,
    /// Of a task, the mailbox of its session.
    session: Option<Weak<Completions>>,
    /// Whether it is served in the loop after all, where its handler must not wait.
    in_loop: bool,
    /// How long it may take, from when it came.
    time_limit: Option<Duration>,
}

/// The way from a handler back to the loop.
struct Way {
    serial: u64,
    completions: Arc<Completions>,
    cancellation: Cancellation,
}

/// Which handler is to run, by its place in its table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    Tool(usize),
    Resource(usize),
    Template(usize),
    Prompt(usize),
    /// Of the server's own.
    Method(usize),
}

impl Job {
    pub(crate) fn new(
        registry: &Arc<Registry>,
        client: &Arc<Client>,
        target: Target,
        context: &Context<'_>,
        ticket: Ticket,
    ) -> Self {
        let mut call = Vec::new();
        write_request(&mut JsonWriter::new(&mut call), context);
        let head = Head::of(context, client, own_limit(registry, target));
        Self::with_call(registry, target, head, call, ticket)
    }

    /// A request for a method of the server's own.
    pub(super) fn of_method(
        registry: &Arc<Registry>,
        client: &Arc<Client>,
        place: usize,
        params: Object<'_>,
        context: &Context<'_>,
        ticket: Ticket,
    ) -> Self {
        let mut call = Vec::new();
        let mut writer = JsonWriter::new(&mut call);
        writer.raw(b"{\"name\":");
        writer.string(context.request.name);
        writer.raw(b",\"arguments\":");
        write_object(&mut writer, params);
        if let Some(meta) = context.meta {
            writer.raw(b",\"_meta\":");
            write_object(&mut writer, meta);
        }
        writer.raw(b"}");
        let head = Head::of(context, client, None);
        Self::with_call(registry, Target::Method(place), head, call, ticket)
    }

    /// The call of a tool that has become a task, with its parameters as they are kept.
    pub(super) fn of_task(
        registry: &Arc<Registry>,
        place: usize,
        call: Vec<u8>,
        caller: Caller,
        unix_ms: u64,
        in_loop: bool,
        ticket: Ticket,
    ) -> Self {
        let target = Target::Tool(place);
        let head = Head {
            version: caller.version,
            method: Method::ToolsCall,
            unix_ms,
            client: caller.client,
            session: Some(caller.session),
            in_loop,
            time_limit: own_limit(registry, target),
        };
        Self::with_call(registry, target, head, call, ticket)
    }

    fn with_call(
        registry: &Arc<Registry>,
        target: Target,
        head: Head,
        mut call: Vec<u8>,
        ticket: Ticket,
    ) -> Self {
        let len = call.len();
        call.resize(len + LINE_PADDING, 0);
        Self {
            _bytes: JobBytes::new(ticket.completions(), call.len()),
            registry: Arc::clone(registry),
            target,
            head,
            line: call,
            len,
            // What a hook has asked is not what the handler stops for.
            ticket: ticket.stopped(None),
        }
    }

    /// Serves the request and leaves its answer for the loop. A panic in the handler answers
    /// -32603. A request that was cancelled while it waited for a thread is not served.
    pub fn run(mut self) {
        if self.ticket.is_cancelled() {
            return;
        }
        let mut parser = self.parser();
        let Some(mut line) = Line::padded(&mut self.line, self.len) else {
            return;
        };
        let Ok(document) = parser.parse(&mut line) else {
            return;
        };
        let members = document.root().as_object().unwrap_or(Object::EMPTY);
        let outbox = Mutex::new(Outbox::keeping(members));
        let (ticket, registry, target) = (self.ticket, self.registry, self.target);
        let way = Way::of(&ticket);
        let context = self.head.context(members, &registry, &outbox, &way);
        ticket.answer_from(Some(&outbox), |answer| {
            // Told before the answer is out, after which the process may end.
            let serve = || target.serve(&registry, &context, answer);
            if let (_, Err(message)) = within_hooks(&registry.hooks, &context, serve) {
                way.log(target, context.request.name, &message);
            }
        });
    }

    /// The same for an asynchronous tool, as a future. It ends early when the call is cancelled.
    pub(crate) async fn run_async(mut self) {
        let mut parser = self.parser();
        let Some(mut line) = Line::padded(&mut self.line, self.len) else {
            return;
        };
        let Ok(document) = parser.parse(&mut line) else {
            return;
        };
        let members = document.root().as_object().unwrap_or(Object::EMPTY);
        let outbox = Mutex::new(Outbox::keeping(members));
        let (ticket, registry, target) = (self.ticket, self.registry, self.target);
        let Target::Tool(place) = target else {
            return;
        };
        let Some(Function::Async(handler)) = registry.tools.get(place).map(|tool| &tool.function)
        else {
            return;
        };
        let way = Way::of(&ticket);
        let context = self.head.context(members, &registry, &outbox, &way);
        let call = Call {
            name: context.request.name,
            arguments: context.request.arguments.unwrap_or(Value::EMPTY_OBJECT),
            context: &context,
        };
        let mut future: Option<BoxFuture<'_, _>> = None;
        let mut is_told = false;
        let waker = Arc::<Mutex<Option<Waker>>>::default();
        let outcome = poll_fn(|task| {
            if way.cancellation.is_cancelled() {
                return Poll::Ready(Ok(None));
            }
            // The executor may poll it from elsewhere the next time.
            *lock(&waker) = Some(task.waker().clone());
            if !is_told {
                let waker = Arc::clone(&waker);
                way.cancellation.on_cancel(move || {
                    if let Some(waker) = lock(&waker).take() {
                        waker.wake();
                    }
                });
                is_told = true;
            }
            // Cancelled just now, before there was a waker to find.
            if way.cancellation.is_cancelled() {
                return Poll::Ready(Ok(None));
            }
            let (polled, result) = within_hooks(&registry.hooks, &context, || {
                let future = future.get_or_insert_with(|| handler(call));
                future.as_mut().poll(task)
            });
            match (polled, result) {
                (Some(Poll::Ready(answer)), result) => {
                    // It is done: a hook that panics after it changes nothing.
                    if let Err(message) = result {
                        way.log(target, context.request.name, &message);
                    }
                    Poll::Ready(Ok(Some(answer)))
                }
                (_, Err(message)) => Poll::Ready(Err(message)),
                (Some(Poll::Pending), Ok(())) => Poll::Pending,
                // A hook did not call it: nothing would wake it any more.
                (None, Ok(())) => Poll::Ready(Ok(None)),
            }
        })
        .await;
        // A panic in dropping it is its own.
        let _ = guard(|| drop(future.take()));
        let name = context.request.name;
        match outcome {
            // Cancelled; or not called, and the ticket says so.
            Ok(None) => {}
            Ok(Some(answer)) => ticket.answer_from(Some(&outbox), |reply| {
                if let Err(message) = guard(|| answer(Reply::new(reply))) {
                    way.log(target, name, &message);
                }
            }),
            Err(message) => {
                way.log(target, name, &message);
                ticket.answer_from(None, |reply| {
                    reply.error(&RpcError::internal("the handler panicked"));
                });
            }
        }
    }

    /// Whether the call was cancelled: running the job does nothing.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.ticket.is_cancelled()
    }

    /// Answers -32603, since there is no room for the call.
    pub fn refuse(self) {
        self.ticket.answer(|reply| {
            reply.protocol_error(&RpcError::internal(
                "Too many blocking calls are waiting; try again later",
            ));
        });
    }

    fn parser(&self) -> Parser {
        Parser::new(ParserLimits {
            // Deeper than the line that was taken apart: it holds parts of it further in.
            nesting_max: self.registry.limits.nesting_max.saturating_add(4),
            values_max: usize::MAX,
            ..ParserLimits::default()
        })
    }
}

impl Head {
    fn of(context: &Context<'_>, client: &Arc<Client>, own_limit: Option<Duration>) -> Self {
        Self {
            version: context.version,
            method: context.request.method,
            unix_ms: context.unix_ms,
            client: Arc::clone(client),
            session: None,
            in_loop: false,
            time_limit: Some(context.registry.limits.deferred_within(own_limit)),
        }
    }

    fn context<'a>(
        &'a self,
        members: Object<'a>,
        registry: &'a Registry,
        outbox: &'a Mutex<Outbox>,
        way: &'a Way,
    ) -> Context<'a> {
        Context {
            version: self.version,
            request: asked(self.method, members),
            meta: members.find("_meta").and_then(Value::as_object),
            given: given(members),
            unix_ms: self.unix_ms,
            client: &self.client,
            registry,
            outbox,
            completions: &way.completions,
            session: self.session.as_ref(),
            remote: Some(Remote {
                serial: way.serial,
                cancellation: &way.cancellation,
                in_loop: self.in_loop,
                time_limit: self.time_limit,
            }),
        }
    }
}

impl Way {
    fn of(ticket: &Ticket) -> Self {
        Self {
            serial: ticket.serial(),
            completions: ticket.completions(),
            cancellation: ticket.cancellation().clone(),
        }
    }

    /// Tells the log that a handler panicked.
    fn log(&self, target: Target, name: &str, message: &str) {
        self.completions.push(Completion {
            serial: self.serial,
            kind: CompletionKind::Log(panicked(target, name, message)),
        });
    }
}

/// Runs a handler once within the hooks: what it gives if they call it, and whether that panicked.
fn within_hooks<T>(
    hooks: &Hooks,
    context: &Context<'_>,
    handler: impl FnOnce() -> T,
) -> (Option<T>, Result<(), String>) {
    let mut given = None;
    let result = guard(|| {
        // Dropped in here: what it holds of the answer is to know of a panic.
        let mut handler = Some(handler);
        hooks.around(context, &mut || {
            if let Some(handler) = handler.take() {
                given = Some(handler());
            }
        });
    });
    (given, result)
}

/// How long a call may take, where that is its tool's own to say.
fn own_limit(registry: &Registry, target: Target) -> Option<Duration> {
    match target {
        Target::Tool(place) => registry.tools.get(place)?.timeout,
        _ => None,
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("ticket", &self.ticket)
            .finish_non_exhaustive()
    }
}

impl Target {
    fn serve(self, registry: &Registry, context: &Context<'_>, answer: Answer<'_>) {
        match self {
            Self::Tool(place) => {
                let function = registry.tools.get(place).map(|tool| &tool.function);
                if let Some(Function::Sync(handler)) = function {
                    let call = Call {
                        name: context.request.name,
                        arguments: context.request.arguments.unwrap_or(Value::EMPTY_OBJECT),
                        context,
                    };
                    handler.call(call, Reply::new(answer));
                }
            }
            Self::Resource(_) => self.read(registry, context.request.name, &[], context, answer),
            Self::Template(place) => {
                let uri = context.request.name;
                let template = registry.templates.get(place);
                if let Some(variables) = template.and_then(|entry| entry.template.matches(uri)) {
                    self.read(registry, uri, &variables, context, answer);
                }
            }
            Self::Prompt(_) => {
                let arguments = context.request.arguments.and_then(Value::as_object);
                self.get(
                    registry,
                    arguments.unwrap_or(Object::EMPTY),
                    context,
                    answer,
                );
            }
            Self::Method(place) => {
                let params = context.request.arguments.and_then(Value::as_object);
                if let Some(method) = registry.methods.get(place) {
                    method.serve(params.unwrap_or(Object::EMPTY), context, answer);
                }
            }
        }
    }

    /// Reads a resource, or one of a template.
    pub(crate) fn read(
        self,
        registry: &Registry,
        uri: &str,
        variables: &[(&str, String)],
        context: &Context<'_>,
        answer: Answer<'_>,
    ) {
        let readable = match self {
            Self::Resource(place) => match registry.resources.get(place) {
                Some(entry) => &entry.readable,
                None => return,
            },
            Self::Template(place) => match registry.templates.get(place) {
                Some(entry) => &entry.readable,
                None => return,
            },
            Self::Tool(_) | Self::Prompt(_) | Self::Method(_) => return,
        };
        let read = Read {
            uri,
            variables,
            context,
        };
        let reply = ReadReply {
            answer,
            uri,
            mime_type: readable.mime_type.as_deref(),
            caching: readable.caching,
        };
        (readable.handler)(read, reply);
    }

    /// Gets a prompt.
    pub(crate) fn get(
        self,
        registry: &Registry,
        arguments: Object<'_>,
        context: &Context<'_>,
        answer: Answer<'_>,
    ) {
        let Self::Prompt(place) = self else {
            return;
        };
        if let Some(prompt) = registry.prompts.get(place) {
            let reply = PromptReply {
                answer,
                description: prompt.definition.description.as_deref(),
            };
            (prompt.handler)(GetPrompt { arguments, context }, reply);
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Tool(_) => "tool",
            Self::Resource(_) | Self::Template(_) => "resource",
            Self::Prompt(_) => "prompt",
            Self::Method(_) => "method",
        }
    }
}

fn panicked(target: Target, name: &str, message: &str) -> String {
    let name = super::excerpt(name);
    format!("{} {name} panicked: {message}", target.kind())
}

fn write_request(writer: &mut JsonWriter<'_>, context: &Context<'_>) {
    writer.raw(b"{\"name\":");
    writer.string(context.request.name);
    if let Some(arguments) = context.request.arguments {
        writer.raw(b",\"arguments\":");
        writer.value(arguments);
    }
    let given = &context.given;
    for (key, object) in [
        ("_meta", context.meta),
        ("responses", given.responses),
        ("answers", given.earlier),
    ] {
        if let Some(object) = object {
            writer.raw(b",");
            writer.key(key);
            write_object(writer, object);
        }
    }
    // What a hook has kept or told before the handler runs.
    let outbox = lock(context.outbox);
    for (key, text) in [("state", given.state), ("kept", outbox.kept.as_deref())] {
        if let Some(text) = text {
            writer.raw(b",");
            writer.key(key);
            writer.string(text);
        }
    }
    if let Some(progress) = outbox.progress.or(given.progress) {
        writer.raw(b",\"progress\":");
        writer.f64(progress);
    }
    writer.raw(b"}");
}

fn asked(method: Method, members: Object<'_>) -> Asked<'_> {
    let name = members.find("name").and_then(Value::as_str);
    Asked {
        method,
        name: name.unwrap_or_default(),
        arguments: members.find("arguments"),
    }
}

fn given(members: Object<'_>) -> Given<'_> {
    let responses = members.find("responses").and_then(Value::as_object);
    Given::read(responses, Some(members))
}
