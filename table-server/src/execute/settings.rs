//! Operations on the settings of the service and of tables.

use super::Execution;
use crate::error::ServiceError;
use crate::message::Response;
use crate::settings::AccessPolicies;
use std::time::SystemTime;
use table_orm::TableName;
use table_orm::azure::protocol::http_date;

const XML: &str = "application/xml";

impl Execution<'_> {
    pub(super) fn get_properties(&self) -> Response {
        Response::with_body(200, XML, self.settings.properties().to_xml())
    }

    pub(super) async fn set_properties(&self) -> Result<Response, ServiceError> {
        self.settings.update_properties(&self.request.body).await?;
        Ok(Response::empty(202))
    }

    /// Only the secondary location has stats. It is the same store, so it is always up to date.
    pub(super) fn get_stats(&self) -> Result<Response, ServiceError> {
        if !self.address.secondary {
            return Err(ServiceError::INVALID_QUERY_PARAMETER);
        }
        let now = http_date::format(SystemTime::now());
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceStats><GeoReplication>\
             <Status>live</Status><LastSyncTime>{now}</LastSyncTime></GeoReplication>\
             </StorageServiceStats>"
        );
        Ok(Response::with_body(200, XML, body))
    }

    pub(super) async fn get_policies(&self, table: &TableName) -> Result<Response, ServiceError> {
        self.require_table(table).await?;
        let policies = self.settings.policies(table.as_str()).await?;
        Ok(Response::with_body(200, XML, policies.to_xml()))
    }

    pub(super) async fn set_policies(&self, table: &TableName) -> Result<Response, ServiceError> {
        let policies = AccessPolicies::read(&self.request.body)?;
        self.require_table(table).await?;
        self.settings.set_policies(table, &policies).await?;
        Ok(Response::empty(204))
    }
}
