//! What is known of the client of a legacy session, for as long as the session lasts.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use tightwire_codec::{Object, Value};

use crate::protocol::{capabilities::ClientCapabilities, log_level::LogLevel};

/// The client of a session: what it said in the handshake, and what it set since. Shared with the
/// calls that run on other threads.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) title: Option<String>,
    log_level: AtomicU8,
    /// Whether it said so.
    initialized: AtomicBool,
}

impl Client {
    /// Nobody yet.
    pub(crate) fn unknown() -> Self {
        Self {
            capabilities: ClientCapabilities::default(),
            name: None,
            version: None,
            title: None,
            // What a server tells unasked is its own to choose: no details.
            log_level: AtomicU8::new(LogLevel::Info as u8),
            initialized: AtomicBool::new(false),
        }
    }

    pub(crate) fn read(capabilities: Option<Object<'_>>, info: Option<Object<'_>>) -> Self {
        let text = |name: &str| {
            let value = info
                .and_then(|info| info.find(name))
                .and_then(Value::as_str);
            value.map(str::to_owned)
        };
        Self {
            capabilities: capabilities
                .map(ClientCapabilities::read)
                .unwrap_or_default(),
            name: text("name"),
            version: text("version"),
            title: text("title"),
            ..Self::unknown()
        }
    }

    /// How many bytes of what it said are kept.
    #[cfg(unix)]
    pub(crate) fn bytes(&self) -> usize {
        let texts = [&self.name, &self.version, &self.title];
        texts.into_iter().flatten().map(String::len).sum()
    }

    /// Whether it takes requests.
    pub(crate) fn is_initialized(&self) -> bool {
        self.initialized.load(Ordering::Relaxed)
    }

    pub(crate) fn set_initialized(&self) {
        self.initialized.store(true, Ordering::Relaxed);
    }

    pub(crate) fn log_level(&self) -> LogLevel {
        let index = usize::from(self.log_level.load(Ordering::Relaxed));
        LogLevel::ALL.get(index).copied().unwrap_or(LogLevel::Info)
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.log_level.store(level as u8, Ordering::Relaxed);
    }
}
