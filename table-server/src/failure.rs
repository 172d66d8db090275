//! Requests that the server could not carry out, for whoever runs it.

use crate::error::ServiceError;
use crate::message::Request;
use http::Method;
use std::fmt;
use std::sync::Arc;

/// A request that was answered with a status of 500 or more, or that the store lost.
///
/// A failure that a layer of tests [injected](ServiceError::injected) is reported as well.
#[derive(Debug, Clone, Copy)]
pub struct FailedRequest<'f> {
    /// The method.
    pub method: &'f Method,
    /// The path as it was sent, without the query, which may hold a signature.
    pub path: &'f str,
    /// What is answered; its status is 0 if the connection is closed instead.
    pub error: &'f ServiceError,
}

type Hook = dyn Fn(&FailedRequest<'_>) + Send + Sync;

/// What is called for each failed request.
#[derive(Clone, Default)]
pub(crate) struct FailureHook(Option<Arc<Hook>>);

impl FailureHook {
    pub(crate) fn new(hook: impl Fn(&FailedRequest<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hook)))
    }

    /// Reports the error of a request, if the server or its store failed.
    pub(crate) fn report(&self, request: &Request, error: &ServiceError) {
        if let Some(hook) = &self.0
            && (error.is_lost() || error.status >= 500)
        {
            hook(&FailedRequest { method: &request.method, path: request.path(), error });
        }
    }
}

impl fmt::Debug for FailureHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FailureHook").field(&self.0.is_some()).finish()
    }
}
