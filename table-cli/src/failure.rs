//! Why a command ends early, and the exit code that says so. The file of each command says which of its
//! own errors has which code.

use std::error::Error as StdError;
use std::fmt;
use std::io::{self, ErrorKind};
use table_orm::Error;
use table_orm::azure::ConnectError;
use table_orm::scan::ScanError;

/// How `--help` explains the exit codes.
pub(crate) const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed; 2 the command line is wrong; 3 done in part: rows were refused or left, or the
copy differs; 130 ended by a signal.";

/// Why a command ends early: one line, with what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    error: Box<dyn StdError + Send + Sync>,
    exit_code: u8,
}

#[derive(Debug, thiserror::Error)]
#[error("the output cannot be written")]
struct OutputError(#[from] io::Error);

impl Failure {
    pub(crate) fn new(error: impl StdError + Send + Sync + 'static, exit_code: u8) -> Self {
        Self { error: Box::new(error), exit_code }
    }

    /// The code with which the program ends.
    pub(crate) fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// The error of a command, if that ended it.
    #[cfg(test)]
    pub(crate) fn error<E: StdError + 'static>(&self) -> Option<&E> {
        self.error.downcast_ref()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl StdError for Failure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}

/// The exit code of an error of the library: 2 where only another command line helps.
pub(crate) const fn exit_code(error: &Error) -> u8 {
    match error {
        Error::Connect(ConnectError::Transport(_)) => 1,
        Error::Connect(_)
        | Error::Layer(_)
        | Error::Scan(ScanError::EmptyRange { .. } | ScanError::PrefixCharacter { .. }) => 2,
        _ => 1,
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = exit_code(&error);
        Self::new(error, code)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // Whoever reads the output has seen enough.
        let exit_code = if error.kind() == ErrorKind::BrokenPipe { 0 } else { 1 };
        Self::new(OutputError(error), exit_code)
    }
}
