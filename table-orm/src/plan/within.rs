//! The deadline of a call, and what the call has written by then.
//!
//! Invariant: every request that writes runs in [`writing`] or [`writing_unless`], so a call that is dropped at its deadline
//! knows which of them may have taken effect.

use crate::error::{DeadlineExceeded, Error, Result};
use crate::layer::retry::is_ambiguous;
use crate::store::{ErrorCode, StoreError};
use crate::sync::Flight;
use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::timeout;

tokio::task_local! {
    static CALL: Arc<Call>;
}

/// Adds a deadline to any call that returns a `Result`.
pub trait Within: IntoFuture + Sized {
    /// What the call returns.
    type Answer;

    /// Ends the call after that time with [`Error::Deadline`], which says whether it may have written.
    /// All waits count: those for other calls, limits, rates, retries and answers.
    ///
    /// It needs a tokio runtime with its time driver. A call that is one of several in one future has
    /// its own deadline; what it spawns is not ended.
    ///
    /// ```
    /// use std::time::Duration;
    /// use table_orm::{DynamicEntity, Error, TableName, Tables, Within as _};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("orders")?;
    /// # tables.create(&name).await?;
    /// let orders = tables.table(name);
    /// let order = DynamicEntity::new("2026-03", "00007");
    /// match orders.insert(&order).within(Duration::from_secs(2)).await {
    ///     Ok(_) => {}
    ///     Err(Error::Deadline(late)) if late.wrote_nothing() => { /* try again later */ }
    ///     Err(Error::Deadline(_)) => { /* look whether it is there */ }
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Deadline`] when the time is over; any error of the call.
    fn within(self, time: Duration) -> impl Future<Output = Result<Self::Answer>>;
}

impl<C, T> Within for C
where
    C: IntoFuture<Output = Result<T>>,
{
    type Answer = T;

    fn within(self, time: Duration) -> impl Future<Output = Result<T>> {
        let running = self.into_future();
        async move {
            // The call that awaits this one, which may be another than the one that made it.
            let outer = CALL.try_with(Arc::clone).ok();
            let call = Arc::new(Call { outer, state: Mutex::default() });
            let running = CALL.scope(Arc::clone(&call), running);
            // Dropped only afterwards: what holds its requests back says that they have not been sent.
            let mut running = pin!(running);
            timeout(time, running.as_mut()).await.unwrap_or_else(|_| Err(call.exceeded(time)))
        }
    }
}

/// The writes of a call with a deadline.
#[derive(Debug)]
struct Call {
    /// The call with a deadline that makes this one.
    outer: Option<Arc<Self>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    written: u64,
    may_have_written: bool,
    in_flight: Vec<Flight>,
}

impl Call {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begins(&self, write: &Flight) {
        self.state().in_flight.push(write.clone());
        if let Some(outer) = &self.outer {
            outer.begins(write);
        }
    }

    fn ended(&self, write: &Flight, took_effect: Option<bool>) {
        let mut state = self.state();
        state.in_flight.retain(|other| !other.is(write));
        match took_effect {
            Some(true) => state.written += 1,
            Some(false) => {}
            None => state.may_have_written = true,
        }
        drop(state);
        if let Some(outer) = &self.outer {
            outer.ended(write, took_effect);
        }
    }

    fn exceeded(&self, within: Duration) -> Error {
        let state = self.state();
        let away = state.in_flight.iter().any(Flight::may_have_arrived);
        let may_have_written = state.may_have_written || away;
        Error::Deadline(DeadlineExceeded { within, written: state.written, may_have_written })
    }
}

/// Sends a request that writes, as a part of the call that makes it.
pub(crate) async fn writing<T>(
    request: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let in_doubt =
        |error: &StoreError| error.code == ErrorCode::AMBIGUOUS_WRITE || is_ambiguous(error);
    writing_unless(request, in_doubt).await
}

/// Does the same for a request whose errors say whether it may have taken effect.
pub(crate) async fn writing_unless<T, X>(
    request: impl Future<Output = Result<T, X>>,
    in_doubt: impl Fn(&X) -> bool,
) -> Result<T, X> {
    let Ok(call) = CALL.try_with(Arc::clone) else { return request.await };
    let write = Flight::default();
    write.departs();
    call.begins(&write);
    let answer = write.run(request).await;
    let took_effect = match &answer {
        Ok(_) => Some(true),
        Err(error) if in_doubt(error) => None,
        Err(_) => Some(false),
    };
    call.ended(&write, took_effect);
    answer
}
