//! Asking the client back: [`Context::ask`], in both eras.
//!
//! ```text
//!   handler ── ask ──▶ answered? ── yes ─▶ Ok(Answers)
//!                          │
//!                          no ─▶ Err(Ask) ─▶ the handler returns
//!                                             │ modern: `input_required`; the client asks again,
//!                                             │         with `inputResponses` and `requestState`
//!                                             │ legacy: a request to the client for each input;
//!                                             ▼         the call waits for their answers
//!                                 the handler is called again, from the start
//! ```
//!
//! What the handler has been told in earlier rounds, and the state that it keeps, travel in the
//! `requestState` in the modern era, sealed, and stay in the table of requests in flight in the
//! legacy one. In both they are one JSON object, the payload: `{"answers":{…},"state":"…"}`. In the
//! legacy one it has `"progress":…` too, since there all rounds are one request.
//!
//! Specification: 2026-07-28, `basic/patterns/mrtr`; before, `client/elicitation`,
//! `client/sampling`, `client/roots`.

use std::{collections::HashSet, fmt};

use tightwire_codec::{JsonWriter, Number, Object, Value};

use super::{
    answers::Answers,
    context::Context,
    seal::{Binding, PRINCIPAL, bind},
    ticket::lock,
};
use crate::{
    error::RpcError,
    model::input::{Input, Inputs, UrlElicitation},
    protocol::{
        capabilities::ClientCapabilities,
        method::{INITIALIZED, Method},
        version::{Era, ProtocolVersion},
    },
};

/// The most answers that a request may bring.
pub(super) const RESPONSES_MAX: usize = 1024;

/// What the client has answered so far, and the state kept between rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Given<'a> {
    /// With this very request.
    pub(crate) responses: Option<Object<'a>>,
    /// In earlier rounds.
    pub(crate) earlier: Option<Object<'a>>,
    pub(crate) state: Option<&'a str>,
    /// How far the same request of a session was told to be in earlier rounds.
    pub(super) progress: Option<f64>,
}

impl<'a> Given<'a> {
    /// Reads the payload of earlier rounds.
    pub(crate) fn read(responses: Option<Object<'a>>, payload: Option<Object<'a>>) -> Self {
        let member = |name: &str| payload.and_then(|payload| payload.find(name));
        Self {
            responses,
            earlier: member("answers").and_then(Value::as_object),
            state: member("state").and_then(Value::as_str),
            progress: member("progress")
                .and_then(Value::as_number)
                .map(Number::as_f64),
        }
    }

    fn answer(&self, key: &str) -> Option<Value<'a>> {
        let find = |object: Option<Object<'a>>| object.and_then(|object| object.find(key));
        find(self.responses).or_else(|| find(self.earlier))
    }

    /// All answers of the client, to be known in later rounds. Also those that nobody has asked for
    /// yet: who asked in an earlier round, a hook or another that comes before the handler, may not
    /// have been reached in this one.
    pub(super) fn known(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        let mut keys = HashSet::new();
        // What the client said last counts.
        let answers = [self.responses, self.earlier].into_iter().flatten();
        answers.flatten().filter(move |(key, _)| keys.insert(*key))
    }
}

/// Why a handler cannot answer yet, or at all.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The client is to be asked.
    Input(Box<InputRequired>),
    /// It cannot be asked, or its answer is of no use.
    Error(RpcError),
}

/// What the client is to be asked for.
#[derive(Debug)]
pub(crate) struct InputRequired {
    pub(crate) inputs: Inputs,
    /// What is known already: sealed in the modern era.
    pub(crate) state: Option<String>,
    /// In the legacy era, the request to serve again: an object with its parameters.
    pub(crate) request: Vec<u8>,
}

/// The client has to be asked before the handler can go on; or it cannot be asked, or said what is of
/// no use. To be returned from the handler, as it is or within an error of its own: that something
/// has to be asked is no error of the tool's.
#[derive(Debug)]
pub struct Ask {
    message: String,
}

