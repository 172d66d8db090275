//! An entity that moves from one partition of other rows to another is rather seen twice than not at all.

use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use support::stops::{Stop, Stops, with_stops};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Fault, Faults};
use table_orm::store::Store;
use table_orm::{EntityKeys as _, Repo, TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "members", partition = "{user}", row = "MEMBER:{number:05}")]
#[row(by_room, partition = "R:{room}", key = "USER:{user}__{number:05}", eventual)]
struct Member {
    user: String,
    number: u32,
    room: String,
}

fn member(number: u32, room: usize) -> Member {
    Member { user: "ann".into(), number, room: ROOMS[room].into() }
}

const ROOMS: [&str; 3] = ["attic", "cellar", "hall"];

/// A client whose requests are seen, and one that reads.
fn clients() -> (Tables, Stops, Tables) {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
    let (front, stops) = with_stops(Arc::clone(&store));
    (Tables::new(front).on_virtual_time(1), stops, Tables::new(store))
}

async fn in_room(members: &Repo<Member>, room: &str) -> Vec<u32> {
    let members = members.list(Member::by_room(room)).collect().await.unwrap();
    members.iter().map(|member| member.number).collect()
}

#[tokio::test(start_paused = true)]
async fn the_partition_that_an_entity_moves_to_is_written_before_the_one_that_it_leaves() {
    for (from, to) in [(0, 1), (1, 0)] {
        let (members, stops, reader) = clients();
        let [members, reader] = [members, reader].map(|tables| tables.repo::<Member>());
        reader.create_table().await.unwrap();
        reader.insert(&member(1, from)).await.unwrap();
        let between = reader.clone();
        // The entity, its transaction, two tickets, a reading, the room that it moves to.
        stops.before(7, async move {
            for room in [from, to] {
                assert_eq!(in_room(&between, ROOMS[room]).await, [1]);
            }
        });
        members.update(member(1, from).key(), |one| one.room = ROOMS[to].into()).await.unwrap();
        let seen = stops.take();
        let commits: Vec<_> = seen.iter().filter(|one| one.starts_with("commit R:")).collect();
        assert_eq!(
            commits,
            [&format!("commit R:{}", ROOMS[to]), &format!("commit R:{}", ROOMS[from])]
        );
        assert_eq!(
            (in_room(&reader, ROOMS[from]).await, in_room(&reader, ROOMS[to]).await),
            (vec![], vec![1])
        );
    }
}

#[tokio::test(start_paused = true)]
async fn entities_that_exchange_or_pass_on_a_key_keep_their_rows_with_tickets_first() {
    let (tables, _, reader) = clients();
    let [members, reader] = [tables, reader].map(|tables| tables.repo::<Member>());
    reader.create_table().await.unwrap();
    let rooms = async |expected: [&[u32]; 2]| {
        for (room, expected) in ROOMS.iter().zip(expected) {
            assert_eq!(in_room(&reader, room).await, expected, "{room}");
        }
        let report = reader.verify(Member::partition("ann")).await.unwrap();
        assert!(report.findings.is_empty(), "{report:?}");
    };
    let both = async || {
        let load = async |number| {
            let key = Member::partition("ann").row().number(number);
            reader.load(key).await.unwrap().one().unwrap()
        };
        [load(1).await, load(2).await]
    };
    let ann = || members.transaction(Member::partition("ann")).tickets_first();
    reader.insert_many([member(1, 0), member(2, 1)]).await.all().unwrap();
    rooms([&[1], &[2]]).await;
    for order in [[0, 1], [1, 0]] {
        let [mut one, mut two] = both().await;
        (one.number, two.number) = (2, 1);
        let [first, last] =
            if order == [0, 1] { [&mut one, &mut two] } else { [&mut two, &mut one] };
        ann().save(first).save(last).commit().await.unwrap();
        if order == [0, 1] { rooms([&[2], &[1]]).await } else { rooms([&[1], &[2]]).await }
    }
    // One passes its key on to the other, in both orders of the calls.
    let [mut one, mut two] = both().await;
    (one.number, two.number) = (2, 3);
    ann().save(&mut one).save(&mut two).commit().await.unwrap();
    rooms([&[2], &[3]]).await;
    two.number = 2;
    ann().insert(&member(3, 0)).delete(one).save(&mut two).commit().await.unwrap();
    rooms([&[3], &[2]]).await;
}

