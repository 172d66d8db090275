//! New keys for stored data, while clients go on: in other partitions, in the same one, in more shards; and rows
//! that a type has lost.

use crate::subject::{Subject, fresh_name};
use table_orm::migrate::{Migrating, StoredForm};
use table_orm::property::Large;
use table_orm::repo::FormerRow;
use table_orm::{Error, Repo, ScanPermit, TableEntity, TableName};

fn permit() -> ScanPermit {
    ScanPermit::because("a table of this test alone")
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{shop}")]
#[row(by_number, key = "ORD:{n:06}")]
#[row(by_state, key = "STATE:{state}__{n:06}")]
struct OrderV1 {
    shop: String,
    n: u32,
    state: String,
    cents: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders2", partition = "{shop}__{year}", migrate_from = OrderV1)]
#[row(by_number, key = "ORD:{n:08}")]
#[row(by_state, key = "STATE:{state}__{n:08}")]
struct Order {
    shop: String,
    year: u32,
    n: u32,
    state: String,
    cents: i64,
}

impl From<OrderV1> for Order {
    fn from(OrderV1 { shop, n, state, cents }: OrderV1) -> Self {
        Self { shop, year: 2000 + n / 1000, n, state, cents }
    }
}

impl From<Order> for OrderV1 {
    fn from(Order { shop, n, state, cents, .. }: Order) -> Self {
        Self { shop, n, state, cents }
    }
}

fn order(n: u32, cents: i64) -> Order {
    let state = if n.is_multiple_of(2) { "open" } else { "paid" };
    OrderV1 { shop: "oslo".into(), n, state: state.into(), cents }.into()
}

/// Clients of version 0, 1 and 2.
fn clients(
    subject: &Subject,
    new: &TableName,
) -> (Repo<OrderV1>, Migrating<Order>, Migrating<Order>) {
    let connect = || {
        let old = subject.table.clone();
        subject.tables().migrating_in::<Order>(old, new.clone()).unwrap()
    };
    let old = subject.tables().repo_in(subject.table.clone());
    (old, connect().inserting(StoredForm::Old), connect())
}

pub async fn move_entities_to_other_partitions_of_another_table(subject: Subject) {
    let table = fresh_name();
    let (version_0, version_1, version_2) = clients(&subject, &table);
    version_2.create_table_if_not_exists().await.unwrap();
    let inserts = (24_000..24_120).map(|n| OrderV1::from(order(n, 1)));
    assert_eq!(version_0.insert_many(inserts).await.all().unwrap().entities, 120);
    let year = Order::partition("oslo", 2024_u32);
    let key = |n: u32| year.by_number().n(n);
    // Version 1 writes in place, version 2 moves what it saves, and both see the same.
    version_1.update(key(24_000), |order| order.cents = 2).await.unwrap();
    let mut held = version_2.load(key(24_001)).await.unwrap().unwrap();
    held.state = "open".into();
    version_2.save(&mut held).await.unwrap();
    assert_eq!(held.form(), StoredForm::New);
    version_1.insert(&order(24_200, 3)).await.unwrap();
    version_2.insert(&order(24_201, 3)).await.unwrap();
    version_2.delete(version_2.load(key(24_002)).await.unwrap().unwrap()).await.unwrap();
    for version in [&version_1, &version_2] {
        let taken = version.insert(&order(24_001, 9)).await;
        assert!(matches!(taken, Err(Error::AlreadyExists(_))), "{taken:?}");
        assert_eq!(version.get(key(24_002)).await.unwrap(), None);
        assert_eq!(version.list(&year).count().await.unwrap(), 121);
        let open = version.list(year.by_state().state("open")).await.unwrap();
        assert_eq!(open.len(), 61);
    }
    // What has moved, version 0 does not take for absent.
    let moved = version_0.get(OrderV1::partition("oslo").by_number().n(24_001_u32)).await;
    assert!(matches!(moved, Err(Error::Moved(_))), "{moved:?}");
    let plan = version_2.migrate(&permit()).plan().await.unwrap();
    assert_eq!((plan.entities, plan.unmovable.len()), (119, 0));
    assert_eq!(version_2.migrate(&permit()).in_bulk().await.all().unwrap(), 119);
    let verified = version_2.verify_migrated(&permit()).await.unwrap();
    assert!(verified.is_complete() && verified.left_over.is_empty(), "{verified:?}");
    let retired = version_2.retire(&permit()).await.all().unwrap();
    assert_eq!((retired.left, retired.strays.len()), (0, 0));
    // Nothing else is stored: no old row, marker or parcel.
    assert_eq!(subject.dynamic().scan(permit()).collect().await.unwrap(), []);
    let rows = subject.tables().table(table.clone()).scan(permit()).collect().await.unwrap();
    assert_eq!(rows.len(), 2 * 121);
    let mut all: Vec<_> = (24_000..24_120).filter(|n| *n != 24_002).map(|n| order(n, 1)).collect();
    (all[0].cents, all[1].state) = (2, "open".into());
    all.extend([order(24_200, 3), order(24_201, 3)]);
    assert_eq!(version_2.scan(&permit()).await.unwrap(), all);
    subject.store.delete_table(&table).await.unwrap();
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "seats", partition = "{hall}", unique(code))]
#[row(by_number, key = "S:{n:03}")]
#[row(by_guest, key = "G:{guest}__{n:03}")]
struct SeatV1 {
    hall: String,
    n: u32,
    code: String,
    guest: Option<String>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "seats", partition = "{hall}", unique(code), migrate_from = SeatV1)]
