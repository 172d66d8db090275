//! The fault that one request gets.

use super::script::Fault;
use super::settings::Faults;
use crate::store::{ErrorCode, StoreError};
use crate::sync::Random;
use std::time::Duration;

/// The fault that one request gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InjectedFault {
    Throttled,
    ErrorBefore,
    ErrorAfter,
    LostRequest,
    LostReply,
    /// A write takes effect after its caller gave up; a read is lost.
    Late,
    Offline,
    TableBeingDeleted,
    Rejected(ErrorCode),
}

impl From<Fault> for InjectedFault {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Rejected(code) => Self::Rejected(code),
            Fault::ErrorAfter => Self::ErrorAfter,
            Fault::LostRequest => Self::LostRequest,
            Fault::LostReply => Self::LostReply,
            Fault::Late => Self::Late,
        }
    }
}

impl InjectedFault {
    /// Chooses by one random number; `None` is no fault.
    pub(super) fn sample(faults: &Faults, random: &Random) -> Option<Self> {
        let mut left = random.unit();
        for (probability, fault) in [
            (faults.throttled, Self::Throttled),
            (faults.errors_before, Self::ErrorBefore),
            (faults.errors_after, Self::ErrorAfter),
            (faults.lost_requests, Self::LostRequest),
            (faults.lost_replies, Self::LostReply),
            (faults.late, Self::Late),
        ] {
            left -= probability;
            if left < 0.0 {
                return Some(fault);
            }
        }
        None
    }

    /// The answer of a request that is not carried out; `None` carries it out.
    pub(super) fn error_before(&self, random: &Random) -> Option<StoreError> {
        Some(match self {
            Self::Throttled => throttled(random),
            Self::Offline if random.below(2) == 0 => service_error(ErrorCode::SERVER_BUSY),
            Self::Offline => service_error(ErrorCode::OPERATION_TIMED_OUT),
            Self::ErrorBefore => service_error(ErrorCode::INTERNAL_ERROR),
            Self::TableBeingDeleted => service_error(ErrorCode::TABLE_BEING_DELETED),
            Self::Rejected(code) => service_error(code.clone()),
            Self::LostRequest | Self::Late => no_answer(),
            Self::ErrorAfter | Self::LostReply => return None,
        })
    }

    /// The answer that replaces the true one; `None` keeps the true one.
    pub(super) fn error_after(&self) -> Option<StoreError> {
        match self {
            Self::ErrorAfter => Some(service_error(ErrorCode::INTERNAL_ERROR)),
            Self::LostReply => Some(no_answer()),
            _ => None,
        }
    }
}

fn throttled(random: &Random) -> StoreError {
    let seconds = random.below(6);
    let retry_after = (1..=3).contains(&seconds).then(|| Duration::from_secs(seconds));
    StoreError { retry_after, ..service_error(ErrorCode::SERVER_BUSY) }
}

pub(super) fn no_answer() -> StoreError {
    StoreError::no_answer("injected fault: the answer was lost").injected()
}

/// An error of the service, with a code whose status is known.
fn service_error(code: ErrorCode) -> StoreError {
    StoreError::new(code, "injected fault").injected()
}
