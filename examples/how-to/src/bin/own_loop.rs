//! The protocol as a state machine in a loop of one's own: lines and the time go in, bytes come
//! out, and jobs run where you say.
//!
//! ```text
//! cargo run -p how-to --bin own_loop
//! ```

use std::{
    error::Error,
    io::{self, Read, Write},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tightwire::{Now, Server, ServerConnection, codec::Ring, tool};

/// Add two numbers
#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// Wait for something
#[tool(blocking)]
fn wait() -> &'static str {
    thread::sleep(Duration::from_millis(20));
    "waited"
}

/// What the loop waits for.
enum Event {
    Bytes(Vec<u8>),
    End,
    /// An answer of another thread.
    Wake,
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::new("own_loop", "1.0.0")
        .tool(add)
        .tool(wait)
        .freeze()?;
    let mut connection = server.connect();
    let mut ring = Ring::new(server.limits().line_bytes_max);
    let (events, received) = mpsc::channel();
    let waker = events.clone();
    connection.set_waker(move || drop(waker.send(Event::Wake)));
    thread::spawn(move || read(&events));

    let start = Instant::now();
    let mut out = Vec::new();
    let mut has_ended = false;
    while !has_ended || connection.in_flight() > 0 {
        let due = connection.poll_timeout().unwrap_or(Duration::MAX);
        let event = received.recv_timeout(due.saturating_sub(start.elapsed()));
        let now = time(start);
        match event {
            Ok(Event::Bytes(bytes)) => serve(&mut connection, &mut ring, start, &bytes, &mut out),
            Ok(Event::End) => {
                connection.handle_end(&mut out);
                has_ended = true;
            }
            Ok(Event::Wake) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        while let Some(job) = connection.poll_job() {
            thread::spawn(|| job.run());
        }
        connection.handle_completions(now, &mut out);
        let before = start.elapsed();
        connection.handle_timeout(now, &mut out);
        connection.line_took(start.elapsed() - before);
        while let Some(line) = connection.poll_log() {
            eprintln!("{line}");
        }
        io::stdout().write_all(&out)?;
        out.clear();
    }
    Ok(())
}

/// Serves the lines that some bytes complete. They go through a ring, where the lines are read in
/// place; reading from the input right into `spare` would save the copy.
fn serve(
    connection: &mut ServerConnection,
    ring: &mut Ring,
    start: Instant,
    mut bytes: &[u8],
    out: &mut Vec<u8>,
) {
    while !bytes.is_empty() {
        ring.feed(&mut bytes);
        while let Some(line) = ring.next_line() {
            let now = time(start);
            match line {
                Ok(line) => connection.handle_line(now, line, out),
                Err(error) => connection.handle_too_long(error, out),
            }
            // Hooks learn of it, and a tool that took too long is named in the log.
            connection.line_took(start.elapsed() - now.monotonic);
        }
    }
}

fn time(start: Instant) -> Now {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
    Now {
        monotonic: start.elapsed(),
        unix_ms: u64::try_from(unix.unwrap_or_default().as_millis()).unwrap_or(u64::MAX),
    }
}

/// Reads, in a thread of its own.
fn read(events: &mpsc::Sender<Event>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = io::stdin().read(&mut buffer) {
        if events.send(Event::Bytes(buffer[..count].to_vec())).is_err() {
            return;
        }
    }
    let _ = events.send(Event::End);
}