#[row(by_number, key = "SEAT:{n:08}")]
#[row(by_guest, key = "GUEST:{guest}__{n:08}")]
struct Seat {
    hall: String,
    n: u32,
    code: String,
    guest: Option<String>,
}

impl From<SeatV1> for Seat {
    fn from(SeatV1 { hall, n, code, guest }: SeatV1) -> Self {
        Self { hall, n, code, guest }
    }
}

impl From<Seat> for SeatV1 {
    fn from(Seat { hall, n, code, guest }: Seat) -> Self {
        Self { hall, n, code, guest }
    }
}

fn seat(n: u32) -> Seat {
    let guest = n.is_multiple_of(3).then(|| "ann".to_owned());
    Seat { hall: "a".into(), n, code: format!("c{n}"), guest }
}

pub async fn give_entities_other_keys_in_their_partition(subject: Subject) {
    let table = || subject.table.clone();
    let old = subject.tables().repo_in::<SeatV1>(table());
    let seats = subject.tables().migrating_in::<Seat>(table(), table()).unwrap();
    let inserts = (0..60).map(|n| SeatV1::from(seat(n)));
    assert_eq!(old.insert_many(inserts).await.all().unwrap().entities, 60);
    let hall = Seat::partition("a");
    // A guest moves to a seat that nobody has, in one transaction of both entities.
    let swap = seats.transaction_with(&hall, async |tx| {
        let mut from = tx.load(hall.by_number().n(0_u32)).await?.expect("it is stored");
        let mut to = tx.load(hall.by_number().n(1_u32)).await?.expect("it is stored");
        std::mem::swap(&mut from.guest, &mut to.guest);
        tx.save(from);
        tx.save(to);
        Ok(())
    });
    swap.await.unwrap();
    let taken = seats.insert(&Seat { n: 99, ..seat(7) }).await;
    assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
    let guests = async || {
        let guests = seats.list(hall.by_guest().guest("ann")).await.unwrap();
        guests.into_iter().map(|seat| seat.n).collect::<Vec<_>>()
    };
    let expected = [1].into_iter().chain((3..60).step_by(3)).collect::<Vec<u32>>();
    assert_eq!(guests().await, expected);
    assert_eq!(seats.migrate(&permit()).await.all().unwrap(), 58);
    assert!(seats.verify_migrated(&permit()).await.unwrap().is_complete());
    assert_eq!(guests().await, expected);
    assert_eq!(seats.retire(&permit()).await.all().unwrap().left, 0);
    // A canonical row and a guard row of each, and the rows of the guests.
    assert_eq!(subject.dynamic().list("a", ..).count().await.unwrap(), 60 + 60 + 20);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "tasks", partition = "{team}", row = "T:{n:06}")]
#[row(by_day, partition = "{day}", key = "DAY:{team}__{n:06}", eventual)]
struct TaskV1 {
    team: String,
    n: u32,
    day: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "tasks", partition = "{team}__{year}", row = "TASK:{n:08}", migrate_from = TaskV1)]
#[row(by_day, partition = "{day}", key = "DATE:{team}__{year}__{n:08}", eventual)]
struct Task {
    team: String,
    year: u32,
    n: u32,
    day: String,
}

impl From<TaskV1> for Task {
    fn from(TaskV1 { team, n, day }: TaskV1) -> Self {
        Self { team, year: 2000 + n / 1000, n, day }
    }
}

impl From<Task> for TaskV1 {
    fn from(Task { team, n, day, .. }: Task) -> Self {
        Self { team, n, day }
    }
}

