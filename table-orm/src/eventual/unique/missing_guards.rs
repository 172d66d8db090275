//! Guards of values that entities have without one: those of a `unique(.., across)` that was added to stored
//! data, and those that another program deleted.

use super::guard::{Guards, Home};
use super::reservation::Reservation;
use crate::error::Result;
use crate::eventual::intent::DueEntry;
use crate::eventual::unique_value::UniqueValue;

impl Guards {
    /// Makes the guards of the values of an entity name it, or that of the `only` value if it has that. Returns
    /// how many did not. Writes nothing else: a
    /// writer that gives a value up meanwhile leaves a guard that blocks nobody.
    ///
    /// # Errors
    /// [`Error::UniqueViolation`](crate::Error::UniqueViolation) when another entity has one of the values.
    pub async fn secure(&self, entity: &Home, only: Option<&UniqueValue>) -> Result<u64> {
        let mut lacking = Vec::new();
        let values = self.values(entity).await?.into_iter();
        for value in values.filter(|value| only.is_none_or(|only| only == value)) {
            let guard = self.get(&value).await?;
            if !guard.is_some_and(|guard| guard.names(entity)) {
                lacking.push(value);
            }
        }
        let written = lacking.len() as u64;
        let Some(entry) = DueEntry::of_values(&entity.key.row_key, lacking) else { return Ok(0) };
        let reserved = Reservation::make(self.clone(), &entity.key.partition_key, &[entry]).await;
        let reservation = reserved.map_err(|(error, _)| error)?;
        reservation.keep().await?;
        Ok(written)
    }
}
