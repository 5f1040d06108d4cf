//! Completion: suggestions for the arguments of prompts and the variables of templates.
//!
//! Specification: `server/utilities/completion`.

use std::sync::Arc;

use tightwire_codec::{Object, Value};

use super::{
    ask::Given,
    connection::Core,
    context::Asked,
    dispatch::Serving,
    excerpt,
    reply::Answer,
    run::{Ran, Run},
    tool::Execution,
};
use crate::{
    error::RpcError,
    protocol::{
        method::Method,
        params::{Params, only},
    },
};

pub(crate) type CompleteHandler = Arc<dyn Fn(Complete<'_>) -> Completion + Send + Sync>;

/// The functions that complete, by the argument or variable.
pub(crate) type Completers = Vec<(String, CompleteHandler)>;

/// What is to be completed: as much of a value as was typed, and the arguments that are known by
/// now.
#[derive(Clone, Copy, Debug)]
pub struct Complete<'a> {
    value: &'a str,
    arguments: Object<'a>,
}

impl<'a> Complete<'a> {
    /// What was typed so far; empty at first.
    #[must_use]
    pub fn value(&self) -> &'a str {
        self.value
    }

    /// The value of another argument or variable, if it is known. Sent from 2025-06-18 on.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&'a str> {
        self.arguments.find(name).and_then(|value| value.as_str())
    }

    /// Those of the candidates that begin with what was typed, whatever the case of its ASCII
    /// letters.
    #[must_use]
    pub fn among<T: AsRef<str>>(&self, candidates: impl IntoIterator<Item = T>) -> Completion {
        let typed = self.value.as_bytes();
        let fits = |candidate: &T| {
            let start = candidate.as_ref().as_bytes().get(..typed.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(typed))
        };
        Completion::new(
            candidates
                .into_iter()
                .filter(fits)
                .map(|candidate| candidate.as_ref().to_owned()),
        )
    }
}

/// Suggestions, the best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    values: Vec<String>,
    total: Option<u64>,
    has_more: bool,
}

impl Completion {
    /// How many suggestions are sent at most.
    const VALUES_MAX: usize = 100;

    /// These suggestions. The first 100 are sent; the others are counted.
    #[must_use]
    pub fn new<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let mut values = values.into_iter();
        let sent: Vec<String> = values
            .by_ref()
            .take(Self::VALUES_MAX)
            .map(Into::into)
            .collect();
        let left = values.count();
        Self {
            total: Some((sent.len() + left) as u64),
            values: sent,
            has_more: left > 0,
        }
    }

    /// Sets how many there are in all, where that is more than were given.
    #[must_use]
    pub fn total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self.has_more = total > self.values.len() as u64;
        self
    }

    /// Says that there are more than were given, nobody knows how many.
    #[must_use]
    pub fn has_more(mut self) -> Self {
        self.total = None;
        self.has_more = true;
        self
    }

    fn answer(&self, answer: Answer<'_>) {
        answer.result(|writer| {
            writer.raw(b"\"completion\":{\"values\":[");
            writer.items(self.values.iter(), |writer, value| {
                writer.string(value);
            });
            writer.raw(b"]");
            if let Some(total) = self.total {
                writer.raw(b",\"total\":");
                writer.u64(total);
            }
            writer.raw(b",\"hasMore\":");
            writer.bool(self.has_more);
            writer.raw(b"}");
        });
    }
}

impl Core {
    /// Specification: `server/utilities/completion`, Requesting Completions.
    pub(super) fn complete(
        &mut self,
        params: &Params<'_>,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let members = params.members.unwrap_or(Object::EMPTY);
        let reference = object(members, "params", "ref")?;
        let argument = object(members, "params", "argument")?;
        let name = string(argument, "params.argument", "name")?;
        let value = string(argument, "params.argument", "value")?;
        let arguments = known_arguments(members)?;
        let registry = Arc::clone(&self.registry);
        let completers = registry.completers(reference)?;
        let handler = completers.find(name)?;
        self.check_room(&serving.id, false)?;
        let run = Run {
            what: Ran::Completion,
            asked: Asked {
                method: Method::Complete,
                name,
                arguments: None,
            },
            meta: params.meta.and_then(Value::as_object),
            given: Given::default(),
            execution: Execution::Inline,
            timeout: None,
        };
        self.run(serving, &run, out, |_, answer| {
            let completion = handler.map_or_else(Completion::default, |handler| {
                handler(Complete { value, arguments })
            });
            completion.answer(answer);
        });
        Ok(())
    }
}

