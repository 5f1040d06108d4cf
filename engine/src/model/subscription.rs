//! What clients listen to, and what they are told: the filter of a subscription, and notifications.
//!
//! Specification: 2026-07-28, `basic/patterns/subscriptions`; extension
//! `io.modelcontextprotocol/tasks`, Task Status Notifications.

use std::{collections::BTreeSet, sync::Arc};

use tightwire_codec::{JsonWriter, Object, Value};

use crate::{
    error::RpcError,
    model::task::TaskRecord,
    protocol::{
        meta::SUBSCRIPTION_ID,
        method::{
            PROMPTS_LIST_CHANGED, RESOURCES_LIST_CHANGED, SUBSCRIPTIONS_ACKNOWLEDGED, TASK_CHANGED,
            TOOLS_LIST_CHANGED,
        },
        params::{Params, only, optional_object},
        pending::IdBuf,
    },
};

/// Where a filter stands.
const PATH: &str = "params.notifications";
/// The member of a filter that names resources.
const RESOURCE_SUBSCRIPTIONS: &str = "resourceSubscriptions";
/// The member of a filter that names tasks, which the extension `io.modelcontextprotocol/tasks`
/// adds.
const TASK_IDS: &str = "taskIds";

/// A list that may change. The list of resource templates is one with that of resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Tools,
    Prompts,
    Resources,
}

impl List {
    pub(crate) const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    /// The notification that it changed.
    pub(crate) fn changed(self) -> &'static str {
        match self {
            Self::Tools => TOOLS_LIST_CHANGED,
            Self::Prompts => PROMPTS_LIST_CHANGED,
            Self::Resources => RESOURCES_LIST_CHANGED,
        }
    }

    /// The member of a subscription's filter that asks for it.
    pub(crate) fn filter(self) -> &'static str {
        match self {
            Self::Tools => "toolsListChanged",
            Self::Prompts => "promptsListChanged",
            Self::Resources => "resourcesListChanged",
        }
    }
}

/// A set of lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lists([bool; List::ALL.len()]);

impl Lists {
    pub(crate) fn insert(&mut self, list: List) {
        self.0[list as usize] = true;
    }

    pub(crate) fn insert_all(&mut self, lists: Self) {
        for list in lists.iter() {
            self.insert(list);
        }
    }

    pub(crate) fn contains(self, list: List) -> bool {
        self.0[list as usize]
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = List> {
        List::ALL
            .into_iter()
            .filter(move |list| self.contains(*list))
    }

    /// Takes one out.
    pub(crate) fn pop(&mut self) -> Option<List> {
        let list = self.iter().next()?;
        self.0[list as usize] = false;
        Some(list)
    }
}

/// What a client wants to be told.
#[derive(Debug, Default)]
pub(crate) struct Filter<'a> {
    pub(crate) lists: Lists,
    /// Each once.
    pub(crate) uris: BTreeSet<&'a str>,
    /// Each once, if the client spoke of tasks at all.
    pub(crate) tasks: Option<BTreeSet<&'a str>>,
}

impl<'a> Filter<'a> {
    /// Reads `params.notifications`. What is unknown in it is ignored.
    ///
    /// # Errors
    ///
    /// -32602 naming the member that is missing, there twice or of a wrong type.
    pub(crate) fn read(params: &Params<'a>) -> Result<Self, RpcError> {
        let Some(members) = optional_object(params.notifications, "notifications")? else {
            return Err(RpcError::invalid_params(
                "params.notifications is missing: an object that says what to listen to",
            ));
        };
        let mut filter = Self::default();
        for list in List::ALL {
            if let Some(value) = only(members, PATH, list.filter())? {
                let wanted = value
                    .as_bool()
                    .ok_or_else(|| ill_typed(list.filter(), "a boolean", value))?;
                if wanted {
                    filter.lists.insert(list);
                }
            }
        }
        let uris = strings(members, RESOURCE_SUBSCRIPTIONS, "the URI of a resource")?;
        filter.uris = uris.unwrap_or_default();
        filter.tasks = strings(members, TASK_IDS, "the id of a task")?;
        Ok(filter)
    }
}

