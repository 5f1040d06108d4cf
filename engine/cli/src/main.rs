//! The `tightwire` command: it serves nothing and drives everything.
//!
//! ```text
//!   tightwire bench [options] -- COMMAND ...     puts load on a server and measures it
//! ```
//!
//! A subcommand is a module of the same name.

#![forbid(unsafe_code)]

mod bench;
mod units;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Drives and measures any Model Context Protocol server.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bench(bench::Options),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Bench(options) => bench::run(&options),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("tightwire: {error}");
            ExitCode::from(2)
        }
    }
}
