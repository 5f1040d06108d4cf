//! A message that a server has a model of the client's write.
//!
//! Specification: 2026-07-28, `client/sampling`.

use tightwire_codec::{JsonWriter, Object, Value};

use super::form::write_number;
use crate::{error::one_line, json::with_root, protocol::version::ProtocolVersion};

/// A message to have a model write.
#[derive(Clone, Debug)]
pub struct Sampling {
    tokens_max: u64,
    messages: Vec<Message>,
    system: Option<String>,
    temperature: Option<f64>,
    stop: Vec<String>,
    hints: Vec<String>,
    priorities: [Option<f64>; 3],
    include: Option<IncludeContext>,
    metadata: Option<String>,
    tools: Vec<String>,
    tool_choice: Option<ToolChoice>,
    /// Of the JSON that was given for it.
    problem: Option<String>,
}

/// A message of the conversation that the model goes on with.
#[derive(Clone, Debug)]
struct Message {
    json: String,
    /// Whether it has the use of a tool in it, or the result of one.
    has_tools: bool,
    has_audio: bool,
}

/// Whose context a model is to be given. Deprecated from 2026-07-28 on, but for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IncludeContext {
    /// No context.
    None,
    /// That of this server.
    ThisServer,
    /// That of all servers of the client.
    AllServers,
}

/// Whether a model is to use its tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// It must use one.
    Required,
    /// It must not.
    None,
}

impl Sampling {
    /// A message of at most so many tokens.
    #[must_use]
    pub fn new(tokens_max: u64) -> Self {
        Self {
            tokens_max,
            messages: Vec::new(),
            system: None,
            temperature: None,
            stop: Vec::new(),
            hints: Vec::new(),
            priorities: [None; 3],
            include: None,
            metadata: None,
            tools: Vec::new(),
            tool_choice: None,
            problem: None,
        }
    }

    /// Adds a text that the user says.
    #[must_use]
    pub fn user(self, text: impl AsRef<str>) -> Self {
        self.text("user", text.as_ref())
    }

    /// Adds a text that the assistant says.
    #[must_use]
    pub fn assistant(self, text: impl AsRef<str>) -> Self {
        self.text("assistant", text.as_ref())
    }

    /// Adds a message with any content: a `SamplingMessage` of the specification, in JSON. This is
    /// how results of tools are given back. What is no JSON object is refused by
    /// [`Context::ask`](crate::Context::ask).
    ///
    /// Before 2025-11-25 a message has one content. There, one of several becomes as many messages
    /// of the same role, one after the other; and what that revision's models cannot be given is
    /// refused by [`Context::ask`](crate::Context::ask): the use of tools and their results, and
    /// before 2025-03-26 audio.
    #[must_use]
    pub fn message_json(mut self, json: impl Into<String>) -> Self {
        let json = self.checked("a message", json.into());
        self.messages.push(Message::new(json));
        self
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Sets the temperature.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Adds a text that ends the message.
    #[must_use]
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.stop.push(text.into());
        self
    }

    /// Adds the name of a model, or a part of one, to be preferred. The first counts most.
    #[must_use]
    pub fn hint(mut self, name: impl Into<String>) -> Self {
        self.hints.push(name.into());
        self
    }

    /// Sets how much low cost, high speed and intelligence matter, each from 0 to 1 or, with
    /// `None`, as the client likes.
    ///
    /// ```
    /// use tightwire::Sampling;
    ///
    /// let sampling = Sampling::new(100).user("Hurry!").priorities(None, 0.9, 0.5);
    /// ```
    #[must_use]
    pub fn priorities(
        mut self,
        cost: impl Into<Option<f64>>,
        speed: impl Into<Option<f64>>,
        intelligence: impl Into<Option<f64>>,
    ) -> Self {
        let priorities = [cost.into(), speed.into(), intelligence.into()];
        self.priorities = priorities.map(|value| value.map(|value| value.clamp(0.0, 1.0)));
        self
    }

    /// Sets whose context the model is given.
    #[must_use]
    pub fn include_context(mut self, include: IncludeContext) -> Self {
        self.include = Some(include);
        self
    }

    /// Sets metadata for the model's provider: a JSON object. What is none is refused by
    /// [`Context::ask`](crate::Context::ask).
    #[must_use]
    pub fn metadata(mut self, json: impl Into<String>) -> Self {
        self.metadata = Some(self.checked("the metadata", json.into()));
        self
    }

    /// Adds a tool that the model may use, from 2025-11-25 on: a `Tool` of the specification, in
    /// JSON. What is no JSON object is refused by [`Context::ask`](crate::Context::ask).
    #[must_use]
    pub fn tool_json(mut self, json: impl Into<String>) -> Self {
        let json = self.checked("a tool", json.into());
        self.tools.push(json);
        self
    }

