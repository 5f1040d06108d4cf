//! A server on a socket, which says on stdout where it listens: `unix PATH` or `tcp ADDRESS`, and
//! after that limits, such as `connections_max=2`, `hooks`, and what else it serves: `stdio_first`, or
//! `also=PATH` at the same time.

use std::{io::Write, sync::Mutex, thread, time::Duration};

use tightwire::{
    Call, Finished, FrozenServer, Hook, Limits, Listener, Reply, Resource, Server, Ticket, Tool,
};

/// What `never` keeps.
static TICKETS: Mutex<Vec<Ticket>> = Mutex::new(Vec::new());

fn main() -> tightwire::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().expect("unix or tcp");
    let address = arguments.next().expect("where to listen");
    let mut limits = Limits::default();
    let (mut hooks, mut stdio_first, mut also) = (false, false, None);
    for argument in arguments {
        match argument.split_once('=') {
            Some(("connections_max", count)) => limits.connections_max = number(count),
            Some(("output_bytes_max", bytes)) => limits.output_bytes_max = number(bytes),
            Some(("pool_threads_max", count)) => limits.pool_threads_max = number(count),
            Some(("line_bytes_max", bytes)) => limits.line_bytes_max = number(bytes),
            Some(("drain_ms_max", ms)) => limits.drain_ms_max = number(ms) as u64,
            Some(("opening_ms_max", ms)) => limits.opening_ms_max = number(ms) as u64,
            Some(("stall_ms_max", ms)) => limits.stall_ms_max = number(ms) as u64,
            Some(("connections_bytes_max", bytes)) => limits.connections_bytes_max = number(bytes),
            Some(("also", path)) => also = Some(path.to_owned()),
            _ if argument == "hooks" => hooks = true,
            _ if argument == "stdio_first" => stdio_first = true,
            _ => panic!("unknown argument {argument}"),
        }
    }
    let server = server(limits, hooks)?;
    let listener = match kind.as_str() {
        "unix" => Listener::unix(&address)?,
        _ => Listener::tcp(&address)?,
    };
    let port = listener.local_addr().map(|address| address.port());
    println!("{}", port.unwrap_or_default());
    std::io::stdout().flush().expect("stdout is open");
    if stdio_first {
        server.serve_stdio()?;
    }
    let Some(path) = also else {
        return server.serve(listener);
    };
    thread::scope(|scope| {
        scope.spawn(|| server.serve_unix(path).expect("it listens there, too"));
        server.serve(listener)
    })
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

fn server(limits: Limits, hooks: bool) -> tightwire::Result<FrozenServer> {
    let mut server = Server::new("listening", "1.0.0")
        .limits(limits)
        .tool(Tool::new("echo", |call: Call<'_>, reply: Reply<'_>| {
            let message = call.arguments().find("message");
            reply.text(message.and_then(|text| text.as_str()).unwrap_or_default());
        }))
        .tool(Tool::new("large", |call: Call<'_>, reply: Reply<'_>| {
            reply.text(&large(&call));
        }))
        .tool(
            Tool::new("large_elsewhere", |call: Call<'_>, reply: Reply<'_>| {
                reply.text(&large(&call));
            })
            .blocking(),
        )
        .tool(Tool::new("sleep", |call: Call<'_>, reply: Reply<'_>| {
            reply.after(ms(&call), |reply| reply.text("slept"));
        }))
        .tool(Tool::new("ticket", |call: Call<'_>, reply: Reply<'_>| {
            let (time, ticket) = (ms(&call), reply.defer());
            thread::spawn(move || {
                thread::sleep(time);
                ticket.answer(|reply| reply.text("answered"));
            });
        }))
        .tool(
            Tool::new("wait", |call: Call<'_>, reply: Reply<'_>| {
                if call.wait_cancelled(Duration::from_secs(60)) {
                    eprintln!("cancelled");
                }
                reply.text("waited");
            })
            .blocking(),
        )
        .tool(Tool::new("never", |_: Call<'_>, reply: Reply<'_>| {
            let mut tickets = TICKETS.lock().expect("nothing panics with the tickets");
            tickets.push(reply.defer());
        }))
        .tool(Tool::new("bomb", |_: Call<'_>, reply: Reply<'_>| {
            continue_with(Bomb, reply);
        }))
        .tool(
            Tool::new("bomb_elsewhere", |call: Call<'_>, reply: Reply<'_>| {
                let _ = call.wait_cancelled(Duration::from_secs(60));
                continue_with(Bomb, reply);
            })
            .blocking(),
        )
        .tool(Tool::new("panic", |_: Call<'_>, _: Reply<'_>| {
            panic!("out of order");
        }))
        .resource(Resource::new("listening://now", "now", |_, reply| {
            reply.text("now");
        }));
    // Connections are told when they end what they are subscribed to.
    let handle = server.handle();
    if hooks {
        server = server.hook(Told);
    }
    let server = server.freeze()?;
    // Kept as long as the process.
    std::mem::forget(handle);
    Ok(server)
}

/// What panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

/// Keeps a bomb for an answer that nobody waits for.
fn continue_with(bomb: Bomb, reply: Reply<'_>) {
    reply.after(Duration::from_secs(1000), move |reply| {
        let _bomb = &bomb;
        reply.text("late");
    });
}

/// A text of so many bytes.
fn large(call: &Call<'_>) -> String {
    let bytes = call.arguments().find("bytes");
    let bytes = bytes.and_then(|bytes| bytes.as_u64());
    "x".repeat(usize::try_from(bytes.unwrap_or_default()).expect("bytes of a text"))
}

fn ms(call: &Call<'_>) -> Duration {
    let ms = call.arguments().find("ms").and_then(|ms| ms.as_f64());
    Duration::from_secs_f64(ms.unwrap_or_default() / 1000.0)
}

/// Tells how long each call took, in nanoseconds.
struct Told;

impl Hook for Told {
    fn after(&self, finished: &Finished<'_>) {
        eprintln!("{}", finished.took().as_nanos());
    }
}
