//! Errors: of a tool for the model to act on, of the protocol for the client, and panics.
//!
//! ```text
//! cargo run -p how-to --bin errors
//! ```

use std::fmt;

use tightwire::{RpcError, Server, resource, tool};

/// An error of one's own: whatever displays.
#[derive(Debug)]
enum BookingError {
    Full { free: u32 },
    Past,
}

impl fmt::Display for BookingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { free } => write!(f, "only {free} seats are left: book fewer"),
            Self::Past => f.write_str("the date is past: give one in the future"),
        }
    }
}

/// Book seats: an `Err` is a tool execution error, which the model reads and can act on
#[tool]
fn book(year: u32, seats: u32) -> Result<String, BookingError> {
    const FREE: u32 = 3;
    match () {
        () if year < 2026 => Err(BookingError::Past),
        () if seats > FREE => Err(BookingError::Full { free: FREE }),
        () => Ok(format!("{seats} seats are booked")),
    }
}

/// Divide: a panic ends this call alone, and the model is told no more than that it failed
#[tool]
fn divide(a: i64, b: i64) -> i64 {
    a / b
}

/// A ledger: `None` would be "not found"; an `RpcError` goes out as it is
#[resource(uri = "ledger://{year}")]
fn ledger(year: u32) -> Result<Option<String>, RpcError> {
    match year {
        2020..=2026 => Ok(Some(format!("The ledger of {year}"))),
        ..2020 => Err(RpcError::new(-31_001, "this ledger is in the archive")),
        _ => Ok(None),
    }
}

fn main() -> tightwire::Result<()> {
    Server::new("errors", "1.0.0")
        .tool(book)
        .tool(divide)
        .resource(ledger)
        .serve_stdio()
}
