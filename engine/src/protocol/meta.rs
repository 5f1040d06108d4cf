//! `_meta`, the metadata of a request.
//!
//! Specification: 2026-07-28, `basic/index`, General fields. In the modern era it carries the
//! revision, the client's capabilities and identity with every request; in both it carries the
//! progress token.

use tightwire_codec::{Number, Object, Value};

use super::{log_level::LogLevel, version::ProtocolVersion};
use crate::error::RpcError;

const PREFIX: &str = "io.modelcontextprotocol/";

/// The keys of `_meta` that the protocol reserves for requests.
pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const PROGRESS_TOKEN: &str = "progressToken";

/// The key of a result's `_meta` under which a server names itself.
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The key of `_meta` that names the subscription a message belongs to.
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The key of `_meta` that names the task a message belongs to, in 2025-11-25.
pub(crate) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// The settings of an extension that the client declares with a request, by its identifier.
pub(crate) fn client_extension<'a>(
    meta: Option<Object<'a>>,
    identifier: &str,
) -> Option<Object<'a>> {
    let declared = meta?.find(CLIENT_CAPABILITIES)?.as_object()?;
    let extensions = declared.find("extensions")?.as_object()?;
    extensions.find(identifier)?.as_object()
}

/// A request's `_meta`.
///
/// Nearly all are as the modern era wants them, which one look tells. Only of the others the members
/// are sorted out, to tell what is wrong, or that the era is the other one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meta<'a> {
    object: Object<'a>,
    is_admissible: bool,
}

impl<'a> Meta<'a> {
    #[inline(always)]
    pub(crate) fn read(object: Object<'a>) -> Self {
        Self {
            object,
            is_admissible: is_admissible(object),
        }
    }

    /// Whether a request with this metadata speaks a revision that sends metadata.
    #[inline]
    pub(crate) fn is_modern(&self) -> bool {
        self.is_admissible || Members::read(self.object).is_modern()
    }

    /// The revision that the request names.
    ///
    /// # Errors
    ///
    /// -32602 if it is missing or is no string.
    #[inline]
    pub(crate) fn version(&self) -> Result<&'a str, RpcError> {
        if self.is_admissible {
            return Ok(ProtocolVersion::LATEST.as_str());
        }
        Members::read(self.object).version()
    }

    /// Checks all members but the revision, whose absence the specification calls malformed or
    /// whose type it gives.
    ///
    /// # Errors
    ///
    /// -32602 naming the full key.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), RpcError> {
        if self.is_admissible {
            return Ok(());
        }
        Members::read(self.object).check()
    }

    /// Checks what both eras have.
    ///
    /// # Errors
    ///
    /// -32602 naming the key.
    #[inline]
    pub(crate) fn check_common(&self) -> Result<(), RpcError> {
        Members::read(self.object).check_common()
    }
}

impl Default for Meta<'_> {
    fn default() -> Self {
        Self {
            object: Object::EMPTY,
            is_admissible: false,
        }
    }
}

/// Whether the metadata is that of a request of the modern revision, and nothing is wrong with it:
/// then [`Members`] would find it modern, and to be right.
#[inline]
fn is_admissible(object: Object<'_>) -> bool {
    const VERSION: u8 = 1;
    const CAPABILITIES: u8 = 2;
    let mut seen = 0;
    for (key, value) in object {
        let (bit, is_right) = match key.strip_prefix(PREFIX) {
            Some("protocolVersion") => (VERSION, is_latest(value)),
            Some("clientCapabilities") => (CAPABILITIES, value.as_object().is_some()),
            Some("clientInfo") => (4, is_implementation(value)),
            Some("logLevel") => (8, is_log_level(value)),
            None if key == PROGRESS_TOKEN => (16, is_progress_token(value)),
            _ => continue,
        };
        if !is_right || seen & bit != 0 {
            return false;
        }
        seen |= bit;
    }
    seen & (VERSION | CAPABILITIES) == VERSION | CAPABILITIES
}

/// The reserved members of a request's `_meta`, of whatever type.
#[derive(Clone, Copy, Debug, Default)]
struct Members<'a> {
    protocol_version: Option<Value<'a>>,
    client_capabilities: Option<Value<'a>>,
    client_info: Option<Value<'a>>,
    log_level: Option<Value<'a>>,
    progress_token: Option<Value<'a>>,
    duplicate: Option<&'static str>,
}

impl<'a> Members<'a> {
    fn read(object: Object<'a>) -> Self {
        let mut members = Self::default();
        for (key, value) in object {
            let (slot, name) = match key.strip_prefix(PREFIX) {
                Some("protocolVersion") => (&mut members.protocol_version, PROTOCOL_VERSION),
                Some("clientCapabilities") => {
                    (&mut members.client_capabilities, CLIENT_CAPABILITIES)
                }
                Some("clientInfo") => (&mut members.client_info, CLIENT_INFO),
                Some("logLevel") => (&mut members.log_level, LOG_LEVEL),
                None if key == PROGRESS_TOKEN => (&mut members.progress_token, PROGRESS_TOKEN),
                _ => continue,
            };
            if slot.replace(value).is_some() {
                members.duplicate = Some(name);
            }
        }
        members
    }

    fn is_modern(&self) -> bool {
        self.protocol_version.is_some()
            || self.client_capabilities.is_some()
            || self.client_info.is_some()
            || self.log_level.is_some()
    }

