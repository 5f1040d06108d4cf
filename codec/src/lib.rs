//! Bytes to JSON-RPC messages, and back.
//!
//! ```text
//!  bytes in ─▶ Ring ─▶ Line ─▶ Parser ─▶ Document ─▶ Message<'_> (Id, Value)
//!              memchr         in place   borrowed
//!
//!  bytes out ◀─ the caller's Vec<u8> ◀─ JsonWriter
//! ```
//!
//! - [`Ring`] is the receive buffer. It cuts the stream into lines, each contiguous and
//!   mutable, and moves nothing but an unfinished tail.
//! - [`Parser`] parses a [`Line`] where it lies. Strings are unescaped in the line and
//!   borrowed from it; the buffers and the tape of the parser are used again. What it knows from
//!   an earlier line, and what is one long string, need not be parsed.
//! - [`Message`] is the JSON-RPC 2.0 envelope over such a document; [`Value`] is the view of
//!   any JSON value in it, and a serde `Deserializer` whose `&str` borrow from the line.
//! - [`JsonWriter`] appends JSON to a buffer that the caller owns.
//!
//! This crate holds no file descriptor, reads no clock and knows no method of the Model
//! Context Protocol: that is the crate `tightwire`.
//!
//! ```
//! use tightwire_codec::{JsonWriter, Message, Parser, ParserLimits, Ring};
//!
//! let mut ring = Ring::new(1 << 20);
//! let mut parser = Parser::new(ParserLimits::default());
//! let bytes = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n";
//! ring.spare()[..bytes.len()].copy_from_slice(bytes);
//! ring.commit(bytes.len());
//!
//! let mut out = Vec::new();
//! while let Some(Ok(mut line)) = ring.next_line() {
//!     let document = parser.parse(&mut line).unwrap();
//!     if let Ok(Message::Request(request)) = Message::read(document.root()) {
//!         let mut writer = JsonWriter::new(&mut out);
//!         writer.raw(b"{\"jsonrpc\":\"2.0\",\"id\":");
//!         writer.id(&request.id);
//!         writer.raw(b",\"result\":{}}\n");
//!     }
//! }
//! assert_eq!(out, b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
//! ```

#![forbid(unsafe_code)]

mod de;
mod error;
mod memo;
mod message;
mod parse;
mod recover;
mod ring;
mod skeleton;
mod value;
mod write;

pub use de::DeserializeError;
pub use error::{LineTooLong, ParseError, ParseErrorKind};
pub use memo::Likeness;
pub use message::{
    ErrorCode, Id, InvalidMessage, InvalidMessageKind, Message, Notification, Request, Response,
};
pub use parse::{Document, Parser, ParserLimits};
pub use recover::WideIntegers;
pub use ring::{LINE_PADDING, Line, Ring};
pub use value::{Array, ArrayIter, Kind, Number, Object, ObjectIter, Value};
pub use write::{JsonWriter, Verbatim};
