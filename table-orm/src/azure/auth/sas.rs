//! Shared access signatures of a table: limited access to hand to a client.

use super::credential::{Credential, CredentialKind, SharedKey};
use crate::azure::protocol::{
    API_VERSION, Permissions, instant, is_policy_id, percent_encode, signature,
};
use crate::key::{KeyFault, check_key};
use crate::model::{DateTimeRangeError, TableName, order};
use std::net::Ipv4Addr;
use time::OffsetDateTime;

/// A grant of access to one table, or a range of its keys, until an expiry.
///
/// Signing it with the account's key returns the query string to hand out. A new account key revokes it. So does a
/// change of its stored policy, if it is [of one](Self::of_policy). Azurite checks the signature of a range of
/// keys, but does not enforce the range.
///
/// The guide's chapter [Direct access](crate::guide::run::direct_access) shows what to grant, how
/// browsers use a signature, and what somebody who steals one can do.
///
/// ```
/// use table_orm::TableName;
/// use table_orm::azure::{Permissions, SharedKey, TableSas};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let key = SharedKey::new("account", "a2V5")?;
/// let until = time::OffsetDateTime::now_utc() + time::Duration::hours(1);
/// let signature = TableSas::new(TableName::new("registrations")?, Permissions::READ, until)
///     .partition("2011 New York City Marathon__Full")
///     .sign(&key)?;
/// assert!(signature.starts_with("sv="));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSas {
    table: TableName,
    /// Permissions and expiry, if the signature states them.
    granted: Option<(Permissions, OffsetDateTime)>,
    /// The stored policy that states what the signature does not.
    policy: Option<String>,
    start: Option<OffsetDateTime>,
    addresses: Option<String>,
    allow_http: bool,
    from: RangeEnd,
    to: RangeEnd,
}

/// The PartitionKey and RowKey at one end of a range, both optional.
type RangeEnd = (Option<String>, Option<String>);

