//! A count of the writes that a store is asked for, for tests of what calls cost.

use super::middleware::{Answer, Around, Request, Through};
use crate::store::{Store, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Clones are the same count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Writes(Arc<AtomicU64>);

impl Writes {
    pub(crate) fn around(&self, inner: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Through { inner, around: self.clone() })
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Around for Writes {
    async fn pass<T: Answer + Send>(
        &self,
        request: Request<'_>,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if !matches!(request.operation, "get" | "query" | "list_tables") {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        answer.await
    }
}
