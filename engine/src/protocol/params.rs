//! The members of `params` that the methods of the protocol know, found in one pass.

use tightwire_codec::{Object, Value};

use crate::error::RpcError;

/// The known members of a request's `params`, of whatever type. What a method has no use for is
/// ignored by it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Params<'a> {
    pub(crate) meta: Option<Value<'a>>,
    pub(crate) name: Option<Value<'a>>,
    pub(crate) arguments: Option<Value<'a>>,
    pub(crate) uri: Option<Value<'a>>,
    pub(crate) cursor: Option<Value<'a>>,
    pub(crate) request_id: Option<Value<'a>>,
    pub(crate) protocol_version: Option<Value<'a>>,
    pub(crate) capabilities: Option<Value<'a>>,
    pub(crate) client_info: Option<Value<'a>>,
    pub(crate) level: Option<Value<'a>>,
    pub(crate) input_responses: Option<Value<'a>>,
    pub(crate) request_state: Option<Value<'a>>,
    pub(crate) notifications: Option<Value<'a>>,
    /// All of them, for a method that knows more.
    pub(crate) members: Option<Object<'a>>,
    /// One that is there twice.
    pub(crate) duplicate: Option<&'static str>,
}

impl<'a> Params<'a> {
    #[inline(always)]
    pub(crate) fn read(params: Option<Object<'a>>) -> Self {
        let mut read = Self {
            members: params,
            ..Self::default()
        };
        for (key, value) in params.unwrap_or(Object::EMPTY) {
            let (slot, name) = match key {
                "_meta" => (&mut read.meta, "_meta"),
                "name" => (&mut read.name, "name"),
                "arguments" => (&mut read.arguments, "arguments"),
                "uri" => (&mut read.uri, "uri"),
                "cursor" => (&mut read.cursor, "cursor"),
                "requestId" => (&mut read.request_id, "requestId"),
                "protocolVersion" => (&mut read.protocol_version, "protocolVersion"),
                "capabilities" => (&mut read.capabilities, "capabilities"),
                "clientInfo" => (&mut read.client_info, "clientInfo"),
                "level" => (&mut read.level, "level"),
                "inputResponses" => (&mut read.input_responses, "inputResponses"),
                "requestState" => (&mut read.request_state, "requestState"),
                "notifications" => (&mut read.notifications, "notifications"),
                _ => continue,
            };
            if slot.replace(value).is_some() {
                read.duplicate = Some(name);
            }
        }
        read
    }

    /// Whether the request carries what an earlier one was answered to ask for.
    #[inline]
    pub(crate) fn has_input(&self) -> bool {
        self.input_responses.is_some() || self.request_state.is_some()
    }

    /// Refuses parameters that are there twice: which of the two was meant is unknown, and another
    /// reader of the same bytes may choose the other.
    pub(crate) fn check_duplicates(&self) -> Result<(), RpcError> {
        match self.duplicate {
            None => Ok(()),
            Some(name) => Err(RpcError::invalid_params(format!(
                "params.{name} is there twice"
            ))),
        }
    }
}

/// The member of this name, which must not be there twice; `path` leads to the object.
pub(crate) fn only<'a>(
    object: Object<'a>,
    path: &str,
    name: &str,
) -> Result<Option<Value<'a>>, RpcError> {
    let mut found = object.iter().filter(|(key, _)| *key == name);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(RpcError::invalid_params(format!(
            "{path}.{name} is there twice"
        ))),
        (found, None) => Ok(found.map(|(_, value)| value)),
    }
}

/// A member that must be a string.
pub(crate) fn required_str<'a>(
    value: Option<Value<'a>>,
    name: &'static str,
) -> Result<&'a str, RpcError> {
    match value {
        None => Err(RpcError::invalid_params(format!(
            "params.{name} is missing"
        ))),
        Some(value) => value.as_str().ok_or_else(|| {
            RpcError::invalid_params(format!(
                "params.{name} must be a string, not {}",
                value.kind().as_str()
            ))
        }),
    }
}

/// A member that must be an object, if it is there.
pub(crate) fn optional_object<'a>(
    value: Option<Value<'a>>,
    name: &'static str,
) -> Result<Option<Object<'a>>, RpcError> {
    match value {
        None => Ok(None),
        Some(value) => value.as_object().map(Some).ok_or_else(|| {
            RpcError::invalid_params(format!(
                "params.{name} must be an object, not {}",
                value.kind().as_str()
            ))
        }),
    }
}
