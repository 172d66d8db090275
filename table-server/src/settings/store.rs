//! Where settings are stored.

use super::{AccessPolicies, ServiceProperties};
use crate::address::RESERVED_TABLE;
use crate::error::ServiceError;
use bytes::Bytes;
use std::sync::{Arc, PoisonError, RwLock};
use table_orm::TableName;
use table_orm::azure::protocol::json;
use table_orm::model::Metadata;
use table_orm::store::{Action, ErrorCode, IfMatch, Operation, Store, StoreError};
use tokio::sync::Mutex;

/// The property of a row that holds its document.
const DOCUMENT: &str = "Document";
/// The partition of the service's properties, and that of tables' policies.
const PROPERTIES: &str = "properties";
const POLICIES: &str = "policies";

/// Settings in a reserved table of a store. The table is created with the first setting.
#[derive(Debug)]
pub(crate) struct SettingsStore {
    store: Arc<dyn Store>,
    table: TableName,
    /// Read with each request of a browser, so they are kept in memory. Only this server changes them.
    properties: RwLock<Arc<ServiceProperties>>,
    /// One change at a time: each has sections that the other has not.
    changes: Mutex<()>,
}

impl SettingsStore {
    /// Reads the properties of the service.
    pub(crate) async fn open(store: Arc<dyn Store>) -> Result<Self, StoreError> {
        let table = TableName::new(RESERVED_TABLE).map_err(|error| {
            StoreError::new(ErrorCode::INTERNAL_ERROR, "The reserved name is invalid.")
                .caused_by(error)
        })?;
        let (properties, changes) = Default::default();
        let settings = Self { store, table, properties, changes };
        if let Some(document) = settings.read(PROPERTIES, "").await? {
            let read = ServiceProperties::default().updated(document.as_bytes());
            let read = read.map_err(|error| {
                StoreError::new(ErrorCode::INTERNAL_ERROR, "The stored properties are damaged.")
                    .caused_by(error)
            })?;
            *settings.properties.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(read);
        }
        Ok(settings)
    }

    /// Returns the properties of the service.
    pub(crate) fn properties(&self) -> Arc<ServiceProperties> {
        Arc::clone(&self.properties.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the properties that a document has.
    pub(crate) async fn update_properties(&self, document: &[u8]) -> Result<(), ServiceError> {
        let _change = self.changes.lock().await;
        let updated = self.properties().updated(document)?;
        self.write(PROPERTIES, "", &updated.to_xml()).await?;
        *self.properties.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(updated);
        Ok(())
    }

    /// Returns the policies of a table, which need not exist.
    pub(crate) async fn policies(&self, table: &str) -> Result<AccessPolicies, ServiceError> {
        match self.read(POLICIES, &table.to_ascii_lowercase()).await? {
            Some(document) => AccessPolicies::read(document.as_bytes()),
            None => Ok(AccessPolicies::default()),
        }
    }

    /// Replaces the policies of a table.
    pub(crate) async fn set_policies(
        &self,
        table: &TableName,
        policies: &AccessPolicies,
    ) -> Result<(), ServiceError> {
        let row_key = table.as_str().to_ascii_lowercase();
        Ok(self.write(POLICIES, &row_key, &policies.to_xml()).await?)
    }

    /// Forgets the policies of a table.
    pub(crate) async fn remove_policies(&self, table: &TableName) -> Result<(), ServiceError> {
        let row_key = table.as_str().to_ascii_lowercase();
        let operation = Operation { row_key, action: Action::Delete(IfMatch::Any) };
        match self.store.write(&self.table, POLICIES, operation).await {
            Err(error) if error.status != 404 => Err(error.into()),
            _ => Ok(()),
        }
    }

    async fn read(&self, partition_key: &str, row_key: &str) -> Result<Option<String>, StoreError> {
        let row = self.store.get(&self.table, partition_key, row_key, None, Metadata::None).await;
        let row = match row {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(None),
            Err(error) if error.code == ErrorCode::TABLE_NOT_FOUND => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut document = None;
        let read = json::visit_members(&String::from_utf8_lossy(&row.body), |member| {
            if member.name == DOCUMENT {
                document = serde_json::from_str(member.value).ok();
            }
        });
        read.map(|()| document).map_err(|error| {
            StoreError::new(ErrorCode::INTERNAL_ERROR, "A stored setting is damaged.")
                .caused_by(error)
        })
    }

    async fn write(
        &self,
        partition_key: &str,
        row_key: &str,
        document: &str,
    ) -> Result<(), StoreError> {
        let mut row = Vec::new();
        json::write_keys(&mut row, partition_key, row_key);
        let mut value = Vec::new();
        json::write_string(&mut value, document);
        json::write_member(&mut row, DOCUMENT, &String::from_utf8_lossy(&value));
        row.push(b'}');
        let row = Bytes::from(row);
        let upsert = || Operation {
            row_key: row_key.to_owned(),
            action: Action::InsertOrReplace(row.clone()),
        };
        match self.store.write(&self.table, partition_key, upsert()).await {
            Err(error) if error.code == ErrorCode::TABLE_NOT_FOUND => {
                match self.store.create_table(&self.table).await {
                    Err(error) if error.code != ErrorCode::TABLE_ALREADY_EXISTS => {
                        return Err(error);
                    }
                    _ => {}
                }
                self.store.write(&self.table, partition_key, upsert()).await.map(drop)
            }
            written => written.map(drop),
        }
    }
}
