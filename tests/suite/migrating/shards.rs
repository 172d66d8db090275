//! More shards, and other components in the old key.

use super::types::{Counter, permit};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use table_orm::embedded::EmbeddedStore;
use table_orm::entity::EntityRows;
use table_orm::migrate::{Migrating, StoredForm};
use table_orm::store::{Batch, Middleware, Operation, Store, StoreError};
use table_orm::{ETag, Error, Repo, TableEntity, TableName, Tables};
use time::{Date, OffsetDateTime};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "players", partition = "{share}", row = "P:{id:05}")]
#[row(by_name, key = "N:{name}__{id:05}")]
#[component(share = shard(id, 16))]
struct PlayerV1 {
    id: u32,
    name: String,
    points: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "players", partition = "{share}", row = "P:{id:05}", migrate_from = PlayerV1)]
#[row(by_name, key = "N:{name}__{id:05}")]
#[component(share = shard(id, 32))]
struct Player {
    id: u32,
    name: String,
    points: i64,
}

both_ways!(Player, PlayerV1 { id, name, points });

fn player(id: u32) -> Player {
    Player { id, name: format!("p{}", id % 7), points: 0 }
}

macro_rules! key {
    ($id:expr) => {
        Player::partition($id).row().id($id)
    };
}

fn stays(id: u32) -> bool {
    let old = EntityRows::of(&PlayerV1::from(player(id))).unwrap();
    EntityRows::of(&player(id)).unwrap().partition_key == old.partition_key
}

/// A store that counts its writes.
#[derive(Debug)]
struct Writes {
    inner: EmbeddedStore,
    writes: AtomicU64,
}

impl Middleware for Writes {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        self.writes.fetch_add(1, Relaxed);
        self.inner.write(table, partition_key, operation).await
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        self.writes.fetch_add(1, Relaxed);
        self.inner.commit(table, batch).await
    }
}

async fn players() -> (Arc<Writes>, Tables, Repo<PlayerV1>, Migrating<Player>) {
    let inner = EmbeddedStore::in_memory().unwrap();
    let store = Arc::new(Writes { inner, writes: AtomicU64::new(0) });
    let tables = Tables::new(store.clone());
    let old = tables.repo::<PlayerV1>();
    old.create_table().await.unwrap();
    let client = tables.migrating::<Player>().unwrap();
    (store, tables, old, client)
}

#[tokio::test]
async fn from_16_to_32_shards_half_of_the_entities_move_and_nothing_is_sent_for_the_others() {
    let (store, tables, old, client) = players().await;
    for id in 0..200 {
        old.insert(&player(id).into()).await.unwrap();
    }
    let moving = (0..200).filter(|id| !stays(*id)).count() as u64;
    assert!((80..120).contains(&moving), "{moving}");
    let plan = client.migrate(&permit()).plan().await.unwrap();
    assert_eq!((plan.entities, plan.requests), (moving, 3 * moving));
    assert_eq!(client.verify_migrated(&permit()).await.unwrap().unmoved.len() as u64, moving);
    store.writes.store(0, Relaxed);
    assert_eq!(client.migrate(&permit()).await.all().unwrap(), moving);
    assert_eq!(store.writes.load(Relaxed), 3 * moving);
    // Again: there is nothing to do.
    assert_eq!(client.migrate(&permit()).await.all().unwrap(), 0);
    assert_eq!(store.writes.load(Relaxed), 3 * moving);
    assert!(client.verify_migrated(&permit()).await.unwrap().is_complete());
    let retired = client.retire(&permit()).await.all().unwrap();
    assert_eq!((retired.markers, retired.left), (moving, 0));
    // What a client of the new type alone finds.
    #[derive(TableEntity)]
    #[table(name = "players", partition = "{share}", row = "P:{id:05}")]
    #[component(share = shard(id, 32))]
    #[allow(dead_code)]
    struct After {
        id: u32,
        points: i64,
    }
    let after = tables.repo::<After>();
    for id in 0..200 {
        assert!(after.get(After::partition(id).row().id(id)).await.unwrap().is_some());
    }
    let mut count = 0;
    for partition in After::partitions() {
        count += after.list(partition).count().await.unwrap();
    }
    assert_eq!(count, 200);
}

