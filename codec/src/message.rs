//! The JSON-RPC 2.0 envelope: requests, notifications, responses and their ids.
//!
//! Specification: `basic/index`, Messages, of each revision. One rule here is stricter than
//! JSON-RPC: an id is a string or an integer, never null. Ids come back as they were sent,
//! integers of any size digit for digit.

use std::fmt;

use crate::{
    recover::WideIntegers,
    value::{Kind, Number, Object, Value},
};

/// One JSON-RPC message.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// Wants an answer.
    Request(Request<'a>),
    /// Wants none.
    Notification(Notification<'a>),
    /// Answers a request of ours.
    Response(Response<'a>),
}

/// A request: `{"jsonrpc":"2.0","id":…,"method":…,"params":{…}}`.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What the answer must carry.
    pub id: Id<'a>,
    /// The name of the method.
    pub method: &'a str,
    /// The parameters, if there are any.
    pub params: Option<Object<'a>>,
}

/// A notification: a request without an id.
#[derive(Clone, Copy, Debug)]
pub struct Notification<'a> {
    /// The name of the method.
    pub method: &'a str,
    /// The parameters, if there are any and they are an object.
    pub params: Option<Object<'a>>,
}

/// A response: a result, or an error.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// The id of the request it answers; `None` in an error about a message whose id could not be
    /// read.
    pub id: Option<Id<'a>>,
    /// The value of `result`, or that of `error`.
    pub outcome: Result<Value<'a>, Value<'a>>,
}

/// The id of a request: a string or an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id<'a> {
    /// An integer that is not negative, up to 2^64 - 1.
    Unsigned(u64),
    /// A negative integer down to -2^63.
    Signed(i64),
    /// Any other integer, as it was written.
    Source(&'a str),
    /// A string.
    String(&'a str),
}

/// The error codes that JSON-RPC 2.0 defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// -32700: the line is not JSON.
    ParseError,
    /// -32600: the JSON is no message.
    InvalidRequest,
    /// -32601: the method does not exist here.
    MethodNotFound,
    /// -32602: the parameters do not fit the method.
    InvalidParams,
    /// -32603: the server failed.
    InternalError,
    /// A code of the protocol above, or of an application.
    Other(i32),
}

/// A JSON value that is no JSON-RPC message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidMessage<'a> {
    /// The id to answer with, if one can be read.
    pub id: Option<Id<'a>>,
    /// What is wrong.
    pub kind: InvalidMessageKind,
}

/// The kinds of [`InvalidMessage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidMessageKind {
    /// Not an object.
    NotAnObject(Kind),
    /// `jsonrpc` is missing or is not `"2.0"`.
    Version,
    /// `method` is not a string.
    Method(Kind),
    /// No `method`, and neither `result` nor `error`.
    NoMethod,
    /// `id` is no string and no integer.
    Id,
    /// `id` may be an integer beyond 64 bits: its digits are in the source alone. See
    /// [`Message::read_wide`].
    WideId,
    /// `params` is not an object.
    Params(Kind),
    /// A member is there twice.
    Duplicate(&'static str),
    /// Both `result` and `error`, or either together with `method`.
    Ambiguous,
}

impl<'a> Message<'a> {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`] if the value is no JSON-RPC message.
    #[inline]
    pub fn read(value: Value<'a>) -> Result<Self, InvalidMessage<'a>> {
        Self::read_as(value, None)
    }

    /// Reads a message whose id may be beyond 64 bits, as `wide` has it.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`], as [`Message::read`].
    pub fn read_wide(value: Value<'a>, wide: &'a WideIntegers) -> Result<Self, InvalidMessage<'a>> {
        Self::read_as(value, Some(wide))
    }

    #[inline]
    fn read_as(
        value: Value<'a>,
        wide: Option<&'a WideIntegers>,
    ) -> Result<Self, InvalidMessage<'a>> {
        if let Some((id, method, params)) = value.usual_request()
            && let Ok(id) = Id::read(id)
        {
            let params = Some(params);
            return Ok(Self::Request(Request { id, method, params }));
        }
        Self::read_any(value, wide)
    }

    /// Reads a message, whatever is in it and in whatever order.
    #[inline(never)]
    fn read_any(
        value: Value<'a>,
        wide: Option<&'a WideIntegers>,
    ) -> Result<Self, InvalidMessage<'a>> {
        let Some(object) = value.as_object() else {
            return Err(InvalidMessage {
                id: None,
                kind: InvalidMessageKind::NotAnObject(value.kind()),
            });
        };
        let members = Members::read(object);
        let id = members
            .id
            .map(|value| Id::read_wide(value, wide))
            .transpose();
        let is_response = members.is_response();
        let id = match id {
            Ok(id) => id,
            // An error about a message whose id could not be read.
            Err(_) if is_response && members.id.is_some_and(Value::is_null) => None,
            Err(kind) => return Err(InvalidMessage { id: None, kind }),
        };
        members.message(id).map_err(|kind| InvalidMessage {
            // The id of a response is one of ours, not one to answer with.
            id: id.filter(|_| !is_response && kind != InvalidMessageKind::Duplicate("id")),
            kind,
        })
    }
}

