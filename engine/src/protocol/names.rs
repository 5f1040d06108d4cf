//! The names that messages are made of.

use super::{meta, method::Method, version::ProtocolVersion};

/// The same name, if it is one that requests are likely to hold.
pub(crate) fn find(name: &str) -> Option<&'static str> {
    let name = match name {
        "jsonrpc" => "jsonrpc",
        "2.0" => "2.0",
        "id" => "id",
        "method" => "method",
        "params" => "params",
        "_meta" => "_meta",
        "name" => "name",
        "arguments" => "arguments",
        "uri" => "uri",
        "version" => "version",
        "title" => "title",
        meta::PROTOCOL_VERSION => meta::PROTOCOL_VERSION,
        meta::CLIENT_CAPABILITIES => meta::CLIENT_CAPABILITIES,
        meta::CLIENT_INFO => meta::CLIENT_INFO,
        meta::LOG_LEVEL => meta::LOG_LEVEL,
        meta::PROGRESS_TOKEN => meta::PROGRESS_TOKEN,
        _ if name == ProtocolVersion::LATEST.as_str() => ProtocolVersion::LATEST.as_str(),
        _ => return Method::name(name),
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::method::DISCOVER;

    #[test]
    fn a_name_is_found_as_it_is() {
        for name in [
            "id",
            "arguments",
            meta::CLIENT_INFO,
            "2026-07-28",
            "tools/call",
            DISCOVER,
        ] {
            assert_eq!(find(name), Some(name));
        }
        for text in [
            "",
            "Id",
            "argument",
            "2025-11-25",
            "tools/cal",
            "tools/calls",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
