//! Command-line tools for tables: an emulator of the Table service over a table-orm store.

mod secret;
mod serve;

use clap::{Parser, Subcommand};
use std::error::Error;
use std::process::ExitCode;

/// Tools for Azure Table Storage that need no Rust.
#[derive(Debug, Parser)]
#[command(name = "table-orm", version, subcommand_required = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Arguments),
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { command: Command::Serve(arguments) } = Arguments::parse();
    match serve::run(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("table-orm: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

/// The text of an error and of its causes, in one line.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }
}