/// The reason why a signature cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SasError {
    /// The permissions are empty.
    #[error("the signature grants no permission; give it at least one of `Permissions`")]
    NoPermission,
    /// The end of the key range is before its start.
    #[error("the key range ends before it starts; swap its ends")]
    EmptyRange,
    /// The key range ends with an empty key, so the service would not limit it.
    #[error(
        "the key range ends with an empty key, which the service reads as no end; name the last key, \
         or leave the range out to grant the whole table"
    )]
    NoEnd,
    /// No row can have a key of the range.
    #[error("a key of the range {0}")]
    Key(KeyFault),
    /// The policy's id is not one that a table can have.
    #[error(
        "the id of the stored access policy is empty, is longer than 64 characters, has control characters, or \
         has spaces at an end"
    )]
    Policy,
    /// The addresses have another form.
    #[error(
        "the addresses are not an IPv4 address such as `168.1.5.60`, or an ascending range such as \
         `168.1.5.60-168.1.5.70`"
    )]
    Addresses,
    /// The expiry is not after the start.
    #[error("the signature expires before it starts; let it expire after its start")]
    NeverValid,
    /// The start or the expiry is before 1601 or after 9999 in UTC.
    #[error("a time of the signature is out of range: {0}")]
    Time(#[from] DateTimeRangeError),
    /// Signing with the account key failed.
    #[error("the account key cannot sign; check that it is the key of the account")]
    Sign(#[source] azure_core::Error),
}

impl TableSas {
    /// Grants access to a whole table from now on, over https only.
    #[must_use]
    pub fn new(table: TableName, permissions: Permissions, expiry: OffsetDateTime) -> Self {
        Self { granted: Some((permissions, expiry)), ..Self::of(table) }
    }

    /// Grants what a stored access policy of the table grants, from now on, over https only. The
    /// policy states the permissions and the expiry: see
    /// [`AzureStore::set_access_policies`](crate::azure::AzureStore::set_access_policies). To
    /// revoke every signature of the policy, remove or change the policy.
    ///
    /// ```
    /// use table_orm::TableName;
    /// use table_orm::azure::{SharedKey, TableSas};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let key = SharedKey::new("account", "a2V5")?;
    /// let signature = TableSas::of_policy(TableName::new("results")?, "spectators").sign(&key)?;
    /// assert!(signature.contains("&si=spectators&"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn of_policy(table: TableName, policy: impl Into<String>) -> Self {
        Self { policy: Some(policy.into()), ..Self::of(table) }
    }

    const fn of(table: TableName) -> Self {
        Self {
            table,
            granted: None,
            policy: None,
            start: None,
            addresses: None,
            allow_http: false,
            from: (None, None),
            to: (None, None),
        }
    }

    /// Grants access from `start` on. Clocks differ, so leave it out for access from now on. The
    /// service rejects a signature whose stored policy states a start too.
    #[must_use]
    pub const fn starting(mut self, start: OffsetDateTime) -> Self {
        self.start = Some(start);
        self
    }

    /// Limits access to one IPv4 address, or a range of them: `168.1.5.60-168.1.5.70`.
    #[must_use]
    pub fn from_addresses(mut self, addresses: impl Into<String>) -> Self {
        self.addresses = Some(addresses.into());
        self
    }

    /// Allows plain http too, as for Azurite.
    #[must_use]
    pub const fn allow_http(mut self) -> Self {
        self.allow_http = true;
        self
    }

    /// Limits access to the rows of one partition.
    #[must_use]
    pub fn partition(self, partition_key: impl Into<String>) -> Self {
        let partition_key = partition_key.into();
        self.partitions(partition_key.clone(), partition_key)
    }

    /// Limits access to the rows of the partitions from `first` to `last`, both included.
    #[must_use]
    pub fn partitions(mut self, first: impl Into<String>, last: impl Into<String>) -> Self {
        self.from = (Some(first.into()), None);
        self.to = (Some(last.into()), None);
        self
    }

    /// Limits access to the rows of one partition with RowKeys from `first` to `last`, both
    /// included.
    #[must_use]
    pub fn rows(
        mut self,
        partition_key: impl Into<String>,
        first: impl Into<String>,
        last: impl Into<String>,
    ) -> Self {
        let partition_key = partition_key.into();
        self.from = (Some(partition_key.clone()), Some(first.into()));
        self.to = (Some(partition_key), Some(last.into()));
        self
    }

    /// Returns the signature's query string, to append to the table's URL or to pass to
    /// [`Credential::sas`].
    ///
    /// An expiry in the past is signed too, because clocks differ and apps test with it. The service
    /// then rejects the signature.
    ///
    /// # Errors
    /// Returns [`SasError`] when the grant is empty or invalid, or the key cannot sign.
    pub fn sign(&self, key: &SharedKey) -> Result<String, SasError> {
        self.check()?;
        let parameters = self.parameters()?;
        let text = string_to_sign(&parameters, &self.table, key.account());
        let signature = key.sign(&text).map_err(SasError::Sign)?;
        let mut query = String::new();
        for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
            query.push_str(name);
            query.push('=');
            query.push_str(&percent_encode(value));
            query.push('&');
        }
        Ok(query + "sig=" + &percent_encode(&signature))
    }

    /// Returns the signature as a credential to open a store with.
    ///
    /// # Errors
    /// Fails as [`sign`](Self::sign).
    pub fn credential(&self, key: &SharedKey) -> Result<Credential, SasError> {
        let signed = self.sign(key)?;
        Ok(Credential(CredentialKind::Sas(signed.into())))
    }

    fn check(&self) -> Result<(), SasError> {
        let before = |left: &Option<String>, right: &Option<String>| match (left, right) {
            (Some(left), Some(right)) => order::compare(left, right).is_lt(),
            _ => false,
        };
        let ((from_partition, from_row), (to_partition, to_row)) = (&self.from, &self.to);
        let expiry = self.granted.map(|(_, expiry)| expiry);
        if self.granted.is_some_and(|(permissions, _)| permissions.is_empty()) {
            Err(SasError::NoPermission)
        } else if !self.policy.as_deref().is_none_or(is_policy_id) {
            Err(SasError::Policy)
        } else if self.start.zip(expiry).is_some_and(|(start, expiry)| start >= expiry) {
            Err(SasError::NeverValid)
        } else if !self.addresses.as_deref().is_none_or(are_addresses) {
            Err(SasError::Addresses)
        } else if [to_partition, to_row].into_iter().flatten().any(String::is_empty) {
            Err(SasError::NoEnd)
        } else if before(to_partition, from_partition) || before(to_row, from_row) {
            Err(SasError::EmptyRange)
        } else {
            let keys = [from_partition, from_row, to_partition, to_row].into_iter().flatten();
            keys.map(String::as_str).try_for_each(check_key).map_err(SasError::Key)
        }
    }

    fn parameters(&self) -> Result<Parameters, SasError> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let moment = |moment: Option<OffsetDateTime>| {
            Ok::<_, DateTimeRangeError>(
                moment.map(instant::to_the_second).transpose()?.unwrap_or_default(),
            )
        };
        Ok([
            ("sv", API_VERSION.to_owned()),
            ("tn", self.table.as_str().to_owned()),
            (
                "sp",
                self.granted.map_or_else(String::new, |(permissions, _)| permissions.to_string()),
            ),
            ("st", moment(self.start)?),
            ("se", moment(self.granted.map(|(_, expiry)| expiry))?),
            ("sip", text(&self.addresses)),
            ("spr", if self.allow_http { "https,http" } else { "https" }.to_owned()),
            ("spk", text(&self.from.0)),
            ("srk", text(&self.from.1)),
            ("epk", text(&self.to.0)),
            ("erk", text(&self.to.1)),
            ("si", text(&self.policy)),
        ])
    }
}

