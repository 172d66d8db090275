//! A store whose scans end with an error.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use table_orm::query::{RowQuery, Span};
use table_orm::store::{ErrorCode, Middleware, Page, Store, StoreError};

/// A store whose scans read one row in a page, and fail after some pages.
#[derive(Debug)]
pub struct Ending {
    inner: Arc<dyn Store>,
    pages: AtomicI64,
}

impl Ending {
    pub fn after(pages: i64, inner: Arc<dyn Store>) -> Self {
        Self { inner, pages: AtomicI64::new(pages) }
    }
}

impl Middleware for Ending {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        if matches!(query.keys.partition, Span::Exact(_)) {
            return self.inner.query(query).await;
        }
        if self.pages.fetch_sub(1, SeqCst) <= 0 {
            return Err(StoreError::new(ErrorCode::OUT_OF_RANGE_INPUT, "no more pages"));
        }
        self.inner.query(&RowQuery { top: Some(1), ..query.clone() }).await
    }
}
