//! Asking the user to open a page, for what must not pass through the client: a password, a card.
//!
//! ```text
//! cargo run -p how-to --bin ask_url
//! ```

use tightwire::{Ask, Context, Elicited, Inputs, Server, tool};

/// Pay an invoice
#[tool]
fn pay(context: &Context<'_>, invoice: u32) -> Result<String, Ask> {
    let page = format!("https://pay.example/invoices/{invoice}");
    let inputs = Inputs::new().elicit_url("payment", "Please enter your card there.", page);
    match context.ask(inputs)?.elicited("payment") {
        // That the user opened the page is all this says: whether it was paid, the page's own
        // server knows.
        Elicited::Accepted(_) if is_paid(invoice) => Ok(format!("Invoice {invoice} is paid")),
        Elicited::Accepted(_) => Ok(format!("Invoice {invoice} is not paid yet")),
        Elicited::Declined | Elicited::Cancelled => Ok("Nothing was paid".to_owned()),
    }
}

fn is_paid(invoice: u32) -> bool {
    invoice.is_multiple_of(2)
}

fn main() -> tightwire::Result<()> {
    Server::new("ask_url", "1.0.0").tool(pay).serve_stdio()
}