pub async fn move_entities_with_their_rows_in_other_partitions(subject: Subject) {
    let table = || subject.table.clone();
    let old = subject.tables().repo_in::<TaskV1>(table());
    let tasks = subject.tables().migrating_in::<Task>(table(), table()).unwrap();
    let task = |n: u32, day: &str| Task::from(TaskV1 { team: "red".into(), n, day: day.into() });
    let inserts = (0..30).map(|n| TaskV1::from(task(n, "mon")));
    assert_eq!(old.insert_many(inserts).await.all().unwrap().entities, 30);
    tasks.insert(&task(30, "mon")).await.unwrap();
    let key = |n: u32| Task::partition("red", 2000_u32).row().n(n);
    tasks.update(key(0), |task| task.day = "tue".into()).await.unwrap();
    tasks.delete(tasks.load(key(1)).await.unwrap().unwrap()).await.unwrap();
    let of_day = async |day: &str| {
        let found = tasks.list(Task::by_day(day)).await.unwrap();
        found.into_iter().map(|task| task.n).collect::<Vec<_>>()
    };
    let expected: Vec<_> = (2..31).collect();
    assert_eq!((of_day("mon").await, of_day("tue").await), (expected.clone(), vec![0]));
    assert_eq!(tasks.migrate(&permit()).in_bulk().await.all().unwrap(), 28);
    assert_eq!((of_day("mon").await, of_day("tue").await), (expected, vec![0]));
    assert_eq!(tasks.settle(&permit()).await.all().unwrap().settled, 0);
    assert!(tasks.verify_migrated(&permit()).await.unwrap().is_complete());
    assert_eq!(tasks.retire(&permit()).await.all().unwrap().left, 0);
    // A canonical row of each, and a row in the partition of its day.
    assert_eq!(subject.dynamic().scan(permit()).count().await.unwrap().rows, 30 + 30);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "users", partition = "{id}", row = "USER", unique(login, across))]
struct UserV1 {
    id: u32,
    login: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "users", partition = "U{id}", row = "PERSON", unique(login, across), migrate_from = UserV1)]
struct User {
    id: u32,
    login: String,
}

impl From<UserV1> for User {
    fn from(UserV1 { id, login }: UserV1) -> Self {
        Self { id, login }
    }
}

impl From<User> for UserV1 {
    fn from(User { id, login }: User) -> Self {
        Self { id, login }
    }
}

pub async fn move_entities_with_values_unique_over_all_partitions(subject: Subject) {
    let table = || subject.table.clone();
    let old = subject.tables().repo_in::<UserV1>(table());
    let users = subject.tables().migrating_in::<User>(table(), table()).unwrap();
    let user = |id: u32, login: &str| User { id, login: login.into() };
    for (id, login) in [(1, "ann"), (2, "bob"), (3, "cat")] {
        old.insert(&user(id, login).into()).await.unwrap();
    }
    users.insert(&user(4, "dan")).await.unwrap();
    let key = |id: u32| User::partition(id).row();
    users.update(key(1), |user| user.login = "amy".into()).await.unwrap();
    users.insert(&user(5, "ann")).await.unwrap();
    assert_eq!(users.migrate(&permit()).await.all().unwrap(), 2);
    for (id, login) in [(1, "amy"), (2, "bob"), (3, "cat"), (4, "dan"), (5, "ann")] {
        let taken = users.insert(&user(9, login)).await;
        assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
        let found = users.load_unique(User::unique_login(login)).await.unwrap();
        assert_eq!(found.map(|user| user.id), Some(id));
    }
    users.delete(users.load(key(2)).await.unwrap().unwrap()).await.unwrap();
    users.insert(&user(6, "bob")).await.unwrap();
    assert_eq!(users.settle(&permit()).await.all().unwrap().settled, 0);
    assert!(users.verify_migrated(&permit()).await.unwrap().is_complete());
    assert_eq!(users.retire(&permit()).await.all().unwrap().left, 0);
    // A canonical row of each, and a guard.
    assert_eq!(subject.dynamic().scan(permit()).count().await.unwrap().rows, 5 + 5);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "films", partition = "{studio:03}", row = "FILM:{id:05}")]
struct FilmV1 {
    studio: u32,
    id: u32,
    #[table(overflow)]
    trailer: Large,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "films", partition = "S{studio:03}", row = "FILM:{id:05}", migrate_from = FilmV1)]
struct Film {
    studio: u32,
    id: u32,
    #[table(overflow)]
    trailer: Large,
}

impl From<FilmV1> for Film {
    fn from(FilmV1 { studio, id, trailer }: FilmV1) -> Self {
        Self { studio, id, trailer }
    }
}

impl From<Film> for FilmV1 {
    fn from(Film { studio, id, trailer }: Film) -> Self {
        Self { studio, id, trailer }
    }
}

