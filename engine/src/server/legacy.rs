//! The legacy era, 2024-11-05 to 2025-11-25: one handshake, then a session.
//!
//! ```text
//!            initialize                 any request without modern `_meta`
//!   new ───────────────────▶ session ──────────────────────────────────────▶ served
//!    │  ping: served
//!    │  anything else: -32602
//! ```
//!
//! Requests are served since `initialize` was answered. The client is sent some, and told what it did
//! not ask for, once it has sent `notifications/initialized`.
//!
//! Specification: 2025-11-25, `basic/lifecycle`.

use std::sync::Arc;

use tightwire_codec::JsonWriter;

use super::{
    client::Client,
    extension::capabilities,
    registry::{Features, Parts},
};
use crate::{
    error::RpcError,
    protocol::{
        meta,
        method::{INITIALIZE, Method},
        params::{Params, optional_object, required_str},
        version::{Era, ProtocolVersion},
    },
};

/// What the handshake of a connection agreed on.
#[derive(Debug)]
pub(super) struct Session {
    version: Option<ProtocolVersion>,
    client: Arc<Client>,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            version: None,
            client: Arc::new(Client::unknown()),
        }
    }
}

impl Session {
    /// The revision of the session, once there is one.
    #[inline]
    pub(super) fn version(&self) -> Option<ProtocolVersion> {
        self.version
    }

    /// The client of the session.
    #[inline]
    pub(super) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// The revision whose rules hold for what no request is the cause of.
    pub(super) fn version_for_errors(&self) -> ProtocolVersion {
        self.version.unwrap_or(ProtocolVersion::LATEST)
    }

    /// Admits a request without modern metadata, or says what is wrong with it.
    pub(super) fn admit(
        &self,
        method: &str,
        own: impl FnOnce() -> Option<Method>,
    ) -> Result<(ProtocolVersion, Method), RpcError> {
        let found = Method::find(method, Era::Legacy);
        match (self.version, found.or_else(own)) {
            (Some(version), Some(method)) => Ok((version, method)),
            (Some(_), None) => Err(super::method_not_found(method)),
            (None, Some(method @ (Method::Initialize | Method::Ping))) => {
                Ok((ProtocolVersion::LATEST_LEGACY, method))
            }
            (None, _) => Err(RpcError::invalid_params(format!(
                "_meta[\"{}\"] is missing, and there was no `{INITIALIZE}` before",
                meta::PROTOCOL_VERSION
            ))),
        }
    }

    /// The handshake: the revision that was asked for, if it is one of this era, else the newest
    /// of this era.
    ///
    /// # Errors
    ///
    /// -32602 for parameters that are no handshake; -32600 if there was one before.
    pub(super) fn initialize(&mut self, params: &Params<'_>) -> Result<ProtocolVersion, RpcError> {
        let requested = required_str(params.protocol_version, "protocolVersion")?;
        let capabilities = optional_object(params.capabilities, "capabilities")?;
        let info = optional_object(params.client_info, "clientInfo")?;
        if let Some(version) = self.version {
            return Err(RpcError::invalid_request(format!(
                "the session is initialized already, in {version}"
            )));
        }
        let version = ProtocolVersion::parse(requested)
            .filter(|version| version.era() == Era::Legacy)
            .unwrap_or(ProtocolVersion::LATEST_LEGACY);
        self.client = Arc::new(Client::read(capabilities, info));
        self.version = Some(version);
        Ok(version)
    }
}

/// The answer to `initialize` in this revision.
pub(super) fn initialize_result(
    parts: &Parts,
    features: Features,
    version: ProtocolVersion,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = JsonWriter::new(&mut bytes);
    writer.raw(b"{\"protocolVersion\":");
    writer.string(version.as_str());
    writer.raw(b",\"capabilities\":");
    writer.raw(&capabilities(parts, features, version));
    writer.raw(b",\"serverInfo\":");
    parts.implementation.write(&mut writer, version);
    if let Some(instructions) = &parts.instructions {
        writer.raw(b",\"instructions\":");
        writer.string(instructions);
    }
    writer.raw(b"}}\n");
    bytes
}
