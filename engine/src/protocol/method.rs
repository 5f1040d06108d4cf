//! The methods of the protocol, and who may send which in which era.
//!
//! Method names stand here alone. The table is a perfect hash that the compiler builds: a name is
//! found, or not, with one comparison.

use super::{hash::ConstMap, version::Era};

/// A request that a client may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Discover,
    Initialize,
    Ping,
    ToolsList,
    ToolsCall,
    ResourcesList,
    ResourceTemplatesList,
    ResourcesRead,
    PromptsList,
    PromptsGet,
    ResourcesSubscribe,
    ResourcesUnsubscribe,
    LoggingSetLevel,
    SubscriptionsListen,
    Complete,
    TasksGet,
    TasksUpdate,
    TasksCancel,
    TasksResult,
    TasksList,
    /// One of the server's own, by its place in the server's table.
    Own(usize),
}

/// A notification that a client may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientNotification {
    Initialized,
    Cancelled,
    Progress,
    RootsListChanged,
}

/// The method whose mere name makes a request a modern one.
pub(crate) const DISCOVER: &str = "server/discover";
/// Notifications that a server sends.
pub(crate) const PROGRESS: &str = "notifications/progress";
pub(crate) const LOG_MESSAGE: &str = "notifications/message";
pub(crate) const CANCELLED: &str = "notifications/cancelled";
pub(crate) const INITIALIZED: &str = "notifications/initialized";
pub(crate) const SUBSCRIPTIONS_ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
pub(crate) const TOOLS_LIST_CHANGED: &str = "notifications/tools/list_changed";
pub(crate) const PROMPTS_LIST_CHANGED: &str = "notifications/prompts/list_changed";
pub(crate) const RESOURCES_LIST_CHANGED: &str = "notifications/resources/list_changed";
pub(crate) const RESOURCES_UPDATED: &str = "notifications/resources/updated";
/// In 2025-11-25 alone.
pub(crate) const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
pub(crate) const TASK_CHANGED: &str = "notifications/tasks";
pub(crate) const TASK_STATUS: &str = "notifications/tasks/status";
/// Requests that a server makes: within a result in the modern era, by themselves in the legacy
/// one.
pub(crate) const ELICIT: &str = "elicitation/create";
pub(crate) const CREATE_MESSAGE: &str = "sampling/createMessage";
pub(crate) const LIST_ROOTS: &str = "roots/list";
/// The method that opens a legacy session.
pub(crate) const INITIALIZE: &str = "initialize";

impl Method {
    const TABLE: ConstMap<Self, 20> = ConstMap::build([
        (DISCOVER, Self::Discover),
        (INITIALIZE, Self::Initialize),
        ("ping", Self::Ping),
        ("tools/list", Self::ToolsList),
        ("tools/call", Self::ToolsCall),
        ("resources/list", Self::ResourcesList),
        ("resources/templates/list", Self::ResourceTemplatesList),
        ("resources/read", Self::ResourcesRead),
        ("prompts/list", Self::PromptsList),
        ("prompts/get", Self::PromptsGet),
        ("resources/subscribe", Self::ResourcesSubscribe),
        ("resources/unsubscribe", Self::ResourcesUnsubscribe),
        ("logging/setLevel", Self::LoggingSetLevel),
        ("subscriptions/listen", Self::SubscriptionsListen),
        ("completion/complete", Self::Complete),
        ("tasks/get", Self::TasksGet),
        ("tasks/update", Self::TasksUpdate),
        ("tasks/cancel", Self::TasksCancel),
        ("tasks/result", Self::TasksResult),
        ("tasks/list", Self::TasksList),
    ]);

    /// The method of this name, if it exists in this era.
    #[inline]
    pub(crate) fn find(name: &str, era: Era) -> Option<Self> {
        let method = Self::TABLE.find(name)?;
        method.exists_in(era).then_some(method)
    }

