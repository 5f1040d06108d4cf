//! Types that cannot be read or written.

use tightwire::{Server, tool};

struct City;

#[tool]
fn forecast(city: City) -> String {
    let City = city;
    String::new()
}

#[tool]
fn somewhere() -> City {
    City
}

fn plain() {}

fn main() {
    let _ = Server::new("demo", "1.0.0").tool(plain);
}
