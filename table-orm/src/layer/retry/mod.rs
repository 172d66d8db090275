//! Retries requests after transient faults, and finds out whether a write whose answer was lost
//! took effect.
//!
//! # What is retried
//!
//! Transport faults, timeouts, and the statuses 408, 429, 500, 502, 503 and 504; all of these but 408
//! also when one operation of a transaction failed with them. It never retries another 4xx, 501 or
//! 505. A credential that returns no token has retried by itself. The wait is the [`RetryStrategy`]'s, or
//! the service's `Retry-After` where that is longer, up to an hour; the first transport fault is
//! retried at once. A call whose next wait would pass the deadline fails at once instead. All calls of a
//! connection share a [budget](Retry::budget) of retries; a [`RetryPolicy`] of your own decides what is
//! retried, and when.
//!
//! # Ambiguous writes
//!
//! After no answer, a timeout or a server error, a write may or may not have taken effect. After a
//! connection that failed or a throttled request, it has not. When a write that may have arrived is
//! sent again, an insert may find its own row (409), a delete nothing (404), and an update its own
//! new version (412). A caller must not see a conflict of a write with itself, and must not see
//! success where another writer won. So after such a fault a call returns
//!
//! - success, when the write is known to have taken effect;
//! - the store's rejection, when the write is known to have had no effect;
//! - [`Error::Ambiguous`](crate::Error::Ambiguous) otherwise, with everything that is known in its
//!   [`Ambiguity`](crate::store::Ambiguity). It never guesses.
//!
//! Above this layer, every other error of a write therefore means that it had no effect.
//!
//! ## Why a write id, and not a comparison of content
//!
//! Comparing the stored row with what was sent, and taking equality for success, is wrong exactly
//! where it matters: two writers that read a counter of 5 both send 6. One wins, and the other's
//! answer is lost; it finds a 6, takes it for its own, and an increment is gone. The same holds for
//! two that insert equal lock rows. Different content proves nothing either: our write may have taken
//! effect and been replaced since.
//!
//! So [`Retry::write_id`] names a property in which every write leaves a random id and, when an ETag
//! guards the write, the ETag that it replaced. The row then shows:
//!
//! - our id: the write took effect, and the row's ETag is the one the answer would have carried;
//! - another id that replaced the version we meant to replace: our write had no effect, because a
//!   version is replaced once;
//! - a Timestamp from before our write was first sent: our write had no effect, because it would have
//!   been later. This needs no id. It counts only where a request that is still on its way can no
//!   longer succeed: for inserts, and where the row's ETag is not the one asked for.
//!
//! The service alone says what is before: the Timestamp must be more than 15 minutes earlier than the
//! time of an answer that came before our write was first sent
//! ([`service_time`](crate::store::Store::service_time)). The clock of this machine counts for
//! nothing, and before the first answer no row counts as old.
//!
//! In an entity group transaction, one row with such evidence decides for all. Its rows that another
//! write has replaced since, or that cannot be read back, get an ETag that matches no row.
//!
//! The id is opt-in because stored rows are a contract with other tools: it takes one of 252
//! properties and about 70 to 170 bytes a row (count them against 1 MiB and 4 MiB), and other tools
//! see it. Typed entities do not see it, except those with a map of all other properties. All writers
//! of a table must use the same property: a writer that merges without it leaves our id on its own
//! version. Without a write id, only the Timestamp is evidence, and most writes whose answer was lost
//! and whose retry was rejected end `Ambiguous`.
//!
//! ## What no client can know
//!
//! - A deleted row is no evidence: a single delete whose retry finds no row ends `Ambiguous`. In a
//!   transaction, a write beside it is evidence for both.
//! - An unguarded write that is sent twice can take effect twice, with another write between: an
//!   upsert then restores its content, and an insert restores a row that was deleted in between. An
//!   abandoned request may even arrive later. Writes that an ETag guards take effect once.
//! - Creating or deleting a table leaves no id: after a lost answer, "already exists" and "not found"
//!   are `Ambiguous`.
//!
//! # Cancellation
//!
//! A dropped call stops; what it has sent may take effect. The layer keeps no state of a call.

mod budget;
mod classify;
mod lost_answer;
mod policy;
mod store;
mod strategy;
mod write_id;

pub use budget::DEFAULT_BUDGET;
pub(crate) use classify::is_ambiguous;
pub use classify::is_transient;
pub use policy::RetryPolicy;
pub use strategy::{MAX_RETRIES, MAX_WAIT, RetryStrategy};

use super::{Layer, LayerError, error};
use crate::store::Store;
use crate::sync::Random;
use budget::Budget;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use store::RetryStore;
use write_id::WriteIdProperty;

/// The longest timeout or deadline that [`Retry`] accepts: 1 day.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// Settings of the retry layer. The [module](self) says what it guarantees.
///
/// ```
/// use std::time::Duration;
/// use table_orm::Tables;
/// use table_orm::layer::Retry;
///
/// # fn run() -> table_orm::Result<()> {
/// let patient = Retry::classic().deadline(Duration::from_secs(600)).write_id("WriteId");
/// let tables = Tables::in_memory()?.layer(patient)?;
/// # Ok(())
/// # }
/// # run().unwrap();
/// ```
#[derive(Debug, Clone)]
#[must_use = "settings do nothing until `Tables::layer` or `around`"]
pub struct Retry {
    decides: Decides,
    attempt: Option<Duration>,
    deadline: Option<Duration>,
    write_id: Option<Cow<'static, str>>,
    leaves_throttling: bool,
    budget: Option<u32>,
    seed: Option<u64>,
}

