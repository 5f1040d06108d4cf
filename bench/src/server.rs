//! The server under test, in process.

use tightwire::{
    Call, FrozenServer, Memory, Now, Reply, Server, ServerConnection, Tool, schemars::JsonSchema,
    serde::Deserialize,
};

use crate::LineBuffer;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tightwire::serde")]
#[schemars(crate = "tightwire::schemars")]
struct Add {
    /// The first number.
    a: f64,
    /// The second number.
    b: f64,
}

/// The server that answers the corpus: `add`, `echo` and `boom`, as the demo has them.
#[must_use]
pub fn server() -> Server {
    Server::new("demo", "1.0.0")
        .tool_fn("add", "Add two numbers", |args: Add| args.a + args.b)
        .tool(
            Tool::new("echo", |call: Call<'_>, reply: Reply<'_>| {
                let message = call.arguments().find("message");
                reply.text(message.and_then(|text| text.as_str()).unwrap_or_default());
            })
            .description("Say it back")
            .input_schema(
                r#"{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}"#,
            ),
        )
        .tool(
            Tool::new("boom", |_: Call<'_>, reply: Reply<'_>| {
                reply.error("city not found");
            })
            .description("Always fail"),
        )
}

/// A connection that serves both eras: the legacy handshake is done.
#[must_use]
pub fn connection(server: &FrozenServer) -> ServerConnection {
    let mut connection = server.connect();
    let mut out = Vec::new();
    for line in HANDSHAKE {
        connection.handle_line(Now::default(), LineBuffer::new(line).restore(), &mut out);
    }
    connection
}

/// The same as [`connection`], in memory.
#[must_use]
pub fn memory(server: &FrozenServer) -> Memory {
    let mut memory = Memory::new(server);
    for line in HANDSHAKE {
        memory.feed(line.as_bytes());
        memory.feed(b"\n");
    }
    memory.consume(usize::MAX);
    memory
}

const HANDSHAKE: [&str; 2] = [
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
];
