//! [`Limits`]: the bounds that one may set, in one place.

use std::time::Duration;

/// The bounds of a server that one may set, each with its default and its reason. Reaching one costs
/// the sender, never the process. What no server needs otherwise is a constant where it holds, such
/// as the longest URI that a template is matched with.
///
/// More bounds may be added: take the ones you do not set from [`Limits::default`].
///
/// ```
/// use tightwire::{Limits, Server};
///
/// let limits = Limits { in_flight_max: 64, ..Limits::default() };
/// let server = Server::new("small", "1.0.0").limits(limits);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes in a line, its newline not counted. A longer line is skipped and answered with
    /// -32600 without an id. Default 64 MiB: attachments in base64 fit, a runaway writer does
    /// not.
    pub line_bytes_max: usize,
    /// Values and keys in a line, counted on lines over 1 MiB. More is -32600. Default 1,048,576:
    /// each takes 24 bytes while its line is served.
    pub values_max: usize,
    /// How deep objects and arrays may be nested. Deeper is a parse error. Default 128: far above
    /// real messages, far below what would exhaust a stack.
    pub nesting_max: usize,
    /// How many of a connection's lines are remembered: one that differs from such a line in nothing
    /// but numbers and strings need not be parsed. 0 switches it off. Default 4: the calls that a
    /// client repeats; to compare with more takes as long as parsing.
    pub lines_remembered_max: usize,
    /// Requests whose answer is still to come. The next one that would run a handler is answered
    /// with -32603; reading goes on, so that cancellations arrive. Default 1,024.
    pub in_flight_max: usize,
    /// Bytes kept for requests in flight: long ids, the arguments of blocking calls, the answers of
    /// batches that are not complete, what is subscribed to. The next call that would be kept is
    /// answered with -32603. Default 64 MiB, one longest request.
    pub held_bytes_max: usize,
    /// Streams of `subscriptions/listen` that are open on a connection. The next one is answered
    /// with -32603. Default 64: a client needs one, or one for each of its views.
    pub subscriptions_max: usize,
    /// Resources and tasks that a connection is subscribed to, counted once for each subscription.
    /// What would exceed it is answered with -32603. Default 4,096: more than a person has open, and
    /// so few that all of them may change at once. Their bytes count as held, too.
    pub subscribed_uris_max: usize,
    /// Elicitations by URL of a session of 2025-11-25 that are remembered, so that the client can be
    /// told that they are complete. For one more the oldest is forgotten, and is not told of. Default
    /// 256: far more than a user has open.
    pub elicitations_max: usize,
    /// How long after one round of change notifications the next may follow, in milliseconds. What
    /// changes meanwhile is told once, then. Default 20: 50 times a second is more often than
    /// anybody reads a list again.
    pub changes_ms_min: u64,
    /// Messages in a batch (2025-03-26). More is -32600. Default 1,024, as many as may be in
    /// flight.
    pub batch_max: usize,
    /// Bytes of output that wait for the reader. While more wait, nothing is read. So many bytes
    /// may the answers to one batch have; what is left of it is answered with -32603. Default
    /// 64 MiB, one longest answer.
    pub output_bytes_max: usize,
    /// Connections to a socket at once. While there are so many, the next ones wait for one to be
    /// closed, in the queue of the system. Default 512: half the descriptors that a process usually
    /// may have, so that tools have some.
    pub connections_max: usize,
    /// Bytes that all connections to sockets hold together: lines that have not ended, output that
    /// waits, what is kept for requests in flight, buffers. Over half of it, nothing is read from those
    /// of whose output more than 64 KiB wait. Over all of it, the connection that holds the most is
    /// closed, with a line in the log. Default 512 MiB: eight longest lines or answers at once.
    pub connections_bytes_max: usize,
    /// How long a connection to a socket may take until its first line has ended, in milliseconds.
    /// After it the connection is closed. Default 30,000: who connects has something to say, and others
    /// wait for its place.
    pub opening_ms_max: u64,
    /// How long a connection to a socket may take nothing of the output that waits for it, in
    /// milliseconds. After it the connection is closed, with a line in the log. Default 60,000: longer
    /// than a busy reader is away; what the system holds for one that reads slowly it has taken by then.
    pub stall_ms_max: u64,
    /// Threads for blocking tools, started when first needed. Default 16: they are made to wait,
    /// not to compute.
    pub pool_threads_max: usize,
    /// Calls of blocking tools that wait for a thread. The next one is answered with -32603.
    /// Default 256.
    pub pool_queue_max: usize,
    /// How long a deferred or blocking call may take, in milliseconds. After it the call is
    /// cancelled and answered with -32603. Default 600,000: longer than clients wait, so that
    /// only what was forgotten is met by it.
    pub deferred_ms_max: u64,
    /// How long the client may take to answer what a call of a legacy session asks of it, in
    /// milliseconds. After it the call fails. Default 600,000: people take their time.
    pub ask_ms_max: u64,
    /// How long a `requestState` is accepted after it was sent, in milliseconds. Default
    /// 3,600,000: a question may wait for its user, and a state need not live for ever.
    pub state_ms_max: u64,
    /// Tasks that are kept, of all connections of the process together, where the server has no
    /// [`Server::task_store`](crate::Server::task_store) of its own. For one more, one that has
    /// ended is forgotten before its time: what ended first, of the connection that has most
    /// tasks. A connection that has a task at work may have one more if as many places are then
    /// left to the others as it has: half of them at most. A call that would become one too many is
    /// answered without a task where its tool may
    /// ([`TaskSupport::Optional`](crate::TaskSupport::Optional), but for 2025-11-25), and else with
    /// -32603. Default 1,024, as many as may be in flight.
    pub tasks_max: usize,
    /// Bytes that tasks take there, of all connections together: their arguments, the answers of
    /// their clients, their results. They are shared out as the places are. A task whose result
    /// has no room beside what is at work fails. Default 64 MiB, one longest request.
    pub task_bytes_max: usize,
    /// How long a task lives from when it is made, in milliseconds: then it is forgotten, and
    /// cancelled if it has not ended. Tools, and clients of 2025-11-25, may say less. Default
    /// 3,600,000: clients may come back for what they asked for, and need not be waited for for ever.
    pub task_ms_max: u64,
    /// Progress notifications that a request may send at once, and again each second; more are not
    /// sent. Default 100: smoother than anybody can see.
    pub progress_per_second_max: u32,
    /// Log messages that a request may send at once, and again each second; more are not sent.
    /// Default 1,000.
    pub log_messages_per_second_max: u32,
    /// How long a function may hold the loop before a warning names it, in milliseconds. Default
    /// 100: by then other callers notice.
    pub inline_ms_warn: u64,
    /// How long the loop looks for the next request before it sleeps, in microseconds, while a
    /// conversation is brisk. 0 switches it off. Default 30: less than it costs to wake an idle
    /// core. It is off by itself on a single core, and where it does not pay.
    pub spin_us_max: u64,
    /// How long, in milliseconds, the end waits for what is unanswered, and for a reader that
    /// takes nothing: on sockets, the end of the server. Default 1,500: hosts follow up with SIGTERM
    /// after two seconds.
    pub drain_ms_max: u64,
}