impl Ask {
    /// What the handler fails on, where nothing is asked.
    pub(super) fn failed(message: String) -> Self {
        Self { message }
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Ask {}

impl From<Ask> for String {
    fn from(ask: Ask) -> Self {
        ask.message
    }
}

impl From<Ask> for RpcError {
    fn from(ask: Ask) -> Self {
        Self::internal(ask.message)
    }
}

impl<'a> Context<'a> {
    /// Asks the client.
    ///
    /// The first time this is an `Err`, which the handler returns: `ctx.ask(inputs)?`. The client
    /// is then asked, and the handler is called once more, from its start, with the answers at
    /// hand; that a user declines or dismisses the question is an answer. So what a handler does
    /// before it asks is done again: let it have no effects, or let them be harmless twice.
    ///
    /// Several things are best asked for at once. A handler may ask again with what it has learnt;
    /// what it was told before is still answered then. A [`Hook`](crate::Hook) may ask as well, before
    /// the handler: an answer is everybody's who asks under its key.
    ///
    /// ```
    /// use tightwire::{Ask, Call, Context, Elicitation, Elicited, Field, Inputs, IntoReply, Reply, Tool};
    ///
    /// fn greet(context: &Context<'_>) -> Result<String, Ask> {
    ///     let form = Elicitation::form("Who are you?").field("name", Field::text().required());
    ///     let answers = context.ask(Inputs::new().elicit("who", form))?;
    ///     Ok(match answers.elicited("who") {
    ///         Elicited::Accepted(form) => {
    ///             let name = form.find("name").and_then(|name| name.as_str());
    ///             format!("Hello, {}!", name.unwrap_or_default())
    ///         }
    ///         Elicited::Declined | Elicited::Cancelled => "Hello, whoever you are!".to_owned(),
    ///     })
    /// }
    ///
    /// let greet = Tool::new("greet", |call: Call<'_>, reply: Reply<'_>| {
    ///     greet(call.context()).reply(reply);
    /// });
    /// ```
    ///
    /// # Errors
    ///
    /// [`Ask`] if not all is answered yet; also if the client cannot be asked for it, or if an
    /// answer of the client is not valid, which ends the request with an error that says so. The
    /// client of a session cannot be asked before it has sent `notifications/initialized`.
    pub fn ask(&self, inputs: Inputs) -> Result<Answers<'a>, Ask> {
        let mut list = Vec::new();
        let mut missing = Inputs::new();
        for (key, input) in inputs.into_list() {
            match self.given.answer(&key) {
                None => missing = missing.with(key, input),
                Some(answer) => {
                    input
                        .check(answer)
                        .map_err(|problem| self.refuse_answer(&key, &problem))?;
                    let object = answer.as_object().unwrap_or(Object::EMPTY);
                    list.push((key, object));
                }
            }
        }
        if missing.is_empty() {
            return Ok(Answers::new(list));
        }
        self.check_askable(&missing)?;
        // Specification: 2025-11-25, `basic/lifecycle`, Initialization.
        if self.version.era() == Era::Legacy && !self.client.is_initialized() {
            return Err(Ask {
                message: format!("the client cannot be asked before it has sent `{INITIALIZED}`"),
            });
        }
        let required = InputRequired {
            state: if self.is_task() {
                self.kept_state()
            } else {
                self.next_state()
            },
            request: match self.version.era() {
                Era::Modern => Vec::new(),
                Era::Legacy => self.request_again(),
            },
            inputs: missing,
        };
        self.outbox().stop(Stop::Input(Box::new(required)));
        Err(Ask {
            message: "input of the client is required".to_owned(),
        })
    }

    /// Asks the user to open URLs, each under its key, before the request can be served at all: to
    /// sign in somewhere, to pay.
    ///
    /// In 2025-11-25 the request ends with the error -32042, and the client makes it again when its
    /// user has been there; so this is an `Err` there each time, and a handler finds out by itself
    /// whether it is still needed. From 2026-07-28 on, whose clients make requests again of
    /// themselves, this is [`Context::ask`]: `input_required`, and in the next round the answers,
    /// which say nothing of what happened there. In revisions before, and for a client that cannot
    /// open URLs, it is refused as [`Context::ask`] refuses.
    ///
    /// ```
    /// use tightwire::{Ask, Context, Elicited, UrlElicitation};
    ///
    /// fn invoices(context: &Context<'_>) -> Result<String, Ask> {
    ///     if !is_signed_in() {
    ///         let page = UrlElicitation::new("Please sign in.", "https://bank.example/connect/7");
    ///         let answers = context.require_urls([("sign-in", page.id("connect-7"))])?;
    ///         // In 2026-07-28: the user has been asked.
    ///         return Ok(match answers.elicited("sign-in") {
    ///             Elicited::Accepted(_) => "Nobody has signed in yet".to_owned(),
    ///             Elicited::Declined | Elicited::Cancelled => "Without that, nothing".to_owned(),
    ///         });
    ///     }
    ///     Ok("No invoices".to_owned())
    /// }
    /// # fn is_signed_in() -> bool { true }
    /// ```
    ///
    /// Specification: 2025-11-25, `client/elicitation`, URL Elicitation Required Error; 2026-07-28,
    /// `client/elicitation`, URL Mode Elicitation Requests.
    ///
    /// # Errors
    ///
    /// [`Ask`], to be returned from the handler, but where the client has answered.
    pub fn require_urls<K: Into<String>>(
        &self,
        pages: impl IntoIterator<Item = (K, UrlElicitation)>,
    ) -> Result<Answers<'a>, Ask> {
        let mut inputs = Inputs::new();
        for (key, page) in pages {
            inputs = inputs.elicit_url_with(key, page);
        }
        if self.version != ProtocolVersion::V2025_11_25 || inputs.is_empty() {
            return self.ask(inputs);
        }
        self.check_askable(&inputs)?;
        let error = self.urls_required(inputs);
        let ask = Ask::failed(error.message().to_owned());
        self.outbox().stop(Stop::Error(error));
        Err(ask)
    }