/// What may be completed of a prompt or template, and by whom.
pub(super) struct Completable<'a> {
    pub(super) names: Vec<&'a str>,
    pub(super) completers: &'a Completers,
}

impl<'a> Completable<'a> {
    /// The function that completes this argument, if there is one.
    fn find(&self, name: &str) -> Result<Option<&'a CompleteHandler>, RpcError> {
        if !self.names.contains(&name) {
            return Err(RpcError::invalid_params(format!(
                "params.argument.name: there is no argument {}",
                excerpt(name)
            )));
        }
        let found = self.completers.iter().find(|(of, _)| of == name);
        Ok(found.map(|(_, handler)| handler))
    }

    /// The first completer whose argument does not exist.
    pub(super) fn unknown(&self) -> Option<&'a str> {
        let mut completed = self.completers.iter().map(|(name, _)| name.as_str());
        completed.find(|name| !self.names.contains(name))
    }
}

impl super::registry::Registry {
    /// What `ref` refers to.
    fn completers(&self, reference: Object<'_>) -> Result<Completable<'_>, RpcError> {
        let unknown = |what: &str, name: &str| {
            RpcError::invalid_params(format!("params.ref: unknown {what}: {}", excerpt(name)))
        };
        match string(reference, "params.ref", "type")? {
            "ref/prompt" => {
                let name = string(reference, "params.ref", "name")?;
                let prompt = self.prompts.find(name);
                let (_, prompt) = prompt.ok_or_else(|| unknown("prompt", name))?;
                Ok(prompt.completable())
            }
            "ref/resource" => {
                let uri = string(reference, "params.ref", "uri")?;
                let template = self.templates.iter().find(|template| *template.uri == *uri);
                let template = template.ok_or_else(|| unknown("resource template", uri))?;
                Ok(template.completable())
            }
            other => Err(RpcError::invalid_params(format!(
                "params.ref.type must be `ref/prompt` or `ref/resource`, not {}",
                excerpt(other)
            ))),
        }
    }
}

/// The arguments in `context`, all of them strings.
fn known_arguments(params: Object<'_>) -> Result<Object<'_>, RpcError> {
    if only(params, "params", "context")?.is_none() {
        return Ok(Object::EMPTY);
    }
    let context = object(params, "params", "context")?;
    if only(context, "params.context", "arguments")?.is_none() {
        return Ok(Object::EMPTY);
    }
    let arguments = object(context, "params.context", "arguments")?;
    for (name, value) in arguments {
        if value.as_str().is_none() {
            return Err(RpcError::invalid_params(format!(
                "params.context.arguments.{} must be a string, not {}",
                excerpt(name),
                value.kind().as_str()
            )));
        }
    }
    Ok(arguments)
}

fn object<'a>(object: Object<'a>, path: &str, name: &str) -> Result<Object<'a>, RpcError> {
    let value = only(object, path, name)?;
    value
        .and_then(Value::as_object)
        .ok_or_else(|| wrong(value, path, name, "an object"))
}

fn string<'a>(object: Object<'a>, path: &str, name: &str) -> Result<&'a str, RpcError> {
    let value = only(object, path, name)?;
    value
        .and_then(Value::as_str)
        .ok_or_else(|| wrong(value, path, name, "a string"))
}

fn wrong(value: Option<Value<'_>>, path: &str, name: &str, wanted: &str) -> RpcError {
    RpcError::invalid_params(match value {
        None => format!("{path}.{name} is missing"),
        Some(value) => format!(
            "{path}.{name} must be {wanted}, not {}",
            value.kind().as_str()
        ),
    })
}
