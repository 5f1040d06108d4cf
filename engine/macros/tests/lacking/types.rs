//! Types that lack what an argument or a result needs. After `//~` stands what the error on that
//! line begins with.

use tightwire::{Server, prompt, resource, tool, tools};

struct City;

#[tool]
fn forecast(city: City) -> String { //~ `City` cannot be an argument of a tool
    let City = city;
    String::new()
}

#[tool]
fn somewhere() -> City { //~ `City` cannot be the result of a tool
    City
}

#[tool]
fn sometimes() -> Result<City, String> { //~ `City` cannot be the result of a tool
    Ok(City)
}

#[prompt]
fn answer() -> u32 { //~ `u32` cannot be the messages of a prompt
    42
}

#[resource(uri = "notes://number")]
fn number() -> u32 { //~ `u32` cannot be the contents of a resource
    42
}

struct State;

#[tools]
impl State {
    #[tool]
    fn city(&self) -> City { //~ `City` cannot be the result of a tool
        City
    }
}

fn plain() {}

fn main() {
    let server = Server::new("demo", "1.0.0");
    let server = server.tool(plain); //~ `fn() {plain}` is not a tool
    let server = server.prompt(plain); //~ `fn() {plain}` is not a prompt
    let server = server.resource(plain); //~ `fn() {plain}` is not a resource
    let _ = server.tools(City); //~ `City` has no tools
}