impl Limits {
    pub(crate) fn ask_max(&self) -> Duration {
        Duration::from_millis(self.ask_ms_max)
    }

    /// How long an answer may be deferred, where a handler may have a limit of its own.
    pub(crate) fn deferred_within(&self, own: Option<Duration>) -> Duration {
        let max = Duration::from_millis(self.deferred_ms_max);
        own.map_or(max, |own| own.min(max))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line_bytes_max: 64 << 20,
            values_max: 1 << 20,
            nesting_max: 128,
            lines_remembered_max: 4,
            in_flight_max: 1024,
            held_bytes_max: 64 << 20,
            subscriptions_max: 64,
            subscribed_uris_max: 4096,
            elicitations_max: 256,
            changes_ms_min: 20,
            batch_max: 1024,
            output_bytes_max: 64 << 20,
            connections_max: 512,
            connections_bytes_max: 512 << 20,
            opening_ms_max: 30_000,
            stall_ms_max: 60_000,
            pool_threads_max: 16,
            pool_queue_max: 256,
            deferred_ms_max: 600_000,
            ask_ms_max: 600_000,
            state_ms_max: 3_600_000,
            tasks_max: 1024,
            task_bytes_max: 64 << 20,
            task_ms_max: 3_600_000,
            progress_per_second_max: 100,
            log_messages_per_second_max: 1_000,
            inline_ms_warn: 100,
            spin_us_max: 30,
            drain_ms_max: 1_500,
        }
    }
}
