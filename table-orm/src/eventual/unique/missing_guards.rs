//! Inserts the guards of values that entities have without one, because `unique(.., across)` was added to stored
//! data, or because another program deleted them.

use super::guard::{Guards, Home};
use super::reservation::Reservation;
use crate::error::{Error, Result};
use crate::eventual::due_entry::DueEntry;
use crate::eventual::unique_value::UniqueValue;
use futures_core::future::BoxFuture;

/// How often the guards are read again after another job has made one of them.
const MAX_ROUNDS: u32 = 8;

impl Guards {
    /// Makes the guards of the values of an entity name it, or that of the `only` value if it has that. Returns
    /// how many did not. Writes nothing else: a
    /// writer that gives a value up meanwhile leaves a guard that blocks nobody.
    ///
    /// # Errors
    /// [`Error::UniqueViolation`](crate::Error::UniqueViolation) when another entity has one of the values.
    pub fn secure<'f>(
        &'f self,
        entity: &'f Home,
        only: Option<&'f UniqueValue>,
    ) -> BoxFuture<'f, Result<u64>> {
        Box::pin(async move {
            let mut rounds = 0;
            loop {
                rounds += 1;
                let lacking = self.lacking(entity, only).await?;
                let written = lacking.len() as u64;
                let due = DueEntry::of_values(&entity.key.row_key, lacking);
                let Some(entry) = due else { return Ok(0) };
                let partition_key = &entity.key.partition_key;
                match Reservation::make(self.clone(), partition_key, &[entry]).await {
                    Ok(reservation) => {
                        reservation.keep().await?;
                        return Ok(written);
                    }
                    // Somebody else has made a guard of it that names the entity.
                    Err((Error::Conflict(rejection), _))
                        if rejection.row_key == entity.key.row_key && rounds < MAX_ROUNDS => {}
                    Err((error, _)) => return Err(error),
                }
            }
        })
    }

    /// The values of an entity whose guards are not of it.
    async fn lacking(&self, entity: &Home, only: Option<&UniqueValue>) -> Result<Vec<UniqueValue>> {
        let mut lacking = Vec::new();
        let values = self.values(entity).await?.into_iter();
        for value in values.filter(|value| only.is_none_or(|only| only == value)) {
            let is_named = match self.get(&value).await? {
                Some(guard) => self.is_of(&guard, entity).await?,
                None => false,
            };
            if !is_named {
                lacking.push(value);
            }
        }
        Ok(lacking)
    }
}
