//! The service without sockets: a request in, an answer out.
//!
//! Invariant: whatever a request holds, it gets an answer with the service's code, or its connection
//! is closed because the store lost it.

use crate::access::{self, Access, Grant};
use crate::accounts::Accounts;
use crate::address::Address;
use crate::cors;
use crate::error::ServiceError;
use crate::execute::Execution;
use crate::failure::FailureHook;
use crate::message::{Answer, Request, Response};
use crate::operation::Operation;
use crate::respond::{self, ErrorForm, LATEST_VERSION, RequestId};
use crate::settings::SettingsStore;
use crate::uri::Parameters;
use http::Method;
use http::header::HOST;
use std::net::Ipv4Addr;
use std::sync::Arc;
use table_orm::azure::SharedKey;
use table_orm::azure::protocol::instant;
use table_orm::model::DateTime;
use table_orm::store::{Store, StoreError};

/// The oldest `x-ms-version` of the Table service.
const OLDEST_VERSION: &str = "2009-04-14";

/// Why a public host is refused for the emulator's account.
const PUBLIC_KEY: &str = "The key of this account is public, so a page of any server that takes the name of this host \
                          could use it. Address the emulator by a local name, or give it an account of your own.";

/// Why a script may change nothing.
const ORIGIN: &str = "CORS not enabled or no matching rule found for this request. A script changes something here only \
                      if a CORS rule of the service names its origin and the method.";

/// The ends of names that no server on the internet can take from this one.
const PRIVATE_NAMES: [&str; 9] = [
    ".localhost",
    ".local",
    ".internal",
    ".lan",
    ".home.arpa",
    ".test",
    ".svc",
    ".mshome.net",
    ".core.windows.net",
];

/// The Table service over a store.
#[derive(Debug)]
pub struct TableService {
    store: Arc<dyn Store>,
    accounts: Accounts,
    settings: SettingsStore,
    oauth: bool,
    any_version: bool,
    failures: FailureHook,
}

/// What became of the credentials of a request.
#[derive(Debug)]
pub(crate) enum Admission {
    /// A browser asks what a page may send; that needs no credentials.
    Preflight,
    Granted(Box<Admitted>),
}

/// A request with valid credentials: what it addresses, and what its sender may do.
#[derive(Debug)]
pub(crate) struct Admitted {
    address: Address,
    parameters: Parameters,
    grant: Grant,
    /// Whether the credentials may end while a body arrives. The key of an account does not.
    may_end: bool,
}

impl Admission {
    /// Whether the credentials may end while a body arrives.
    pub(crate) fn may_end(&self) -> bool {
        matches!(self, Self::Granted(admitted) if admitted.may_end)
    }
}

/// Whether a page of another server cannot have come from that host: an address, a name without a dot, or one that is
/// resolved privately.
fn is_private(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
    let name = name.map_or(host, |(name, _)| name).trim_end_matches('.').to_ascii_lowercase();
    name.starts_with('[')
        || !name.contains('.')
        || name.parse::<Ipv4Addr>().is_ok()
        || PRIVATE_NAMES.iter().any(|end| name.ends_with(end))
}

/// How requests are checked.
#[derive(Debug, Clone)]
pub(crate) struct ServiceOptions {
    pub(crate) accounts: Accounts,
    pub(crate) oauth: bool,
    pub(crate) any_version: bool,
    pub(crate) failures: FailureHook,
}

impl TableService {
    /// Serves a store as the emulator's account.
    ///
    /// # Errors
    /// The store's settings cannot be read.
    pub async fn new(store: Arc<dyn Store>, account: SharedKey) -> Result<Self, StoreError> {
        let accounts = Accounts::one(account);
        let failures = FailureHook::default();
        let options = ServiceOptions { accounts, oauth: false, any_version: false, failures };
        Self::with_options(store, options).await
    }

    pub(crate) async fn with_options(
        store: Arc<dyn Store>,
        options: ServiceOptions,
    ) -> Result<Self, StoreError> {
        let settings = SettingsStore::open(Arc::clone(&store)).await?;
        let ServiceOptions { accounts, oauth, any_version, failures } = options;
        Ok(Self { store, accounts, settings, oauth, any_version, failures })
    }

    pub(crate) const fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Answers a request.
    pub async fn handle(&self, request: Request) -> Answer {
        let admission = self.admit(&request).await;
        self.answer(request, admission).await
    }

