//! What a read is for, beside what it asks.
//!
//! A [`RowQuery`](super::RowQuery) carries its mark. A [`Store::get`](crate::store::Store::get) has no query,
//! so its task does: the mark is set in the future that sends it, and crosses no spawn.

use std::future::Future;

tokio::task_local! {
    static MARK: ReadMark;
}

/// What a read is for, beside what it asks. By default, nothing is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ReadMark {
    /// The name of the type whose rows are read. `None` where they may be of several types.
    pub entity: Option<&'static str>,
    /// The kind of row that is read, such as `by_age`, for reports. `None` for canonical rows, and where
    /// it is not known.
    pub row: Option<&'static str>,
    /// Whether an older answer will do, such as that of a copy in another region. Never for a read that
    /// decides a write.
    pub may_be_old: bool,
}

impl ReadMark {
    /// The mark of a read of which nothing is known.
    pub const NONE: Self = Self { entity: None, row: None, may_be_old: false };

    /// The mark of the [`get`](crate::store::Store::get) that this task sends.
    #[must_use]
    pub fn of_this_get() -> Self {
        MARK.try_with(|mark| *mark).unwrap_or_default()
    }

    /// Sends a `get` with this mark.
    pub(crate) async fn around<F: Future>(self, get: F) -> F::Output {
        if self == Self::of_this_get() { get.await } else { MARK.scope(self, get).await }
    }
}