    /// Sets whether the model is to use its tools.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    fn text(self, role: &str, text: &str) -> Self {
        let mut bytes = Vec::new();
        let mut writer = JsonWriter::new(&mut bytes);
        writer.raw(b"{\"role\":");
        writer.string(role);
        writer.raw(b",\"content\":{\"type\":\"text\",\"text\":");
        writer.string(text);
        writer.raw(b"}}");
        self.message_json(String::from_utf8_lossy(&bytes))
    }

    /// JSON on one line, of which it is noted if it is no object.
    fn checked(&mut self, what: &str, json: String) -> String {
        let json = one_line(json);
        let read = with_root(&json, |root| match root.as_object() {
            Some(_) => Ok(()),
            None => Err(format!("it is of type {}", root.kind().as_str())),
        });
        if let Err(problem) = read
            && self.problem.is_none()
        {
            self.problem = Some(format!("{what} is not a JSON object: {problem}"));
        }
        json
    }

    /// Why it cannot be sent.
    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub(super) fn uses_tools(&self) -> bool {
        let has_tools = |message: &Message| message.has_tools;
        !self.tools.is_empty() || self.tool_choice.is_some() || self.messages.iter().any(has_tools)
    }

    pub(super) fn has_audio(&self) -> bool {
        self.messages.iter().any(|message| message.has_audio)
    }

    pub(super) fn uses_context(&self) -> bool {
        matches!(
            self.include,
            Some(IncludeContext::ThisServer | IncludeContext::AllServers)
        )
    }

    pub(super) fn write(&self, writer: &mut JsonWriter<'_>, version: ProtocolVersion) {
        writer.raw(b"{\"messages\":[");
        if version >= ProtocolVersion::V2025_11_25 {
            writer.items(&self.messages, |writer, message| {
                writer.raw(message.json.as_bytes());
            });
        } else {
            let messages = self.messages.iter().flat_map(Message::of_one_content);
            writer.items(messages, |writer, json| writer.raw(&json));
        }
        writer.raw(b"],\"maxTokens\":");
        writer.u64(self.tokens_max);
        super::optional(writer, "systemPrompt", self.system.as_deref());
        if let Some(temperature) = self.temperature.filter(|value| value.is_finite()) {
            writer.raw(b",\"temperature\":");
            write_number(writer, temperature);
        }
        if !self.stop.is_empty() {
            writer.raw(b",\"stopSequences\":[");
            writer.items(self.stop.iter(), |writer, text| {
                writer.string(text);
            });
            writer.raw(b"]");
        }
        self.write_preferences(writer);
        let include = self.include.map(|include| match include {
            IncludeContext::None => "none",
            IncludeContext::ThisServer => "thisServer",
            IncludeContext::AllServers => "allServers",
        });
        super::optional(writer, "includeContext", include);
        if let Some(metadata) = &self.metadata {
            writer.raw(b",\"metadata\":");
            writer.raw(metadata.as_bytes());
        }
        if !self.tools.is_empty() {
            writer.raw(b",\"tools\":[");
            writer.items(&self.tools, |writer, json| writer.raw(json.as_bytes()));
            writer.raw(b"]");
        }
        if let Some(choice) = self.tool_choice {
            writer.raw(b",\"toolChoice\":{\"mode\":");
            writer.string(match choice {
                ToolChoice::Auto => "auto",
                ToolChoice::Required => "required",
                ToolChoice::None => "none",
            });
            writer.raw(b"}");
        }
        writer.raw(b"}");
    }

    fn write_preferences(&self, writer: &mut JsonWriter<'_>) {
        let names = ["costPriority", "speedPriority", "intelligencePriority"];
        let priorities = names.iter().zip(self.priorities);
        if self.hints.is_empty() && self.priorities.iter().all(Option::is_none) {
            return;
        }
        writer.raw(b",\"modelPreferences\":{\"hints\":[");
        writer.items(self.hints.iter(), |writer, name| {
            writer.raw(b"{\"name\":");
            writer.string(name);
            writer.raw(b"}");
        });
        writer.raw(b"]");
        for (name, priority) in priorities {
            if let Some(priority) = priority.filter(|value| value.is_finite()) {
                writer.raw(b",");
                writer.key(name);
                write_number(writer, priority);
            }
        }
        writer.raw(b"}");
    }
}

