//! A tool that serves nobody who has not signed in elsewhere, on a page that the client never sees.
//!
//! ```text
//! cargo run -p how-to --bin sign_in
//! ```
//!
//! A client of 2025-11-25 is refused with the page's address, is told when its user is done there,
//! and calls again. One of 2026-07-28 is asked to open the page, and calls again of itself.

use std::sync::atomic::{AtomicBool, Ordering};

use tightwire::{Ask, Context, Elicited, Handle, Server, UrlElicitation, tools};

struct Bank {
    handle: Handle,
    is_signed_in: AtomicBool,
}

/// A server with more than one user has one for each of them.
const CONNECT: &str = "connect-7";

#[tools]
impl Bank {
    /// List the invoices
    #[tool]
    fn invoices(&self, context: &Context<'_>) -> Result<String, Ask> {
        if self.is_signed_in.load(Ordering::Relaxed) {
            return Ok("There are 2 invoices".to_owned());
        }
        let page = format!("https://bank.example/{CONNECT}");
        let page = UrlElicitation::new("Please sign in at your bank.", page).id(CONNECT);
        let answers = context.require_urls([("sign-in", page)])?;
        // Only clients that make the call again of themselves come here.
        Ok(match answers.elicited("sign-in") {
            Elicited::Accepted(_) => "Please call again when you have signed in".to_owned(),
            Elicited::Declined | Elicited::Cancelled => "No invoices without that".to_owned(),
        })
    }

    /// Stands for the page, whose own server does this when it knows that it was the same user
    #[tool]
    fn visit(&self) {
        self.is_signed_in.store(true, Ordering::Relaxed);
        self.handle.elicitation_complete(CONNECT);
    }
}

fn main() -> tightwire::Result<()> {
    let mut server = Server::new("sign_in", "1.0.0");
    let bank = Bank {
        handle: server.handle(),
        is_signed_in: AtomicBool::new(false),
    };
    server.tools(bank).serve_stdio()
}
