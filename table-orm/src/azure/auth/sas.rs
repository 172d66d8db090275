//! Shared access signatures of a table: narrow access to hand to a client.

use super::credential::{Credential, CredentialKind, SharedKey};
use crate::azure::protocol::{API_VERSION, percent_encode};
use crate::key::{KeyFault, check_key};
use crate::model::{TableName, order};
use std::fmt;
use std::net::Ipv4Addr;
use std::ops::BitOr;
use time::OffsetDateTime;

/// What the holder of a signature may do; joined with `|`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Permissions(u8);

impl Permissions {
    /// Query rows.
    pub const READ: Self = Self(1);
    /// Insert rows.
    pub const ADD: Self = Self(2);
    /// Update and merge rows. Upserts need `ADD` too.
    pub const UPDATE: Self = Self(4);
    /// Delete rows.
    pub const DELETE: Self = Self(8);
}

impl BitOr for Permissions {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The letters of `sp`, in the order the service asks for.
impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters =
            [(Self::READ, "r"), (Self::ADD, "a"), (Self::UPDATE, "u"), (Self::DELETE, "d")];
        let granted = letters.into_iter().filter(|(permission, _)| self.0 & permission.0 != 0);
        granted.map(|(_, letter)| letter).try_for_each(|letter| f.write_str(letter))
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permissions({self})")
    }
}

/// Access to one table, or a range of its keys, until some time. Signing it with the account's key
/// gives the query string to hand out; it cannot be taken back but by changing the key. Azurite
/// checks the signature over a range of keys, and then does not keep to the range.
///
/// The guide's chapter "Direct access without a proxy" shows what to grant, how browsers use it, and
/// what a stolen one is worth.
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
    permissions: Permissions,
    start: Option<OffsetDateTime>,
    expiry: OffsetDateTime,
    addresses: Option<String>,
    allow_http: bool,
    from: Bound,
    to: Bound,
}

/// The PartitionKey and RowKey of one end of a range, both optional.
type Bound = (Option<String>, Option<String>);

/// A signature that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SasError {
    /// No permission, so that the signature would grant nothing.
    #[error("the signature grants no permission")]
    NoPermission,
    /// A range whose end is before its start.
    #[error("the end of the key range lies before its start")]
    EmptyRange,
    /// A key range whose end is an empty key, which would bound nothing.
    #[error(
        "the key range ends with an empty key, which the service takes for no end at all; name a \
         key, or grant more on purpose"
    )]
    NoEnd,
    /// A key of the range that no row can have.
    #[error("a key of the range {0}")]
    Key(KeyFault),
    /// Addresses in another form.
    #[error(
        "the addresses are not an IPv4 address, such as `168.1.5.60`, or a range of them in order, \
         such as `168.1.5.60-168.1.5.70`"
    )]
    Addresses,
    /// A validity whose end is not after its start.
    #[error("the signature expires before it starts")]
    NeverValid,
    /// The key cannot sign.
    #[error("the account key cannot sign")]
    Sign(#[source] azure_core::Error),
}

impl TableSas {
    /// Access to a whole table from now on, over https only.
    #[must_use]
    pub const fn new(table: TableName, permissions: Permissions, expiry: OffsetDateTime) -> Self {
        Self {
            table,
            permissions,
            start: None,
            expiry,
            addresses: None,
            allow_http: false,
            from: (None, None),
            to: (None, None),
        }
    }

    /// Not before `start`. Clocks differ: leave it out for access from now on.
    #[must_use]
    pub const fn starting(mut self, start: OffsetDateTime) -> Self {
        self.start = Some(start);
        self
    }

    /// Only from one IPv4 address, or a range of them: `168.1.5.60-168.1.5.70`.
    #[must_use]
    pub fn from_addresses(mut self, addresses: impl Into<String>) -> Self {
        self.addresses = Some(addresses.into());
        self
    }

    /// Also over plain http, as for Azurite.
    #[must_use]
    pub const fn allow_http(mut self) -> Self {
        self.allow_http = true;
        self
    }

    /// Only the rows of one partition.
    #[must_use]
    pub fn partition(self, partition_key: impl Into<String>) -> Self {
        let partition_key = partition_key.into();
        self.partitions(partition_key.clone(), partition_key)
    }

    /// Only the rows of the partitions from `first` to `last`, both included.
    #[must_use]
    pub fn partitions(mut self, first: impl Into<String>, last: impl Into<String>) -> Self {
        self.from = (Some(first.into()), None);
        self.to = (Some(last.into()), None);
        self
    }