/// The members of an envelope, of whatever type.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<Value<'a>>,
    id: Option<Value<'a>>,
    method: Option<Value<'a>>,
    params: Option<Value<'a>>,
    result: Option<Value<'a>>,
    error: Option<Value<'a>>,
    duplicate: Option<&'static str>,
}

impl<'a> Members<'a> {
    #[inline]
    fn read(object: Object<'a>) -> Self {
        let mut members = Self::default();
        for (key, value) in object {
            let (slot, name) = match key {
                "jsonrpc" => (&mut members.jsonrpc, "jsonrpc"),
                "id" => (&mut members.id, "id"),
                "method" => (&mut members.method, "method"),
                "params" => (&mut members.params, "params"),
                "result" => (&mut members.result, "result"),
                "error" => (&mut members.error, "error"),
                _ => continue,
            };
            if slot.replace(value).is_some() {
                // An id given twice is the worst: which one to answer is unknown.
                if members.duplicate != Some("id") {
                    members.duplicate = Some(name);
                }
            }
        }
        members
    }

    fn is_response(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }

    #[inline]
    fn message(&self, id: Option<Id<'a>>) -> Result<Message<'a>, InvalidMessageKind> {
        if let Some(name) = self.duplicate {
            return Err(InvalidMessageKind::Duplicate(name));
        }
        if self.jsonrpc.and_then(Value::as_str) != Some("2.0") {
            return Err(InvalidMessageKind::Version);
        }
        let outcome = match (self.result, self.error) {
            (Some(_), Some(_)) => return Err(InvalidMessageKind::Ambiguous),
            (Some(result), None) => Some(Ok(result)),
            (None, Some(error)) => Some(Err(error)),
            (None, None) => None,
        };
        let Some(method) = self.method else {
            return match outcome {
                Some(outcome) => Ok(Message::Response(Response { id, outcome })),
                None => Err(InvalidMessageKind::NoMethod),
            };
        };
        if outcome.is_some() {
            return Err(InvalidMessageKind::Ambiguous);
        }
        let method = method
            .as_str()
            .ok_or(InvalidMessageKind::Method(method.kind()))?;
        let params = self.params.and_then(Value::as_object);
        match (id, self.params) {
            // Nobody waits for an answer, and what it notifies of cannot be read.
            (None, _) => Ok(Message::Notification(Notification { method, params })),
            (Some(_), Some(value)) if params.is_none() => {
                Err(InvalidMessageKind::Params(value.kind()))
            }
            (Some(id), _) => Ok(Message::Request(Request { id, method, params })),
        }
    }
}

impl<'a> Id<'a> {
    /// Reads an id.
    ///
    /// # Errors
    ///
    /// [`InvalidMessageKind::Id`] if the value is no string and no integer, or
    /// [`InvalidMessageKind::WideId`] if it may be an integer beyond 64 bits.
    #[inline]
    pub fn read(value: Value<'a>) -> Result<Self, InvalidMessageKind> {
        if let Some(string) = value.as_str() {
            return Ok(Self::String(string));
        }
        match value.as_number() {
            Some(Number::Unsigned(id)) => Ok(Self::Unsigned(id)),
            // The parser writes 0 as unsigned: this one had a sign.
            Some(Number::Signed(0)) => Ok(Self::Source("-0")),
            Some(Number::Signed(id)) => Ok(Self::Signed(id)),
            // Smaller ones were written with a fraction or an exponent.
            Some(Number::Float(id)) if id.abs() >= 9_223_372_036_854_775_808.0 => {
                Err(InvalidMessageKind::WideId)
            }
            _ => Err(InvalidMessageKind::Id),
        }
    }

