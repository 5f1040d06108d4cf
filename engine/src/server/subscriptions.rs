//! Who listens to what, for both eras, and how changes are told.
//!
//! ```text
//!   2026-07-28   subscriptions/listen ─▶ acknowledged ─▶ its notifications … ─▶ cancelled by the
//!                                                          client, or, at the end: cancelled, result
//!   before       resources/subscribe ─▶ resources/updated …  ─▶ resources/unsubscribe
//!                notifications/initialized ─▶ */list_changed …
//! ```
//!
//! Changes are told in rounds: what is in the mailbox is taken at once, so that each list and each
//! resource is told once a round; the next round follows after `Limits::changes_ms_min`, and none
//! begins while the reader has much to take. Until then changes wait in the mailbox, where they
//! need no more room than the subscriptions do.
//!
//! Tasks are told of likewise, with what has become of them when it is told; and so are the
//! elicitations by URL that are complete, of the sessions that were asked for them.
//!
//! Specification: 2026-07-28, `basic/patterns/subscriptions`; before it, `server/resources`,
//! Subscriptions, and List Changed Notification of each list; extension
//! `io.modelcontextprotocol/tasks`, Task Status Notifications.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tightwire_codec::{Id, JsonWriter, Value};

use super::{
    changes::{Changes, News},
    connection::{Core, Now, ServerConnection},
    context::notification,
    dispatch::Serving,
    handler::guard,
    modern,
    registry::Registry,
    reply::begin_result,
    resource::not_found,
    seal::PRINCIPAL,
    ticket::lock,
};
use crate::{
    error::RpcError,
    limits::Limits,
    model::{
        subscription::{Filter, Lists, acknowledge, begin_notification, notify, notify_of_task},
        task::{TASKS_EXTENSION, TaskState},
    },
    protocol::{
        meta::{SUBSCRIPTION_ID, client_extension},
        method::{CANCELLED, ELICITATION_COMPLETE, RESOURCES_UPDATED},
        params::{Params, required_str},
        pending::IdBuf,
        version::ProtocolVersion,
    },
};

/// Changes are told while no more than so many bytes of output wait: what they say may be out of
/// date when a slow reader comes to it.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// How long until a reader that had much to take is looked at again.
const RETRY: Duration = Duration::from_millis(20);
/// What a URI or the id of a task takes besides its bytes.
const URI_BYTES: usize = 64;
/// A longer id does not keep the memory it was looked up with.
const ID_BYTES_KEPT: usize = 4096;

/// The subscriptions of one connection.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// Of the modern era, in the order they were opened in.
    open: Vec<Subscription>,
    session: SessionSubscriptions,
    round: Round,
    /// How many were opened.
    opened: u64,
    /// How many URIs and ids of tasks there are in all subscriptions.
    uris: usize,
    /// What all subscriptions take.
    bytes: usize,
    /// The bytes of the id that is looked up.
    wanted: Vec<u8>,
    ended: bool,
}

/// One stream of `subscriptions/listen`: what of its filter is honoured.
#[derive(Debug)]
struct Subscription {
    /// Of the request, and so of the subscription.
    id: IdBuf,
    /// Which of the connection's it is, counted from 1.
    serial: u64,
    lists: Lists,
    uris: BTreeSet<Arc<str>>,
    /// The ids of tasks.
    tasks: BTreeSet<Arc<str>>,
}

/// What a legacy session is told.
#[derive(Debug, Default)]
struct SessionSubscriptions {
    uris: BTreeSet<Arc<str>>,
    /// Lists that changed since `initialize` and are still to be told.
    lists: Lists,
    /// Whether the client said that it is initialized.
    initialized: bool,
}

/// What was taken out of the mailbox, and is still to be told.
#[derive(Debug, Default)]
struct Round {
    news: News,
    /// The last subscription that was told of the first of the tasks. What is told of a task may be
    /// long, so each has its turn.
    told: u64,
    /// Whether there is anything to do when the time has come.
    waiting: bool,
    /// When the next step may be made, on the monotonic clock.
    due: Duration,
}

impl Subscriptions {
    /// Whether a request with this id is an open subscription.
    #[inline]
    pub(super) fn contains(&mut self, id: &Id<'_>) -> bool {
        !self.open.is_empty() && self.place(id).is_some()
    }

    /// How many bytes are kept.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether no more input comes, and so nothing is told any more that nobody asked for.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// When changes are to be told.
    #[inline]
    pub(super) fn due(&self) -> Option<Duration> {
        self.round.waiting.then_some(self.round.due)
    }

    /// The client of the session takes notifications from now on.
    pub(super) fn open_session(&mut self) {
        self.session.initialized = true;
        self.round.waiting |= !self.session.lists.is_empty();
    }

