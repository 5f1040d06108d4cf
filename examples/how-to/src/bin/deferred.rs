//! Answers that come later, from any thread or after a delay, without a thread that waits.
//!
//! ```text
//! cargo run -p how-to --bin deferred
//! ```

use std::{sync::mpsc, thread, time::Duration};

use tightwire::{Call, Reply, Server, Ticket, Tool};

fn main() -> tightwire::Result<()> {
    let (sender, tickets) = mpsc::channel::<(Ticket, u64)>();
    // One worker, as a connection to a device or a database would be one.
    thread::spawn(move || {
        for (ticket, number) in tickets {
            if !ticket.is_cancelled() {
                ticket.answer(|reply| reply.display(number * number));
            }
        }
    });
    Server::new("deferred", "1.0.0")
        .tool(square(sender))
        .tool(remind())
        .serve_stdio()
}

/// The reply is made a ticket, which may go to any thread.
fn square(worker: mpsc::Sender<(Ticket, u64)>) -> Tool {
    let square = move |call: Call<'_>, reply: Reply<'_>| {
        let number = call.arguments().find("number");
        let number = number
            .and_then(|number| number.as_u64())
            .unwrap_or_default();
        // A ticket that is lost answers with an error by itself.
        let _ = worker.send((reply.defer(), number));
    };
    Tool::new("square", square)
        .description("Square a number, by a worker")
        .input_schema(
            r#"{"type":"object","properties":{"number":{"type":"integer","minimum":0,"maximum":1000000}},"required":["number"]}"#,
        )
}

/// The reply goes on when the time has come, unless the call was cancelled.
fn remind() -> Tool {
    Tool::new("remind", |_: Call<'_>, reply: Reply<'_>| {
        reply.after(Duration::from_millis(50), |reply| reply.text("It is time."));
    })
    .description("Answer a little later")
}