/// The parameters of a signature and their values. Absent values are empty.
type Parameters = [(&'static str, String); 12];

/// Builds the twelve lines to sign, in the service's order.
fn string_to_sign(parameters: &Parameters, table: &TableName, account: &str) -> String {
    let value = |name: &str| {
        let parameter = parameters.iter().find(|(known, _)| *known == name);
        parameter.map_or("", |(_, value)| value.as_str())
    };
    signature::table_sas(account, table.as_str(), value)
}

/// Returns whether the text is an IPv4 address, or two in ascending order with `-` between.
fn are_addresses(text: &str) -> bool {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse::<Ipv4Addr>(), last.parse::<Ipv4Addr>()) {
        (Ok(first), Ok(last)) => first <= last,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::MAX_KEY_UNITS;
    use time::{Duration, PrimitiveDateTime, UtcOffset};

    fn key() -> SharedKey {
        SharedKey::new("acc", "c2VjcmV0").unwrap()
    }

    fn sas(permissions: Permissions) -> TableSas {
        let expiry = OffsetDateTime::UNIX_EPOCH + Duration::hours(1);
        TableSas::new(TableName::new("People").unwrap(), permissions, expiry)
    }

    #[test]
    fn the_signed_text_has_the_documented_lines() {
        let sas = sas(Permissions::DELETE | Permissions::READ)
            .starting(OffsetDateTime::UNIX_EPOCH)
            .from_addresses("1.2.3.4")
            .allow_http()
            .rows("p", "a", "b");
        assert_eq!(
            string_to_sign(&sas.parameters().unwrap(), &sas.table, "acc"),
            "rd\n1970-01-01T00:00:00Z\n1970-01-01T01:00:00Z\n/table/acc/people\n\n1.2.3.4\n\
             https,http\n2020-12-06\np\na\np\nb"
        );
        let query = sas.sign(&key()).unwrap();
        assert!(query.starts_with(
            "sv=2020-12-06&tn=People&sp=rd&st=1970-01-01T00%3A00%3A00Z&\
             se=1970-01-01T01%3A00%3A00Z&sip=1.2.3.4&spr=https%2Chttp&spk=p&srk=a&epk=p&erk=b&sig="
        ));
        assert!(Credential::sas(&query).is_ok());
    }

    #[test]
    fn a_signature_that_grants_nothing_is_refused() {
        let rejected = |sas: TableSas| sas.sign(&key()).unwrap_err();
        let late = OffsetDateTime::UNIX_EPOCH + Duration::hours(2);
        assert!(matches!(rejected(sas(Permissions::NONE)), SasError::NoPermission));
        assert!(matches!(rejected(sas(Permissions::READ).starting(late)), SasError::NeverValid));
        let range = sas(Permissions::READ).partitions("b", "a");
        assert!(matches!(rejected(range), SasError::EmptyRange));
    }

    #[test]
    fn keys_that_no_row_can_have_are_refused() {
        let fault = |sas: TableSas| match sas.sign(&key()) {
            Err(SasError::Key(fault)) => Some(fault),
            _ => None,
        };
        let sas = || sas(Permissions::READ);
        assert_eq!(fault(sas().partition("a/b")), Some(KeyFault::Forbidden('/')));
        assert_eq!(fault(sas().rows("p", "a", "b?")), Some(KeyFault::Forbidden('?')));
        let long = "é".repeat(MAX_KEY_UNITS);
        assert_eq!(fault(sas().partition(format!("{long}é"))), Some(KeyFault::TooLong(513)));
        assert!(sas().partition(long).sign(&key()).is_ok());
        assert!(sas().rows("p", "", "a\u{10FFFF}").sign(&key()).is_ok());
    }

    #[test]
    fn a_range_that_ends_with_an_empty_key_is_refused() {
        let sas = || sas(Permissions::READ);
        for range in [sas().partition(""), sas().rows("", "a", "b"), sas().rows("p", "", "")] {
            assert!(matches!(range.sign(&key()), Err(SasError::NoEnd)), "{range:?}");
        }
    }

    #[test]
    fn addresses_are_one_or_an_ascending_range() {
        let signed =
            |addresses: &str| sas(Permissions::READ).from_addresses(addresses).sign(&key());
        assert!(signed("168.1.5.60").is_ok());
        assert!(signed("168.1.5.60-168.1.5.70").is_ok());
        for addresses in
            ["", "300.1.1.1 or so&x=1", "1.2.3.4-", "1.2.3.9-1.2.3.4", "1.2.3.0/24", "::1"]
        {
            assert!(matches!(signed(addresses), Err(SasError::Addresses)), "{addresses}");
        }
    }

    #[test]
    fn times_at_the_ends_of_their_range_are_signed_or_refused() {
        let signed = |start: Option<OffsetDateTime>, expiry: OffsetDateTime| {
            let sas = TableSas::new(TableName::new("People").unwrap(), Permissions::READ, expiry);
            TableSas { start, ..sas }.sign(&key())
        };
        for (hours, is_signed) in [(14, true), (1, true), (0, true), (-1, false), (-14, false)] {
            let offset = UtcOffset::from_hms(hours, 0, 0).unwrap();
            let last = PrimitiveDateTime::MAX.assume_offset(offset);
            let is_last_hour_of_utc = signed(None, last);
            assert_eq!(is_last_hour_of_utc.is_ok(), is_signed, "{hours}");
            let starting = signed(Some(last - Duration::SECOND), last);
            assert_eq!(starting.is_ok(), is_signed, "{hours}");
            for first in [PrimitiveDateTime::MIN.assume_offset(offset), OffsetDateTime::UNIX_EPOCH]
            {
                assert_eq!(signed(Some(first), last).is_ok(), is_signed && first.year() > 1600);
            }
        }
        let early = PrimitiveDateTime::MIN.assume_offset(UtcOffset::from_hms(1, 0, 0).unwrap());
        let error = signed(None, early).unwrap_err();
        assert!(matches!(error, SasError::Time(_)), "{error}");
        let last = PrimitiveDateTime::MAX.assume_utc();
        assert!(signed(None, last).unwrap().contains("&se=9999-12-31T23%3A59%3A59Z&"));
    }

    #[test]
    fn a_signature_of_a_policy_states_only_its_id() {
        let table = || TableName::new("People").unwrap();
        let sas = TableSas::of_policy(table(), "a b");
        assert_eq!(
            string_to_sign(&sas.parameters().unwrap(), &sas.table, "acc"),
            "\n\n\n/table/acc/people\na b\n\nhttps\n2020-12-06\n\n\n\n"
        );
        let query = sas.sign(&key()).unwrap();
        assert!(query.starts_with("sv=2020-12-06&tn=People&spr=https&si=a%20b&sig="), "{query}");
        assert!(TableSas::of_policy(table(), "x".repeat(64)).sign(&key()).is_ok());
        for id in ["", " a", "a\n", &"x".repeat(65)] {
            let refused = TableSas::of_policy(table(), id).sign(&key());
            assert!(matches!(refused, Err(SasError::Policy)), "{id}");
        }
    }
}
