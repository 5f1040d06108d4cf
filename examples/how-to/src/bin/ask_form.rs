//! Asking the user to fill in a form, in the middle of a tool.
//!
//! ```text
//! cargo run -p how-to --bin ask_form
//! ```
//!
//! The function returns when it has to ask, and is called once more, from its start, when the
//! answers are there. So it asks first, and acts after that.

use tightwire::{Ask, Context, Elicitation, Elicited, Field, Inputs, Server, TextFormat, tool};

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
    let form = match answers.elicited("table") {
        Elicited::Accepted(form) => form,
        // Not an error: the user's decision.
        Elicited::Declined | Elicited::Cancelled => return Ok("No table was booked".to_owned()),
    };
    let name = form.find("name").and_then(|name| name.as_str());
    let guests = form.find("guests").and_then(|guests| guests.as_u64());
    let (name, guests) = (name.unwrap_or_default(), guests.unwrap_or_default());
    Ok(format!(
        "A table for {guests} is booked for {name} at {restaurant}"
    ))
}

fn main() -> tightwire::Result<()> {
    // With a key that all instances know, any of them goes on where another has asked. Without,
    // the key is random.
    Server::new("ask_form", "1.0.0")
        .state_key(*b"32 bytes that are no secret here")
        .tool(book)
        .serve_stdio()
}
