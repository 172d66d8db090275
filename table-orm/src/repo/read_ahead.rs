//! One page that is read while its caller works on the page before.
//!
//! Invariants: at most one request is under way. It is sent by a task of its own, so it ends, and gives back
//! what it holds of limits and rates, whatever its caller awaits meanwhile. Dropping this ends it.

use crate::error::Result;
use crate::layer::in_this_call;
use crate::plan::TableClient;
use crate::query::RowQuery;
use crate::store::Page;
use std::panic::resume_unwind;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// The page that is being read ahead, if one is.
#[derive(Debug, Default)]
pub(super) struct PageAhead(JoinSet<Result<Page>>);

impl PageAhead {
    /// Sends the request for a page. Without a runtime it does nothing: the page is read when it is wanted.
    pub fn ask(&mut self, client: &TableClient, request: RowQuery) {
        let Ok(runtime) = Handle::try_current() else { return };
        let client = client.clone();
        let page = in_this_call(async move { client.page(&request).await });
        self.0.spawn_on(page, &runtime);
    }

    /// The page that was asked for. `None` where none was, or where the runtime that read it has ended.
    pub async fn take(&mut self) -> Option<Result<Page>> {
        match self.0.join_next().await? {
            Ok(page) => Some(page),
            // A panic of the store, as it would be without a task.
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => None,
            },
        }
    }
}
