//! The guard rows of values that are unique over all partitions, as maintenance sees them.

use crate::error::{Error, Result};
use crate::eventual::{Guards, UniqueValue};
use crate::plan::{CanonicalKey, TableClient};
use crate::repo::maintenance::MaintainedType;

/// The guards of a type.
pub(crate) fn guards_of(of: &'static MaintainedType, client: &TableClient) -> Guards {
    Guards { home: client.clone(), kind: of.settled }
}

/// Makes the guard of a value right: the entity gets it if it has the value, and loses it if it does not. `false` where another entity has the value.
pub(crate) async fn repair(
    of: &'static MaintainedType,
    client: &TableClient,
    value: &UniqueValue,
    home: &CanonicalKey,
) -> Result<bool> {
    let guards = guards_of(of, client);
    let entity = guards.entity(&home.partition_key, &home.row_key);
    match guards.secure(&entity, Some(value)).await {
        Ok(_) => {}
        Err(Error::UniqueViolation { .. }) => return Ok(false),
        Err(error) => return Err(error),
    }
    guards.release(value, &entity).await?;
    Ok(true)
}
