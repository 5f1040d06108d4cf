//! The modern era, 2026-07-28: each request brings its own metadata, and nothing is remembered.
//!
//! Specification: 2026-07-28, `basic/versioning`, `basic/index`, `server/discover`.

use bytes::Bytes;
use tightwire_codec::JsonWriter;

use super::{
    excerpt,
    extension::capabilities,
    registry::{Features, Parts},
};
use crate::{
    error::RpcError,
    model::implementation::Implementation,
    protocol::{
        meta::{self, Meta},
        version::ProtocolVersion,
    },
};

/// What [`result_end`] begins with.
const META_START: &[u8] = b",\"_meta\":{";

/// Admits a request by its metadata, or says what is wrong with it. A request of an unknown
/// revision is not looked at further: what else it must carry is for that revision to say.
#[inline]
pub(super) fn admit(meta: &Meta<'_>) -> Result<(), RpcError> {
    let version = meta.version()?;
    if version != ProtocolVersion::LATEST.as_str() {
        return Err(unsupported_version(version));
    }
    meta.check()
}

/// -32022, with what is served instead.
fn unsupported_version(requested: &str) -> RpcError {
    let handshake: Vec<&str> = ProtocolVersion::ALL
        .iter()
        .copied()
        .filter(|version| *version != ProtocolVersion::LATEST)
        .map(ProtocolVersion::as_str)
        .collect();
    let mut data = Vec::new();
    let mut writer = JsonWriter::new(&mut data);
    writer.raw(b"{\"supported\":[");
    writer.string(ProtocolVersion::LATEST.as_str());
    writer.raw(b"],\"requested\":");
    writer.string(requested);
    writer.raw(b"}");
    let message = format!(
        "Unsupported protocol version {}: requests are served in {}; {} are served after an \
         `initialize` handshake",
        excerpt(requested),
        ProtocolVersion::LATEST,
        handshake.join(", "),
    );
    RpcError::new(RpcError::UNSUPPORTED_PROTOCOL_VERSION, message)
        .with_data(String::from_utf8_lossy(&data))
}

/// What ends every result: who the server is, the braces and the newline.
pub(super) fn result_end(implementation: &Implementation) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = JsonWriter::new(&mut bytes);
    writer.raw(META_START);
    writer.key(meta::SERVER_INFO);
    implementation.write(&mut writer, ProtocolVersion::LATEST);
    writer.raw(b"}}}\n");
    bytes
}

/// The members of that `_meta`, and what follows them.
pub(super) fn result_meta(result_end: &[u8]) -> &[u8] {
    result_end.strip_prefix(META_START).unwrap_or(result_end)
}

/// The answer to `server/discover`.
pub(super) fn discover_result(parts: &Parts, features: Features, end: &[u8]) -> Bytes {
    let mut bytes = Vec::new();
    let mut writer = JsonWriter::new(&mut bytes);
    writer.raw(b"{\"resultType\":\"complete\",\"supportedVersions\":[");
    writer.string(ProtocolVersion::LATEST.as_str());
    writer.raw(b"],\"capabilities\":");
    writer.raw(&capabilities(parts, features, ProtocolVersion::LATEST));
    if let Some(instructions) = &parts.instructions {
        writer.raw(b",\"instructions\":");
        writer.string(instructions);
    }
    parts.discover_caching.write(&mut writer);
    writer.raw(end);
    bytes.into()
}