    /// Reads an id that may be beyond 64 bits, as `wide` has it.
    ///
    /// # Errors
    ///
    /// As [`Id::read`]; [`InvalidMessageKind::Id`] for what is no integer after all.
    pub fn read_wide(
        value: Value<'a>,
        wide: Option<&'a WideIntegers>,
    ) -> Result<Self, InvalidMessageKind> {
        match (Self::read(value), wide) {
            (Err(InvalidMessageKind::WideId), Some(wide)) => {
                let digits = wide.find(value).ok_or(InvalidMessageKind::Id)?;
                Ok(Self::Source(digits))
            }
            (id, _) => id,
        }
    }
}

impl ErrorCode {
    /// The number that goes over the wire.
    #[must_use]
    pub fn as_i32(self) -> i32 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::InternalError => -32603,
            Self::Other(code) => code,
        }
    }
}

impl fmt::Display for InvalidMessageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject(kind) => {
                write!(f, "a message must be an object, not {}", kind.as_str())
            }
            Self::Version => f.write_str("\"jsonrpc\" must be \"2.0\""),
            Self::Method(kind) => {
                write!(f, "\"method\" must be a string, not {}", kind.as_str())
            }
            Self::NoMethod => f.write_str("\"method\" is missing"),
            Self::Id => f.write_str("\"id\" must be a string or an integer"),
            Self::WideId => f.write_str("\"id\" is beyond 64 bits, or no integer"),
            Self::Params(kind) => {
                write!(f, "\"params\" must be an object, not {}", kind.as_str())
            }
            Self::Duplicate(name) => write!(f, "\"{name}\" is there twice"),
            Self::Ambiguous => {
                f.write_str("one of \"method\", \"result\" and \"error\" must be there, not two")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LINE_PADDING, Line, Parser};

    fn read(text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(text.len() + LINE_PADDING, 0);
        let mut line = Line::padded(&mut bytes, text.len()).unwrap();
        let mut parser = Parser::default();
        let document = parser.parse(&mut line).unwrap();
        match Message::read(document.root()) {
            Ok(Message::Request(request)) => format!(
                "request {:?} {} {:?}",
                request.id,
                request.method,
                request.params.map(Object::len)
            ),
            Ok(Message::Notification(notification)) => {
                format!("notification {}", notification.method)
            }
            Ok(Message::Response(response)) => {
                format!("response {:?} {}", response.id, response.outcome.is_ok())
            }
            Err(invalid) => format!("invalid {:?} {:?}", invalid.id, invalid.kind),
        }
    }

    #[test]
    fn envelopes() {
        let cases = [
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#,
                "request Unsigned(1) m None",
            ),
            (
                r#"{"params":{"a":1},"method":"m","id":"x","jsonrpc":"2.0","y":[1]}"#,
                r#"request String("x") m Some(1)"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":-5,"\u006dethod":"m"}"#,
                "request Signed(-5) m None",
            ),
            (
                r#"{"jsonrpc":"2.0","id":-0,"method":"m"}"#,
                r#"request Source("-0") m None"#,
            ),
            (r#"{"jsonrpc":"2.0","method":"m"}"#, "notification m"),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
                "response Some(Unsigned(1)) true",
            ),
            (r#"{"jsonrpc":"2.0","error":{}}"#, "response None false"),
            (
                r#"{"jsonrpc":"2.0","id":null,"error":{}}"#,
                "response None false",
            ),
            (r#"{"id":1,"result":{}}"#, "invalid None Version"),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
                "invalid None Ambiguous",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"m","params":[1]}"#,
                "notification m",
            ),
            (
                r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"m"}"#,
                "invalid None WideId",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1.0,"method":"m"}"#,
                "invalid None Id",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1e3,"method":"m"}"#,
                "invalid None Id",
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
                "invalid None Id",
            ),
            (
                r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#,
                "invalid None Id",
            ),
            (
                r#"{"jsonrpc":"2.0","id":[1],"method":"m"}"#,
                "invalid None Id",
            ),
            (
                r#"{"id":1,"method":"m"}"#,
                "invalid Some(Unsigned(1)) Version",
            ),
            (
                r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#,
                "invalid Some(Unsigned(1)) Version",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"Method":"m"}"#,
                "invalid Some(Unsigned(1)) NoMethod",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
                "invalid Some(Unsigned(1)) Method(Number)",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#,
                "invalid Some(Unsigned(1)) Params(Array)",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#,
                "invalid Some(Unsigned(1)) Params(Null)",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","id":2}"#,
                r#"invalid None Duplicate("id")"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}"#,
                r#"invalid Some(Unsigned(1)) Duplicate("method")"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#,
                "invalid Some(Unsigned(1)) Ambiguous",
            ),
            ("[1]", "invalid None NotAnObject(Array)"),
            ("null", "invalid None NotAnObject(Null)"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
