//! An MCP App: a tool whose result the host shows in a page that the server serves.
//!
//! ```text
//! cargo run -p how-to --bin app
//! ```
//!
//! The extension `io.modelcontextprotocol/ui` needs nothing but the general means: the `_meta` of
//! a tool that names a resource, and that resource.

use schemars::JsonSchema;
use serde::Serialize;
use tightwire::{Context, Json, ResourceContents, Server, resource, tool};

#[derive(Serialize, JsonSchema)]
struct Votes {
    yes: u32,
    no: u32,
}

/// The votes so far
#[tool(read_only, meta = r#"{"ui":{"resourceUri":"ui://votes/page.html"}}"#)]
fn votes(context: &Context<'_>) -> Json<Votes> {
    // A host that shows pages says so with its requests, from 2026-07-28 on.
    let shows_pages = context
        .client_extension("io.modelcontextprotocol/ui")
        .is_some();
    eprintln!("asked by a host that shows pages: {shows_pages}");
    Json(Votes { yes: 7, no: 2 })
}

/// The page that shows them. Hosts show it in a sandbox, which may load what `csp` allows alone.
#[resource(uri = "ui://votes/page.html", mime_type = "text/html;profile=mcp-app")]
fn page() -> ResourceContents {
    ResourceContents::text("ui://votes/page.html", PAGE)
        .mime_type("text/html;profile=mcp-app")
        .meta(r#"{"ui":{"csp":{"connectDomains":[],"resourceDomains":[]},"prefersBorder":true}}"#)
}

fn main() -> tightwire::Result<()> {
    Server::new("app", "1.0.0")
        .extension("io.modelcontextprotocol/ui", "{}")
        .tool(votes)
        .resource(page)
        .serve_stdio()
}

/// The page speaks JSON-RPC with the host: it introduces itself, and is told the tool's results.
const PAGE: &str = r##"<!DOCTYPE html>
<title>Votes</title>
<p><b id="yes">…</b> for it, <b id="no">…</b> against</p>
<script>
  const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  addEventListener("message", ({ source, data }) => {
    if (source !== parent) return;
    if (data.id === 1) send({ method: "ui/notifications/initialized" });
    if (data.method === "ui/notifications/tool-result") {
      const votes = data.params.structuredContent;
      for (const key of ["yes", "no"]) document.getElementById(key).textContent = votes[key];
    }
  });
  send({
    id: 1,
    method: "ui/initialize",
    params: {
      protocolVersion: "2026-01-26",
      appInfo: { name: "votes", version: "1.0.0" },
      appCapabilities: {},
    },
  });
</script>
"##;
