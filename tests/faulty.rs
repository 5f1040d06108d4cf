//! A server whose tools misbehave, each in one way; `echo` does not.

use std::{process::Command, sync::Mutex, thread, time::Duration};

use tightwire::{Call, Limits, Reply, Server, Ticket, Tool};

/// What `never` keeps.
static TICKETS: Mutex<Vec<Ticket>> = Mutex::new(Vec::new());

/// An argument, if there is one, is how many bytes of output may wait.
fn main() -> tightwire::Result<()> {
    let mut limits = Limits::default();
    if let Some(bytes) = std::env::args().nth(1) {
        limits.output_bytes_max = bytes.parse().expect("a number of bytes");
    }
    Server::new("faulty", "1.0.0")
        .limits(limits)
        .tool(Tool::new("echo", |call: Call<'_>, reply: Reply<'_>| {
            let message = call.arguments().find("message");
            reply.text(message.and_then(|text| text.as_str()).unwrap_or_default());
        }))
        .tool(Tool::new("panic", panic))
        .tool(Tool::new("panic_blocking", panic).blocking())
        .tool(Tool::new("panic_later", |_: Call<'_>, reply: Reply<'_>| {
            reply.after(Duration::from_millis(20), |_| panic!("out of order"));
        }))
        .tool(Tool::new(
            "panic_ticket",
            |_: Call<'_>, reply: Reply<'_>| {
                let ticket = reply.defer();
                thread::spawn(|| ticket.answer(|_| panic!("out of order")));
            },
        ))
        .tool(Tool::new(
            "panic_cancelled",
            |_: Call<'_>, reply: Reply<'_>| {
                let ticket = reply.defer();
                let cancellation = ticket.cancellation().clone();
                cancellation.on_cancel(move || {
                    drop(ticket);
                    panic!("out of order");
                });
            },
        ))
        .tool(Tool::new("panic_twice", |_: Call<'_>, _: Reply<'_>| {
            std::panic::panic_any(PanicsWhenDropped);
        }))
        .tool(Tool::new("print", print))
        .tool(Tool::new("hold", hold))
        .tool(Tool::new("hold_blocking", hold).blocking())
        .tool(Tool::new("wait", wait).blocking())
        .tool(Tool::new("never", |_: Call<'_>, reply: Reply<'_>| {
            let mut tickets = TICKETS.lock().expect("nothing panics with the tickets");
            tickets.push(reply.defer());
        }))
        .tool(Tool::new("forget", |_: Call<'_>, reply: Reply<'_>| {
            drop(reply);
        }))
        .tool(Tool::new("control", |_: Call<'_>, reply: Reply<'_>| {
            let control = ('\0'..' ').chain(['"', '\\', '\u{7F}', '\u{2028}', '\u{2029}']);
            reply.text(&control.collect::<String>());
        }))
        .serve_stdio()
}

/// What a panic may carry.
struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("out of order");
    }
}

fn panic(_: Call<'_>, _: Reply<'_>) {
    panic!("out of order");
}

/// Prints in three ways: a whole line, a child process, and half a line.
fn print(_: Call<'_>, reply: Reply<'_>) {
    println!("printed by the tool");
    let child = Command::new("echo").arg("printed by a child").status();
    print!("printed without a newline");
    reply.text(if child.is_ok_and(|status| status.success()) {
        "printed"
    } else {
        "no child"
    });
}

/// Says so, and then looks at nothing for `ms` milliseconds.
fn hold(call: Call<'_>, reply: Reply<'_>) {
    eprintln!("holding");
    let ms = call.arguments().find("ms").and_then(|ms| ms.as_f64());
    thread::sleep(Duration::from_secs_f64(ms.unwrap_or_default() / 1000.0));
    reply.text("held");
}

fn wait(call: Call<'_>, reply: Reply<'_>) {
    let cancelled = call.wait_cancelled(Duration::from_secs(60));
    reply.text(if cancelled { "cancelled" } else { "done" });
}
