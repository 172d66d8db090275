//! The pointers of this process: written before the work, kept fresh while it goes on, deleted after it.

use super::row;
use crate::error::{Error, Result};
use crate::plan::{
    CanonicalKey, Connection, Cover, Next, Pointer, Register, TableClient, WorkPlace,
};
use crate::store::{Action, Batch, IfMatch, Operation};
use crate::sync::Timer;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;

/// The wait after a pointer could not be written again.
const RETRY_WAIT: Duration = Duration::from_secs(5);

/// Covers work of a kind in a partition of the client's table: one request, unless a pointer stands. `None` where
/// the table has no register.
///
/// # Errors
/// [`Error::Unregistered`] when the pointer cannot be written: the work must not begin.
pub(crate) async fn cover(
    client: &TableClient,
    kind: &str,
    partition_key: &str,
) -> Result<Option<Cover>> {
    let connection = &client.connection;
    let Some(register) = connection.registers.of(&client.table) else { return Ok(None) };
    let place = WorkPlace { kind: kind.to_owned(), partition_key: partition_key.to_owned() };
    if let Some(cover) = register.join(&place, connection.timer) {
        return Ok(Some(cover));
    }
    // Of those that begin at a time, one writes the pointer.
    let key =
        CanonicalKey { partition_key: place.partition_key.clone(), row_key: place.kind.clone() };
    let _turn = connection.write_lock(&register.table, &key).await;
    if let Some(cover) = register.join(&place, connection.timer) {
        return Ok(Some(cover));
    }
    let random = &connection.random;
    let name = format!("{:016x}{:016x}", random.next(), random.next());
    let cover = register.claim(&place, name, connection.timer);
    let sent = connection.now();
    if let Err(error) = write(client, &register, &cover.pointer).await {
        if !error.is_unanswered() {
            cover.end();
        }
        return Err(Error::Unregistered(Box::new(error)));
    }
    let runtime = Handle::try_current().ok();
    let is_new = register.written(&cover, sent, runtime.is_some());
    if let Some(runtime) = runtime.filter(|_| is_new) {
        let kept = Kept { register, pointer: Arc::clone(&cover.pointer) };
        runtime.spawn(keep(Arc::downgrade(connection), kept, connection.timer));
    }
    Ok(Some(cover))
}

async fn write(client: &TableClient, register: &Register, pointer: &Pointer) -> Result<()> {
    let body = row::body(&pointer.place, &register.home, &pointer.name)?;
    send(client, register, pointer, Action::InsertOrReplace(body)).await
}

async fn send(
    client: &TableClient,
    register: &Register,
    pointer: &Pointer,
    action: Action,
) -> Result<()> {
    let operations = vec![Operation { row_key: pointer.name.clone(), action }];
    let batch = Batch { partition_key: row::partition_key(&pointer.place), operations };
    client.in_other_table(&register.table).send(batch).await.map(drop)
}

/// A pointer that is kept fresh until this is dropped: by the task that keeps it, or with the runtime of that task.
struct Kept {
    register: Arc<Register>,
    pointer: Arc<Pointer>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.register.leave(&self.pointer);
    }
}

/// Writes the pointer again while its work goes on, and deletes it after the last. It does not keep the store open:
/// without it, the pointer is left.
async fn keep(connection: Weak<Connection>, kept: Kept, timer: Timer) {
    let Kept { register, pointer } = &kept;
    let client =
        || Some(TableClient::untyped(connection.upgrade()?, register.home.clone(), "Register"));
    loop {
        match register.next(pointer, timer.now()) {
            Next::Wait(time) => timer.sleep(time).await,
            Next::Leave => return,
            Next::Delete => {
                let Some(client) = client() else { return };
                // Its name is not used again, so the delete may take effect at any time, or never.
                let delete = Action::Delete(IfMatch::Any);
                let _deleted = send(&client, register, pointer, delete).await;
                return;
            }
            Next::Write => {
                let Some(client) = client() else { return };
                let sent = timer.now();
                let written = write(&client, register, pointer).await;
                drop(client);
                match written {
                    Ok(()) => register.refreshed(pointer, sent),
                    Err(_) => timer.sleep(RETRY_WAIT).await,
                }
            }
        }
    }
}
