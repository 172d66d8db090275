//! What differs between the services of a storage account.

/// A service of a storage account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccountService {
    Tables,
    Queues,
}

impl AccountService {
    /// The label after the account's name in the host's name.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Tables => "table",
            Self::Queues => "queue",
        }
    }

    /// The setting of a connection string that gives its endpoint.
    pub(crate) const fn endpoint_setting(self) -> &'static str {
        match self {
            Self::Tables => "TableEndpoint",
            Self::Queues => "QueueEndpoint",
        }
    }

    /// Azurite's port (Azurite documentation, "Listening port configuration").
    pub(crate) const fn azurite_port(self) -> u16 {
        match self {
            Self::Tables => 10002,
            Self::Queues => 10001,
        }
    }
}
