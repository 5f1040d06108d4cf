//! [`Tap`]: what a server writes is valid against the schema of its revision.
//!
//! The schemas are the specification's, and are not part of this repository. They are taken from
//! the folder that `TIGHTWIRE_SPEC` names, or from `../shared/spec` beside the repository: there,
//! a folder per revision has a `schema.json`. Where there is none, nothing is checked.

use std::{
    collections::HashMap,
    env, fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
};

use jsonschema::Validator;
use serde_json::{Value, json};

const LATEST: &str = "2026-07-28";
/// What is asked before there is a session is answered in.
const LATEST_LEGACY: &str = "2025-11-25";
/// The one revision that has tasks in its schema.
const TASKS: &str = "2025-11-25";
const PREFIX: &str = "io.modelcontextprotocol/";

/// The folder with the specification's schemas and examples, a folder per revision, if it is there.
#[must_use]
pub fn specification() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/spec");
    let folder = env::var_os("TIGHTWIRE_SPEC").map_or_else(beside, PathBuf::from);
    let is_there = folder.join(LATEST).join("schema.json").is_file();
    is_there.then_some(folder)
}

/// Follows a conversation, and checks each line of the server's.
#[derive(Debug, Default)]
pub struct Tap {
    session: Option<String>,
    /// What was asked under each id, in which revision.
    asked: HashMap<String, (String, String)>,
}

impl Tap {
    /// Takes a line of the client's.
    pub fn sent(&mut self, line: &[u8]) {
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            return;
        };
        let messages = value.as_array().cloned().unwrap_or_else(|| vec![value]);
        for message in messages {
            let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
                continue;
            };
            let revision = match &self.session {
                _ if is_modern(&message) => LATEST,
                Some(session) => session,
                None => LATEST_LEGACY,
            };
            let asked = (revision.to_owned(), method.to_owned());
            self.asked.insert(id.to_string(), asked);
        }
    }

    /// Takes a line of the server's.
    ///
    /// # Panics
    ///
    /// If it is not valid against the schema of its revision.
    #[track_caller]
    pub fn received(&mut self, line: &Value) {
        let Some(schemas) = Schemas::get() else {
            return;
        };
        let messages = line
            .as_array()
            .map_or(std::slice::from_ref(line), |messages| messages);
        for message in messages {
            self.check(schemas, message);
        }
    }

    #[track_caller]
    fn check(&mut self, schemas: &Schemas, message: &Value) {
        if let Some(method) = message["method"].as_str() {
            let subscription = format!("{PREFIX}subscriptionId");
            let revision = if message["params"]["_meta"].get(subscription).is_some() {
                LATEST
            } else {
                self.revision()
            };
            if let Some(definition) = message_definition(method) {
                schemas.check(revision, definition, message);
            }
            return;
        }
        let asked = message
            .get("id")
            .and_then(|id| self.asked.get(&id.to_string()));
        let Some((revision, method)) = asked.cloned() else {
            // What cannot be read here, or not even there.
            if message.get("error").is_some() {
                schemas.check_error(self.revision(), message);
            }
            return;
        };
        let Some(result) = message.get("result") else {
            schemas.check_error(&revision, message);
            let typed = match message["error"]["code"].as_i64() {
                Some(-32021) => "MissingRequiredClientCapabilityError",
                Some(-32022) => "UnsupportedProtocolVersionError",
                Some(-32042) => "URLElicitationRequiredError",
                _ => return,
            };
            return schemas.check(&revision, typed, message);
        };
        if method == "initialize" {
            self.session = result["protocolVersion"].as_str().map(str::to_owned);
        }
        // The handshake is answered in the revision that it agrees on.
        let revision = match method.as_str() {
            "initialize" => self.revision().to_owned(),
            _ => revision,
        };
        schemas.check(&revision, response_definition(&revision), message);
        let definition = match result["resultType"].as_str() {
            Some("input_required") => Some("InputRequiredResult"),
            // A call that has become a task of the session.
            None if method == "tools/call" && revision == TASKS && result.get("task").is_some() => {
                Some("CreateTaskResult")
            }
            None if revision == TASKS => task_definition(&method).or(result_definition(&method)),
            None | Some("complete") => result_definition(&method),
            // An extension's own.
            Some(_) => None,
        };
        if let Some(definition) = definition {
            schemas.check(&revision, definition, result);
        }
    }

    fn revision(&self) -> &str {
        self.session.as_deref().unwrap_or(LATEST)
    }
}

fn is_modern(message: &Value) -> bool {
    let meta = message["params"]["_meta"].as_object();
    let has = |key: &str| meta.is_some_and(|meta| meta.contains_key(&format!("{PREFIX}{key}")));
    message["method"] == "server/discover"
        || [
            "protocolVersion",
            "clientCapabilities",
            "clientInfo",
            "logLevel",
        ]
        .into_iter()
        .any(has)
}