impl Message {
    fn new(json: String) -> Self {
        let kinds = with_root(&json, |root| {
            let message = root.as_object().unwrap_or(Object::EMPTY);
            let is_of = |content: Value<'_>, kinds: &[&str]| {
                let kind = content.as_object().and_then(|content| content.find("type"));
                kind.is_some_and(|kind| kind.as_str().is_some_and(|kind| kinds.contains(&kind)))
            };
            let has = |kinds: &[&str]| contents(message).any(|content| is_of(content, kinds));
            Ok((has(&["tool_use", "tool_result"]), has(&["audio"])))
        });
        // What is no JSON is not sent.
        let (has_tools, has_audio) = kinds.unwrap_or_default();
        Self {
            json,
            has_tools,
            has_audio,
        }
    }

    /// The message as several of one content each, with the members that they have before
    /// 2025-11-25.
    ///
    /// Specification: 2025-06-18, `client/sampling`, Message Content.
    fn of_one_content(&self) -> Vec<Vec<u8>> {
        let split = with_root(&self.json, |root| {
            let message = root.as_object().unwrap_or(Object::EMPTY);
            let role = message.find("role").ok_or("it has no role")?;
            let one = |content: Value<'_>| {
                let mut json = Vec::new();
                let mut writer = JsonWriter::new(&mut json);
                writer.raw(b"{\"role\":");
                writer.value(role);
                writer.raw(b",\"content\":");
                writer.value(content);
                writer.raw(b"}");
                json
            };
            Ok(contents(message).map(one).collect())
        });
        split.unwrap_or_else(|_| vec![self.json.as_bytes().to_vec()])
    }
}

/// The contents of a message, one or several.
fn contents(message: Object<'_>) -> impl Iterator<Item = Value<'_>> {
    let content = message.find("content");
    let several = content.and_then(Value::as_array);
    let one = content.filter(|_| several.is_none());
    one.into_iter().chain(several.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(sampling: &Sampling) -> String {
        let mut bytes = Vec::new();
        sampling.write(&mut JsonWriter::new(&mut bytes), ProtocolVersion::LATEST);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_sampling_is_written_with_all_that_it_has() {
        let sampling = Sampling::new(9)
            .user("A poem?")
            .system("Rhyme.")
            .temperature(0.5)
            .stop("The end")
            .hint("small")
            .priorities(None, 2.0, 0.5)
            .include_context(IncludeContext::ThisServer)
            .metadata("{\"a\":1}")
            .tool_json("{\"name\":\"rhyme\"}")
            .tool_choice(ToolChoice::Required);
        assert_eq!(
            written(&sampling),
            concat!(
                r#"{"messages":[{"role":"user","content":{"type":"text","text":"A poem?"}}],"#,
                r#""maxTokens":9,"systemPrompt":"Rhyme.","temperature":0.5,"#,
                r#""stopSequences":["The end"],"modelPreferences":{"hints":[{"name":"small"}],"#,
                r#""speedPriority":1,"intelligencePriority":0.5},"includeContext":"thisServer","#,
                r#""metadata":{"a":1},"tools":[{"name":"rhyme"}],"toolChoice":{"mode":"required"}}"#,
            )
        );
        let empty = written(&Sampling::new(1).priorities(None, None, None));
        assert_eq!(empty, r#"{"messages":[],"maxTokens":1}"#);
    }

    #[test]
    fn what_is_no_object_is_noted() {
        let sound = Sampling::new(1).user("a").metadata("{}").tool_json("{}");
        assert_eq!(sound.problem(), None);
        let broken = Sampling::new(1).tool_json("{").metadata("1");
        let problem = broken.problem().unwrap();
        assert!(problem.starts_with("a tool is not a JSON object: it is not JSON: "));
        for (broken, problem) in [
            (
                Sampling::new(1).message_json("[]"),
                "a message is not a JSON object: it is of type array",
            ),
            (
                Sampling::new(1).metadata("1"),
                "the metadata is not a JSON object: it is of type number",
            ),
        ] {
            assert_eq!(broken.problem(), Some(problem));
        }
    }

    #[test]
    fn a_message_of_several_contents_is_several_of_one() {
        let split = |json: &str| {
            let messages = Message::new(json.to_owned()).of_one_content();
            let texts = messages.into_iter().map(String::from_utf8);
            texts.collect::<Result<Vec<_>, _>>().unwrap()
        };
        let (a, b) = (r#"{"type":"text","text":"\u00e4"}"#, r#"{"type":"image"}"#);
        assert_eq!(
            split(&format!(
                r#"{{"_meta":{{}},"content":[{a},{b}],"role":"user"}}"#
            )),
            [
                r#"{"role":"user","content":{"type":"text","text":"ä"}}"#,
                r#"{"role":"user","content":{"type":"image"}}"#,
            ]
        );
        let one = r#"{"role":"user","content":{"type":"image"}}"#;
        assert_eq!(split(one), [one]);
        assert!(split(r#"{"role":"user","content":[]}"#).is_empty());
        // What is no message stays as its author wrote it.
        for other in ["{}", "[", r#"{"content":[1]}"#] {
            assert_eq!(split(other), [other]);
        }
    }
}