pub async fn move_entities_with_values_of_any_size(subject: Subject) {
    const LENGTHS: [(u32, usize); 3] = [(1, 9), (2, 64 * 1024 + 1), (3, 704 * 1024 + 1)];
    let table = || subject.table.clone();
    let old = subject.tables().repo_in::<FilmV1>(table());
    let films = subject.tables().migrating_in::<Film>(table(), table()).unwrap();
    let bytes = |id: u32, length: usize| vec![id as u8; length];
    for (id, length) in LENGTHS {
        let mut upload = old.upload(FilmV1::partition(7).row().id(id)).unwrap();
        upload.add(bytes(id, length)).await.unwrap();
        let trailer = upload.finish().await.unwrap();
        old.insert(&FilmV1 { studio: 7, id, trailer }).await.unwrap();
    }
    let key = |id: u32| Film::partition(7).row().id(id);
    let are_whole = async || {
        for (id, length) in LENGTHS {
            let film = films.get(key(id)).await.unwrap().unwrap();
            let read = films.read_large(&film, |film| &film.trailer).await.unwrap();
            assert!(read == Some(bytes(id, length).into()), "{id}");
        }
    };
    are_whole().await;
    // A save moves one, a mover the others.
    let mut held = films.load(key(3)).await.unwrap().unwrap();
    films.save(&mut held).await.unwrap();
    are_whole().await;
    assert_eq!(films.migrate(&permit()).in_bulk().await.all().unwrap(), 2);
    assert!(films.verify_migrated(&permit()).await.unwrap().is_complete());
    assert_eq!(films.retire(&permit()).await.all().unwrap().left, 0);
    are_whole().await;
    // A canonical row of each, a row of one value, and two of another.
    assert_eq!(subject.dynamic().scan(permit()).count().await.unwrap().rows, 3 + 1 + 2);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "players", partition = "{share}", row = "P:{id:05}")]
#[component(share = shard(id, 16))]
struct PlayerV1 {
    id: u32,
    points: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "players", partition = "{share}", row = "P:{id:05}", migrate_from = PlayerV1)]
#[component(share = shard(id, 32))]
struct Player {
    id: u32,
    points: i64,
}

impl From<PlayerV1> for Player {
    fn from(PlayerV1 { id, points }: PlayerV1) -> Self {
        Self { id, points }
    }
}

impl From<Player> for PlayerV1 {
    fn from(Player { id, points }: Player) -> Self {
        Self { id, points }
    }
}

pub async fn share_entities_among_more_shards(subject: Subject) {
    let table = || subject.table.clone();
    let old = subject.tables().repo_in::<PlayerV1>(table());
    for id in 0..40 {
        old.insert(&PlayerV1 { id, points: 0 }).await.unwrap();
    }
    let players = subject.tables().migrating_in::<Player>(table(), table()).unwrap();
    for id in 0..10 {
        players
            .update(Player::partition(id).row().id(id), |player| player.points = 7)
            .await
            .unwrap();
    }
    let rest = players.migrate(&permit()).plan().await.unwrap().entities;
    assert!(0 < rest && rest < 40, "{rest}");
    assert_eq!(players.migrate(&permit()).await.all().unwrap(), rest);
    assert!(players.verify_migrated(&permit()).await.unwrap().is_complete());
    assert_eq!(players.retire(&permit()).await.all().unwrap().left, 0);
    let mut found = Vec::new();
    for shard in Player::partitions() {
        found.extend(players.list(shard).await.unwrap());
    }
    found.sort_unstable_by_key(|player| player.id);
    let points = |id| if id < 10 { 7 } else { 0 };
    assert_eq!(found, Vec::from_iter((0..40).map(|id| Player { id, points: points(id) })));
    assert_eq!(subject.dynamic().scan(permit()).count().await.unwrap().rows, 40);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{shop}", row = "ORD:{n:06}")]
struct OrderWithoutStates {
    shop: String,
    n: u32,
    state: String,
    cents: i64,
}

pub async fn drop_the_rows_that_a_type_has_lost(subject: Subject) {
    let table = || subject.table.clone();
    let old = subject.tables().repo_in::<OrderV1>(table());
    let inserts = (0..230).map(|n| OrderV1::from(order(n, 1)));
    assert_eq!(old.insert_many(inserts).await.all().unwrap().entities, 230);
    let orders = subject.tables().repo_in::<OrderWithoutStates>(table());
    let by_state = FormerRow::new("by_state", "STATE:{state}__{n:06}").unwrap();
    let would = orders.drop_row(by_state.clone(), permit()).dry_run().await;
    assert_eq!((would.progress.rows, would.kept.len()), (230, 0));
    assert_eq!(subject.dynamic().list("oslo", ..).count().await.unwrap(), 460);
    assert_eq!(orders.drop_row(by_state, permit()).await.all().unwrap().rows, 230);
    assert_eq!(subject.dynamic().list("oslo", ..).count().await.unwrap(), 230);
    assert!(orders.verify_table(permit()).await.unwrap().findings.is_empty());
}
