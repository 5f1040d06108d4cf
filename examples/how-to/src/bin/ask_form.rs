//! Asking the user to fill in a form, in the middle of a tool.
//!
//! ```text
//! cargo run -p how-to --bin ask_form
//! ```
//!
//! The function returns when it has to ask, and is called once more, from its start, when the
//! answers are there. So it asks first, and acts after that.

use serde::Deserialize;
use tightwire::{Ask, Context, Elicitation, Field, Inputs, Server, TextFormat, tool};

/// What of the form is read.
#[derive(Deserialize)]
struct Table<'a> {
    name: &'a str,
    guests: u8,
    // Who need not choose may leave it out.
    seating: Option<&'a str>,
}

/// Book a table
#[tool]
fn book(context: &Context<'_>, restaurant: &str) -> Result<String, Ask> {
    let form = Elicitation::form(format!("A table at {restaurant}: for whom?"))
        .field("name", Field::text().title("Name").required())
        .field("email", Field::text().format(TextFormat::Email))
        .field(
            "guests",
            Field::integer().minimum(1.0).maximum(8.0).required(),
        )
        .field(
            "seating",
            Field::titled_choice([("in", "Inside"), ("out", "Outside")]),
        )
        .field("vegan", Field::boolean().default_boolean(false));
    let answers = context.ask(Inputs::new().elicit("table", form))?;
    // What was filled in fits the form. Where the type asks for more, the tool fails on it.
    Ok(match answers.elicited("table").parse::<Table<'_>>()? {
        Some(table) => {
            let place = if table.seating == Some("out") {
                "outside"
            } else {
                "inside"
            };
            let Table { name, guests, .. } = table;
            format!("A table {place} for {guests} is booked for {name} at {restaurant}")
        }
        // Declined, or dismissed: not an error but the user's decision.
        None => "No table was booked".to_owned(),
    })
}

fn main() -> tightwire::Result<()> {
    // With a key that all instances know, any of them goes on where another has asked. Without,
    // the key is random.
    Server::new("ask_form", "1.0.0")
        .state_key(*b"32 bytes that are no secret here")
        .tool(book)
        .serve_stdio()
}
