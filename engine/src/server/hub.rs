//! [`Handle`]: tools, resources and prompts come and go while the server serves.
//!
//! ```text
//!                 change one at a time            by mailbox, and a wake-up
//!   Handle ─▶ Hub: parts ── freeze ──▶ Registry ───────────────────────────▶ each connection
//!   any thread                         new, whole                            swaps it in
//! ```
//!
//! A change makes a new frozen registry on the thread that asks for it, and fails there if it has
//! to; the loop only swaps one pointer for another. Calls in flight keep the registry they began
//! with.

use std::{
    cell::Cell,
    fmt,
    sync::{Arc, Mutex, Weak},
};

use super::{
    connection::ServerConnection,
    into_tool::{AnyResource, IntoPrompt, IntoResource, IntoTool},
    registry::{Parts, Registry},
    resource::ResourceTemplate,
    ticket::{Completions, lock},
};
use crate::{
    error::{Error, Result},
    model::subscription::List,
};

/// Changes what a server serves, while it serves it, from any thread or handler: see
/// [`Server::handle`](crate::Server::handle).
///
/// Every change reaches every connection, and clients that listen are told: in 2026-07-28 those with
/// a subscription (`basic/patterns/subscriptions`), before it all of them. Changes that come faster
/// than [`Limits::changes_ms_min`](crate::Limits::changes_ms_min) are told together.
///
/// A handle does not keep the server alive, so a handler may have one.
///
/// ```
/// use tightwire::{Call, Reply, Server, Tool};
///
/// # fn main() -> tightwire::Result<()> {
/// let mut server = Server::new("growing", "1.0.0");
/// let handle = server.handle();
/// let learn = Tool::new("learn", move |_: Call<'_>, reply: Reply<'_>| {
///     let hello = Tool::new("hello", |_: Call<'_>, reply: Reply<'_>| reply.text("Hello!"));
///     match handle.add_tool(hello) {
///         Ok(()) => reply.text("learnt"),
///         Err(error) => reply.error(error),
///     }
/// });
/// let server = server.tool(learn).freeze()?;
/// # drop(server);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Handle {
    hub: Weak<Hub>,
}

impl Handle {
    /// Adds a tool: a [`Tool`](crate::Tool), or a function with `#[tool]`.
    ///
    /// # Errors
    ///
    /// [`Error::NotServing`] before the server is frozen and after it is gone;
    /// [`Error::Compiling`] from within a compiler of schemas; otherwise as
    /// [`Server::freeze`](crate::Server::freeze). After an error nothing has changed.
    pub fn add_tool(&self, tool: impl IntoTool) -> Result<()> {
        let tool = tool.into_tool();
        self.add(List::Tools, tool, |parts| &mut parts.tools)
    }

    /// Removes the tool of this name. Whether there was one.
    ///
    /// # Errors
    ///
    /// [`Error::NotServing`] or [`Error::Compiling`], as [`Handle::add_tool`].
    pub fn remove_tool(&self, name: &str) -> Result<bool> {
        self.remove(List::Tools, |parts| {
            take_out(&mut parts.tools, |tool| tool.definition.name == name)
        })
    }

    /// Adds a resource, or a template after those that are there: a [`Resource`](crate::Resource),
    /// a [`ResourceTemplate`], or a function with `#[resource]`.
    ///
    /// # Errors
    ///
    /// As [`Handle::add_tool`].
    pub fn add_resource(&self, resource: impl IntoResource) -> Result<()> {
        match resource.into_resource() {
            AnyResource::Resource(resource) => {
                self.add(List::Resources, resource, |parts| &mut parts.resources)
            }
            AnyResource::Template(template) => self.add_resource_template(template),
        }
    }