#[tokio::test]
async fn while_shards_grow_every_version_reads_and_writes_every_entity_once() {
    let (_, _, old, new) = players().await;
    let before = new.clone().inserting(StoredForm::Old);
    for id in 0..40 {
        match id % 3 {
            0 => drop(old.insert(&player(id).into()).await.unwrap()),
            1 => before.insert(&player(id)).await.unwrap(),
            _ => new.insert(&player(id)).await.unwrap(),
        };
    }
    // Some are moved as they are saved.
    for id in 0..20 {
        let client = if id % 2 == 0 { &before } else { &new };
        client.update(key!(id), |player| player.points += 1).await.unwrap();
        let held = client.load(key!(id)).await.unwrap().unwrap();
        assert_eq!((held.points, stays(id) && held.form() == StoredForm::Old), (1, false));
    }
    for client in [&before, &new] {
        for id in 0..40 {
            assert_eq!(client.get(key!(id)).await.unwrap().unwrap().id, id);
            let again = client.insert(&player(id)).await;
            assert!(matches!(again, Err(Error::AlreadyExists(_))), "{again:?}");
        }
        let mut listed = Vec::new();
        let mut named = 0;
        for partition in Player::partitions() {
            listed.extend(client.list(&partition).await.unwrap());
            named += client.list(partition.by_name().name("p3")).count().await.unwrap();
        }
        let mut ids: Vec<_> = listed.iter().map(|player| player.id).collect();
        ids.sort_unstable();
        assert_eq!(ids, Vec::from_iter(0..40));
        assert_eq!(named, (0..40).filter(|id| id % 7 == 3).count());
        assert_eq!(client.scan(&permit()).await.unwrap().len(), 40);
    }
    // One that keeps its key is written in place by every version.
    let same = (20..40).find(|id| stays(*id)).unwrap();
    old.update(PlayerV1::partition(same).row().id(same), |player| player.points = 5).await.unwrap();
    assert_eq!(new.get(key!(same)).await.unwrap().unwrap().points, 5);
    new.update(key!(same), |player| player.points = 6).await.unwrap();
    let stored = old.get(PlayerV1::partition(same).row().id(same)).await.unwrap();
    assert_eq!(stored.unwrap().points, 6);
    let held = new.load(key!(same)).await.unwrap().unwrap();
    new.delete(held).await.unwrap();
    assert_eq!(before.get(key!(same)).await.unwrap(), None);
    before.insert(&player(same)).await.unwrap();
    assert_eq!(new.migrate(&permit()).await.skipped.len(), 0);
    assert!(new.verify_migrated(&permit()).await.unwrap().is_complete());
    assert_eq!(new.scan(&permit()).await.unwrap().len(), 40);
}

#[tokio::test]
async fn an_entity_that_keeps_its_key_costs_what_it_cost_before() {
    let inner: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
    let store = Arc::new(Counter::around(inner));
    let tables = Tables::new(store.clone());
    tables.repo::<PlayerV1>().create_table().await.unwrap();
    let client = tables.migrating::<Player>().unwrap();
    let id = (0..).find(|id| stays(*id)).unwrap();
    store.take();
    client.insert(&player(id)).await.unwrap();
    assert_eq!(store.take(), 1);
    let mut held = client.load(key!(id)).await.unwrap().unwrap();
    assert_eq!(store.take(), 1);
    held.points = 1;
    client.save(&mut held).await.unwrap();
    assert_eq!(store.take(), 1);
    client.delete(held).await.unwrap();
    assert_eq!(store.take(), 1);
    assert_eq!(client.get(key!(id)).await.unwrap(), None);
    assert_eq!(store.take(), 1);
}

/// Shards of numbers that do not divide each other.
#[derive(Debug, Clone, TableEntity)]
#[table(name = "groups", partition = "{country}__{share}", row = "G:{id}")]
#[component(share = shard(id, 3))]
struct GroupV1 {
    country: String,
    id: u32,
}

