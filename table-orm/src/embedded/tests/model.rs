//! Random operations against a plain model of the service.

use super::*;
use crate::model::order;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A key in the service's order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key(String, String);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        order::compare(&self.0, &other.0).then(order::compare(&self.1, &other.1))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

type Properties = BTreeMap<String, i32>;

#[derive(Debug, Clone, Copy)]
enum Condition {
    Any,
    Current,
    Stale,
}

#[derive(Debug, Clone)]
enum Step {
    Insert(Properties),
    InsertOrReplace(Properties),
    InsertOrMerge(Properties),
    Replace(Properties, Condition),
    Merge(Properties, Condition),
    Delete(Condition),
}

#[derive(Debug, Clone, Default)]
struct Model {
    rows: BTreeMap<Key, (Properties, ETag)>,
}

impl Model {
    /// Returns the action for the store. No row ever has the stale ETag again.
    fn action(&self, key: &Key, step: &Step) -> Action {
        let body = |properties: &Properties| json(&serde_json::to_string(properties).unwrap());
        let if_match = |condition: &Condition| match (condition, self.rows.get(key)) {
            (Condition::Any, _) => IfMatch::Any,
            (Condition::Current, Some((_, etag))) => IfMatch::ETag(etag.clone()),
            _ => IfMatch::ETag(ETag::new("W/\"datetime'2001-01-01T00%3A00%3A00Z'\"")),
        };
        match step {
            Step::Insert(properties) => Action::Insert(body(properties)),
            Step::InsertOrReplace(properties) => Action::InsertOrReplace(body(properties)),
            Step::InsertOrMerge(properties) => Action::InsertOrMerge(body(properties)),
            Step::Replace(properties, condition) => {
                Action::Replace(body(properties), if_match(condition))
            }
            Step::Merge(properties, condition) => {
                Action::Merge(body(properties), if_match(condition))
            }
            Step::Delete(condition) => Action::Delete(if_match(condition)),
        }
    }

    /// Returns the row after the action.
    fn outcome(&self, key: &Key, step: &Step) -> Result<Option<Properties>, ErrorCode> {
        let stored = self.rows.get(key).map(|(properties, _)| properties);
        let check = |condition: &Condition| match (stored, condition) {
            (None, _) => Err(ErrorCode::RESOURCE_NOT_FOUND),
            (_, Condition::Stale) => Err(ErrorCode::UPDATE_CONDITION_NOT_SATISFIED),
            (Some(stored), _) => Ok(stored),
        };
        let overlay = |stored: &Properties, patch: &Properties| {
            let mut merged = stored.clone();
            merged.extend(patch.clone());
            merged
        };
        Ok(match step {
            Step::Insert(_) if stored.is_some() => return Err(ErrorCode::ENTITY_ALREADY_EXISTS),
            Step::Insert(properties) | Step::InsertOrReplace(properties) => {
                Some(properties.clone())
            }
            Step::InsertOrMerge(patch) => {
                Some(overlay(stored.unwrap_or(&Properties::new()), patch))
            }
            Step::Replace(properties, condition) => {
                check(condition)?;
                Some(properties.clone())
            }
            Step::Merge(patch, condition) => Some(overlay(check(condition)?, patch)),
            Step::Delete(condition) => {
                check(condition)?;
                None
            }
        })
    }

    fn apply(&mut self, key: Key, row: Option<Properties>, etag: Option<ETag>) {
        match row {
            Some(properties) => {
                let etag = etag.expect("a written row has an ETag");
                self.rows.insert(key, (properties, etag));
            }
            None => {
                assert_eq!(etag, None);
                self.rows.remove(&key);
            }
        }
    }
}

fn properties() -> impl Strategy<Value = Properties> {
    proptest::collection::btree_map("[ABC]", any::<i32>(), 0..3)
}

fn step() -> impl Strategy<Value = Step> {
    let condition =
        || prop_oneof![Just(Condition::Any), Just(Condition::Current), Just(Condition::Stale)];
    prop_oneof![
        3 => properties().prop_map(Step::Insert),
        1 => properties().prop_map(Step::InsertOrReplace),
        2 => properties().prop_map(Step::InsertOrMerge),
        1 => (properties(), condition()).prop_map(|(row, condition)| Step::Replace(row, condition)),
        2 => (properties(), condition()).prop_map(|(row, condition)| Step::Merge(row, condition)),
        2 => condition().prop_map(Step::Delete),
    ]
}

/// Operations on one partition. More than one are a transaction.
fn request() -> impl Strategy<Value = (String, BTreeMap<String, Step>)> {
    let key = || "[a\u{E000}\u{1F3C3}]{0,1}";
    (
        key(),
        prop_oneof![
            2 => proptest::collection::btree_map(key(), step(), 1),
            1 => proptest::collection::btree_map(key(), step(), 1..4),
        ],
    )
}

async fn run(requests: Vec<(String, BTreeMap<String, Step>)>) {
    let people = fixture().await;
    let mut model = Model::default();
    for (partition_key, steps) in requests {
        let key = |row_key: &String| Key(partition_key.clone(), row_key.clone());
        let operations: Vec<_> = steps
            .iter()
            .map(|(row_key, step)| operation(row_key, model.action(&key(row_key), step)))
            .collect();
        let outcomes: Vec<_> =
            steps.iter().map(|(row_key, step)| model.outcome(&key(row_key), step)).collect();
        let failed = outcomes.iter().position(Result::is_err);
        let result = if operations.len() == 1 {
            let operation = operations.into_iter().next().unwrap();
            let result = people.store.write(&people.table, &partition_key, operation).await;
            result.map(|etag| vec![etag]).map_err(|error| error.at(0))
        } else {
            let transaction = Batch { partition_key: partition_key.clone(), operations };
            people.store.commit(&people.table, transaction).await
        };
        match (result, failed) {
            (Ok(etags), None) => {
                for ((row_key, outcome), etag) in steps.keys().zip(outcomes).zip(etags) {
                    model.apply(key(row_key), outcome.unwrap(), etag);
                }
            }
            (Err(error), Some(index)) => {
                assert_eq!(error.operation, Some(index));
                assert_eq!(Err(error.code), outcomes[index].clone().map(drop));
            }
            (result, failed) => panic!("the store says {result:?}, the model {failed:?}"),
        }
        compare(&people, &model).await;
    }
}

async fn compare(people: &Fixture, model: &Model) {
    let page = people.store.query(&people.query(KeyRange::ALL)).await.unwrap();
    let stored: Vec<_> = rows(&page)
        .into_iter()
        .map(|row| {
            let members = row.as_object().unwrap();
            let system = ["PartitionKey", "RowKey", "Timestamp"];
            let properties = members
                .iter()
                .filter(|(name, _)| !system.contains(&name.as_str()))
                .map(|(name, value)| {
                    (name.clone(), i32::try_from(value.as_i64().unwrap()).unwrap())
                })
                .collect::<Properties>();
            let etag = ETag::from_timestamp(&key(&row, "Timestamp"));
            (Key(key(&row, "PartitionKey"), key(&row, "RowKey")), (properties, etag))
        })
        .collect();
    let expected: Vec<_> = model.rows.clone().into_iter().collect();
    assert_eq!(stored, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn random_operations_leave_the_rows_of_the_model(
        requests in proptest::collection::vec(request(), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run(requests));
    }
}