    fn version(&self) -> Result<&'a str, RpcError> {
        let value = self
            .protocol_version
            .ok_or_else(|| missing(PROTOCOL_VERSION))?;
        value
            .as_str()
            .ok_or_else(|| ill_typed(PROTOCOL_VERSION, "a string", value))
    }

    fn check(&self) -> Result<(), RpcError> {
        self.check_common()?;
        let capabilities = self
            .client_capabilities
            .ok_or_else(|| missing(CLIENT_CAPABILITIES))?;
        if capabilities.as_object().is_none() {
            return Err(ill_typed(CLIENT_CAPABILITIES, "an object", capabilities));
        }
        if let Some(info) = self.client_info {
            check_implementation(info)?;
        }
        if let Some(level) = self.log_level
            && !is_log_level(level)
        {
            return Err(RpcError::invalid_params(format!(
                "_meta[\"{LOG_LEVEL}\"] must be one of {}",
                LogLevel::names()
            )));
        }
        Ok(())
    }

    fn check_common(&self) -> Result<(), RpcError> {
        if let Some(name) = self.duplicate {
            return Err(RpcError::invalid_params(format!(
                "_meta[\"{name}\"] is there twice"
            )));
        }
        match self.progress_token {
            Some(token) if !is_progress_token(token) => Err(ill_typed(
                PROGRESS_TOKEN,
                "a string, or an integer of 64 bits without fraction and exponent",
                token,
            )),
            _ => Ok(()),
        }
    }
}

fn missing(key: &str) -> RpcError {
    RpcError::invalid_params(format!("_meta[\"{key}\"] is missing"))
}

fn ill_typed(key: &str, wanted: &str, value: Value<'_>) -> RpcError {
    RpcError::invalid_params(format!(
        "_meta[\"{key}\"] must be {wanted}, not {}",
        value.kind().as_str()
    ))
}

#[inline]
pub(crate) fn is_progress_token(token: Value<'_>) -> bool {
    // As an id: it is echoed, and of what was read as a float the digits are lost.
    token.as_str().is_some()
        || matches!(
            token.as_number(),
            Some(Number::Unsigned(_) | Number::Signed(_))
        )
}

fn is_latest(version: Value<'_>) -> bool {
    version.as_str() == Some(ProtocolVersion::LATEST.as_str())
}

fn is_implementation(info: Value<'_>) -> bool {
    info.as_object().is_some_and(|members| {
        members
            .iter()
            .all(|(name, value)| !matches!(name, "name" | "version") || value.as_str().is_some())
    })
}

fn is_log_level(level: Value<'_>) -> bool {
    level.as_str().and_then(LogLevel::parse).is_some()
}

fn check_implementation(info: Value<'_>) -> Result<(), RpcError> {
    let Some(members) = info.as_object() else {
        return Err(ill_typed(CLIENT_INFO, "an object", info));
    };
    for (name, value) in members {
        if matches!(name, "name" | "version") && value.as_str().is_none() {
            return Err(RpcError::invalid_params(format!(
                "_meta[\"{CLIENT_INFO}\"].{name} must be a string, not {}",
                value.kind().as_str()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tightwire_codec::{LINE_PADDING, Line, Parser};

    use super::*;

    /// Whether one look finds the metadata right, and whether sorting out the members does.
    fn looks(members: &str) -> [bool; 2] {
        let text = format!("{{{members}}}").replace('@', PREFIX);
        let mut bytes = text.into_bytes();
        let len = bytes.len();
        bytes.resize(len + LINE_PADDING, 0);
        let mut line = Line::padded(&mut bytes, len).unwrap();
        let mut parser = Parser::default();
        let document = parser.parse(&mut line).unwrap();
        let object = document.root().as_object().unwrap();
        let members = Members::read(object);
        let is_right = members.version().ok() == Some(ProtocolVersion::LATEST.as_str())
            && members.check().is_ok();
        [is_admissible(object), is_right]
    }

    #[test]
    fn one_look_finds_right_what_sorting_out_does() {
        let right = r#""@protocolVersion":"2026-07-28","@clientCapabilities":{"roots":{}}"#;
        for more in [
            "",
            r#","@clientInfo":{"name":"a","title":1,"version":"b"}"#,
            r#","@clientInfo":{}"#,
            r#","@logLevel":"emergency","progressToken":7"#,
            r#","progressToken":"7","mine":1,"mine":2"#,
            r#","progressToken":18446744073709551615"#,
            r#","progressToken":-9223372036854775808"#,
            r#","@other":1,"clientInfo":1,"logLevel":1"#,
        ] {
            assert_eq!(looks(&format!("{right}{more}")), [true; 2], "{more}");
        }
        for more in [
            r#","@protocolVersion":"2026-07-28""#,
            r#","@clientCapabilities":{}"#,
            r#","@clientInfo":1"#,
            r#","@clientInfo":{"name":1}"#,
            r#","@clientInfo":{"version":null}"#,
            r#","@clientInfo":{},"@clientInfo":{}"#,
            r#","@logLevel":"loud""#,
            r#","@logLevel":1"#,
            r#","@logLevel":"info","@logLevel":"info""#,
            r#","progressToken":1.5"#,
            r#","progressToken":1.0"#,
            r#","progressToken":1e3"#,
            r#","progressToken":12345678901234567890123"#,
            r#","progressToken":1,"progressToken":1"#,
        ] {
            assert_eq!(looks(&format!("{right}{more}")), [false; 2], "{more}");
        }
        for members in [
            "",
            r#""@protocolVersion":"2026-07-28""#,
            r#""@clientCapabilities":{}"#,
            r#""@protocolVersion":"2025-11-25","@clientCapabilities":{}"#,
            r#""@protocolVersion":1,"@clientCapabilities":{}"#,
            r#""@protocolVersion":"2026-07-28","@clientCapabilities":[]"#,
        ] {
            assert_eq!(looks(members), [false; 2], "{members}");
        }
    }
}