    fn place(&mut self, id: &Id<'_>) -> Option<usize> {
        self.wanted.clear();
        self.wanted.shrink_to(ID_BYTES_KEPT);
        JsonWriter::new(&mut self.wanted).id(id);
        let wanted = &self.wanted[..];
        self.open
            .iter()
            .position(|open| open.id.as_bytes() == wanted)
    }

    /// Checks that there is room for more URIs, and for what else a subscription keeps.
    fn check_room(
        &self,
        limits: &Limits,
        held: usize,
        uris: usize,
        bytes: usize,
    ) -> Result<(), RpcError> {
        let max = limits.subscribed_uris_max;
        if uris > max.saturating_sub(self.uris) {
            return Err(RpcError::internal(format!(
                "Too many resources and tasks are subscribed to: {} are, {uris} more were asked \
                 for, and {max} may be",
                self.uris
            )));
        }
        if bytes > limits.held_bytes_max.saturating_sub(held) {
            return Err(RpcError::internal(format!(
                "The requests in flight and the subscriptions hold {held} bytes; {bytes} more are \
                 too many"
            )));
        }
        Ok(())
    }

    fn open(&mut self, subscription: Subscription) {
        self.uris += subscription.watched();
        self.bytes += subscription.bytes();
        self.open.push(subscription);
    }

    fn close(&mut self, place: usize, changes: &mut Changes) {
        let subscription = self.open.remove(place);
        self.uris -= subscription.watched();
        self.bytes -= subscription.bytes();
        for uri in &subscription.uris {
            changes.resources.unwatch(uri);
        }
        for task in &subscription.tasks {
            changes.tasks.unwatch(task);
        }
    }
}

impl Subscription {
    fn bytes(&self) -> usize {
        let watched = self.uris.iter().chain(&self.tasks).map(|name| &**name);
        self.id.as_bytes().len() + bytes(watched)
    }

    fn watched(&self) -> usize {
        self.uris.len() + self.tasks.len()
    }

    fn has_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }
}

impl SessionSubscriptions {
    fn may_be_told(&self) -> bool {
        self.initialized && !self.lists.is_empty()
    }
}

impl ServerConnection {
    /// Ends every subscription, since no more input comes or the server stops: tells what changed
    /// last, then, for each, that it is cancelled, and its result. Nothing is told after it. What is
    /// in flight goes on. To be called when the last line is served; a second time it does nothing.
    ///
    /// Specification: 2026-07-28, `basic/patterns/subscriptions`, Graceful Closure.
    pub fn handle_end(&mut self, out: &mut Vec<u8>) {
        if !self.core.subscriptions.ended {
            self.core.end_subscriptions(out);
        }
    }

    /// Whether a [`Handle`](crate::Handle), or a task that the client is subscribed to or that is its
    /// session's, may call what [`ServerConnection::set_waker`] was given, even while nothing is in
    /// flight.
    #[must_use]
    pub fn may_change(&self) -> bool {
        let subscriptions = &self.core.subscriptions;
        let is_told = self.core.hub.is_some()
            || self.core.session_tasks.may_change()
            || subscriptions.open.iter().any(Subscription::has_tasks);
        is_told && !subscriptions.ended
    }
}