    /// The same name, if a method of the protocol has it.
    pub(crate) fn name(name: &str) -> Option<&'static str> {
        Self::TABLE.find(name).map(Self::as_str)
    }

    /// The name of the method.
    pub(crate) fn as_str(self) -> &'static str {
        let entries = Self::TABLE.entries.iter();
        let mut found = entries.filter(|(_, method)| *method == self);
        found.next().map_or("", |(name, _)| name)
    }

    /// Whether the method is about tasks, which 2025-11-25 alone has of the legacy era, or is the
    /// server's own.
    #[inline]
    pub(crate) fn is_extension(self) -> bool {
        matches!(
            self,
            Self::TasksGet
                | Self::TasksUpdate
                | Self::TasksCancel
                | Self::TasksResult
                | Self::TasksList
                | Self::Own(_)
        )
    }

    /// The parameter that names what the method is about.
    pub(crate) fn name_key(self) -> &'static str {
        match self {
            Self::ResourcesRead => "uri",
            Self::TasksGet | Self::TasksUpdate | Self::TasksCancel | Self::TasksResult => "taskId",
            _ => "name",
        }
    }

    /// Whether a name is the protocol's, an extension's of its own, or JSON-RPC's: one that exists,
    /// or one beside those that do.
    pub(crate) fn is_reserved(name: &str) -> bool {
        const GROUPS: [&str; 15] = [
            "completion",
            "elicitation",
            "initialize",
            "logging",
            "notifications",
            "ping",
            "prompts",
            "resources",
            "roots",
            "sampling",
            "server",
            "subscriptions",
            "tasks",
            "tools",
            "rpc",
        ];
        let group = name.split(['/', '.']).next();
        group.is_some_and(|group| GROUPS.contains(&group))
    }

    fn exists_in(self, era: Era) -> bool {
        match self {
            Self::Discover | Self::SubscriptionsListen | Self::TasksUpdate => era == Era::Modern,
            Self::Initialize
            | Self::Ping
            | Self::TasksResult
            | Self::TasksList
            | Self::ResourcesSubscribe
            | Self::ResourcesUnsubscribe
            | Self::LoggingSetLevel => era == Era::Legacy,
            Self::ToolsList
            | Self::ToolsCall
            | Self::ResourcesList
            | Self::ResourceTemplatesList
            | Self::ResourcesRead
            | Self::PromptsList
            | Self::PromptsGet
            | Self::Complete
            | Self::TasksGet
            | Self::TasksCancel
            | Self::Own(_) => true,
        }
    }
}

impl ClientNotification {
    const TABLE: ConstMap<Self, 4> = ConstMap::build([
        (INITIALIZED, Self::Initialized),
        (CANCELLED, Self::Cancelled),
        ("notifications/progress", Self::Progress),
        ("notifications/roots/list_changed", Self::RootsListChanged),
    ]);

    /// The notification of this name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::TABLE.find(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_in_its_eras_alone() {
        for (name, method) in Method::TABLE.entries {
            assert!(Method::is_reserved(name), "{name}");
            let eras = [Era::Modern, Era::Legacy];
            let found = eras.map(|era| Method::find(name, era).is_some());
            match method {
                Method::Discover | Method::SubscriptionsListen | Method::TasksUpdate => {
                    assert_eq!(found, [true, false], "{name}");
                }
                Method::Initialize
                | Method::Ping
                | Method::TasksResult
                | Method::TasksList
                | Method::ResourcesSubscribe
                | Method::ResourcesUnsubscribe
                | Method::LoggingSetLevel => assert_eq!(found, [false, true], "{name}"),
                _ => assert_eq!(found, [true, true], "{name}"),
            }
        }
        for name in [
            "",
            "Ping",
            "tools/List",
            "tools/call ",
            "notifications/cancelled",
        ] {
            assert_eq!(Method::find(name, Era::Modern), None);
            assert_eq!(Method::find(name, Era::Legacy), None);
        }
        assert_eq!(
            ClientNotification::find("notifications/cancelled"),
            Some(ClientNotification::Cancelled)
        );
        assert_eq!(ClientNotification::find("tools/call"), None);
    }
}
