//! Tools and resources that come, go and change while the server serves. Clients that listen are
//! told.
//!
//! ```text
//! cargo run -p how-to --bin changes
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

use tightwire::{Call, Handle, Reply, Server, Tool, tools};

struct Plugins {
    server: Handle,
    loads: AtomicU64,
}

#[tools]
impl Plugins {
    /// Load a plugin, which is then a tool
    #[tool]
    fn load(&self, name: String) -> tightwire::Result<String> {
        let greeting = format!("This is {name}.");
        let plugin = Tool::new(name, move |_: Call<'_>, reply: Reply<'_>| {
            reply.text(&greeting);
        });
        // An error, such as a name that is taken, changes nothing.
        self.server.add_tool(plugin)?;
        self.loads.fetch_add(1, Ordering::Relaxed);
        self.server.resource_updated("plugins://loads");
        Ok("loaded".to_owned())
    }

    /// Unload a plugin
    #[tool]
    fn unload(&self, name: &str) -> tightwire::Result<&'static str> {
        let was_there = self.server.remove_tool(name)?;
        Ok(if was_there {
            "unloaded"
        } else {
            "there is none of this name"
        })
    }

    /// How many plugins were loaded
    #[resource(uri = "plugins://loads")]
    fn loads(&self) -> String {
        self.loads.load(Ordering::Relaxed).to_string()
    }
}

fn main() -> tightwire::Result<()> {
    let mut server = Server::new("changes", "1.0.0");
    // A handle may go to any thread; here it goes to the tools themselves.
    let plugins = Plugins {
        server: server.handle(),
        loads: AtomicU64::new(0),
    };
    server.tools(plugins).serve_stdio()
}
