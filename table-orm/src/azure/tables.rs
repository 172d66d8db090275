//! The tables of an account: a [`Store`] over HTTP.

use super::auth::Credential;
use super::body::whole;
use super::connect;
use super::connection_string::ConnectionString;
use super::endpoint::{
    AccountService, backend, dialect, parse_endpoint, parse_secondary, secondary_endpoint,
};
use super::error::ConnectError;
use super::options::{ConnectOptions, MAX_ANSWER_BYTES};
use super::protocol::{AccessPolicy, CorsRule, Method, TableService, WireRequest, WireResponse};
use super::unanswered::unanswered;
use crate::model::{DateTime, ETag, Metadata, TableName};
use crate::query::RowQuery;
use crate::store::{
    Backend, Batch, ErrorCode, Middleware, Operation, Page, Replication, Secondary, Store,
    StoreError, StoredRow, estimated_bytes, tally,
};
use async_trait::async_trait;
use azure_core::http::headers::{CLIENT_REQUEST_ID, HeaderName, HeaderValue};
use azure_core::http::{Context, Pipeline, PipelineStreamOptions, Url};
use azure_core::{Uuid, http};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A [`Store`] in an Azure account.
///
/// Clones share its connections. Several runtimes may use it; each has its own connections.
#[derive(Clone)]
pub struct AzureStore {
    endpoint: Url,
    /// The endpoint of the account's copy in another region.
    secondary: Option<Url>,
    service: TableService,
    pipeline: Pipeline,
    /// What to check when a request is not authorized; empty for an unknown credential.
    help: Arc<str>,
    /// The ticks of the service's clock in its latest answer; 0 before the first one.
    answered: Arc<AtomicI64>,
    max_answer_bytes: usize,
    has_row_bounds: bool,
}

impl AzureStore {
    /// Opens the store at `endpoint`, such as `https://account.table.core.windows.net`, with a key,
    /// a shared access signature, or a credential of Entra ID. Sends nothing yet.
    ///
    /// # Errors
    /// Returns [`ConnectError`] when the endpoint is not an `http` or `https` URL, when a token or
    /// a signature for https only would go over plain `http`, or when the HTTP client cannot start.
    pub fn new(endpoint: &str, credential: impl Into<Credential>) -> Result<Self, ConnectError> {
        Self::with_options(endpoint, credential, ConnectOptions::default())
    }

    /// Opens the store that a connection string names. Sends nothing yet.
    ///
    /// # Errors
    /// Returns [`ConnectError`] when the connection string cannot be read, and as
    /// [`new`](Self::new).
    pub fn from_connection_string(text: &str) -> Result<Self, ConnectError> {
        let ConnectionString { endpoint, credential, secondary } = text.parse()?;
        let options = ConnectOptions { secondary_endpoint: secondary, ..ConnectOptions::default() };
        Self::with_options(&endpoint, credential, options)
    }

    /// Opens the store at `endpoint`, with other timeouts or another HTTP client. Sends nothing
    /// yet.
    ///
    /// # Errors
    /// Returns [`ConnectError`] when no request could be sent with these options, and as
    /// [`new`](Self::new).
    pub fn with_options(
        endpoint: &str,
        credential: impl Into<Credential>,
        options: ConnectOptions,
    ) -> Result<Self, ConnectError> {
        let (url, credential) = (parse_endpoint(endpoint)?, credential.into());
        let (help, limit) = (credential.help(), options.request_timeout);
        let has_row_bounds = credential.has_row_bounds();
        let authorize = connect::authorization(limit, AccountService::Tables, &url, credential)?;
        let max_answer_bytes = options.max_answer_bytes;
        let secondary = options.secondary_endpoint.as_deref();
        let secondary = match secondary.map(|endpoint| parse_secondary(endpoint, &url)) {
            Some(endpoint) => Some(endpoint?),
            None => secondary_endpoint(&url),
        };
        let pipeline = connect::pipeline(&url, vec![authorize], options)?;
        let through = Self::through(url, pipeline, &help);
        Ok(Self { max_answer_bytes, secondary, has_row_bounds, ..through })
    }