    /// Keeps a text for when the handler is called again, after it has asked.
    ///
    /// In the modern era it travels through the client, which can read it but not change it, and
    /// which may bring it more than once: what must happen only once has to be guarded by other
    /// means.
    pub fn keep(&self, state: impl Into<String>) {
        self.outbox().kept = Some(state.into());
    }

    /// What [`Context::keep`] was given in the round before.
    #[must_use]
    pub fn state(&self) -> Option<&'a str> {
        self.given.state
    }

    /// Refuses to serve a client that lacks these capabilities, as [`Context::ask`] does for what
    /// it asks.
    ///
    /// # Errors
    ///
    /// [`Ask`], if it lacks one of them.
    pub fn require(&self, capabilities: ClientCapabilities) -> Result<(), Ask> {
        let lacking = capabilities.lacking_in(self.capabilities());
        if lacking.is_empty() {
            return Ok(());
        }
        let message = format!("the client does not support {}", lacking.names());
        if self.version.era() == Era::Modern {
            let mut data = Vec::new();
            let mut writer = JsonWriter::new(&mut data);
            writer.raw(b"{\"requiredCapabilities\":");
            lacking.write(&mut writer);
            writer.raw(b"}");
            let error = RpcError::new(
                RpcError::MISSING_REQUIRED_CLIENT_CAPABILITY,
                format!("Missing required client capability: {message}"),
            )
            .with_data(String::from_utf8_lossy(&data));
            self.outbox().stop(Stop::Error(error));
        }
        Err(Ask { message })
    }

    /// -32042, with elicitations by URL.
    fn urls_required(&self, inputs: Inputs) -> RpcError {
        let mut data = Vec::new();
        let mut writer = JsonWriter::new(&mut data);
        writer.raw(b"{\"elicitations\":[");
        let max = self.registry.limits.elicitations_max;
        let mailbox = self.mailbox();
        writer.items(inputs.into_list(), |writer, (_, input)| {
            if let Input::Url(mut page) = input {
                let id = page.identify(|| self.registry.seal.unique_id(self.unix_ms));
                if let Some(mailbox) = &mailbox {
                    lock(mailbox.changes()).open_elicitation(id, max);
                }
                page.write(writer, self.version);
            }
        });
        writer.raw(b"]}");
        let message = "This request requires that a URL is opened first";
        RpcError::new(RpcError::URL_ELICITATION_REQUIRED, message)
            .with_data(String::from_utf8_lossy(&data))
    }

    fn check_askable(&self, inputs: &Inputs) -> Result<(), Ask> {
        // Specification: 2026-07-28, `basic/patterns/mrtr`, Supported Requests.
        if !matches!(
            self.request.method,
            Method::ToolsCall | Method::ResourcesRead | Method::PromptsGet
        ) {
            let message = "only tools, prompts and resources can ask the client".to_owned();
            return Err(Ask { message });
        }
        let mut broken = inputs
            .iter()
            .filter_map(|(key, input)| Some((key, input.problem()?)));
        if let Some((key, problem)) = broken.next() {
            let key = super::excerpt(key);
            let message = format!("the client cannot be asked for {key}: {problem}");
            return Err(Ask { message });
        }
        if let Some(lacking) = inputs
            .iter()
            .find_map(|(_, input)| input.lacking_in(self.version))
        {
            let message = format!("revision {} has no {lacking}", self.version);
            return Err(Ask { message });
        }
        let none = ClientCapabilities::default();
        let required = inputs
            .iter()
            .fold(none, |all, (_, input)| all.and(input.required()));
        self.require(match self.version {
            // Elicitation had no modes then, and sampling no parts.
            version if version < ProtocolVersion::V2025_11_25 => ClientCapabilities {
                sampling_context: false,
                ..required
            },
            _ => required,
        })
    }

    /// An answer of the client that is not valid: its own fault in the modern era, where it made
    /// this request; what the handler failed on in the legacy one.
    fn refuse_answer(&self, key: &str, problem: &str) -> Ask {
        let key = super::excerpt(key);
        if self.version.era() == Era::Modern {
            let message = format!("params.inputResponses[{key}]{problem}");
            let error = RpcError::invalid_params(message.clone());
            self.outbox().stop(Stop::Error(error));
            return Ask { message };
        }
        Ask {
            message: format!("the client's answer to {key} is not valid: it{problem}"),
        }
    }

    /// The state that a task keeps, in its store.
    fn kept_state(&self) -> Option<String> {
        let kept = self.outbox().kept.take();
        kept.or_else(|| self.given.state.map(str::to_owned))
    }

    /// What the client is answered with, whatever the handler makes of it: an error whose code the
    /// legacy era does not know is what the handler failed on there.
    pub(super) fn refuse(&self, error: RpcError) -> Ask {
        let message = error.message().to_owned();
        if self.version.era() == Era::Modern {
            self.outbox().stop(Stop::Error(error));
        }
        Ask { message }
    }

    /// What is to be known in the next round, if it is anything: sealed in the modern era.
    fn next_state(&self) -> Option<String> {
        let outbox = self.outbox();
        let state = outbox.kept.as_deref().or(self.given.state);
        // In the modern era each round is a request of its own.
        let progress = outbox.progress.or(self.given.progress);
        let progress = progress.filter(|_| self.version.era() == Era::Legacy);
        let mut known = self.given.known().peekable();
        if state.is_none() && known.peek().is_none() && progress.is_none() {
            return None;
        }
        let mut payload = Vec::new();
        let mut writer = JsonWriter::new(&mut payload);
        writer.raw(b"{\"answers\":{");
        writer.items(known, |writer, (key, answer)| {
            writer.key(key);
            writer.value(answer);
        });
        writer.raw(b"}");
        if let Some(state) = state {
            writer.raw(b",\"state\":");
            writer.string(state);
        }
        if let Some(progress) = progress {
            writer.raw(b",\"progress\":");
            writer.f64(progress);
        }
        writer.raw(b"}");
        Some(match self.version.era() {
            Era::Modern => {
                let expires = self
                    .unix_ms
                    .saturating_add(self.registry.limits.state_ms_max);
                self.registry.seal.seal(&payload, &self.binding(), expires)
            }
            Era::Legacy => String::from_utf8_lossy(&payload).into_owned(),
        })
    }

    fn binding(&self) -> Binding {
        let request = &self.request;
        bind(
            PRINCIPAL,
            request.method.as_str(),
            request.name,
            request.arguments,
        )
    }

    /// The request's parameters, to serve it again.
    fn request_again(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = JsonWriter::new(&mut bytes);
        writer.raw(b"{");
        writer.key(self.request.method.name_key());
        writer.string(self.request.name);
        if let Some(arguments) = self.request.arguments {
            writer.raw(b",\"arguments\":");
            writer.value(arguments);
        }
        if let Some(meta) = self.meta {
            writer.raw(b",\"_meta\":");
            write_object(&mut writer, meta);
        }
        writer.raw(b"}");
        bytes
    }
}

impl InputRequired {
    /// Writes the members of an `InputRequiredResult`, without the braces.
    pub(crate) fn write(&self, writer: &mut JsonWriter<'_>) {
        writer.raw(b"\"inputRequests\":{");
        writer.items(self.inputs.iter(), |writer, (key, input)| {
            writer.key(key);
            writer.raw(b"{");
            input.write(writer, ProtocolVersion::LATEST);
            writer.raw(b"}");
        });
        writer.raw(b"}");
        if let Some(state) = &self.state {
            writer.raw(b",\"requestState\":");
            writer.string(state);
        }
    }

    /// What is kept of it while the client is asked, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.request.len() + self.state.as_ref().map_or(0, String::len)
    }
}

/// Writes an object's members in their order.
pub(crate) fn write_object(writer: &mut JsonWriter<'_>, object: Object<'_>) {
    writer.raw(b"{");
    writer.items(object.iter(), |writer, (key, value)| {
        writer.key(key);
        writer.value(value);
    });
    writer.raw(b"}");
}