/// The strings in the array of this name, each once.
fn strings<'a>(
    members: Object<'a>,
    name: &str,
    what: &str,
) -> Result<Option<BTreeSet<&'a str>>, RpcError> {
    let Some(value) = only(members, PATH, name)? else {
        return Ok(None);
    };
    let items = value
        .as_array()
        .ok_or_else(|| ill_typed(name, "an array of strings", value))?;
    let strings = items.iter().enumerate().map(|(index, item)| {
        item.as_str().ok_or_else(|| {
            let name = format!("{name}[{index}]");
            ill_typed(&name, &format!("a string, {what}"), item)
        })
    });
    strings.collect::<Result<_, _>>().map(Some)
}

fn ill_typed(name: &str, wanted: &str, value: Value<'_>) -> RpcError {
    RpcError::invalid_params(format!(
        "{PATH}.{name} must be {wanted}, not {}",
        value.kind().as_str()
    ))
}

/// Writes the first message of a subscription: what of its filter is honoured.
///
/// Specification: 2026-07-28, `basic/patterns/subscriptions`, Acknowledgment; extension
/// `io.modelcontextprotocol/tasks`, Task Status Notifications.
pub(crate) fn acknowledge(
    out: &mut Vec<u8>,
    id: &IdBuf,
    lists: Lists,
    uris: &BTreeSet<Arc<str>>,
    tasks: &BTreeSet<Arc<str>>,
) {
    let mut writer = JsonWriter::new(out);
    begin_notification(&mut writer, SUBSCRIPTIONS_ACKNOWLEDGED, Some(id));
    writer.raw(b",\"notifications\":{");
    let mut separator: &[u8] = b"";
    for list in lists.iter() {
        writer.raw(separator);
        writer.key(list.filter());
        writer.bool(true);
        separator = b",";
    }
    for (name, strings) in [(RESOURCE_SUBSCRIPTIONS, uris), (TASK_IDS, tasks)] {
        if strings.is_empty() {
            continue;
        }
        writer.raw(separator);
        writer.key(name);
        writer.raw(b"[");
        writer.items(strings.iter(), |writer, string| {
            writer.string(string);
        });
        writer.raw(b"]");
        separator = b",";
    }
    writer.raw(b"}}}\n");
}

/// Writes a notification, of a subscription or of the session.
pub(crate) fn notify(out: &mut Vec<u8>, method: &str, id: Option<&IdBuf>, uri: Option<&str>) {
    let mut writer = JsonWriter::new(out);
    begin_notification(&mut writer, method, id);
    if let Some(uri) = uri {
        writer.raw(if id.is_some() {
            b",\"uri\":"
        } else {
            b",\"params\":{\"uri\":"
        });
        writer.string(uri);
    }
    let has_params = id.is_some() || uri.is_some();
    writer.raw(if has_params { b"}}\n" } else { b"}\n" });
}

/// Writes the notification of a subscription that a task has changed, with what has become of it.
///
/// Specification: extension `io.modelcontextprotocol/tasks`, Task Status Notifications.
pub(crate) fn notify_of_task(out: &mut Vec<u8>, id: &IdBuf, task: &str, record: &TaskRecord) {
    let mut writer = JsonWriter::new(out);
    begin_notification(&mut writer, TASK_CHANGED, Some(id));
    writer.raw(b",");
    record.write_detailed(&mut writer, task);
    writer.raw(b"}}\n");
}

/// Writes the start of a notification: with the id of a subscription, up to the end of `_meta`.
pub(crate) fn begin_notification(writer: &mut JsonWriter<'_>, method: &str, id: Option<&IdBuf>) {
    writer.raw(b"{\"jsonrpc\":\"2.0\",\"method\":");
    writer.string(method);
    if let Some(id) = id {
        writer.raw(b",\"params\":{\"_meta\":{");
        writer.key(SUBSCRIPTION_ID);
        writer.id(&id.as_id());
        writer.raw(b"}");
    }
}
