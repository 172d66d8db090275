//! The plans of writes with what settles them.

use super::eventual_type::EventualType;
use super::intent::Intent;
use super::intents::Intents;
use super::settling::Settling;
use super::ticket_rows::{Share, shares};
use super::unique_value::UniqueValue;
use crate::entity::{GuardTemplate, Sum, TableEntity, has_sum_copies, reaches_across};
use crate::error::Result;
use crate::model::TableName;
use crate::plan::{Bounds, Cost, PlacedCost, Plan, Step, TableClient};
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
        let [prepared, others] =
            [prepared, others].map(|intents| Due::of(intents, most_rows(client)));
        let tickets = prepared.shares.iter().map(place).collect();
        let made = prepared.settling.cost_of_tickets();
        let steps = some(tickets, |partitions| Step::MakeTickets { partitions, cost: made })
            .into_iter()
            .chain(register_step(client, leaves))
            .chain(some(reserved, |guards| Step::Reserve { guards }))
            .chain(read_first)
            .chain(transaction)
            .chain(deletes)
            .chain(some(prepared.partitions(), |partitions| {
                let cost = prepared.settling.cost_with_tickets();
                Step::SettleWithTickets { partitions, cost }
            }))
            .chain(some(others.partitions(), |partitions| Step::Settle {
                partitions,
                cost: others.settling.cost(),
            }))
            .chain(some(released, |guards| Step::Release { guards }));
        Ok(Plan { steps: steps.collect() })
    }
}

/// What is due by some of the intents of a transaction.
struct Due {
    shares: Vec<Share>,
    settling: SettlingRequests,
}

impl Due {
    /// What is due by these intents, in transactions of that many rows.
    fn of(intents: Vec<&Intent>, most_rows: usize) -> Self {
        let due = || intents.iter().flat_map(|intent| &intent.due);
        let shares: Vec<_> = intents.iter().flat_map(|intent| shares(&intent.due)).collect();
        let rounds = |share: &Share| share.row_keys.len().div_ceil(most_rows) as u64;
        let settling = SettlingRequests {
            partitions: shares.iter().map(place).collect::<BTreeSet<_>>().len() as u64,
            transactions: Some(shares.iter().map(rounds).sum()),
            rows: Some(shares.iter().map(|share| share.row_keys.len() as u64).sum()),
            entities: due().filter(|entry| !entry.keys.is_empty()).count() as u64,
            rounds: shares.iter().map(rounds).max().unwrap_or_default(),
            intents: intents.len() as u64,
        };
        Self { shares, settling }
    }

