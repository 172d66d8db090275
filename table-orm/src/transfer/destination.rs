//! Where an import writes.

use crate::entity::{
    DynamicEntity, ReadBackError, RowHead, TableEntity, canonical, partition_key, read_entity,
    row_key,
};
use crate::error::{Error, Result, TransferError};
use crate::repo::{Bulk, Repo, Table};
use std::vec;

/// Where an import writes: a [`Table`], which takes rows of any shape, or a [`Repo`], which takes
/// entities.
pub trait Destination: sealed::Sealed {
    /// What it writes.
    #[doc(hidden)]
    type Value: Send + 'static;

    /// Makes the value of an imported row.
    #[doc(hidden)]
    fn read(row: DynamicEntity) -> Result<Self::Value>;

    /// The key by which a refused value is found in the text.
    #[doc(hidden)]
    fn key(value: &Self::Value) -> RowHead;

    /// Writes values.
    #[doc(hidden)]
    fn write(
        &self,
        values: Vec<Self::Value>,
        insert_only: bool,
    ) -> Bulk<'static, Self::Value, vec::IntoIter<Self::Value>>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::repo::Table {}
    impl<E: crate::entity::TableEntity> Sealed for crate::repo::Repo<E> {}
}

impl Destination for Table {
    type Value = DynamicEntity;

    fn read(row: DynamicEntity) -> Result<DynamicEntity> {
        Ok(row)
    }

    fn key(row: &DynamicEntity) -> RowHead {
        RowHead { partition_key: row.partition_key.clone(), row_key: row.row_key.clone() }
    }

    fn write(
        &self,
        rows: Vec<DynamicEntity>,
        insert_only: bool,
    ) -> Bulk<'static, DynamicEntity, vec::IntoIter<DynamicEntity>> {
        if insert_only { self.insert_many(rows) } else { self.insert_or_replace_many(rows) }
    }
}

impl<E: TableEntity + 'static> Destination for Repo<E> {
    type Value = E;

    fn read(row: DynamicEntity) -> Result<E> {
        let body = row.body()?;
        let read = read_entity::<E::Canonical, E>(&body, None);
        match read.map_err(|error: ReadBackError| Error::from(error))? {
            Some((entity, _)) => Ok(entity),
            None => Err(TransferError::NotCanonical(E::NAME).into()),
        }
    }

    fn key(entity: &E) -> RowHead {
        // An entity that was read has both.
        let row_key = row_key(entity, canonical::<E>()).ok().flatten().unwrap_or_default();
        RowHead { partition_key: partition_key(entity).unwrap_or_default(), row_key }
    }

    fn write(&self, entities: Vec<E>, insert_only: bool) -> Bulk<'static, E, vec::IntoIter<E>> {
        if insert_only { self.insert_many(entities) } else { self.upsert_many(entities) }
    }
}
