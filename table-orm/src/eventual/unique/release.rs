//! Releases the values that an entity does not have any more.

use super::guard::{Guards, Home, MAX_GUARD_READS};
use super::holder::Holder;
use crate::error::{Error, Result};
use crate::eventual::unique_value::UniqueValue;
use futures_core::future::BoxFuture;

impl Guards {
    /// Deletes the guard of a value if it is of the entity, nobody is reserving the value for it, and it does
    /// not have the value.
    ///
    /// # Errors
    /// The guard may be there. Doing it again is safe.
    pub fn release<'f>(
        &'f self,
        value: &'f UniqueValue,
        entity: &'f Home,
    ) -> BoxFuture<'f, Result<()>> {
        Box::pin(async move {
            for _ in 0..MAX_GUARD_READS {
                let Some(guard) = self.get(value).await? else { return Ok(()) };
                if !self.may_be_of(&guard, entity).await?
                // Somebody is reserving it anew, or left the ticket to a sweep.
                || self.has_ticket(&guard).await?
                {
                    return Ok(());
                }
                match self.holder(&guard.home, value).await? {
                    // Left to a client that knows where the entity is.
                    Some(Holder { unknown: Some(to), .. }) => return Err(self.moved(entity, to)),
                    Some(_) => return Ok(()),
                    None => {}
                }
                match self.delete(value, &guard).await {
                    Ok(()) | Err(Error::NotFound(_)) => return Ok(()),
                    Err(Error::Conflict(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            Err(self.contended(value))
        })
    }
}