    /// Every partition with rows that are due, once.
    fn partitions(&self) -> Vec<(TableName, String)> {
        self.shares.iter().map(place).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// How many requests bring rows in other partitions in step.
#[derive(Debug, Clone, Copy)]
struct SettlingRequests {
    /// Partitions with rows that are due, at least.
    partitions: u64,
    /// Tickets, each with the transaction that uses it. Entities share them, or each has its own. `None` if nothing
    /// limits their number.
    transactions: Option<u64>,
    /// Rows that are due.
    rows: Option<u64>,
    /// Canonical rows that are read, in each round.
    entities: u64,
    /// How often: a transaction may be too small for the rows of an entity.
    rounds: u64,
    /// Intents.
    intents: u64,
}

impl SettlingRequests {
    /// What a write of one entity of the type needs at most. It changes the rows of `states` states of the entity: of
    /// the one before, and of the one after.
    fn of_entity<E: TableEntity>(client: &TableClient, states: u64) -> Self {
        let has_any_number = E::EVENTUAL.iter().any(|template| template.row.each.is_some());
        let rows = states * E::EVENTUAL.len() as u64;
        let copied = || E::sums().into_iter().filter(Sum::is_over_partitions);
        let in_groups = copied().filter(Sum::is_in_groups).count() as u64;
        // An entity that moves to another group changes the totals of both.
        let totals = copied().count() as u64 + (states - 1) * in_groups;
        let all = (!has_any_number).then_some(rows + totals);
        Self {
            partitions: 0,
            transactions: all,
            rows: all,
            entities: totals + u64::from(!E::EVENTUAL.is_empty()),
            rounds: rows.div_ceil(most_rows(client) as u64).max(1),
            intents: u64::from(reaches_across::<E>()),
        }
    }

    /// What the transactions with the rows cost, and the delete of each intent.
    fn cost_with_tickets(&self) -> PlacedCost {
        let Self { partitions, transactions, rows, intents, .. } = *self;
        let requests = Bounds { least: partitions, most: transactions };
        let written = transactions.zip(rows).map(|(tickets, rows)| tickets + rows);
        let others = Cost::writes(requests, Bounds { least: partitions, most: written });
        let intents = Bounds::between(intents.min(1), intents);
        PlacedCost { others, ..PlacedCost::home(Cost::deletes(intents, intents)) }
    }

    fn cost_of_tickets(&self) -> PlacedCost {
        let tickets = Bounds { least: self.partitions, most: self.transactions };
        PlacedCost::others(Cost::writes(tickets, tickets))
    }

    /// What all of it costs: the tickets, the reads of the canonical rows, and the transactions.
    fn cost(&self) -> PlacedCost {
        let reads = match self.transactions {
            Some(_) => Bounds::up_to(self.entities * self.rounds),
            None => Bounds::from(0),
        };
        let reads = PlacedCost::home(Cost::point_queries(reads));
        self.cost_of_tickets() + reads + self.cost_with_tickets()
    }
}

/// What a write of one entity sends to other partitions where the answer to a read decides that, and for them to its own
/// partition.
fn cost_elsewhere(guards: &[GuardTemplate], settling: PlacedCost, states: u64) -> PlacedCost {
    let values = guards.iter().filter(|guard| guard.across).count() as u64;
    let taken = (states - 1) * values;
    let reserved = PlacedCost::reserving(Bounds::exactly(taken), Bounds::up_to(taken.min(1)));
    (settling + reserved + PlacedCost::releasing(Bounds::exactly(values))).or_nothing()
}

/// What the delete of an entity costs beside its transaction, which also inserts an intent.
pub(crate) fn cost_after_delete<E: TableEntity>(client: &TableClient) -> PlacedCost {
    cost_elsewhere(E::GUARDS, SettlingRequests::of_entity::<E>(client, 1).cost(), 1)
}

/// The most rows of one transaction beside a ticket.
fn most_rows(client: &TableClient) -> usize {
    client.store().transaction_operations().saturating_sub(1).max(1)
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

/// The same for writes of entities of type `E`.
pub(crate) fn register_step_of<E: TableEntity>(client: &TableClient) -> Option<Step> {
    register_step(client, reaches_across::<E>() || E::OUTBOX.is_some())
}

/// The plan of a write that reads first, and of what settles it: the answer decides which rows are due.
pub(crate) fn plan_with_settling<E: TableEntity>(
    client: &TableClient,
    plan: Plan,
    settling: &Settling,
) -> Plan {
    with_settling::<E>(client, plan, settling, 2)
}

/// The same for a delete.
pub(crate) fn plan_of_delete<E: TableEntity>(
    client: &TableClient,
    plan: Plan,
    settling: &Settling,
) -> Plan {
    with_settling::<E>(client, plan, settling, 1)
}

fn with_settling<E: TableEntity>(
    client: &TableClient,
    mut plan: Plan,
    settling: &Settling,
    states: u64,
) -> Plan {
    let requests = SettlingRequests::of_entity::<E>(client, states);
    // Whether a total with a copy changes is not known before, and such a write makes no tickets first.
    let first = settling.tickets_first && !has_sum_copies::<E>() && !E::EVENTUAL.is_empty();
    let tickets = first.then(|| {
        let cost = requests.cost_of_tickets().or_nothing();
        Step::MakeTickets { partitions: Vec::new(), cost }
    });
    let before =
        tickets.into_iter().chain(register_step_of::<E>(client)).chain(client.read_first());
    let transaction = plan.steps.len().saturating_sub(1);
    plan.steps.splice(transaction..transaction, before);
    plan.steps.extend(client.delete_values());
    let partitions = Vec::new();
    if first {
        let cost = cost_elsewhere(E::GUARDS, requests.cost_with_tickets(), states);
        plan.steps.push(Step::SettleWithTickets { partitions, cost });
    } else if reaches_across::<E>() {
        let cost = cost_elsewhere(E::GUARDS, requests.cost(), states);
        plan.steps.push(Step::Settle { partitions, cost });
    }
    plan
}
