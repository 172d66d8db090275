//! Why writes cannot be sent.

use crate::entity::InvalidEntity;
use crate::error::{Error, TransactionError};
use crate::key::KeyError;
use crate::property::PropertyError;

/// Why writes cannot be sent. Unlike an [`Error`], it can be cloned: a plan returns it too.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    Invalid(InvalidEntity),
    PartitionChanged { entity: &'static str, from: String, to: String },
    Rule(TransactionError),
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Invalid(invalid) => invalid.into(),
            Fault::PartitionChanged { entity, from, to } => {
                Self::PartitionChanged { entity, from, to }
            }
            Fault::Rule(error) => error.into(),
        }
    }
}

impl From<InvalidEntity> for Fault {
    fn from(invalid: InvalidEntity) -> Self {
        Self::Invalid(invalid)
    }
}

impl From<KeyError> for Fault {
    fn from(error: KeyError) -> Self {
        Self::Invalid(error.into())
    }
}

impl From<PropertyError> for Fault {
    fn from(error: PropertyError) -> Self {
        Self::Invalid(error.into())
    }
}

impl From<TransactionError> for Fault {
    fn from(error: TransactionError) -> Self {
        Self::Rule(error)
    }
}
