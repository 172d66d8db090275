//! The name of a store in reports of calls.

use std::borrow::Cow;

/// A store as reports of its calls name it. The names of its fields are those of OpenTelemetry's
/// conventions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// `db.system.name`: `azure.table`, `azure.cosmosdb`, `table_orm.embedded`, or the name of another
    /// product in lower case. `other` by default.
    pub system: Cow<'static, str>,
    /// Whether it runs in this process: then its spans are internal.
    pub in_process: bool,
    /// `db.namespace`: the account.
    pub namespace: Option<Cow<'static, str>>,
    /// `server.address`: the name of the host.
    pub address: Option<Cow<'static, str>>,
    /// `server.port`: the port, unless it is 443.
    pub port: Option<u16>,
}

impl Backend {
    /// What two stores have in common.
    pub(crate) fn in_common(self, other: Self) -> Self {
        let none = Self::default();
        Self {
            system: if self.system == other.system { self.system } else { none.system },
            in_process: self.in_process && other.in_process,
            namespace: self.namespace.filter(|name| other.namespace.as_ref() == Some(name)),
            address: self.address.filter(|address| other.address.as_ref() == Some(address)),
            port: self.port.filter(|port| other.port == Some(*port)),
        }
    }
}

impl Default for Backend {
    fn default() -> Self {
        let system = "other".into();
        Self { system, in_process: false, namespace: None, address: None, port: None }
    }
}
