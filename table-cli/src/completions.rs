//! `table-orm completions`: what a shell completes.

use crate::failure::Failure;
use clap::Command;
use clap_complete::Shell;
use std::io::{Write as _, stdout};

const EXAMPLES: &str = "\
Examples:
  table-orm completions bash > ~/.local/share/bash-completion/completions/table-orm
  table-orm completions zsh > ~/.zfunc/_table-orm
  table-orm completions fish > ~/.config/fish/completions/table-orm.fish";

/// Prints the completions of a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, mut command: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "table-orm", &mut script);
    Ok(stdout().write_all(&script)?)
}