impl Core {
    /// Specification: 2026-07-28, `basic/patterns/subscriptions`, Opening a Stream.
    #[cold]
    pub(super) fn listen(
        &mut self,
        params: &Params<'_>,
        serving: &Serving<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RpcError> {
        let mut filter = Filter::read(params)?;
        let tasks = self.agreed_tasks(filter.tasks.take(), params, serving.now)?;
        if !self.registry.features.changes {
            filter = Filter::default();
        }
        let limits = &self.registry.limits;
        if self.subscriptions.ended {
            return Err(RpcError::internal("The connection is ending"));
        }
        if self.subscriptions.open.len() >= limits.subscriptions_max {
            return Err(RpcError::internal(format!(
                "Too many subscriptions: {} are open",
                self.subscriptions.open.len()
            )));
        }
        let id = IdBuf::new(&serving.id);
        let watched = filter.uris.iter().chain(&tasks).copied();
        self.subscriptions.check_room(
            limits,
            self.held_bytes(),
            filter.uris.len() + tasks.len(),
            id.as_bytes().len() + bytes(watched),
        )?;
        let subscription = {
            let mut changes = lock(self.completions.changes());
            Subscription {
                id,
                serial: self.subscriptions.opened + 1,
                lists: filter.lists,
                uris: (filter.uris.iter().map(|uri| changes.resources.watch(uri))).collect(),
                tasks: (tasks.iter().map(|task| changes.tasks.watch(task))).collect(),
            }
        };
        let Subscription {
            id,
            lists,
            uris,
            tasks,
            ..
        } = &subscription;
        acknowledge(out, id, *lists, uris, tasks);
        self.tell_soon(tasks);
        self.subscriptions.opened += 1;
        self.subscriptions.open(subscription);
        Ok(())
    }

    /// Those of the tasks that the client asks about which it is told of: those that there are.
    ///
    /// Specification: extension `io.modelcontextprotocol/tasks`, Task Status Notifications.
    ///
    /// # Errors
    ///
    /// -32021 if it asks about tasks and does not know them.
    fn agreed_tasks<'a>(
        &mut self,
        wanted: Option<BTreeSet<&'a str>>,
        params: &Params<'_>,
        now: Now,
    ) -> Result<BTreeSet<&'a str>, RpcError> {
        // A server without the extension has no such member in its filters, and so ignores it.
        let (Some(mut wanted), Some(tasks)) = (wanted, self.registry.tasks.clone()) else {
            return Ok(BTreeSet::new());
        };
        let meta = params.meta.and_then(Value::as_object);
        if client_extension(meta, TASKS_EXTENSION).is_none() {
            return Err(RpcError::missing_extension(TASKS_EXTENSION));
        }
        self.advance_tasks(now);
        wanted.retain(|id| tasks.load(id, PRINCIPAL).is_ok());
        Ok(wanted)
    }

    /// Has the client told of tasks that are not at work any more: since it learnt of them they
    /// may have changed for the last time.
    fn tell_soon(&mut self, ids: &BTreeSet<Arc<str>>) {
        let Some(tasks) = &self.registry.tasks else {
            return;
        };
        for id in ids {
            let record = tasks.load(id, PRINCIPAL);
            if record.is_ok_and(|record| record.state != TaskState::Working) {
                lock(self.completions.changes()).tasks.update(id);
                self.subscriptions.round.waiting = true;
            }
        }
    }

    /// Ends a subscription that its client cancelled. Whether there was one.
    pub(super) fn cancel_subscription(&mut self, id: &Id<'_>) -> bool {
        let Some(place) = self.subscriptions.place(id) else {
            return false;
        };
        let mut changes = lock(self.completions.changes());
        self.subscriptions.close(place, &mut changes);
        true
    }

    /// Specification: 2025-11-25 and before, `server/resources`, Subscriptions; the error for what
    /// does not exist, Error Handling.
    #[cold]
    pub(super) fn subscribe(
        &mut self,
        params: &Params<'_>,
        version: ProtocolVersion,
    ) -> Result<(), RpcError> {
        let uri = required_str(params.uri, "uri")?;
        if !exists(&self.registry, uri) {
            return Err(not_found(version, uri));
        }
        if self.subscriptions.session.uris.contains(uri) {
            return Ok(());
        }
        let bytes = uri.len() + URI_BYTES;
        let limits = &self.registry.limits;
        self.subscriptions
            .check_room(limits, self.held_bytes(), 1, bytes)?;
        let uri = lock(self.completions.changes()).resources.watch(uri);
        self.subscriptions.session.uris.insert(uri);
        self.subscriptions.uris += 1;
        self.subscriptions.bytes += bytes;
        Ok(())
    }

    /// Takes a subscription back. Where there is none, that is so already.
    #[cold]
    pub(super) fn unsubscribe(&mut self, params: &Params<'_>) -> Result<(), RpcError> {
        let uri = required_str(params.uri, "uri")?;
        if self.subscriptions.session.uris.remove(uri) {
            lock(self.completions.changes()).resources.unwatch(uri);
            self.subscriptions.uris -= 1;
            self.subscriptions.bytes -= uri.len() + URI_BYTES;
        }
        Ok(())
    }

    /// Serves what is newest from now on.
    #[cold]
    pub(super) fn renew(&mut self) {
        let (registry, has_news) = {
            let mut changes = lock(self.completions.changes());
            (changes.take_registry(), changes.has_news())
        };
        self.subscriptions.round.waiting |= has_news;
        if let Some(registry) = registry {
            let old = std::mem::replace(&mut self.registry, registry);
            // What ran has its place in the old one.
            self.ran = None;
            // A handler that was removed may be dropped here. A panic in that is its own.
            let _ = guard(|| drop(old));
        }
    }

    /// Tells what changed, if it is time and the reader has taken nearly all of what was before.
    #[inline]
    pub(super) fn tell_changes(&mut self, now: Now, out: &mut Vec<u8>) {
        let due = self.subscriptions.due();
        if due.is_some_and(|due| due <= now.monotonic) {
            self.tell_round(now.monotonic, out);
        }
    }

    #[cold]
    fn tell_round(&mut self, now: Duration, out: &mut Vec<u8>) {
        if self.subscriptions.round.news.is_empty() {
            self.take_changes();
        }
        while out.len() <= OUTPUT_BYTES_MAX {
            if !self.tell_next(out) {
                let pause = Duration::from_millis(self.registry.limits.changes_ms_min);
                let round = &mut self.subscriptions.round;
                round.due = now.saturating_add(pause);
                round.waiting = lock(self.completions.changes()).has_news();
                return;
            }
        }
        self.subscriptions.round.due = now.saturating_add(RETRY);
    }

    fn take_changes(&mut self) {
        let news = lock(self.completions.changes()).take();
        if self.session.version().is_some() {
            self.subscriptions.session.lists.insert_all(news.lists);
        }
        self.subscriptions.round.news = news;
    }

    /// Tells one thing that changed to all that listen to it. Whether there was one.
    fn tell_next(&mut self, out: &mut Vec<u8>) -> bool {
        let Subscriptions {
            open,
            session,
            round,
            ..
        } = &mut self.subscriptions;
        if session.may_be_told()
            && let Some(list) = session.lists.pop()
        {
            notify(out, list.changed(), None, None);
        } else if let Some(list) = round.news.lists.pop() {
            for subscription in open.iter().filter(|open| open.lists.contains(list)) {
                notify(out, list.changed(), Some(&subscription.id), None);
            }
        } else if let Some(uri) = round.news.uris.pop_first() {
            if session.uris.contains(&uri) {
                notify(out, RESOURCES_UPDATED, None, Some(&uri));
            }
            for subscription in open.iter().filter(|open| open.uris.contains(&uri)) {
                notify(out, RESOURCES_UPDATED, Some(&subscription.id), Some(&uri));
            }
        } else if let Some(id) = round.news.elicitations.pop_first() {
            out.extend_from_slice(&notification(ELICITATION_COMPLETE, |writer| {
                writer.raw(b"\"elicitationId\":");
                writer.string(&id);
            }));
        } else {
            return self.tell_next_of_task(out);
        }
        true
    }

    /// Tells one subscription of one task that changed. Whether there was one.
    ///
    /// Specification: extension `io.modelcontextprotocol/tasks`, Task Status Notifications.
    fn tell_next_of_task(&mut self, out: &mut Vec<u8>) -> bool {
        let Subscriptions { open, round, .. } = &mut self.subscriptions;
        let Some(id) = round.news.tasks.first() else {
            return false;
        };
        let mut left = open.iter().filter(|open| open.serial > round.told);
        let next = left.find(|open| open.tasks.contains(id));
        let tasks = self.registry.tasks.as_ref();
        // One that has expired is not told of any more.
        let record = tasks.and_then(|tasks| tasks.load(id, PRINCIPAL).ok());
        if let (Some(next), Some(record)) = (next, record) {
            notify_of_task(out, &next.id, id, &record);
            round.told = next.serial;
        } else {
            round.news.tasks.pop_first();
            round.told = 0;
        }
        true
    }

    /// Tells what is left to tell, and closes every subscription.
    ///
    /// Specification: 2026-07-28, `basic/patterns/subscriptions`, Graceful Closure, and
    /// `basic/patterns/cancellation`: a server sends `notifications/cancelled` for a subscription
    /// that it ends.
    #[cold]
    fn end_subscriptions(&mut self, out: &mut Vec<u8>) {
        self.renew();
        for rest in [false, true] {
            if rest {
                self.take_changes();
            }
            while out.len() <= OUTPUT_BYTES_MAX && self.tell_next(out) {}
        }
        lock(self.completions.changes()).close();
        let subscriptions = std::mem::take(&mut self.subscriptions);
        self.subscriptions.ended = true;
        for Subscription { id, .. } in subscriptions.open {
            let mut writer = JsonWriter::new(out);
            begin_notification(&mut writer, CANCELLED, Some(&id));
            writer.raw(b",\"requestId\":");
            writer.id(&id.as_id());
            writer.raw(b",\"reason\":\"The connection ends\"}}\n");
            begin_result(&mut writer, &id.as_id());
            writer.raw(b"{\"resultType\":\"complete\",\"_meta\":{");
            writer.key(SUBSCRIPTION_ID);
            writer.id(&id.as_id());
            writer.raw(b",");
            writer.raw(modern::result_meta(&self.registry.modern_end));
        }
    }
}

/// What these URIs and ids take.
fn bytes<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(|name| name.len() + URI_BYTES).sum()
}

/// Whether there is a resource of this URI, or a template that it is of.
fn exists(registry: &Registry, uri: &str) -> bool {
    let templates = &registry.templates;
    registry.resources.find(uri).is_some()
        || templates
            .iter()
            .any(|template| template.template.matches(uri).is_some())
}
