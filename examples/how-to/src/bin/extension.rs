//! An extension of one's own: declared under its name, with a method that the protocol lacks.
//!
//! ```text
//! cargo run -p how-to --bin extension
//! ```

use serde::{Deserialize, Serialize};
use tightwire::{ExtensionCall, ExtensionMethod, ExtensionReply, RpcError, Server};

#[derive(Deserialize)]
struct Distance<'a> {
    from: &'a str,
    to: &'a str,
}

#[derive(Serialize)]
struct Measured {
    kilometres: f64,
}

fn measure(call: ExtensionCall<'_>, reply: ExtensionReply<'_>) {
    match call.parse::<Distance<'_>>() {
        Ok(Distance { from, to }) => {
            let kilometres = (from.len() + to.len()) as f64 * 100.0;
            reply.result(&Measured { kilometres });
        }
        Err(error) => reply.protocol_error(&RpcError::invalid_params(error.to_string())),
    }
}

fn main() -> tightwire::Result<()> {
    const EXTENSION: &str = "com.example/measuring";
    // Clients declare it too; those that do not are refused.
    let measure = ExtensionMethod::new("measuring/distance", measure).requires(EXTENSION);
    Server::new("extension", "1.0.0")
        .extension(EXTENSION, r#"{"unit":"km"}"#)
        .method(measure)
        .serve_stdio()
}
