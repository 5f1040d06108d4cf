//! A test for each example: a short conversation with it as a process, in both eras where they
//! differ for what it shows.

mod asking;
mod conversation;
mod demo;
mod every;
mod prompts;
mod resources;
mod serving;
mod tools;
mod waiting;
