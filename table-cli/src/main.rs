//! Command-line tools for tables: an emulator of the Table service over a table-orm store, copies,
//! exports, imports and pages.

mod browse;
mod completions;
mod consent;
mod copy;
mod count;
mod counted;
mod delete;
mod export;
mod failure;
mod import;
mod interrupt;
mod keys;
mod manifest;
mod panic_report;
mod printable;
mod profile;
mod progress;
mod secret;
mod selection;
mod serve;
mod show;
mod store;
mod stress;
mod text_file;

use clap::{CommandFactory as _, Parser, Subcommand};
use failure::{EXIT_CODES, Failure};
use interrupt::{interrupted, unless_interrupted};
use mimalloc::MiMalloc;
use printable::printable;
use std::error::Error;
use std::io::{Write as _, stderr};
use std::process::ExitCode;

/// A transaction that is served allocates thousands of texts, so the allocator decides much of its time:
/// `benches/README.md` compares it with that of the C library.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Tools for Azure Table Storage that need no Rust.
#[derive(Debug, Parser)]
#[command(name = "table-orm", version, subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = format!("{}\n\n{EXIT_CODES}", store::STORES))]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Arguments),
    Count(count::Arguments),
    Keys(keys::Arguments),
    Show(show::Arguments),
    Profile(profile::Arguments),
    Delete(delete::Arguments),
    Copy(copy::Arguments),
    Export(export::Arguments),
    Import(import::Arguments),
    Browse(browse::Arguments),
    Stress(Box<stress::Arguments>),
    Completions(completions::Arguments),
}

#[tokio::main]
async fn main() -> ExitCode {
    panic_report::install();
    match run(Arguments::parse().command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let code = failure.exit_code();
            if code != 0 {
                // Nobody may be reading.
                let _ = writeln!(stderr(), "table-orm: {}", printable(&with_causes(&failure)));
            }
            code.into()
        }
    }
}

async fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Serve(arguments) => Ok(serve::run(arguments).await?),
        Command::Count(arguments) => unless_interrupted(count::run(arguments)).await,
        Command::Keys(arguments) => unless_interrupted(keys::run(arguments)).await,
        Command::Show(arguments) => unless_interrupted(show::run(arguments)).await,
        Command::Profile(arguments) => unless_interrupted(profile::run(arguments)).await,
        Command::Delete(arguments) => delete::run(arguments).await,
        Command::Copy(arguments) => Ok(copy::run(arguments, interrupted()).await?),
        Command::Export(arguments) => export::run(arguments, interrupted()).await,
        Command::Import(arguments) => import::run(arguments, interrupted()).await,
        Command::Browse(arguments) => browse::run(arguments, interrupted()).await,
        Command::Stress(arguments) => stress::run(*arguments).await,
        Command::Completions(arguments) => completions::run(&arguments, Arguments::command()),
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
        Arguments::command().debug_assert();
    }
}