    /// Returns the store at an endpoint whose requests go through a pipeline. `help` says what to
    /// check when a request is not authorized.
    pub(crate) fn through(endpoint: Url, pipeline: Pipeline, help: &str) -> Self {
        let service = TableService::new(endpoint.as_str(), dialect(&endpoint));
        let (help, answered) = (help.into(), Arc::default());
        let max_answer_bytes = MAX_ANSWER_BYTES;
        let (secondary, has_row_bounds) = (None, false);
        Self {
            endpoint,
            secondary,
            service,
            pipeline,
            help,
            answered,
            max_answer_bytes,
            has_row_bounds,
        }
    }

    /// Reads the rules for browsers of the account's table service. Cosmos DB does not support
    /// them.
    ///
    /// # Errors
    /// Returns [`StoreError`] when the service cannot be reached or rejects the request. A
    /// signature of one table does not suffice.
    pub async fn cors_rules(&self) -> Result<Vec<CorsRule>, StoreError> {
        self.send(self.service.cors_rules()).await?.cors_rules()
    }

    /// Replaces the rules for browsers of the account's table service, for all of its tables. An empty list turns
    /// CORS off. The service's other properties are unchanged.
    ///
    /// # Errors
    /// Fails with `InvalidInput` before anything is sent when there are more than 5 rules, more
    /// than 2 KiB of them, or a rule exceeds a limit of [`CorsRule`]; and as
    /// [`cors_rules`](Self::cors_rules).
    pub async fn set_cors_rules(&self, rules: &[CorsRule]) -> Result<(), StoreError> {
        self.send(self.service.set_cors_rules(rules)?).await?.done()
    }

    /// Returns the store at another endpoint of the account, over connections of the same pool.
    fn at(&self, endpoint: Url) -> Self {
        let service = TableService::new(endpoint.as_str(), dialect(&endpoint));
        Self { endpoint, service, secondary: None, ..self.clone() }
    }

    /// Reads the access policies of a table. Cosmos DB does not support them.
    ///
    /// # Errors
    /// Returns [`StoreError`] when the table does not exist, or the service cannot be reached or
    /// rejects the request. No shared access signature suffices.
    pub async fn access_policies(
        &self,
        table: &TableName,
    ) -> Result<Vec<AccessPolicy>, StoreError> {
        self.send(self.service.access_policies(table)).await?.access_policies()
    }

    /// Replaces all access policies of a table. If a policy is removed or gets another id, its signatures end; if
    /// it is changed, they follow it. Either takes up to 30 seconds ("Set Table ACL").
    ///
    /// # Errors
    /// Fails with `InvalidInput` before anything is sent when there are more than 5 policies, two
    /// of one id, or a policy exceeds a limit of [`AccessPolicy`]; and as
    /// [`access_policies`](Self::access_policies).
    pub async fn set_access_policies(
        &self,
        table: &TableName,
        policies: &[AccessPolicy],
    ) -> Result<(), StoreError> {
        self.send(self.service.set_access_policies(table, policies)?).await?.done()
    }

    async fn send(&self, request: WireRequest) -> Result<WireResponse, StoreError> {
        let (path, query) = request.target.split_once('?').unzip();
        let path = path.unwrap_or(&request.target);
        let mut url = self.endpoint.clone();
        url.set_path(&format!("{}{path}", self.endpoint.path().trim_end_matches('/')));
        url.set_query(query);
        let method = match request.method {
            Method::Get => http::Method::Get,
            Method::Post => http::Method::Post,
            Method::Put => http::Method::Put,
            Method::Patch => http::Method::Patch,
            Method::Delete => http::Method::Delete,
        };
        let mut sent = http::Request::new(url, method);
        // Room for those of the policies too.
        let mut headers = HashMap::with_capacity(request.headers.len() + 8);
        for (name, value) in request.headers {
            headers.insert(HeaderName::from(name), HeaderValue::from_cow(value));
        }
        // The pipeline would add one too, but first builds an error with a backtrace, which costs
        // more than all the rest when `RUST_BACKTRACE` is set.
        headers.insert(CLIENT_REQUEST_ID, HeaderValue::from(Uuid::new_v4().to_string()));
        *sent.headers_mut() = headers.into();
        sent.set_body(request.body);
        // The pipeline's own check does not know the Table service's errors.
        let options = PipelineStreamOptions { skip_checks: true, ..Default::default() };
        let answer = self.pipeline.stream(&Context::new(), &mut sent, Some(options)).await;
        let unanswered = |error| unanswered(self.service.endpoint(), error);
        let (status, headers, body) = answer.map_err(unanswered)?.deconstruct();
        let most = request.answer_bytes.min(self.max_answer_bytes);
        let body = whole(body, most).await.map_err(unanswered)?;
        let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let response = WireResponse::new(status.into(), headers, body);
        tally::answered(response.request_id.as_deref());
        if let Some(date) = response.service_time(dialect(&self.endpoint)) {
            self.answered.store(date.ticks(), Ordering::Relaxed);
        }
        match status.into() {
            401 | 403 => Err(self.with_help(response.fault())),
            _ => Ok(response),
        }
    }

