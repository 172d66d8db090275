//! The accounts of a server.

use table_orm::azure::SharedKey;

/// The account that every emulator has (Azurite documentation, "Well-known storage account and key").
pub const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
/// The key of that account; no secret.
pub const EMULATOR_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Where an account's data is addressed: the suffix of its name for read-only requests.
const SECONDARY: &str = "-secondary";

/// The accounts of a server, at least one. All have the same tables.
#[derive(Debug, Clone)]
pub(crate) struct Accounts(Vec<SharedKey>);

impl Accounts {
    /// `None` without accounts.
    pub(crate) fn new(accounts: Vec<SharedKey>) -> Option<Self> {
        (!accounts.is_empty()).then_some(Self(accounts))
    }

    /// One account.
    pub(crate) fn one(account: SharedKey) -> Self {
        Self(vec![account])
    }

    /// The account of the connection string.
    pub(crate) fn first(&self) -> &SharedKey {
        &self.0[0]
    }

    /// Whether the key of the account of that name is known to everybody.
    pub(crate) fn is_public(&self, name: &str) -> bool {
        let public = || SharedKey::new(EMULATOR_ACCOUNT, EMULATOR_KEY).ok();
        name == EMULATOR_ACCOUNT && self.get(name) == public().as_ref()
    }

    /// Returns the account of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&SharedKey> {
        self.0.iter().find(|account| account.account() == name)
    }
}

/// Whether a name addresses the secondary location.
pub(crate) fn is_secondary(name: &str) -> bool {
    name.ends_with(SECONDARY)
}

/// Splits off the suffix of the secondary location. Returns whether it was there.
pub(crate) fn split_secondary(name: &str) -> (&str, bool) {
    name.strip_suffix(SECONDARY).map_or((name, false), |name| (name, true))
}
