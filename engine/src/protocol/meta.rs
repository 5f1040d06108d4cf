//! `_meta`, the metadata of a request.
//!
//! Specification: 2026-07-28, `basic/index`, General fields. In the modern era it carries the
//! revision, the client's capabilities and identity with every request; in both it carries the
//! progress token.

use tightwire_codec::{Object, Value};

use super::log_level::LogLevel;
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

/// The reserved members of a request's `_meta`, of whatever type.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meta<'a> {
    pub(crate) protocol_version: Option<Value<'a>>,
    client_capabilities: Option<Value<'a>>,
    client_info: Option<Value<'a>>,
    log_level: Option<Value<'a>>,
    progress_token: Option<Value<'a>>,
    duplicate: Option<&'static str>,
}

impl<'a> Meta<'a> {
    #[inline(always)]
    pub(crate) fn read(object: Object<'a>) -> Self {
        let mut meta = Self::default();
        for (key, value) in object {
            let (slot, name) = match key.strip_prefix(PREFIX) {
                Some("protocolVersion") => (&mut meta.protocol_version, PROTOCOL_VERSION),
                Some("clientCapabilities") => (&mut meta.client_capabilities, CLIENT_CAPABILITIES),
                Some("clientInfo") => (&mut meta.client_info, CLIENT_INFO),
                Some("logLevel") => (&mut meta.log_level, LOG_LEVEL),
                None if key == PROGRESS_TOKEN => (&mut meta.progress_token, PROGRESS_TOKEN),
                _ => continue,
            };
            if slot.replace(value).is_some() {
                meta.duplicate = Some(name);
            }
        }
        meta
    }

    /// Whether a request with this metadata speaks a revision that sends metadata.
    #[inline]
    pub(crate) fn is_modern(&self) -> bool {
        self.protocol_version.is_some()
            || self.client_capabilities.is_some()
            || self.client_info.is_some()
            || self.log_level.is_some()
    }

    /// The revision that the request names.
    ///
    /// # Errors
    ///
    /// -32602 if it is missing or is no string.
    #[inline]
    pub(crate) fn version(&self) -> Result<&'a str, RpcError> {
        let value = self
            .protocol_version
            .ok_or_else(|| missing(PROTOCOL_VERSION))?;
        value
            .as_str()
            .ok_or_else(|| ill_typed(PROTOCOL_VERSION, "a string", value))
    }

    /// Checks all members but the revision, whose absence the specification calls malformed or
    /// whose type it gives.
    ///
    /// # Errors
    ///
    /// -32602 naming the full key.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), RpcError> {
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
            && level.as_str().and_then(LogLevel::parse).is_none()
        {
            return Err(RpcError::invalid_params(format!(
                "_meta[\"{LOG_LEVEL}\"] must be one of {}",
                LogLevel::names()
            )));
        }
        Ok(())
    }

    /// Checks what both eras have.
    ///
    /// # Errors
    ///
    /// -32602 naming the key.
    #[inline]
    pub(crate) fn check_common(&self) -> Result<(), RpcError> {
        if let Some(name) = self.duplicate {
            return Err(RpcError::invalid_params(format!(
                "_meta[\"{name}\"] is there twice"
            )));
        }
        match self.progress_token {
            Some(token) if !is_progress_token(token) => {
                Err(ill_typed(PROGRESS_TOKEN, "a string or an integer", token))
            }
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

fn is_progress_token(token: Value<'_>) -> bool {
    token.as_str().is_some()
        || token
            .as_number()
            .is_some_and(tightwire_codec::Number::is_integer)
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
