//! The errors, kept apart by whom they concern: [`Error`] for our caller, [`RpcError`] for the
//! peer.

use std::{borrow::Cow, fmt, io};

use tightwire_codec::{ErrorCode, JsonWriter};

use crate::{
    json::with_root,
    protocol::version::{Era, ProtocolVersion},
};

/// What goes wrong around a server: in its definition, or in the world it runs in.
///
/// Its `Debug` is its `Display`, since that is what a `main` that returns it prints.
#[non_exhaustive]
pub enum Error {
    /// Two things of a kind have the same name.
    Duplicate {
        /// What it is: `tool`, `resource`, `resource template`, `prompt`, `extension` or `method`.
        kind: &'static str,
        /// The name they share.
        name: String,
    },
    /// The input schema of a tool is not one that can be checked.
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong with its schema, and where.
        reason: String,
    },
    /// The output schema of a tool is not one that can be checked.
    OutputSchema {
        /// The tool.
        tool: String,
        /// What is wrong with its schema, and where.
        reason: String,
    },
    /// A `_meta` is not a JSON object.
    Meta {
        /// Whose it is: a tool, resource, resource template or prompt, by its name.
        name: String,
    },
    /// A completion is for an argument or variable that does not exist.
    Completion {
        /// The prompt or the resource template.
        name: String,
        /// The argument or variable.
        argument: String,
    },
    /// A URI template is not one that can be matched.
    Template {
        /// The template.
        template: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An extension, or a method of the server's own, is not one that can be served.
    Extension {
        /// The identifier of the extension, or the name of the method.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A tool is asynchronous, and the server has no [`Server::executor`](crate::Server::executor).
    NoExecutor {
        /// The tool.
        tool: String,
    },
    /// A [`Handle`](crate::Handle) was used before the server was frozen, or after the last of it
    /// was dropped.
    NotServing,
    /// A [`Handle`](crate::Handle) was used to change what is served by a
    /// [`Compiler`](crate::schema::Compiler), while it compiled for such a change.
    Compiling,
    /// A TCP address is one that others than this machine reach: see `Listener::tcp_beyond_loopback`.
    NotLoopback {
        /// The address, with its port.
        address: String,
    },
    /// A read, write or wait failed.
    Io {
        /// What was being done.
        doing: &'static str,
        /// The error of the system.
        source: io::Error,
    },
}

/// The result of building or running a server.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate { kind, name } => write!(f, "there are two {kind}s named `{name}`"),
            Self::Schema { tool, reason } => {
                write!(f, "the input schema of tool `{tool}`: {reason}")
            }
            Self::OutputSchema { tool, reason } => {
                write!(f, "the output schema of tool `{tool}`: {reason}")
            }
            Self::Meta { name } => write!(f, "the `_meta` of `{name}` is not a JSON object"),
            Self::Completion { name, argument } => {
                write!(f, "`{name}` has no `{argument}` to complete")
            }
            Self::Template { template, reason } => {
                write!(f, "the URI template `{template}`: {reason}")
            }
            Self::Extension { name, reason } => write!(f, "the extension `{name}`: {reason}"),
            Self::NoExecutor { tool } => {
                write!(
                    f,
                    "tool `{tool}` is asynchronous, and the server has no executor"
                )
            }
            Self::NotServing => f.write_str(
                "the server is not frozen yet, or is gone: a handle changes what is being served",
            ),
            Self::Compiling => f.write_str(
                "a compiler of schemas cannot change what is served while it compiles for a change",
            ),
            Self::NotLoopback { address } => write!(
                f,
                "{address} is not a loopback address, and whoever reaches it could call every tool; \
                 `Listener::tcp_beyond_loopback` listens there nevertheless"
            ),
            Self::Io { doing, source } => write!(f, "{doing}: {source}"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// So that a `main` which returns [`Result`] may use `?` on what it does with files, too.
impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        Self::Io {
            doing: "input or output",
            source,
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// A JSON-RPC error for the peer: the request itself was wrong, or could not be served.
///
/// What a tool finds wrong while it works is not one of these but a tool execution error, which a
/// model can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    code: i32,
    message: Cow<'static, str>,
    data: Option<String>,
}

impl RpcError {
    /// -32021, 2026-07-28: the request needs a client capability that was not declared.
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: i32 = -32021;
    /// -32022, 2026-07-28: the revision asked for is not served.
    pub const UNSUPPORTED_PROTOCOL_VERSION: i32 = -32022;
    /// -32042, 2025-11-25 alone: the user has to open a URL before the request is made again. See
    /// [`Context::require_urls`](crate::Context::require_urls).
    pub const URL_ELICITATION_REQUIRED: i32 = -32042;
    /// -32002, 2025-11-25 and before: the resource does not exist.
    pub const RESOURCE_NOT_FOUND: i32 = -32002;

    /// An error of this code. Codes for an application's own purposes lie outside of -32768 to
    /// -32000.
    ///
    /// Those that 2026-07-28 forbids are not sent there: -32002 becomes -32602, and what is within
    /// -32099 to -32020 and not defined by it, as -32042 is not, becomes -32603.
    ///
    /// Specification: 2026-07-28, `basic/index`, Error Codes.
    #[must_use]
    pub fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// -32600: the message is not valid.
    #[must_use]
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::InvalidRequest.as_i32(), message)
    }

    /// -32601: the method does not exist here.
    #[must_use]
    pub fn method_not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::MethodNotFound.as_i32(), message)
    }

    /// -32602: the parameters do not fit.
    #[must_use]
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::InvalidParams.as_i32(), message)
    }

    /// -32603: the server could not do it.
    #[must_use]
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::InternalError.as_i32(), message)
    }

    /// -32021, 2026-07-28: the request needs an extension that the client has not declared.
    ///
    /// Specification: 2026-07-28, `basic/versioning`, Extension Negotiation.
    #[must_use]
    pub fn missing_extension(identifier: &str) -> Self {
        let mut data = Vec::new();
        let mut writer = JsonWriter::new(&mut data);
        writer.raw(b"{\"requiredCapabilities\":{\"extensions\":{");
        writer.key(identifier);
        writer.raw(b"{}}}}");
        let message = format!("Missing required client capability: the extension {identifier}");
        Self::new(Self::MISSING_REQUIRED_CLIENT_CAPABILITY, message)
            .with_data(String::from_utf8_lossy(&data))
    }

    /// Adds `data`: one JSON value, nested no deeper than 128 levels. A text that is none is sent as
    /// a string.
    #[must_use]
    pub fn with_data(mut self, json: impl Into<String>) -> Self {
        let json = one_line(json.into());
        self.data = Some(match with_root(&json, |_| Ok(())) {
            Ok(()) => json,
            Err(_) => {
                let mut string = Vec::new();
                JsonWriter::new(&mut string).string(&json);
                String::from_utf8_lossy(&string).into_owned()
            }
        });
        self
    }

    /// The code.
    #[must_use]
    pub fn code(&self) -> i32 {
        self.code
    }

    /// The code that it is sent with in a revision.
    pub(crate) fn code_in(&self, version: ProtocolVersion) -> i32 {
        /// What is the specification's alone to define.
        const RESERVED: std::ops::RangeInclusive<i32> = -32099..=-32020;
        /// What it defines: `HeaderMismatch`, and the two that have names here.
        const DEFINED: std::ops::RangeInclusive<i32> = -32022..=-32020;
        match (version.era(), self.code) {
            (Era::Modern, Self::RESOURCE_NOT_FOUND) => ErrorCode::InvalidParams.as_i32(),
            (Era::Modern, code) if RESERVED.contains(&code) && !DEFINED.contains(&code) => {
                ErrorCode::InternalError.as_i32()
            }
            (_, code) => code,
        }
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The JSON of `data`.
    #[must_use]
    pub fn data(&self) -> Option<&str> {
        self.data.as_deref()
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for RpcError {}

/// JSON on one line: it has line ends between its tokens alone, where they mean nothing.
pub(crate) fn one_line(json: String) -> String {
    if json.contains(['\n', '\r']) {
        json.replace(['\n', '\r'], " ")
    } else {
        json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_that_fails_says_why_in_words() {
        let error = Error::Duplicate {
            kind: "tool",
            name: "add".to_owned(),
        };
        assert_eq!(format!("{error:?}"), "there are two tools named `add`");
    }

    #[test]
    fn data_is_json_whatever_was_given() {
        for (given, data) in [
            ("{\"a\":[1,\n2]}", "{\"a\":[1, 2]}"),
            ("1e3", "1e3"),
            ("oops", "\"oops\""),
            ("{\"a\":", "\"{\\\"a\\\":\""),
            ("1 2", "\"1 2\""),
            ("", "\"\""),
            ("\"\u{1}\"", "\"\\\"\\u0001\\\"\""),
        ] {
            let error = RpcError::internal("no").with_data(given);
            assert_eq!(error.data(), Some(data), "{given}");
        }
    }

    #[test]
    fn an_error_of_the_system_is_one_of_ours_by_a_question_mark() {
        fn fails() -> Result<()> {
            Err(io::Error::new(io::ErrorKind::NotFound, "no such file"))?;
            Ok(())
        }
        let error = fails().unwrap_err();
        assert_eq!(error.to_string(), "input or output: no such file");
        assert!(std::error::Error::source(&error).is_some());
    }
}