    /// Adds help to the error of a request that was not authorized: what to check.
    fn with_help(&self, mut error: StoreError) -> StoreError {
        if error.is_unauthorized() && !self.help.is_empty() {
            let message = error.message.trim_end_matches('.');
            error.message = format!("{message}; {}", self.help);
        }
        error
    }
}

/// Shows the endpoint only, because a caller's credential or HTTP client may show secrets.
impl fmt::Debug for AzureStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureStore")
            .field("endpoint", &self.service.endpoint())
            .finish_non_exhaustive()
    }
}

/// The account's copy in another region.
#[derive(Debug)]
struct AzureSecondary(AzureStore);

impl Middleware for AzureSecondary {
    fn inner(&self) -> &dyn Store {
        &self.0
    }
}

#[async_trait]
impl Secondary for AzureSecondary {
    async fn replication(&self) -> Result<Replication, StoreError> {
        self.0.send(self.0.service.replication()).await?.replication()
    }
}

/// The error of a page that continues where it began.
fn no_progress() -> StoreError {
    let message = "the page continues where an earlier page began, so there would be no last page";
    StoreError { status: 0, ..StoreError::new(ErrorCode::NO_PROGRESS, message) }
}

#[async_trait]
impl Store for AzureStore {
    fn hidden_property(&self) -> Option<&str> {
        None
    }

    fn backend(&self) -> Backend {
        backend(&self.endpoint)
    }

    fn secondary(&self) -> Option<Arc<dyn Secondary>> {
        Some(Arc::new(AzureSecondary(self.at(self.secondary.clone()?))))
    }

    fn service_time(&self) -> Option<DateTime> {
        DateTime::from_ticks(self.answered.load(Ordering::Relaxed)).ok()
    }

    fn has_row_bounds(&self) -> bool {
        self.has_row_bounds
    }

    fn commit_bytes(
        &self,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
    ) -> usize {
        let counted = self.service.commit_bytes(table, partition_key, operations);
        // What the service would reject is not sent, so its size does not matter.
        counted.unwrap_or_else(|_| estimated_bytes(partition_key, operations))
    }

    async fn create_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.send(self.service.create_table(table)).await?.done()
    }

    async fn delete_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.send(self.service.delete_table(table)).await?.done()
    }

    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        let (mut tables, mut tokens) = (Vec::new(), HashSet::new());
        let mut next: Option<String> = None;
        loop {
            let request = self.service.list_tables(next.as_deref());
            let (names, token) = self.send(request).await?.table_names()?;
            tables.extend(names);
            let Some(token) = token else { break };
            if !tokens.insert(token.clone()) {
                return Err(no_progress());
            }
            next = Some(token);
        }
        // Azurite lists tables in the order of their creation.
        tables.sort_by_cached_key(|name| name.as_str().to_ascii_lowercase());
        Ok(tables)
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        let request = self.service.get(table, partition_key, row_key, select, metadata)?;
        self.send(request).await?.row()
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let page = self.send(self.service.query(query)?).await?.page()?;
        if page.continuation.is_some() && page.continuation == query.continuation {
            return Err(no_progress());
        }
        Ok(page)
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let request = self.service.write(table, partition_key, &operation)?;
        self.send(request).await?.written(&operation.action)
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let request = self.service.commit(table, &transaction)?;
        let response = self.send(request).await?;
        response.committed(&transaction.operations).map_err(|error| self.with_help(error))
    }
}