    /// Removes the resource of this URI. Whether there was one. Subscriptions to it stay.
    ///
    /// # Errors
    ///
    /// [`Error::NotServing`] or [`Error::Compiling`], as [`Handle::add_tool`].
    pub fn remove_resource(&self, uri: &str) -> Result<bool> {
        self.remove(List::Resources, |parts| {
            take_out(&mut parts.resources, |resource| {
                resource.definition.uri == uri
            })
        })
    }

    /// Adds a resource template, after those that are there, as [`Handle::add_resource`] does, which
    /// takes templates too. This one takes nothing else.
    ///
    /// # Errors
    ///
    /// As [`Handle::add_tool`].
    pub fn add_resource_template(&self, template: ResourceTemplate) -> Result<()> {
        self.add(List::Resources, template, |parts| &mut parts.templates)
    }

    /// Removes the resource template that is written like this. Whether there was one.
    ///
    /// # Errors
    ///
    /// [`Error::NotServing`] or [`Error::Compiling`], as [`Handle::add_tool`].
    pub fn remove_resource_template(&self, uri_template: &str) -> Result<bool> {
        self.remove(List::Resources, |parts| {
            take_out(&mut parts.templates, |template| {
                template.definition.uri == uri_template
            })
        })
    }

    /// Adds a prompt: a [`Prompt`](crate::Prompt), or a function with `#[prompt]`.
    ///
    /// # Errors
    ///
    /// As [`Handle::add_tool`].
    pub fn add_prompt(&self, prompt: impl IntoPrompt) -> Result<()> {
        let prompt = prompt.into_prompt();
        self.add(List::Prompts, prompt, |parts| &mut parts.prompts)
    }

    /// Removes the prompt of this name. Whether there was one.
    ///
    /// # Errors
    ///
    /// [`Error::NotServing`] or [`Error::Compiling`], as [`Handle::add_tool`].
    pub fn remove_prompt(&self, name: &str) -> Result<bool> {
        self.remove(List::Prompts, |parts| {
            take_out(&mut parts.prompts, |prompt| prompt.definition.name == name)
        })
    }

    /// Tells the clients that are subscribed to exactly this URI that the resource has changed.
    /// Where nobody is, or nothing is served, it does nothing.
    pub fn resource_updated(&self, uri: &str) {
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        for connection in hub.connections() {
            if lock(connection.changes()).update_resource(uri) {
                connection.notify();
            }
        }
    }

    /// Tells the client of each session of 2025-11-25 that was sent an elicitation by URL of this id
    /// that what its user does there is done: see [`UrlElicitation::id`](crate::UrlElicitation::id).
    /// It is told once. Where nobody was asked, as in all other revisions, or nothing is served, it
    /// does nothing.
    ///
    /// Specification: 2025-11-25, `client/elicitation`, Completion Notifications for URL Mode
    /// Elicitation.
    pub fn elicitation_complete(&self, id: &str) {
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        for connection in hub.connections() {
            connection.complete_elicitation(id);
        }
    }

    fn add<T: Clone>(
        &self,
        list: List,
        item: T,
        place: impl Fn(&mut Parts) -> &mut Vec<T>,
    ) -> Result<()> {
        let changed = self.change(list, move |parts| {
            place(parts).push(item.clone());
            Some(())
        });
        changed.map(|_| ())
    }

    fn remove<T>(&self, list: List, remove: impl Fn(&mut Parts) -> Option<T>) -> Result<bool> {
        self.change(list, remove).map(|removed| removed.is_some())
    }

