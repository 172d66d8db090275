//! The answer to a write, with whether its rows in other partitions are in step.

use super::settled::Settled;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The answer to a write that [reports](crate::repo::Write::report_settled) whether it settled.
///
/// ```
/// use table_orm::TableEntity;
///
/// #[derive(Debug, Clone, PartialEq, TableEntity)]
/// #[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
/// #[row(by_room, partition = "{room}", key = "USER:{user}", eventual)]
/// struct Member { user: String, room: String }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// let members = table_orm::Tables::in_memory()?.repo::<Member>();
/// members.create_table().await?;
/// let ann = Member { user: "ann".into(), room: "kitchen".into() };
/// let written = members.insert(&ann).report_settled().await?;
/// assert!(written.settled.get());
/// assert_eq!(members.list(Member::by_room("kitchen")).one().await?, ann);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Written<T> {
    /// What the call returns without the report, such as an ETag.
    pub answer: T,
    /// Whether the rows in other partitions are in step. After `settle_later()` it turns to `true` later.
    pub settled: Settled,
}

/// A write that reports whether it settled: `.await` sends it, and a
/// [transaction](crate::repo::Transaction) is sent by `commit()`.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct ReportSettled<C> {
    call: C,
    settled: Settled,
}

impl<C> ReportSettled<C> {
    /// A call that sets `settled`.
    pub(crate) const fn new(call: C, settled: Settled) -> Self {
        Self { call, settled }
    }

    pub(crate) fn into_parts(self) -> (C, Settled) {
        (self.call, self.settled)
    }
}

impl<C, T, X> IntoFuture for ReportSettled<C>
where
    C: IntoFuture<Output = Result<T, X>, IntoFuture: Unpin>,
{
    type Output = Result<Written<T>, X>;
    type IntoFuture = ReportSettledFuture<C::IntoFuture>;

    fn into_future(self) -> Self::IntoFuture {
        ReportSettledFuture { running: self.call.into_future(), settled: self.settled }
    }
}

/// A running write that reports whether it settled.
#[must_use = "futures do nothing unless awaited"]
#[derive(Debug)]
pub struct ReportSettledFuture<F> {
    running: F,
    settled: Settled,
}

impl<F, T, X> Future for ReportSettledFuture<F>
where
    F: Future<Output = Result<T, X>> + Unpin,
{
    type Output = Result<Written<T>, X>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(Pin::new(&mut self.running).poll(context))?;
        Poll::Ready(Ok(Written { answer, settled: self.settled.clone() }))
    }
}
