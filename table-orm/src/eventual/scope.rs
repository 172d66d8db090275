//! The partitions in which a call looks for what is to be settled, or handed on.

use super::table_register::TableRegister;
use crate::entity::{RowOf, TableEntity, WholePartition};
use crate::key::KeyError;
use crate::model::TableName;
use crate::query::{ScanPermit, Span};

/// The partitions in which a call looks: one, `Entity::partition(..)`, those that a
/// [register](crate::Repo::register) names, or with a [`ScanPermit`] all.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a partition of `{E}`",
    label = "neither a partition nor a permit to scan",
    note = "pass `{E}::partition(..)`, a register, or `ScanPermit::because(..)` for the whole table"
)]
pub trait PartitionScope<E> {
    #[doc(hidden)]
    fn scope(self) -> Scope;
}

/// The partitions in which a call looks.
#[doc(hidden)]
#[derive(Debug)]
pub enum Scope {
    Partition(Result<Span, KeyError>),
    Register(TableName),
    Table(ScanPermit),
}

impl<E: TableEntity, Q: WholePartition> PartitionScope<E> for Q
where
    Q::Row: RowOf<E>,
{
    fn scope(self) -> Scope {
        Scope::Partition(self.into_keys().map(|keys| keys.partition))
    }
}

impl<E: TableEntity> PartitionScope<E> for &TableRegister {
    fn scope(self) -> Scope {
        Scope::Register(self.table().clone())
    }
}

impl<E: TableEntity> PartitionScope<E> for ScanPermit {
    fn scope(self) -> Scope {
        Scope::Table(self)
    }
}
