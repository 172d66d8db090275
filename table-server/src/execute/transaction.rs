//! Entity group transactions.

use super::Execution;
use super::entities::Written;
use crate::address::{Address, Resource};
use crate::batch::{self, BatchContent, Part, PartHead};
use crate::error::ServiceError;
use crate::media::MetadataLevel;
use crate::message::{Request, Response};
use crate::operation::{EntityWrite, Operation, meant_method};
use crate::respond;
use crate::uri::Parameters;
use http::Method;
use std::sync::Arc;
use table_orm::model::MAX_TRANSACTION_OPERATIONS;
use table_orm::store::Batch;

impl Execution<'_> {
    /// Carries out the requests of a batch: those of a change set as one transaction, or one query.
    ///
    /// A request that is refused is answered within the batch.
    pub(super) async fn batch(&self, content: BatchContent) -> Result<Response, ServiceError> {
        let (parts, others) = match content {
            BatchContent::Single(part) if is_query(&part.head) => {
                return self.single_query(*part).await;
            }
            BatchContent::Single(_) => {
                return Err(ServiceError::invalid("A write is in a change set of its batch."));
            }
            BatchContent::ChangeSet { parts, others } => (parts, vec![second_change_set(); others]),
        };
        let ids: Vec<_> = parts.iter().map(|part| part.head.content_id.clone()).collect();
        match self.transaction(&parts).await {
            Ok(responses) => {
                let responses: Vec<_> = ids.into_iter().zip(responses).collect();
                Ok(batch::change_set(&responses, &others))
            }
            Err(error) if error.is_lost() || error.status >= 500 || error.status == 413 => {
                Err(error)
            }
            Err(error) => {
                let index = error.operation.unwrap_or_default();
                let error = error.clone().because(format!("{index}:{}", error.message));
                let response = respond::json_error(&error, &respond::RequestId::new());
                let id = ids.get(index).cloned().flatten();
                Ok(batch::change_set(&[(id, response)], &others))
            }
        }
    }

    async fn transaction(&self, parts: &[Part]) -> Result<Vec<Response>, ServiceError> {
        if parts.len() > MAX_TRANSACTION_OPERATIONS {
            let message = format!(
                "The batch request operation exceeds the maximum {MAX_TRANSACTION_OPERATIONS} changes \
                 per change set."
            );
            return Err(ServiceError::invalid(message).at(MAX_TRANSACTION_OPERATIONS - 1));
        }
        let (mut writes, mut levels) = (Vec::new(), Vec::new());
        let mut known: Option<(&Arc<PartHead>, PartTarget)> = None;
        for (index, part) in parts.iter().enumerate() {
            let target = match known.take() {
                Some((head, target)) if Arc::ptr_eq(head, &part.head) => target,
                _ => self.target(&part.head).map_err(|error| error.at(index))?,
            };
            writes.push(self.part(part, &target).map_err(|error| error.at(index))?);
            levels.push(target.level);
            known = Some((&part.head, target));
        }
        let Some(first) = writes.first() else { return Ok(Vec::new()) };
        let (table, partition_key) = (first.table.clone(), first.partition_key.clone());
        let same = |write: &EntityWrite| {
            write.table.as_str().eq_ignore_ascii_case(table.as_str())
                && write.partition_key == partition_key
        };
        if let Some(index) = writes.iter().position(|write| !same(write)) {
            return Err(ServiceError::DIFFERENT_PARTITIONS.at(index));
        }
        let written: Vec<_> = writes
            .iter()
            .map(|write| Written::of(&table, &partition_key, &write.operation, write.preference))
            .collect();
        let operations = writes.into_iter().map(|write| write.operation).collect();
        let batch = Batch { partition_key: partition_key.clone(), operations };
        let etags = self.store.commit(&table, batch).await?;
        let results = written.iter().zip(&etags).zip(levels);
        results
            .map(|((written, etag), level)| self.written(written, etag.as_ref(), level))
            .collect()
    }

    /// Reads what the head of a part asks for.
    fn target(&self, head: &PartHead) -> Result<PartTarget, ServiceError> {
        if is_query(head) {
            return Err(ServiceError::invalid("A query is no part of a change set."));
        }
        let resource = self.part_resource(head)?;
        let method = meant_method(&head.method, &head.headers)?;
        let level = MetadataLevel::read(None, &head.headers).unwrap_or_default();
        Ok(PartTarget { resource, method, level })
    }

    /// Reads one write, and checks that the caller may do it.
    fn part(&self, part: &Part, target: &PartTarget) -> Result<EntityWrite, ServiceError> {
        let PartTarget { resource, method, .. } = target;
        let write = EntityWrite::read(method, resource, &part.head.headers, &part.body)?;
        self.grant.check(&write.need())?;
        Ok(write)
    }

    /// Reads what a part addresses, which mostly is below the endpoint of the batch.
    fn part_resource(&self, head: &PartHead) -> Result<Resource, ServiceError> {
        let path = head.target.strip_prefix(&*self.address.endpoint);
        match path.and_then(|path| path.strip_prefix('/')) {
            Some(path) => Resource::of(path.split('?').next().unwrap_or_default()),
            None => self.part_address(head).map(|address| address.resource),
        }
    }

    /// Reads the URL of a part: absolute, or a path.
    fn part_address(&self, head: &PartHead) -> Result<Address, ServiceError> {
        let target = head.target.split('?').next().unwrap_or_default();
        let (host, path) = match target.split_once("://") {
            Some((_, rest)) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None => ("", target),
        };
        if host.is_empty() {
            return self.address.relative(path);
        }
        let address = Address::read(self.request.client.https, host, path)?;
        if address.account == self.address.account {
            Ok(address)
        } else {
            Err(ServiceError::INVALID_URI)
        }
    }

    /// Answers the one query of a batch.
    async fn single_query(&self, part: Part) -> Result<Response, ServiceError> {
        let Part { head, body } = part;
        let address = self.part_address(&head)?;
        let parameters =
            Parameters::read(head.target.split_once('?').map_or("", |(_, query)| query))?;
        let PartHead { method, target, headers, .. } = Arc::unwrap_or_clone(head);
        let request = Request { method, target, headers, body, client: self.request.client };
        let operation = Operation::read(&request, &address.resource, &parameters)?;
        if let Some(need) = operation.need() {
            self.grant.check(&need)?;
        }
        let response = match operation {
            operation @ (Operation::Query { .. } | Operation::Get { .. }) => {
                let execution = Execution { address: &address, request: &request, ..*self };
                execution.run(operation).await
            }
            _ => Err(ServiceError::INVALID_INPUT),
        };
        match response {
            Ok(response) => Ok(batch::single(&response)),
            Err(error) if error.is_lost() || error.status >= 500 => Err(error),
            Err(error) => {
                Ok(batch::single(&respond::json_error(&error, &respond::RequestId::new())))
            }
        }
    }
}

/// What the head of a part asks for.
struct PartTarget {
    resource: Resource,
    method: Method,
    level: MetadataLevel,
}

fn is_query(head: &PartHead) -> bool {
    meant_method(&head.method, &head.headers) == Ok(Method::GET)
}

/// The response to a change set after the first (service documentation, "Performing entity group
/// transactions").
fn second_change_set() -> Response {
    let error = ServiceError::invalid("The batch has more than one change set.");
    respond::json_error(&error, &respond::RequestId::new())
}
