//! Operations carried out on a store.

mod entities;
mod settings;
mod tables;
mod transaction;

use crate::access::Grant;
use crate::address::Address;
use crate::entity::{EntityAddress, EntityWriter};
use crate::error::ServiceError;
use crate::media::MetadataLevel;
use crate::message::{Request, Response};
use crate::operation::{self, Operation};
use crate::settings::SettingsStore;
use table_orm::TableName;
use table_orm::model::Metadata;
use table_orm::store::Store;

/// What operations are carried out with.
pub(crate) struct Execution<'e> {
    pub(crate) store: &'e dyn Store,
    pub(crate) settings: &'e SettingsStore,
    pub(crate) address: &'e Address,
    pub(crate) grant: &'e Grant,
    pub(crate) request: &'e Request,
}

impl Execution<'_> {
    /// Carries out an operation that the caller may do.
    pub(crate) async fn run(&self, operation: Operation) -> Result<Response, ServiceError> {
        match operation {
            Operation::ListTables { query, level } => self.list_tables(&query, level).await,
            Operation::GetTable { table, level } => self.get_table(&table, level).await,
            Operation::CreateTable { table, preference, level } => {
                self.create_table(&table, preference, level).await
            }
            Operation::DeleteTable(table) => self.delete_table(&table).await,
            Operation::Query { query, level } => self.query(*query, level).await,
            Operation::Get { table, keys, select, level } => {
                self.get(&table, &keys, select.as_deref(), level).await
            }
            Operation::Write { write, level } => self.write(write, level).await,
            // Boxed, because a transaction may hold a query.
            Operation::Batch(content) => Box::pin(self.batch(content)).await,
            Operation::GetProperties => Ok(self.get_properties()),
            Operation::SetProperties => self.set_properties().await,
            Operation::GetStats => self.get_stats(),
            Operation::GetPolicies(table) => self.get_policies(&table).await,
            Operation::SetPolicies(table) => self.set_policies(&table).await,
            Operation::BelowTable(table) => {
                self.require_table(&table).await?;
                let is_insert = self.request.method == http::Method::POST;
                Err(operation::below_table_error(&table, is_insert))
            }
        }
    }

    /// Checks that a table exists.
    async fn require_table(&self, table: &TableName) -> Result<(), ServiceError> {
        let select: Option<&[&str]> = Some(&["RowKey"]);
        self.store.get(table, "", "", select, Metadata::None).await?;
        Ok(())
    }

    fn writer<'w>(
        &'w self,
        table: &'w TableName,
        level: MetadataLevel,
        select: Option<&'w [String]>,
    ) -> EntityWriter<'w> {
        let address = EntityAddress {
            endpoint: &self.address.endpoint,
            account: &self.address.account,
            table: table.as_str(),
        };
        EntityWriter { address, level, select }
    }
}

/// The error of a row that the store returned and that is no row.
fn unreadable(error: impl std::fmt::Display) -> ServiceError {
    ServiceError {
        status: 500,
        code: "InternalError".into(),
        message: format!("The store returned a row that cannot be read: {error}.").into(),
        operation: None,
        retry_after: None,
        injected: false,
    }
}