    /// Decides by the line and the headers of a request who sends it: its body is not needed, because no
    /// credentials sign it.
    pub(crate) async fn admit(&self, request: &Request) -> Result<Admission, ServiceError> {
        if request.method == Method::OPTIONS {
            return Ok(Admission::Preflight);
        }
        self.check_version(request)?;
        let host = match request.headers.get(HOST) {
            Some(host) => host.to_str().map_err(|_| ServiceError::INVALID_HEADER_VALUE)?,
            None => "localhost",
        };
        let address = Address::read(request.client.https, host, request.path())?;
        if !request.client.https && !is_private(host) && self.accounts.is_public(&address.account) {
            return Err(ServiceError::AUTHORIZATION_FAILURE.because(PUBLIC_KEY));
        }
        let parameters = Parameters::read(request.query())?;
        let grant = self.grant(request, &address, &parameters).await?;
        let authorization = request.header("authorization").unwrap_or_default();
        let may_end = grant != Grant::Everything || authorization.starts_with("Bearer ");
        Ok(Admission::Granted(Box::new(Admitted { address, parameters, grant, may_end })))
    }

    /// Answers a request, by the decision about it.
    pub(crate) async fn answer(
        &self,
        request: Request,
        admission: Result<Admission, ServiceError>,
    ) -> Answer {
        let id = RequestId::new();
        let responded = match admission {
            Ok(Admission::Granted(admitted)) => self.respond(&request, &admitted).await,
            Ok(Admission::Preflight) => cors::preflight(&self.settings.properties().cors, &request),
            Err(error) => Err(error),
        };
        let response = match responded {
            Ok(response) => response,
            Err(error) => {
                self.failures.report(&request, &error);
                if error.is_lost() {
                    return Answer::Close;
                }
                respond::error(&error, ErrorForm::of(&request), &id)
            }
        };
        let response = respond::complete(response, &request, id);
        if request.method == Method::OPTIONS {
            return Answer::Response(response);
        }
        let rules = &self.settings.properties().cors;
        Answer::Response(cors::expose(rules, &request, response))
    }

    /// Answers a request that could not be read: too large, too slow or malformed.
    pub(crate) fn refuse(request: &Request, error: &ServiceError) -> Response {
        let id = RequestId::new();
        let response = respond::error(error, ErrorForm::of(request), &id);
        respond::complete(response, request, id)
    }

    async fn respond(
        &self,
        request: &Request,
        Admitted { address, parameters, grant, .. }: &Admitted,
    ) -> Result<Response, ServiceError> {
        let operation = Operation::read(request, &address.resource, parameters)?;
        if let Some(need) = operation.need() {
            grant.check(&need)?;
        }
        if address.secondary && operation.is_write() {
            return Err(ServiceError::WRITES_NOT_ALLOWED);
        }
        if operation.is_write() && !cors::admits(&self.settings.properties().cors, request) {
            return Err(ServiceError::CORS_PREFLIGHT_FAILURE.because(ORIGIN));
        }
        let (store, settings) = (&*self.store, &self.settings);
        let execution = Execution { store, settings, address, grant, request };
        execution.run(operation).await
    }

    /// Finds out what the caller may do.
    async fn grant(
        &self,
        request: &Request,
        address: &Address,
        parameters: &Parameters,
    ) -> Result<Grant, ServiceError> {
        let now = DateTime::now();
        let access = access::verify(&self.accounts, self.oauth, request, address, parameters, now)?;
        match access {
            Access::Granted(grant) => Ok(grant),
            Access::ByPolicy(asked) => {
                let policies = self.settings.policies(&asked.table).await?;
                let policy = policies.get(&asked.policy);
                asked.decide(policy.as_ref(), now)
            }
        }
    }

    fn check_version(&self, request: &Request) -> Result<(), ServiceError> {
        let Some(version) = request.header("x-ms-version") else { return Ok(()) };
        let date = version.len() == 10 && instant::parse(version).is_some();
        if date && (self.any_version || (OLDEST_VERSION..=LATEST_VERSION).contains(&version)) {
            Ok(())
        } else {
            Err(ServiceError::INVALID_HEADER_VALUE.because(format!(
                "The value for one of the HTTP headers is not in the correct format. This server knows the versions \
                 {OLDEST_VERSION} to {LATEST_VERSION} of x-ms-version; `table-orm serve --skipApiVersionCheck` takes \
                 all."
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_others_may_own_are_not_private() {
        for host in [
            "127.0.0.1:10002",
            "10.1.2.3",
            "[::1]:10002",
            "[::1]",
            "[::ffff:10.0.0.1]:10002",
            "azurite.ci.svc:10002",
            "localhost:10002",
            "tables",
            "acc.table.localhost:1",
            "host.docker.internal:10002",
            "tables.ci.svc.cluster.local",
            "acc.table.core.windows.net",
        ] {
            assert!(is_private(host), "{host}");
        }
        for host in ["evil.example:10002", "127.0.0.1.evil.example", "localhost.example.", "a.b"] {
            assert!(!is_private(host), "{host}");
        }
    }
}