/// What decides about retries.
#[derive(Debug, Clone)]
enum Decides {
    Strategy(RetryStrategy),
    Policy(Arc<dyn RetryPolicy>),
}

impl Retry {
    /// Retries with a strategy, without timeouts.
    pub const fn new(strategy: RetryStrategy) -> Self {
        Self::with(Decides::Strategy(strategy))
    }

    /// Retries what a policy of your own decides, without timeouts.
    pub fn by(policy: impl RetryPolicy + 'static) -> Self {
        Self::with(Decides::Policy(Arc::new(policy)))
    }

    const fn with(decides: Decides) -> Self {
        Self {
            decides,
            attempt: None,
            deadline: None,
            write_id: None,
            leaves_throttling: false,
            budget: Some(DEFAULT_BUDGET),
            seed: None,
        }
    }

    /// Retries for work that somebody waits for: [`RetryStrategy::INTERACTIVE`], 30 s for an attempt (the
    /// service's own limit for most requests), 60 s for a call. A write whose answers were lost gets as long once
    /// more, to find out whether it took effect.
    pub const fn interactive() -> Self {
        let mut retry = Self::new(RetryStrategy::INTERACTIVE);
        retry.attempt = Some(Duration::from_secs(30));
        retry.deadline = Some(Duration::from_secs(60));
        retry
    }

    /// Retries for work in the background: [`RetryStrategy::CLASSIC`], 30 s for an attempt, no deadline. A
    /// request with its retries takes 6 minutes at most, unless the service asks for longer waits; a
    /// write whose answers are lost takes as long once more for each of its rows, to find out whether
    /// it took effect.
    pub const fn classic() -> Self {
        let mut retry = Self::new(RetryStrategy::CLASSIC);
        retry.attempt = Some(Duration::from_secs(30));
        retry
    }

    /// Limits one request: after this time it counts as not answered. The time that a
    /// [`ConcurrencyLimit`](super::ConcurrencyLimit) or a [`RateLimit`](super::RateLimit) below holds it back,
    /// or in which it waits for a token of Entra ID, does not count: nobody has been asked yet.
    pub const fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt = Some(timeout);
        self
    }

    /// Limits a call with all its requests and the waits between them. A write whose answers were lost gets
    /// as long once more, to read its rows back. The time that a
    /// [`ConcurrencyLimit`](super::ConcurrencyLimit) or a [`RateLimit`](super::RateLimit) below holds a request
    /// back, or in which it waits for a token of Entra ID, does not count; [`within`](crate::Within::within) limits the whole of a call.
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Leaves an id in this property of every row that is written, so that a write whose answer was
    /// lost is recognised. The [module](self) says how.
    ///
    /// No entity may have a property of that name: writing one fails with `InvalidInput`, and an
    /// `Option` that is `None` when written would be read back as the id.
    ///
    /// It is one of the 252 properties that a row can have: every store rejects an entity with 252 of
    /// its own ([`Error::TooLarge`](crate::Error::TooLarge), `TooManyProperties`). An entity with a map
    /// of all other properties finds the id there, as every reader of rows does; each write replaces
    /// it.
    pub fn write_id(mut self, property: impl Into<Cow<'static, str>>) -> Self {
        self.write_id = Some(property.into());
        self
    }

    /// Returns throttling (statuses 429 and 503) to the caller at once, and retries other faults. A
    /// [scan](crate::scan) needs no such setting: its requests
    /// [say it themselves](crate::query::RowQuery::self_paced), because it measures the table's speed
    /// by throttling.
    pub const fn leave_throttling(mut self) -> Self {
        self.leaves_throttling = true;
        self
    }

    /// Sets the budget of retries that all calls share, in tokens; `None` sets no limit. A retry takes 5
    /// tokens, or 10 if no answer came. After throttling it takes none. A call that succeeds or is rejected at
    /// its first attempt returns 1 token. A call that does so after a retry returns the tokens of that retry. A
    /// call for which too few tokens are left is not retried.
    ///
    /// [`DEFAULT_BUDGET`] is 500, as in the AWS SDKs ("Retry behavior", standard mode). In an outage, the
    /// service gets 50 to 100 retries, and then each call once.
    pub fn budget(mut self, tokens: impl Into<Option<u32>>) -> Self {
        self.budget = tokens.into();
        self
    }

    /// Seeds the random part of the waits, so that a test replays.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    fn build(self, inner: Arc<dyn Store>) -> Result<RetryStore, LayerError> {
        let policy: Arc<dyn RetryPolicy> = match self.decides {
            Decides::Strategy(strategy) => {
                strategy.check()?;
                Arc::new(strategy)
            }
            Decides::Policy(policy) => policy,
        };
        if let Some(attempt) = self.attempt {
            error::time("the timeout of an attempt", attempt, MAX_TIMEOUT)?;
        }
        if let Some(deadline) = self.deadline {
            error::time("the deadline", deadline, MAX_TIMEOUT)?;
        }
        if let (Some(deadline), Some(attempt)) = (self.deadline, self.attempt)
            && deadline < attempt
        {
            return Err(LayerError::Deadline { deadline, attempt });
        }
        Ok(RetryStore {
            inner,
            policy,
            attempt: self.attempt,
            deadline: self.deadline,
            write_id: self.write_id.map(WriteIdProperty::new).transpose()?,
            leaves_throttling: self.leaves_throttling,
            budget: self.budget.map(Budget::new),
            random: self.seed.map_or_else(Random::from_system, Random::seeded),
        })
    }
}

impl Layer for Retry {
    fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        Ok(Arc::new(self.build(store)?))
    }
}
