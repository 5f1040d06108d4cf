//! A conversation with a server of any era, up to the point where load can be put on it.
//!
//! ```text
//!   spawn ─▶ server/discover ─┬─ DiscoverResult, or a modern error ────────────▶ modern
//!                             ├─ any other error ─▶ initialize ─▶ initialized ─▶ legacy
//!                             ├─ silence ─▶ initialize, and whichever answer comes first
//!                             └─ the server ends ─▶ spawn again, initialize ───▶ legacy
//! ```
//!
//! Specification: 2026-07-28, `basic/transports/stdio`, Backward Compatibility. The last branch is
//! not in it: some older servers end at a request before `initialize`.

use std::{io, time::Duration};

use serde::Serialize;
use serde_json::{Value, json};
use tightwire::{Era, ProtocolVersion};

use super::{
    error::{Error, Result},
    expect::excerpt,
    lines::Lines,
    transport::{Interest, Transport},
};

/// Which era to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EraChoice {
    /// What the server speaks, modern if both.
    #[default]
    Auto,
    /// 2026-07-28, without asking.
    Modern,
    /// The `initialize` handshake, without asking.
    Legacy,
}

/// How a conversation is opened.
#[derive(Clone, Copy, Debug)]
pub struct SessionOptions {
    /// Which era to speak.
    pub era: EraChoice,
    /// How long `server/discover` may stay without an answer before `initialize` is tried.
    pub probe: Duration,
    /// How long any other answer may take.
    pub patience: Duration,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            era: EraChoice::Auto,
            probe: Duration::from_secs(5),
            patience: Duration::from_secs(30),
        }
    }
}

/// Who answers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Peer {
    /// What the server calls itself.
    pub name: String,
    /// The version of its software.
    pub version: String,
    /// The revision of the protocol that is spoken.
    pub protocol: String,
    /// Its tools, if it told them.
    pub tools: Vec<String>,
    /// From the start of the process to its first answer.
    pub first_answer_ms: f64,
}

/// An open conversation.
#[derive(Debug)]
pub struct Session<T> {
    pub(super) transport: T,
    pub(super) lines: Lines,
    pub(super) closed: bool,
    era: Era,
    peer: Peer,
    next_id: u64,
    first_answer_ns: Option<u64>,
}

impl<T: Transport> Session<T> {
    /// Starts a server with `spawn` and finds out what it speaks.
    ///
    /// # Errors
    ///
    /// If the server cannot be started, ends, stays silent or refuses every revision.
    pub fn open(
        mut spawn: impl FnMut() -> io::Result<T>,
        options: &SessionOptions,
    ) -> Result<Self> {
        let mut session = Self::new(spawn()?);
        match options.era {
            EraChoice::Modern => session.be_modern(options)?,
            EraChoice::Legacy => session.be_legacy(options)?,
            EraChoice::Auto => match session.probe(options) {
                Err(Error::Closed { .. }) => {
                    session = Self::new(spawn()?);
                    session.be_legacy(options)?;
                }
                other => other?,
            },
        }
        session.list_tools(options)?;
        Ok(session)
    }

    /// The era that is spoken.
    #[must_use]
    pub fn era(&self) -> Era {
        self.era
    }

