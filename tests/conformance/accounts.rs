//! Several accounts as one store.

use std::sync::Arc;
use support::azurite::Azurite;
use table_orm::accounts::{Accounts, AccountsError};
use table_orm::azure::AzureStore;
use table_orm::embedded::EmbeddedStore;
use table_orm::store::Store;

/// Two stores in memory.
pub fn of_memory(
    make: impl FnOnce([Arc<dyn Store>; 2]) -> Result<Accounts, AccountsError>,
) -> Accounts {
    let store = || Arc::new(EmbeddedStore::in_memory().unwrap()) as Arc<dyn Store>;
    make([store(), store()]).unwrap()
}

/// Two accounts of one Azurite.
pub fn of_azurite(azurite: &Azurite) -> Accounts {
    let strings = [azurite.connection_string(), azurite.second_connection_string()];
    let stores = strings
        .map(|text| Arc::new(AzureStore::from_connection_string(&text).unwrap()) as Arc<dyn Store>);
    Accounts::by_partition(stores).unwrap()
}