    /// Only the rows of one partition with RowKeys from `first` to `last`, both included.
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

    /// The query string, to be put behind the table's URL or given to [`Credential::sas`].
    ///
    /// An expiry that has passed is signed like any other: clocks differ, and it is how an app tries
    /// what its clients meet. The service then refuses.
    ///
    /// # Errors
    /// [`SasError`].
    pub fn sign(&self, key: &SharedKey) -> Result<String, SasError> {
        self.check()?;
        let parameters = self.parameters();
        let signature = key.sign(&self.string_to_sign(key.account())).map_err(SasError::Sign)?;
        let mut query = String::new();
        for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
            query.push_str(name);
            query.push('=');
            query.push_str(&percent_encode(value));
            query.push('&');
        }
        Ok(query + "sig=" + &percent_encode(&signature))
    }

    /// The signature as what a store is opened with.
    ///
    /// # Errors
    /// [`SasError`].
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
        if self.permissions.0 == 0 {
            Err(SasError::NoPermission)
        } else if self.start.is_some_and(|start| start >= self.expiry) {
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

    fn parameters(&self) -> [(&'static str, String); 12] {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        [
            ("sv", API_VERSION.to_owned()),
            ("tn", self.table.as_str().to_owned()),
            ("sp", self.permissions.to_string()),
            ("st", self.start.map(instant).unwrap_or_default()),
            ("se", instant(self.expiry)),
            ("sip", text(&self.addresses)),
            ("spr", if self.allow_http { "https,http" } else { "https" }.to_owned()),
            ("spk", text(&self.from.0)),
            ("srk", text(&self.from.1)),
            ("epk", text(&self.to.0)),
            ("erk", text(&self.to.1)),
            ("si", String::new()),
        ]
    }

    /// Twelve lines in the service's order; absent values are empty.
    fn string_to_sign(&self, account: &str) -> String {
        let parameters = self.parameters();
        let value = |name: &str| {
            let parameter = parameters.iter().find(|(known, _)| *known == name);
            parameter.map_or("", |(_, value)| value.as_str())
        };
        let table = self.table.as_str().to_ascii_lowercase();
        let resource = format!("/table/{account}/{table}");
        let lines = [
            value("sp"),
            value("st"),
            value("se"),
            &resource,
            value("si"),
            value("sip"),
            value("spr"),
            value("sv"),
            value("spk"),
            value("srk"),
            value("epk"),
            value("erk"),
        ];
        lines.join("\n")
    }
}

/// Whether the text is an IPv4 address, or two with `-` between, the first not above the last.
fn are_addresses(text: &str) -> bool {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse::<Ipv4Addr>(), last.parse::<Ipv4Addr>()) {
        (Ok(first), Ok(last)) => first <= last,
        _ => false,
    }
}

/// An instant to the second, in UTC.
fn instant(instant: OffsetDateTime) -> String {
    let utc = instant.to_offset(time::UtcOffset::UTC);
    let (date, clock) = (utc.date(), utc.time());
    let (hour, minute, second) = clock.as_hms();
    format!(
        "{:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z",
        date.year(),
        u8::from(date.month()),
        date.day()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::MAX_KEY_UNITS;
    use time::Duration;

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
            sas.string_to_sign("acc"),
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
        let refused = |sas: TableSas| sas.sign(&key()).unwrap_err();
        let late = OffsetDateTime::UNIX_EPOCH + Duration::hours(2);
        assert!(matches!(refused(sas(Permissions(0))), SasError::NoPermission));
        assert!(matches!(refused(sas(Permissions::READ).starting(late)), SasError::NeverValid));
        let range = sas(Permissions::READ).partitions("b", "a");
        assert!(matches!(refused(range), SasError::EmptyRange));
    }

    #[test]
    fn keys_that_no_row_has_are_refused() {
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
    fn a_range_without_end_is_refused() {
        let sas = || sas(Permissions::READ);
        for range in [sas().partition(""), sas().rows("", "a", "b"), sas().rows("p", "", "")] {
            assert!(matches!(range.sign(&key()), Err(SasError::NoEnd)), "{range:?}");
        }
    }

    #[test]
    fn addresses_are_one_or_a_range_in_order() {
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
    fn permissions_show_their_letters() {
        assert_eq!(format!("{:?}", Permissions::ADD | Permissions::READ), "Permissions(ra)");
    }
}