    /// Who answers.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The parameters of a request as the era wants them: with `_meta` in the modern one, unless
    /// they bring one with a version.
    #[must_use]
    pub fn params(&self, mut params: Value) -> Value {
        if self.era == Era::Legacy {
            return params;
        }
        if params.is_null() {
            params = json!({});
        }
        if let Some(members) = params.as_object_mut() {
            let meta = members.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                for (name, value) in modern_meta() {
                    meta.entry(name).or_insert(value);
                }
            }
        }
        params
    }

    fn new(transport: T) -> Self {
        Self {
            transport,
            lines: Lines::new(),
            closed: false,
            era: Era::Modern,
            peer: Peer::default(),
            next_id: 1,
            first_answer_ns: None,
        }
    }

    fn be_modern(&mut self, options: &SessionOptions) -> Result<()> {
        let id = self.send("server/discover", &self.params(json!({})))?;
        let answer = self.answer("server/discover", &[id], options.patience)?;
        self.accept_discover(&answer)
    }

    fn be_legacy(&mut self, options: &SessionOptions) -> Result<()> {
        let id = self.send_initialize()?;
        let answer = self.answer("initialize", &[id], options.patience)?;
        self.accept_initialize(&answer)
    }

    fn probe(&mut self, options: &SessionOptions) -> Result<()> {
        let discover = self.send("server/discover", &self.params(json!({})))?;
        match self.answer("server/discover", &[discover], options.probe) {
            Ok(answer) if is_modern(&answer) => return self.accept_discover(&answer),
            Ok(_) | Err(Error::Silent { .. }) => {}
            Err(error) => return Err(error),
        }
        // A server that is only slow to start may answer the probe after all.
        let initialize = self.send_initialize()?;
        let mut answer = self.answer("initialize", &[initialize, discover], options.patience)?;
        if answer["id"] == discover {
            if is_modern(&answer) {
                return self.accept_discover(&answer);
            }
            answer = self.answer("initialize", &[initialize], options.patience)?;
        }
        self.accept_initialize(&answer)
    }

    fn accept_discover(&mut self, answer: &Value) -> Result<()> {
        self.era = Era::Modern;
        self.peer.protocol = ProtocolVersion::LATEST.as_str().to_owned();
        let versions = match answer.get("result") {
            Some(result) => {
                self.know(&result["_meta"]["io.modelcontextprotocol/serverInfo"]);
                &result["supportedVersions"]
            }
            None => &answer["error"]["data"]["supported"],
        };
        let common = versions.as_array().is_none_or(|versions| {
            versions
                .iter()
                .any(|version| version == ProtocolVersion::LATEST.as_str())
        });
        if answer.get("result").is_some() && common {
            return Ok(());
        }
        Err(Error::Refused {
            during: format!("revision {}", ProtocolVersion::LATEST.as_str()),
            answer: excerpt(&answer.to_string()),
        })
    }

    fn send_initialize(&mut self) -> Result<u64> {
        let params = json!({
            "protocolVersion": ProtocolVersion::LATEST_LEGACY.as_str(),
            "capabilities": {},
            "clientInfo": client_info(),
        });
        self.send("initialize", &params)
    }

    fn accept_initialize(&mut self, answer: &Value) -> Result<()> {
        let result = &answer["result"];
        let version = result["protocolVersion"].as_str();
        let known = ProtocolVersion::ALL
            .iter()
            .find(|known| Some(known.as_str()) == version);
        let Some(version) = known else {
            return Err(Error::Refused {
                during: "initialize".to_owned(),
                answer: excerpt(&answer.to_string()),
            });
        };
        self.era = Era::Legacy;
        self.peer.protocol = version.as_str().to_owned();
        self.know(&result["serverInfo"]);
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    }

    fn know(&mut self, implementation: &Value) {
        let text = |name: &str| implementation[name].as_str().unwrap_or_default().to_owned();
        self.peer.name = text("name");
        self.peer.version = text("version");
        self.peer.first_answer_ms = self.first_answer_ns.unwrap_or_default() as f64 / 1e6;
    }

    /// Asks for the tools, page by page. A server without any is as good.
    fn list_tools(&mut self, options: &SessionOptions) -> Result<()> {
        const PAGES_MAX: usize = 20;
        let mut params = json!({});
        for _ in 0..PAGES_MAX {
            let id = self.send("tools/list", &self.params(params))?;
            let answer = self.answer("tools/list", &[id], options.patience)?;
            let tools = answer["result"]["tools"].as_array().into_iter().flatten();
            let names = tools.filter_map(|tool| tool["name"].as_str());
            self.peer.tools.extend(names.map(str::to_owned));
            match answer["result"]["nextCursor"].as_str() {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => break,
            }
        }
        Ok(())
    }

    fn send(&mut self, method: &str, params: &Value) -> Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        Ok(id)
    }

    fn write(&mut self, message: &Value) -> Result<()> {
        let mut line = message.to_string();
        line.push('\n');
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match self.transport.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.transport
                        .wait(Interest::ReadOrWrite, Duration::from_secs(1))?;
                }
                // Its answer, or its end, tells more.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The answer to one of the requests `ids`.
    fn answer(&mut self, during: &str, ids: &[u64], patience: Duration) -> Result<Value> {
        let deadline = self.transport.now() + nanos(patience);
        loop {
            while let Some(line) = self.lines.next() {
                let Ok(message) = serde_json::from_slice::<Value>(line) else {
                    continue;
                };
                if message.get("method").is_some() {
                    self.reply(&message)?;
                } else if message["id"].as_u64().is_some_and(|id| ids.contains(&id)) {
                    self.first_answer_ns
                        .get_or_insert_with(|| self.transport.now());
                    return Ok(message);
                }
            }
            let now = self.transport.now();
            if now >= deadline {
                return Err(Error::Silent {
                    during: during.to_owned(),
                    last_words: self.transport.last_words(),
                });
            }
            let rest = Duration::from_nanos(deadline - now);
            self.transport.wait(Interest::Read, rest)?;
            match self.transport.read(self.lines.spare()) {
                Ok(0) => {
                    return Err(Error::Closed {
                        during: during.to_owned(),
                        last_words: self.transport.last_words(),
                    });
                }
                Ok(count) => self.lines.commit(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Answers a request of a legacy server. Nothing but `ping` is served.
    fn reply(&mut self, message: &Value) -> Result<()> {
        match super::answers::from_server(message) {
            Some(super::answers::Verdict::Request(reply)) => self.write(&reply),
            _ => Ok(()),
        }
    }
}

/// Whether this answer to `server/discover` shows a modern server: a result, or an error that
/// only 2026-07-28 has.
fn is_modern(answer: &Value) -> bool {
    // Missing capability, and unsupported version.
    const MODERN: [i64; 2] = [-32021, -32022];
    let code = answer["error"]["code"].as_i64();
    answer["result"]["supportedVersions"].is_array()
        || code.is_some_and(|code| MODERN.contains(&code))
}

fn modern_meta() -> [(&'static str, Value); 3] {
    [
        (
            "io.modelcontextprotocol/protocolVersion",
            json!(ProtocolVersion::LATEST.as_str()),
        ),
        ("io.modelcontextprotocol/clientInfo", client_info()),
        ("io.modelcontextprotocol/clientCapabilities", json!({})),
    ]
}

fn client_info() -> Value {
    json!({"name": "tightwire-bench", "version": env!("CARGO_PKG_VERSION")})
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 4)
}
