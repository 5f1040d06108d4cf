//! The everything server: what the official conformance suite asks a server for.
//!
//! The suite calls tools, resources and prompts by name and says what they have to do. They are
//! written as a user would write them, with the macros where these are shorter.
//!
//! ```text
//! cargo run --release --bin everything
//! ```
//!
//! | file | what the suite looks at with it |
//! | --- | --- |
//! | `contents` | the kinds of content |
//! | `notices` | progress and log messages |
//! | `asking` | the client is asked: elicitation, sampling, roots |
//! | `rounds` | several rounds, and the state between them |
//! | `schemas` | schemas reach clients as they are |
//! | `changes` | clients are told what changed |
//! | `resources`, `prompts` | both of them |
//! | `tasks` | calls that become tasks |

mod asking;
mod changes;
mod contents;
mod notices;
mod prompts;
mod resources;
mod rounds;
mod schemas;
mod tasks;

use tightwire::Server;

fn main() -> tightwire::Result<()> {
    let mut server = Server::new("everything", "1.0.0")
        .title("Everything")
        .instructions("Serves what the conformance suite asks for.")
        .logging();
    let handle = server.handle();
    let server = contents::add_to(server);
    let server = notices::add_to(server);
    let server = asking::add_to(server);
    let server = rounds::add_to(server);
    let server = schemas::add_to(server);
    let server = tasks::add_to(server);
    let server = resources::add_to(server);
    let server = prompts::add_to(server);
    server.tools(changes::Changes::new(handle)).serve_stdio()
}
