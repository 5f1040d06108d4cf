//! A test for each example: a short conversation with it as a process, in both eras where they
//! differ for what it shows.

/// The program of an example.
macro_rules! example {
    ($name:literal) => {
        env!(concat!("CARGO_BIN_EXE_", $name))
    };
}

mod asking;
mod every;
mod prompts;
mod resources;
mod serving;
mod tools;
mod waiting;