    /// Makes a change, unless `edit` finds that there is nothing to change.
    ///
    /// What users wrote, a compiler of schemas, the drop of their handlers and the waker, runs when
    /// nothing is locked: it may use a handle itself. So another change may come in between: then
    /// this one is made once more, of what is newest.
    fn change<T>(&self, list: List, edit: impl Fn(&mut Parts) -> Option<T>) -> Result<Option<T>> {
        if COMPILING.get() {
            return Err(Error::Compiling);
        }
        let hub = self.hub.upgrade().ok_or(Error::NotServing)?;
        loop {
            let (number, mut parts) = {
                let serving = lock(&hub.serving);
                let current = serving.as_ref().ok_or(Error::NotServing)?;
                (current.number, current.parts.clone())
            };
            let Some(edited) = edit(&mut parts) else {
                return Ok(None);
            };
            let registry = Arc::new(freeze(parts.clone())?);
            let mut serving = lock(&hub.serving);
            let current = serving.as_mut().ok_or(Error::NotServing)?;
            if current.number != number {
                drop(serving);
                continue;
            }
            let connections = hub.connections().into_iter();
            let (told, _ended): (Vec<_>, Vec<_>) = connections
                .partition(|connection| lock(connection.changes()).publish(&registry, list));
            let number = number + 1;
            let new = Serving {
                number,
                parts,
                registry,
            };
            let old = std::mem::replace(current, new);
            drop(serving);
            drop(old);
            for connection in told {
                connection.notify();
            }
            return Ok(Some(edited));
        }
    }
}

thread_local! {
    /// Whether this thread compiles schemas for a change: one more from within would have all
    /// compiled again, and so never end.
    static COMPILING: Cell<bool> = const { Cell::new(false) };
}

/// Freezes the parts of a change.
fn freeze(parts: Parts) -> Result<Registry> {
    struct Compiling;
    impl Drop for Compiling {
        fn drop(&mut self) {
            COMPILING.set(false);
        }
    }
    COMPILING.set(true);
    // Also when a compiler panics.
    let _compiling = Compiling;
    Registry::freeze(parts)
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

/// What handles, frozen servers and connections share. The one lock is taken before the other.
#[derive(Default)]
pub(crate) struct Hub {
    /// What is served, once the server is frozen.
    serving: Mutex<Option<Serving>>,
    connections: Mutex<Connections>,
}

struct Serving {
    /// How many changes came before.
    number: u64,
    parts: Parts,
    registry: Arc<Registry>,
}

/// The mailboxes of the connections. Those whose connection is gone are swept out when their number
/// has doubled.
#[derive(Default)]
struct Connections {
    mailboxes: Vec<Weak<Completions>>,
    sweep_at: usize,
}

impl Hub {
    pub(crate) fn handle(self: &Arc<Self>) -> Handle {
        Handle {
            hub: Arc::downgrade(self),
        }
    }

    /// Begins to serve what was frozen.
    pub(crate) fn serve(&self, parts: Parts, registry: Arc<Registry>) {
        *lock(&self.serving) = Some(Serving {
            number: 0,
            parts,
            registry,
        });
    }

    /// A connection to what is served now, which learns of every change after it.
    pub(crate) fn connect(self: &Arc<Self>, frozen: &Arc<Registry>) -> ServerConnection {
        let serving = lock(&self.serving);
        let registry = serving.as_ref().map_or(frozen, |serving| &serving.registry);
        let connection = ServerConnection::new(Arc::clone(registry), Some(Arc::clone(self)));
        let mut connections = lock(&self.connections);
        if connections.mailboxes.len() >= connections.sweep_at {
            connections
                .mailboxes
                .retain(|mailbox| mailbox.strong_count() > 0);
            connections.sweep_at = connections.mailboxes.len() * 2 + 8;
        }
        let mailbox = Arc::downgrade(&connection.core.completions);
        connections.mailboxes.push(mailbox);
        connection
    }

    /// The mailboxes of the connections that there are.
    fn connections(&self) -> Vec<Arc<Completions>> {
        let connections = lock(&self.connections);
        let mailboxes = connections.mailboxes.iter();
        mailboxes.filter_map(Weak::upgrade).collect()
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

/// Takes out the first item that is meant.
fn take_out<T>(items: &mut Vec<T>, is_meant: impl Fn(&T) -> bool) -> Option<T> {
    let place = items.iter().position(is_meant)?;
    Some(items.remove(place))
}