/// Before each transaction in another partition, whatever `read` returns is all there. Returns how often
/// that was looked at.
fn watch<F>(stops: &Stops, read: impl Fn() -> F + Send + 'static) -> Arc<AtomicUsize>
where
    F: Future<Output = bool> + Send + 'static,
{
    let looked = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&looked);
    stops.before_each(move |_, request| {
        let (count, is_there) = (Arc::clone(&count), request.starts_with("commit R:").then(&read)?);
        let stop: Stop = Box::pin(async move {
            assert!(is_there.await, "an entity is nowhere");
            count.fetch_add(1, Relaxed);
        });
        Some(stop)
    });
    looked
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_cannot_be_written_holds_up_the_one_that_the_entity_leaves() {
    for (from, to) in [(0, 1), (1, 0)] {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
        // The tickets are made in the order of the partitions: that of the new room is lost, and later its
        // transaction.
        let network = Faults::seeded(1).on("insert", 1 + to as u64, Fault::LostRequest).on(
            "commit",
            2,
            Fault::LostRequest,
        );
        let (front, stops) = with_stops(Arc::new(network.store(Arc::clone(&store)).unwrap()));
        let members = Tables::new(front).on_virtual_time(1).repo::<Member>();
        let reader = Tables::new(store).repo::<Member>();
        reader.create_table().await.unwrap();
        reader.insert(&member(1, from)).await.unwrap();
        let between = reader.clone();
        let looked = watch(&stops, move || {
            let reader = between.clone();
            async move {
                let rooms = [in_room(&reader, ROOMS[0]).await, in_room(&reader, ROOMS[1]).await];
                rooms.concat().contains(&1)
            }
        });
        members.update(member(1, from).key(), |one| one.room = ROOMS[to].into()).await.unwrap();
        assert_eq!(looked.load(Relaxed), 3, "one of them was lost");
        assert_eq!(in_room(&reader, ROOMS[from]).await, [0; 0]);
        assert_eq!(in_room(&reader, ROOMS[to]).await, [1]);
    }
}

async fn move_in_bulk(moves: Vec<(usize, usize)>) {
    let (members, stops, reader) = clients();
    let [members, reader] = [members, reader].map(|tables| tables.repo::<Member>());
    reader.create_table().await.unwrap();
    let numbered = || (0..).zip(&moves);
    let before = numbered().map(|(number, (from, _))| member(number, *from));
    reader.insert_many(before).await.all().unwrap();
    let (all, between) = (moves.len(), reader.clone());
    let looked = watch(&stops, move || {
        let reader = between.clone();
        async move {
            let mut found = BTreeSet::new();
            for room in ROOMS {
                found.extend(in_room(&reader, room).await);
            }
            found.len() == all
        }
    });
    let after: Vec<_> = numbered().map(|(number, (_, to))| member(number, *to)).collect();
    members.upsert_many(after).await.all().unwrap();
    let changed = moves.iter().any(|(from, to)| from != to);
    assert_eq!(looked.load(Relaxed) > 0, changed);
    for (room, name) in ROOMS.into_iter().enumerate() {
        let expected: Vec<_> =
            numbered().filter(|(_, (_, to))| *to == room).map(|(number, _)| number).collect();
        assert_eq!(in_room(&reader, name).await, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn entities_that_move_together_are_seen_at_any_time(
        moves in prop::collection::vec((0..ROOMS.len(), 0..ROOMS.len()), 1..150),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(move_in_bulk(moves));
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "posts", partition = "{blog}", row = "POST:{id:05}")]
#[row(by_label, partition = "R:{shelf}", key = "L:{label}__{blog}__{id:05}", each(label in labels), eventual)]
struct Post {
    blog: String,
    id: u32,
    shelf: String,
    #[table(json)]
    labels: Vec<String>,
}

#[tokio::test(start_paused = true)]
async fn more_rows_than_a_transaction_takes_leave_a_partition_when_all_of_them_are_in_the_other() {
    let (posts, stops, tables) = clients();
    let (posts, reader) = (posts.repo::<Post>(), tables.repo::<Post>());
    reader.create_table().await.unwrap();
    let labels = (0..250).map(|label| format!("x{label:03}")).collect();
    let post = Post { blog: "b".into(), id: 1, shelf: "left".into(), labels };
    reader.insert(&post).await.unwrap();
    let rows = tables.table(reader.table().clone());
    let looked = watch(&stops, move || {
        let rows = rows.clone();
        async move {
            let mut found = BTreeSet::new();
            for shelf in ["left", "right"] {
                let rows = rows.list(format!("R:{shelf}"), "L:".."L;").collect().await.unwrap();
                found.extend(rows.into_iter().map(|row| row.row_key));
            }
            found.len() == 250
        }
    });
    posts.update(post.key(), |post| post.shelf = "right".into()).await.unwrap();
    assert_eq!(looked.load(Relaxed), 6);
    assert_eq!(reader.list(Post::by_label("left")).count().await.unwrap(), 0);
    assert_eq!(reader.list(Post::by_label("right")).count().await.unwrap(), 250);
}
