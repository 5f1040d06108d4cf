//! The tools of both servers, as rmcp's README writes them.

use rmcp::{
    ServerHandler, handler::server::wrapper::Parameters, schemars, tool, tool_handler, tool_router,
};
use serde::Deserialize;

#[derive(Clone)]
pub struct Demo;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct Add {
    a: f64,
    b: f64,
}

#[derive(Deserialize, schemars::JsonSchema)]
pub struct Echo {
    message: String,
}

#[tool_router]
impl Demo {
    #[tool(description = "Add two numbers")]
    fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> String {
        (a + b).to_string()
    }

    #[tool(description = "Say it back")]
    fn echo(&self, Parameters(Echo { message }): Parameters<Echo>) -> String {
        message
    }
}

#[tool_handler(name = "demo", version = "1.0.0")]
impl ServerHandler for Demo {}