#[derive(Debug, Clone, TableEntity)]
#[table(name = "groups", partition = "{country}__{share}", row = "G:{id}", migrate_from = GroupV1)]
#[component(share = shard(id, 5))]
struct Group {
    country: String,
    id: u32,
}

both_ways!(Group, GroupV1 { country, id });

#[tokio::test]
async fn lists_find_entities_of_any_number_of_old_shards() {
    let tables = Tables::in_memory().unwrap();
    let old = tables.repo::<GroupV1>();
    old.create_table().await.unwrap();
    let new = tables.migrating::<Group>().unwrap();
    for id in 0..20 {
        old.insert(&GroupV1 { country: "no".into(), id }).await.unwrap();
        old.insert(&GroupV1 { country: "se".into(), id }).await.unwrap();
    }
    let all = async || {
        let mut ids = Vec::new();
        for partition in Group::partitions("no") {
            ids.extend(new.list(partition).await.unwrap().into_iter().map(|group| group.id));
        }
        ids.sort_unstable();
        ids
    };
    assert_eq!(all().await, Vec::from_iter(0..20));
    for id in 0..10 {
        new.update(Group::partition("no", id).row().id(id), |_| {}).await.unwrap();
    }
    assert_eq!(all().await, Vec::from_iter(0..20));
    new.migrate(&permit()).await.all().unwrap();
    assert_eq!(all().await, Vec::from_iter(0..20));
}

/// Each component of the derive, to another table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "notes", partition = "{second}", row = "{newest}__{low}__{score}__{day}__{rank}")]
#[component(second = spread(at, second), newest = desc(at), low = lower(title))]
#[component(score = biased(points), day = desc(date), rank = desc(place))]
struct NoteV1 {
    id: Uuid,
    at: OffsetDateTime,
    title: String,
    points: i32,
    date: Date,
    place: u16,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "notes2", partition = "{share}", row = "{oldest}__{score}__{title}__{place:06}__{date}__{last}", migrate_from = NoteV1)]
#[component(share = shard(id, 4), oldest = asc(at), score = desc(points), last = desc(id))]
struct Note {
    id: Uuid,
    at: OffsetDateTime,
    title: String,
    points: i32,
    date: Date,
    place: u16,
}

both_ways!(Note, NoteV1 { id, at, title, points, date, place });

fn note(n: u16) -> Note {
    let at = OffsetDateTime::from_unix_timestamp(1_320_588_600 + i64::from(n)).unwrap();
    let id = Uuid::from_u128(u128::from(n) << 40 | 7);
    Note {
        id,
        at,
        title: format!("Title {n}"),
        points: i32::from(n) - 3,
        date: at.date(),
        place: n,
    }
}

#[tokio::test]
async fn an_old_key_may_have_any_component_that_follows_from_the_new_one() {
    let tables = Tables::in_memory().unwrap();
    let old = tables.repo::<NoteV1>();
    old.create_table().await.unwrap();
    let new = tables.migrating::<Note>().unwrap();
    new.create_table_if_not_exists().await.unwrap();
    for n in 0..10 {
        old.insert(&note(n).into()).await.unwrap();
    }
    let get = async |n: u16| {
        let Note { id, at, title, points, date, place } = note(n);
        let key = Note::partition(id).row().oldest(at).score(points).title(title);
        new.load(key.place(place).date(date).last(id)).await.unwrap().unwrap()
    };
    for n in 0..10 {
        let mut held = get(n).await;
        assert_eq!((held.form(), &*held), (StoredForm::Old, &note(n)));
        if n < 5 {
            new.save(&mut held).await.unwrap();
        }
    }
    assert_eq!(new.migrate(&permit()).await.all().unwrap(), 5);
    for n in 0..10 {
        let held = get(n).await;
        assert_eq!((held.form(), &*held), (StoredForm::New, &note(n)));
    }
    assert!(new.verify_migrated(&permit()).await.unwrap().is_complete());
}
