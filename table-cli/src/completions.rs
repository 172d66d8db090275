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

/// The script for bash with one label for each command: `clap_complete` 4.6 writes the hyphen of the program's name as
/// `__` where it finds the command, and as `__subcmd__` where it lists the options.
fn corrected(script: &[u8]) -> String {
    String::from_utf8_lossy(script).replace("table__subcmd__orm", "table__orm")
}

pub(crate) fn run(arguments: &Arguments, mut command: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "table-orm", &mut script);
    if arguments.shell == Shell::Bash {
        script = corrected(&script).into_bytes();
    }
    Ok(stdout().write_all(&script)?)
}
