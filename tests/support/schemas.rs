//! [`Schemas`]: the specification's, a folder per revision, and what they call each message.
//!
//! They are not part of this repository. They are taken from the folder that `TIGHTWIRE_SPEC` names,
//! or from `../shared/spec` beside the repository: there, a folder per revision has a
//! `schema.json`.

use std::{
    collections::HashMap,
    env, fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::tap::{LATEST, LATEST_LEGACY};

/// The folder with the specification's schemas and examples, a folder per revision, if it is there.
#[must_use]
pub fn specification() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/spec");
    let folder = env::var_os("TIGHTWIRE_SPEC").map_or_else(beside, PathBuf::from);
    let is_there = folder.join(LATEST).join("schema.json").is_file();
    is_there.then_some(folder)
}

pub(crate) fn message_definition(method: &str) -> Option<&'static str> {
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

pub(crate) fn result_definition(method: &str) -> Option<&'static str> {
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

pub(crate) fn task_definition(method: &str) -> Option<&'static str> {
    Some(match method {
        "tasks/get" => "GetTaskResult",
        "tasks/cancel" => "CancelTaskResult",
        "tasks/list" => "ListTasksResult",
        "tasks/result" => "CallToolResult",
        _ => return None,
    })
}

pub(crate) fn response_definition(revision: &str) -> &'static str {
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

/// The schemas of all revisions.
pub(crate) struct Schemas {
    folder: PathBuf,
    documents: Mutex<HashMap<String, Arc<Value>>>,
    validators: Mutex<HashMap<(String, String), Arc<Validator>>>,
}

impl Schemas {
    pub(crate) fn get() -> Option<&'static Self> {
        static SCHEMAS: LazyLock<Option<Schemas>> = LazyLock::new(Schemas::find);
        SCHEMAS.as_ref()
    }

    fn find() -> Option<Self> {
        let folder = specification();
        if folder.is_none() {
            crate::say_untested(
                "what servers write, against the specification's schemas: TIGHTWIRE_SPEC names no \
                 folder with them, and ../shared/spec is none",
            );
        }
        Some(Self {
            folder: folder?,
            documents: Mutex::default(),
            validators: Mutex::default(),
        })
    }

    /// The schemas up to 2025-06-18 want an id that is no null, which JSON-RPC wants where the id of
    /// the request could not be read.
    #[track_caller]
    pub(crate) fn check_error(&self, revision: &str, message: &Value) {
        let mut message = message.clone();
        if revision < LATEST_LEGACY && message["id"].is_null() {
            message["id"] = json!(0);
        }
        self.check(revision, error_definition(revision), &message);
    }

    #[track_caller]
    pub(crate) fn check(&self, revision: &str, definition: &str, value: &Value) {
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
