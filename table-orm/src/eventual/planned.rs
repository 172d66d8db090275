//! The plans of writes with what settles them.

use super::eventual_type::EventualType;
use super::intent::Intent;
use super::intents::Intents;
use super::settled::Settling;
use super::ticket_rows::{Share, shares};
use super::unique_value::UniqueValue;
use crate::entity::{TableEntity, has_sum_copies, reaches_across};
use crate::error::Result;
use crate::model::TableName;
use crate::plan::{Bounds, Cost, Plan, Step, TableClient};
use crate::store::Batch;
use std::collections::BTreeSet;

impl Intents {
    /// The plan of a transaction with their operations, of what reserves its values, and of what settles it.
    ///
    /// # Errors
    /// As [`append_to`](Self::append_to).
    pub fn plan(
        &self,
        client: &TableClient,
        mut batch: Batch,
        settling: &Settling,
    ) -> Result<Plan> {
        let leaves = self.len() > 0 || client.may_add_events(&batch);
        let read_first = client.read_first_of(&batch);
        self.append_to(client, &mut batch)?;
        let sender = self.sender(client);
        let deletes = sender.delete_values_of(&batch)?;
        batch.operations.extend(sender.value_operations(&batch)?);
        let transaction = Step::write(client.table.clone(), batch);
        let [reserved, released] = [&self.tickets, &self.intents].map(|rows| guards(client, rows));
        let (prepared, others): (Vec<_>, Vec<_>) = self
            .intents
            .iter()
            .map(|(_, intent)| intent)
            .partition(|intent| settling.tickets_first && self.can_be_prepared(intent));
        let [prepared, others] = [prepared, others].map(Due::of);
        let tickets = prepared.shares.iter().map(place).collect();
        let steps = some(tickets, |partitions| Step::MakeTickets { partitions })
            .into_iter()
            .chain(register_step(client, leaves))
            .chain(some(reserved, |guards| Step::Reserve { guards }))
            .chain(read_first)
            .chain(transaction)
            .chain(deletes)
            .chain(some(prepared.partitions(), |partitions| {
                let cost = prepared.cost_with_tickets();
                Step::SettleWithTickets { partitions, cost }
            }))
            .chain(some(others.partitions(), |partitions| {
                let cost = others.cost_with_tickets() + others.cost_of_tickets();
                Step::Settle { partitions, cost }
            }))
            .chain(some(released, |guards| Step::Release { guards }));
        Ok(Plan { steps: steps.collect() })
    }
}

/// What is due by some of the intents of a transaction.
struct Due {
    intents: u64,
    /// The entities with rows in other partitions.
    entities: u64,
    shares: Vec<Share>,
}

impl Due {
    fn of(intents: Vec<&Intent>) -> Self {
        let due = || intents.iter().flat_map(|intent| &intent.due);
        Self {
            intents: intents.len() as u64,
            entities: due().filter(|entry| !entry.keys.is_empty()).count() as u64,
            shares: intents.iter().flat_map(|intent| shares(&intent.due)).collect(),
        }
    }

    /// Every partition with rows that are due, once.
    fn partitions(&self) -> Vec<(TableName, String)> {
        self.shares.iter().map(place).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// What the transactions with the rows cost, and the delete of each intent. Entities share a transaction,
    /// or each has its own.
    fn cost_with_tickets(&self) -> Cost {
        let (least, shares) = (self.partitions().len() as u64, self.shares.len() as u64);
        let rows: usize = self.shares.iter().map(|share| share.row_keys.len()).sum();
        let requests = Bounds::between(least + 1, shares + self.intents);
        Cost::writes(requests, Bounds::between(least + 1, shares + rows as u64 + self.intents))
    }

    /// What a ticket in each partition costs, and the read of each entity's canonical row.
    fn cost_of_tickets(&self) -> Cost {
        let tickets = Bounds::between(self.partitions().len() as u64, self.shares.len() as u64);
        Cost::writes(tickets, tickets) + Cost::point_queries(Bounds::up_to(self.entities))
    }
}

fn place(share: &Share) -> (TableName, String) {
    (share.table.clone(), share.partition_key.clone())
}

/// A step, unless it has no place.
fn some<P>(places: Vec<P>, step: impl FnOnce(Vec<P>) -> Step) -> Option<Step> {
    (!places.is_empty()).then(|| step(places))
}

/// The places of the guards of the values in these rows.
fn guards(client: &TableClient, rows: &[(EventualType, Intent)]) -> Vec<(TableName, String)> {
    let values = rows.iter().flat_map(|(kind, intent)| {
        let table = |value: &UniqueValue| {
            kind.guard(&value.name).map(|guard| guard.table_of(&client.table))
        };
        intent.values().filter_map(move |(_, value)| Some((table(value)?, value.partition_key())))
    });
    values.collect::<BTreeSet<_>>().into_iter().collect()
}

/// How a write that leaves something to others names its partition.
fn register_step(client: &TableClient, leaves: bool) -> Option<Step> {
    let register = client.connection.registers.of(&client.table).filter(|_| leaves)?;
    Some(Step::Register { table: register.table.clone() })
}

/// The plan of a write that reads first, and of what settles it: the answer decides which rows are due.
pub(crate) fn plan_with_settling<E: TableEntity>(
    client: &TableClient,
    mut plan: Plan,
    settling: &Settling,
) -> Plan {
    // Whether a total with a copy changes is not known before, and such a write makes no tickets first.
    let first = settling.tickets_first && !has_sum_copies::<E>() && !E::EVENTUAL.is_empty();
    let tickets = first.then(|| Step::MakeTickets { partitions: Vec::new() });
    let register = register_step(client, reaches_across::<E>() || E::OUTBOX.is_some());
    let before = tickets.into_iter().chain(register).chain(client.read_first());
    let transaction = plan.steps.len().saturating_sub(1);
    plan.steps.splice(transaction..transaction, before);
    plan.steps.extend(client.delete_values());
    let (partitions, cost) = (Vec::new(), Cost::UNBOUNDED);
    if first {
        plan.steps.push(Step::SettleWithTickets { partitions, cost });
    } else if reaches_across::<E>() {
        plan.steps.push(Step::Settle { partitions, cost });
    }
    plan
}
