//! Why a command ends early, and the exit code that says so.

use crate::copy::CopyFailure;
use crate::delete::DeleteFailure;
use crate::export::ExportFailure;
use crate::import::ImportFailure;
use crate::serve::ServeError;
use crate::store::StoreNameError;
use crate::stress::StressFailure;
use std::io::{self, ErrorKind};
use table_orm::Error;

/// How `--help` explains the exit codes.
pub(crate) const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed; 2 the command line is wrong; 3 done in part: rows were refused or left, or the
copy differs; 130 ended by a signal.";

/// Why a command ends early: one line, with what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    StoreName(#[from] StoreNameError),
    #[error(transparent)]
    Store(#[from] Error),
    #[error(transparent)]
    Copy(Box<CopyFailure>),
    #[error(transparent)]
    Delete(#[from] DeleteFailure),
    #[error(transparent)]
    Export(#[from] ExportFailure),
    #[error(transparent)]
    Import(#[from] ImportFailure),
    #[error(transparent)]
    Stress(Box<StressFailure>),
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
}

impl Failure {
    /// The code with which the program ends.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            // Whoever reads the output has seen enough.
            Self::Output(error) if error.kind() == ErrorKind::BrokenPipe => 0,
            Self::Copy(failure) => match **failure {
                CopyFailure::Arguments(_) => 2,
                CopyFailure::Different { .. } => 3,
                CopyFailure::Stopped(_) => 130,
                _ => 1,
            },
            Self::Delete(DeleteFailure::NoSelection | DeleteFailure::NotAsked) => 2,
            Self::Delete(DeleteFailure::Changed(_))
            | Self::Import(ImportFailure::Refused { .. }) => 3,
            Self::Delete(DeleteFailure::Stopped(_))
            | Self::Export(ExportFailure::Stopped { .. })
            | Self::Import(ImportFailure::Stopped { .. }) => 130,
            Self::Stress(failure) => failure.exit_code(),
            // Options set the layers.
            Self::Store(Error::Layer(_)) | Self::Serve(ServeError::Layer(_)) => 2,
            _ => 1,
        }
    }
}

impl From<StressFailure> for Failure {
    fn from(failure: StressFailure) -> Self {
        Self::Stress(Box::new(failure))
    }
}

impl From<CopyFailure> for Failure {
    fn from(failure: CopyFailure) -> Self {
        Self::Copy(Box::new(failure))
    }
}
