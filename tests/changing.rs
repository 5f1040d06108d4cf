//! A server whose tools change it while it serves.

use std::{thread, time::Duration};

use tightwire::{Call, Handle, Reply, Server, Tool};

fn main() -> tightwire::Result<()> {
    let mut server = Server::new("changing", "1.0.0");
    let handle = server.handle();
    let flooding = server.handle();
    server
        .tool(Tool::new("later", move |_: Call<'_>, reply: Reply<'_>| {
            let handle = handle.clone();
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(100));
                learn(&handle).expect("it is served, and learnt once");
            });
            reply.text("later");
        }))
        .tool(Tool::new("flood", move |_: Call<'_>, reply: Reply<'_>| {
            let handle = flooding.clone();
            thread::spawn(move || {
                let uris: Vec<String> = (0..1_000).map(|index| format!("tick:{index}")).collect();
                loop {
                    uris.iter().for_each(|uri| handle.resource_updated(uri));
                    thread::yield_now();
                }
            });
            reply.text("flood");
        }))
        .serve_stdio()
}

fn learn(handle: &Handle) -> tightwire::Result<()> {
    handle.add_tool(Tool::new("learnt", |_: Call<'_>, reply: Reply<'_>| {
        reply.text("learnt");
    }))
}
