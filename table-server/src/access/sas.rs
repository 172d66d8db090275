//! Shared access signatures of an account or a table.

use super::{Access, Grant, Permissions, StoredPolicy, is_signed};
use crate::error::ServiceError;
use crate::message::Client;
use crate::uri::Parameters;
use std::net::{IpAddr, Ipv4Addr};
use table_orm::azure::SharedKey;
use table_orm::azure::protocol::{instant, signature};
use table_orm::model::DateTime;
use table_orm::query::{KeyLimit, KeyLimits};

/// The oldest version whose signatures cover addresses and protocols.
const OLDEST_VERSION: &str = "2015-04-05";

/// The parameters of a signature.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SasParameters<'p>(&'p Parameters);

/// A table's signature that is valid if its stored policy says so.
#[derive(Debug)]
pub(crate) struct TableGrantRequest {
    /// The table's name, in lower case.
    pub(crate) table: String,
    /// The id of the policy.
    pub(crate) policy: String,
    stated: Stated,
    keys: KeyLimits,
}

/// What a signature itself states of when and what it allows.
#[derive(Debug, Clone, Copy)]
struct Stated {
    start: Option<DateTime>,
    expiry: Option<DateTime>,
    permissions: Option<Permissions>,
}

impl<'p> SasParameters<'p> {
    pub(crate) const fn new(parameters: &'p Parameters) -> Self {
        Self(parameters)
    }

    /// Returns a parameter; an empty one counts as absent.
    fn get(&self, name: &str) -> Option<&'p str> {
        self.0.get(name).filter(|value| !value.is_empty())
    }

    /// Verifies the signature, and all that it states.
    pub(crate) fn verify(
        &self,
        account: &SharedKey,
        client: Client,
        now: DateTime,
    ) -> Result<Access, ServiceError> {
        let failed = ServiceError::AUTHENTICATION_FAILED;
        let value = |name: &str| self.0.get(name).unwrap_or_default();
        let table = self.get("tn");
        let text = match table {
            Some(table) => signature::table_sas(account.account(), table, value),
            None => signature::account_sas(account.account(), value),
        };
        if !is_version(value("sv")) || !is_signed(account, &text, value("sig")) {
            return Err(failed);
        }
        self.check_client(client)?;
        let stated = self.stated()?;
        let Some(table) = table.map(str::to_ascii_lowercase) else {
            return self.of_account(stated, now);
        };
        let keys = KeyLimits { first: self.limit("spk", "srk")?, last: self.limit("epk", "erk")? };
        match self.get("si") {
            Some(policy) => Ok(Access::ByPolicy(TableGrantRequest {
                table,
                policy: policy.to_owned(),
                stated,
                keys,
            })),
            None => {
                Ok(Access::Granted(Grant::Table { table, permissions: stated.check(now)?, keys }))
            }
        }
    }

    /// Returns an end of the range of keys.
    fn limit(&self, partition: &str, row: &str) -> Result<Option<KeyLimit>, ServiceError> {
        match (self.get(partition), self.get(row).map(str::to_owned)) {
            (Some(partition), row_key) => {
                Ok(Some(KeyLimit { partition_key: partition.to_owned(), row_key }))
            }
            (None, None) => Ok(None),
            // A RowKey without its PartitionKey is no end of a range.
            (None, Some(_)) => Err(ServiceError::AUTHENTICATION_FAILED),
        }
    }

    fn of_account(&self, stated: Stated, now: DateTime) -> Result<Access, ServiceError> {
        if !self.get("ss").is_some_and(|services| services.contains('t')) {
            return Err(ServiceError::SERVICE_MISMATCH);
        }
        let scopes = self.get("srt").unwrap_or_default().to_owned();
        Ok(Access::Granted(Grant::Account { scopes, permissions: stated.check(now)? }))
    }

    fn stated(&self) -> Result<Stated, ServiceError> {
        let instant = |name| {
            let read = |text| instant::parse(text).ok_or(ServiceError::AUTHENTICATION_FAILED);
            self.get(name).map(read).transpose()
        };
        let permissions = self.get("sp").map(Permissions::read);
        Ok(Stated { start: instant("st")?, expiry: instant("se")?, permissions })
    }

    /// Checks the protocol and the address of the client.
    fn check_client(&self, client: Client) -> Result<(), ServiceError> {
        match self.get("spr") {
            Some("https") if !client.https => return Err(ServiceError::PROTOCOL_MISMATCH),
            None | Some("https" | "https,http") => {}
            // HTTP alone is no value of the service.
            Some(_) => return Err(ServiceError::AUTHENTICATION_FAILED),
        }
        match self.get("sip") {
            Some(addresses) if !is_from(addresses, client.address) => {
                Err(ServiceError::SOURCE_ADDRESS_MISMATCH)
            }
            _ => Ok(()),
        }
    }
}

impl TableGrantRequest {
    /// Decides with the stored policy. What the policy states, the signature must not state too.
    pub(crate) fn decide(
        self,
        policy: Option<&StoredPolicy>,
        now: DateTime,
    ) -> Result<Grant, ServiceError> {
        let policy = policy.ok_or(ServiceError::AUTHENTICATION_FAILED)?;
        let stated = self.stated;
        let twice = stated.start.is_some() && policy.start.is_some()
            || stated.expiry.is_some() && policy.expiry.is_some()
            || stated.permissions.is_some() && policy.permissions.is_some();
        if twice {
            return Err(ServiceError::AUTHENTICATION_FAILED);
        }
        let stated = Stated {
            start: stated.start.or(policy.start),
            expiry: stated.expiry.or(policy.expiry),
            permissions: stated.permissions.or(policy.permissions),
        };
        Ok(Grant::Table { table: self.table, permissions: stated.check(now)?, keys: self.keys })
    }
}

impl Stated {
    /// Checks the times and returns the permissions.
    fn check(self, now: DateTime) -> Result<Permissions, ServiceError> {
        let begun = self.start.is_none_or(|start| start <= now);
        match (self.expiry, self.permissions) {
            (Some(expiry), Some(permissions)) if begun && now < expiry => Ok(permissions),
            _ => Err(ServiceError::AUTHENTICATION_FAILED),
        }
    }
}

fn is_version(text: &str) -> bool {
    text.len() == OLDEST_VERSION.len() && instant::parse(text).is_some() && text >= OLDEST_VERSION
}

/// Whether a client has one of the addresses: `168.1.5.60` or `168.1.5.60-168.1.5.70`.
fn is_from(addresses: &str, client: IpAddr) -> bool {
    let (first, last) = addresses.split_once('-').unwrap_or((addresses, addresses));
    let client = match client {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(address) => address.to_ipv4_mapped(),
    };
    match (first.parse::<Ipv4Addr>(), last.parse::<Ipv4Addr>(), client) {
        (Ok(first), Ok(last), Some(client)) => (first..=last).contains(&client),
        _ => false,
    }
}
