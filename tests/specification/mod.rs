//! Every example of the specification that concerns a server is read by one, or written by one.
//!
//! The examples are the specification's, and are not part of this repository: they are looked for
//! where [`tightwire_tests::specification`] says, in `REVISION/examples/TYPE/NAME.json`. Where they
//! are not, nothing is tested.
//!
//! A server is built from each example, with the API as a user would write it. What a client sends
//! is sent to such a server, and answered; what a server sends is compared with what it writes.

mod asked;
mod build;
mod capabilities;
mod errors;
mod requests;
mod results;
mod told;

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};
use tightwire_tests::{say_untested, specification};

/// An example: of which type, under which name.
#[derive(Debug)]
struct Example {
    folder: String,
    file: String,
    value: Value,
}

/// How the examples of a folder are tested.
enum Covered {
    By(fn(&Example)),
    /// Not by a server on stdio: why.
    No(&'static str),
}

use Covered::{By, No};

/// The folders of 2026-07-28, the one revision that has examples.
const FOLDERS: [(&str, Covered); 88] = [
    ("AudioContent", By(results::content)),
    ("BlobResourceContents", By(results::contents)),
    ("BooleanSchema", By(asked::field)),
    ("CallToolRequest", By(requests::request)),
    ("CallToolRequestParams", By(requests::params)),
    ("CallToolResult", By(results::result)),
    ("CallToolResultResponse", By(results::response)),
    ("CancelledNotification", By(requests::cancelled)),
    ("CancelledNotificationParams", By(requests::cancelled)),
    ("ClientCapabilities", By(capabilities::of_clients)),
    ("CompleteRequest", By(requests::request)),
    ("CompleteRequestParams", By(requests::params)),
    ("CompleteResult", By(results::result)),
    ("CompleteResultResponse", By(results::response)),
    ("CreateMessageRequest", By(asked::request)),
    ("CreateMessageRequestParams", By(asked::params)),
    ("CreateMessageResult", By(asked::answer)),
    ("DiscoverRequest", By(requests::request)),
    ("DiscoverResult", By(results::result)),
    ("DiscoverResultResponse", By(results::response)),
    ("ElicitRequest", By(asked::request)),
    ("ElicitRequestFormParams", By(asked::params)),
    ("ElicitRequestURLParams", By(asked::params)),
    ("ElicitResult", By(asked::answer)),
    ("EmbeddedResource", By(results::content)),
    ("GetPromptRequest", By(requests::request)),
    ("GetPromptRequestParams", By(requests::params)),
    ("GetPromptResult", By(results::result)),
    ("GetPromptResultResponse", By(results::response)),
    (
        "HeaderMismatchError",
        No("headers are HTTP's: on stdio there are none"),
    ),
    ("ImageContent", By(results::content)),
    ("InputRequests", By(asked::requests)),
    ("InputRequiredResult", By(asked::required)),
    ("InputResponses", By(asked::answers)),
    ("InternalError", By(errors::error)),
    ("InvalidParamsError", By(errors::error)),
    ("ListPromptsRequest", By(requests::request)),
    ("ListPromptsResult", By(results::result)),
    ("ListPromptsResultResponse", By(results::response)),
    ("ListResourceTemplatesRequest", By(requests::request)),
    ("ListResourceTemplatesResult", By(results::result)),
    ("ListResourceTemplatesResultResponse", By(results::response)),
    ("ListResourcesRequest", By(requests::request)),
    ("ListResourcesResult", By(results::result)),
    ("ListResourcesResultResponse", By(results::response)),
    ("ListRootsRequest", By(asked::request)),
    ("ListRootsResult", By(asked::answer)),
    ("ListToolsRequest", By(requests::request)),
    ("ListToolsResult", By(results::result)),
    ("ListToolsResultResponse", By(results::response)),
    ("LoggingMessageNotification", By(told::message)),
    ("LoggingMessageNotificationParams", By(told::message)),
    ("MethodNotFoundError", By(errors::error)),
    ("MissingRequiredClientCapabilityError", By(errors::error)),
    ("ModelPreferences", By(asked::preferences)),
    ("NumberSchema", By(asked::field)),
    ("PaginatedRequestParams", By(requests::page)),
    ("ParseError", By(errors::error)),
    ("ProgressNotification", By(told::progress)),
    ("ProgressNotificationParams", By(told::progress)),
    ("PromptListChangedNotification", By(told::changed)),
    ("ReadResourceRequest", By(requests::request)),
    ("ReadResourceResult", By(results::result)),
    ("ReadResourceResultResponse", By(results::response)),
    ("Resource", By(results::resource)),
    ("ResourceLink", By(results::content)),
    ("ResourceListChangedNotification", By(told::changed)),
    ("ResourceUpdatedNotification", By(told::changed)),
    ("ResourceUpdatedNotificationParams", By(told::changed)),
    ("Root", By(asked::root)),
    ("SamplingMessage", By(asked::message)),
    ("ServerCapabilities", By(capabilities::of_servers)),
    ("StringSchema", By(asked::field)),
    (
        "SubscriptionsAcknowledgedNotification",
        By(told::acknowledged),
    ),
    ("SubscriptionsListenRequest", By(requests::listen)),
    ("SubscriptionsListenResult", By(told::closed)),
    ("SubscriptionsListenResultResponse", By(told::closed)),
    ("TextContent", By(results::content)),
    ("TextResourceContents", By(results::contents)),
    ("TitledMultiSelectEnumSchema", By(asked::field)),
    ("TitledSingleSelectEnumSchema", By(asked::field)),
    ("Tool", By(results::tool)),
    ("ToolListChangedNotification", By(told::changed)),
    ("ToolResultContent", By(asked::content)),
    ("ToolUseContent", By(asked::content)),
    ("UnsupportedProtocolVersionError", By(errors::error)),
    ("UntitledMultiSelectEnumSchema", By(asked::field)),
    ("UntitledSingleSelectEnumSchema", By(asked::field)),
];

/// The revision that the examples are of.
const REVISION: &str = "2026-07-28";

/// Examples of folders that are tested, and which are not.
const NOT_TESTED: [(&str, &str); 3] = [
    (
        "input-required-result-with-request-state-only.json",
        "the engine sends a client back with something to answer, or not at all",
    ),
    (
        "resources-list-changed-notifications-only.json",
        "a server with a handle tells of both",
    ),
    (
        "resources-subscription-to-individual-resource-updates-only.json",
        "a server with a handle tells of both",
    ),
];

#[test]
fn every_example_is_read_or_written() {
    let Some(folder) = specification() else {
        say_untested(
            "the specification's examples: TIGHTWIRE_SPEC names no folder with them, and \
             ../shared/spec is none",
        );
        return;
    };
    for revision in names(&folder) {
        let has_examples = folder.join(&revision).join("examples").is_dir();
        assert_eq!(has_examples, revision == REVISION, "{revision}");
    }
    let folder = folder.join(REVISION).join("examples");
    let listed: BTreeSet<String> = FOLDERS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&folder), listed, "each folder is listed, and there");
    let mut left = BTreeSet::from(NOT_TESTED.map(|(file, _)| file));
    for (name, covered) in FOLDERS {
        for example in examples(&folder, name) {
            match covered {
                By(_) if left.remove(example.file.as_str()) => {}
                By(check) => check(&example),
                No(reason) => assert!(!reason.is_empty()),
            }
        }
    }
    assert_eq!(left, BTreeSet::new(), "what is not tested is there");
}

fn examples(folder: &Path, name: &str) -> Vec<Example> {
    let files = names(&folder.join(name));
    assert!(!files.is_empty(), "{name} has examples");
    let read = |file: String| {
        let path = folder.join(name).join(&file);
        let text = fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        Example {
            folder: name.to_owned(),
            value: serde_json::from_slice(&text).expect("an example is JSON"),
            file,
        }
    };
    files.into_iter().map(read).collect()
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("names are UTF-8");
    entries.flatten().map(name).collect()
}

impl Example {
    /// Checks that what was written is the example, whatever the spelling of its numbers.
    #[track_caller]
    fn is(&self, written: &Value) {
        self.shows(&self.value, written);
    }

    /// Checks that what was written is a part of the example.
    #[track_caller]
    fn shows(&self, part: &Value, written: &Value) {
        let name = format!("{}/{}", self.folder, self.file);
        assert_eq!(plain(written), plain(part), "{name}");
    }
}

/// The same JSON with all its numbers as `f64`.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(list) => list.iter().map(plain).collect(),
        Value::Object(object) => {
            let member = |(key, value): (&String, &Value)| (key.clone(), plain(value));
            Value::Object(object.iter().map(member).collect())
        }
        other => other.clone(),
    }
}