fn message_definition(method: &str) -> Option<&'static str> {
    Some(match method {
        "notifications/progress" => "ProgressNotification",
        "notifications/message" => "LoggingMessageNotification",
        "notifications/cancelled" => "CancelledNotification",
        "notifications/tools/list_changed" => "ToolListChangedNotification",
        "notifications/prompts/list_changed" => "PromptListChangedNotification",
        "notifications/resources/list_changed" => "ResourceListChangedNotification",
        "notifications/elicitation/complete" => "ElicitationCompleteNotification",
        "notifications/resources/updated" => "ResourceUpdatedNotification",
        "notifications/tasks/status" => "TaskStatusNotification",
        "notifications/subscriptions/acknowledged" => "SubscriptionsAcknowledgedNotification",
        "elicitation/create" => "ElicitRequest",
        "sampling/createMessage" => "CreateMessageRequest",
        "roots/list" => "ListRootsRequest",
        _ => return None,
    })
}

fn result_definition(method: &str) -> Option<&'static str> {
    Some(match method {
        "initialize" => "InitializeResult",
        "server/discover" => "DiscoverResult",
        "tools/list" => "ListToolsResult",
        "tools/call" => "CallToolResult",
        "resources/list" => "ListResourcesResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "resources/read" => "ReadResourceResult",
        "prompts/list" => "ListPromptsResult",
        "prompts/get" => "GetPromptResult",
        "completion/complete" => "CompleteResult",
        "subscriptions/listen" => "SubscriptionsListenResult",
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
            "EmptyResult"
        }
        _ => return None,
    })
}

fn task_definition(method: &str) -> Option<&'static str> {
    Some(match method {
        "tasks/get" => "GetTaskResult",
        "tasks/cancel" => "CancelTaskResult",
        "tasks/list" => "ListTasksResult",
        "tasks/result" => "CallToolResult",
        _ => return None,
    })
}

fn response_definition(revision: &str) -> &'static str {
    if revision >= "2025-11-25" {
        "JSONRPCResultResponse"
    } else {
        "JSONRPCResponse"
    }
}

fn error_definition(revision: &str) -> &'static str {
    if revision >= "2025-11-25" {
        "JSONRPCErrorResponse"
    } else {
        "JSONRPCError"
    }
}

struct Schemas {
    folder: PathBuf,
    documents: Mutex<HashMap<String, Arc<Value>>>,
    validators: Mutex<HashMap<(String, String), Arc<Validator>>>,
}

impl Schemas {
    fn get() -> Option<&'static Self> {
        static SCHEMAS: LazyLock<Option<Schemas>> = LazyLock::new(Schemas::find);
        SCHEMAS.as_ref()
    }

    fn find() -> Option<Self> {
        Some(Self {
            folder: specification()?,
            documents: Mutex::default(),
            validators: Mutex::default(),
        })
    }

    /// The schemas up to 2025-06-18 want an id that is no null, which JSON-RPC wants where the id of
    /// the request could not be read.
    #[track_caller]
    fn check_error(&self, revision: &str, message: &Value) {
        let mut message = message.clone();
        if revision < LATEST_LEGACY && message["id"].is_null() {
            message["id"] = json!(0);
        }
        self.check(revision, error_definition(revision), &message);
    }

    #[track_caller]
    fn check(&self, revision: &str, definition: &str, value: &Value) {
        let validator = self.validator(revision, definition);
        let problems: Vec<String> = validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(
            problems.is_empty(),
            "not a {definition} of {revision}: {value}\n{}",
            problems.join("\n")
        );
    }

    fn validator(&self, revision: &str, definition: &str) -> Arc<Validator> {
        let key = (revision.to_owned(), definition.to_owned());
        let mut validators = self.validators.lock().expect("no test panics within");
        if let Some(validator) = validators.get(&key) {
            return Arc::clone(validator);
        }
        let mut schema = (*self.document(revision)).clone();
        let place = ["$defs", "definitions"]
            .into_iter()
            .find(|place| schema[*place].get(definition).is_some())
            .unwrap_or_else(|| panic!("{revision} has no {definition}"));
        // Only what stands at the root of the document is asserted.
        schema["$ref"] = json!(format!("#/{place}/{definition}"));
        let validator = jsonschema::validator_for(&schema);
        let validator = Arc::new(validator.expect("the specification's schema is one"));
        validators.insert(key, Arc::clone(&validator));
        validator
    }

    fn document(&self, revision: &str) -> Arc<Value> {
        let mut documents = self.documents.lock().expect("no test panics within");
        let load = || {
            let path = self.folder.join(revision).join("schema.json");
            let text = fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            Arc::new(serde_json::from_slice(&text).expect("the schema is JSON"))
        };
        Arc::clone(documents.entry(revision.to_owned()).or_insert_with(load))
    }
}
