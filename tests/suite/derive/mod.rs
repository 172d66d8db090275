//! The output of the derives: stored keys, properties, queries and their cost.

mod generated;
mod hygiene;
mod key_part;
mod keys;
mod names;
mod projection;
mod properties;
mod reference;
mod samples;

use table_orm::TableEntity;
use table_orm::entity::EntityRows;
use table_orm::entity::{Query, Row};
use table_orm::query::class::Class;
use table_orm::query::{KeyRange, QueryClass, Span};
use table_orm::{Repo, Tables};

/// The RowKeys an entity is stored under.
fn row_keys<E: TableEntity>(entity: &E) -> Vec<String> {
    let rows = EntityRows::of(entity).unwrap();
    rows.rows.into_iter().map(|row| row.row_key).collect()
}

/// The properties of an entity's canonical row, as JSON.
fn properties<E: TableEntity>(entity: &E) -> serde_json::Map<String, serde_json::Value> {
    let rows = EntityRows::of(entity).unwrap();
    let serde_json::Value::Object(mut members) =
        serde_json::from_slice(&rows.rows[0].body).unwrap()
    else {
        panic!("a row is an object")
    };
    members.remove("PartitionKey");
    members.remove("RowKey");
    members
}

/// The keys of a query, and its class.
fn keys<Q: Query>(query: Q) -> (KeyRange, QueryClass) {
    (query.into_keys().unwrap(), Q::Class::CLASS)
}

/// The RowKey of a point query.
fn exact<Q: Query>(query: Q) -> String {
    match keys(query) {
        (KeyRange { row: Span::Exact(key), .. }, QueryClass::Point) => key,
        other => panic!("{other:?}"),
    }
}

/// A repository over an empty table in memory.
async fn repo<E: TableEntity>() -> Repo<E> {
    let repo = Tables::in_memory().unwrap().repo::<E>();
    repo.create_table().await.unwrap();
    repo
}

/// The entity, stored and read back through its canonical rows.
async fn read_back<E, Q: Query>(entity: &E, partition: Q) -> E
where
    E: TableEntity + table_orm::entity::FromRow<Q::Row> + 'static,
    Q::Row: Row<Entity = E> + 'static,
{
    let repo = repo::<E>().await;
    repo.insert(entity).await.unwrap();
    repo.list(partition).one().await.unwrap()
}
