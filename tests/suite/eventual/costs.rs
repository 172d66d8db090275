//! The requests that rows in other partitions and values unique over all partitions take, whatever others do meanwhile.

use std::sync::Arc;
use std::time::Duration;
use support::stops::{Stops, with_stops};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Fault, Faults};
use table_orm::plan::Step;
use table_orm::store::{ErrorCode, Store};
use table_orm::{DynamicEntity, Error, Repo, TableEntity, TableName, Tables};
use tokio::sync::Notify;

/// One store, a client of it whose requests are seen, and another client.
struct Clients<E> {
    store: Arc<dyn Store>,
    seen: Repo<E>,
    stops: Stops,
    other: Repo<E>,
}

impl<E: TableEntity> Clients<E> {
    async fn new() -> Self {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
        let (front, stops) = with_stops(Arc::clone(&store));
        let seen = Tables::new(front).on_virtual_time(1).repo();
        let other: Repo<E> = Tables::new(Arc::clone(&store)).repo();
        other.create_table().await.unwrap();
        Self { store, seen, stops, other }
    }

    /// Another client whose requests are seen.
    fn third(&self) -> (Repo<E>, Stops) {
        let (front, stops) = with_stops(Arc::clone(&self.store));
        (Tables::new(front).on_virtual_time(2).repo(), stops)
    }

    /// A client of which a request is refused, after which it stops.
    fn ended(&self, operation: &'static str, number: u64) -> Repo<E> {
        let refused = Fault::Rejected(ErrorCode::OUT_OF_RANGE_INPUT);
        let faults = Faults::seeded(1).on(operation, number, refused);
        Tables::new(faults.store(Arc::clone(&self.store)).unwrap()).repo()
    }

    fn rows(&self) -> table_orm::repo::Table {
        Tables::new(Arc::clone(&self.store)).table(self.other.table().clone())
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "members", partition = "{user}", row = "ENTRY")]
#[row(by_room, partition = "R:{room}", key = "USER:{user}", eventual)]
#[row(by_group, partition = "G:{group}", key = "MEMBER:{user}", include(), eventual)]
struct Member {
    user: String,
    room: String,
    group: Option<String>,
    visits: u32,
}

fn ann() -> Member {
    Member { user: "ann".into(), room: "hall".into(), group: None, visits: 0 }
}

#[tokio::test(start_paused = true)]
async fn a_write_takes_2_requests_for_each_partition_elsewhere_and_3_others() {
    let Clients { seen, stops, other, .. } = Clients::<Member>::new().await;
    let in_place = ["commit ann", "insert R:hall", "get ann", "commit R:hall", "delete ann"];
    seen.insert(&ann()).await.unwrap();
    assert_eq!(stops.take(), in_place);
    let mut loaded = other.reload(&ann()).await.unwrap();
    loaded.visits = 1;
    seen.save(&mut loaded).await.unwrap();
    assert_eq!(stops.take(), in_place);
    loaded.group = Some("red".into());
    seen.save(&mut loaded).await.unwrap();
    assert_eq!(stops.take().len(), 7, "the room's copy has the group too");
    loaded.room = "cellar".into();
    seen.save(&mut loaded).await.unwrap();
    // Both rooms; the group's row stores nothing of it.
    assert_eq!(stops.take().len(), 7);
    seen.delete(loaded).await.unwrap();
    assert_eq!(stops.take().len(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_shared_ticket_takes_one_request_more() {
    let clients = Clients::<Member>::new().await;
    // Its writer ended before it used the ticket.
    clients.ended("commit", 2).insert(&ann()).await.unwrap();
    let mut loaded = clients.other.reload(&ann()).await.unwrap();
    loaded.visits = 1;
    clients.seen.save(&mut loaded).await.unwrap();
    assert_eq!(
        clients.stops.take(),
        ["commit ann", "insert R:hall", "get R:hall", "get ann", "commit R:hall", "delete ann"]
    );
    let room = clients.other.list(Member::by_room("hall")).one().await.unwrap();
    assert_eq!(room.visits, 1);
}

#[tokio::test(start_paused = true)]
async fn a_row_to_delete_that_is_not_there_takes_one_request_more() {
    let clients = Clients::<Member>::new().await;
    clients.other.insert(&ann()).await.unwrap();
    let copy = clients.rows().get("R:hall", "USER:ann").await.unwrap().unwrap();
    clients.rows().delete(&copy).await.unwrap();
    let loaded = clients.other.reload(&ann()).await.unwrap();
    clients.seen.delete(loaded).await.unwrap();
    // What is left of the transaction is the ticket.
    assert_eq!(
        clients.stops.take(),
        ["commit ann", "insert R:hall", "get ann", "commit R:hall", "delete R:hall", "delete ann"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_race_takes_two_requests_more_and_a_get() {
    let Clients { seen, stops, other, .. } = Clients::<Member>::new().await;
    let sweeper = other.clone();
    stops.before(4, async move {
        let settle = sweeper.settle(Member::partition("ann")).grace(Duration::ZERO);
        assert_eq!(settle.await.all().unwrap().settled, 1);
    });
    seen.insert(&ann()).await.unwrap();
    let round = ["insert R:hall", "get ann", "commit R:hall"];
    let expected = ["commit ann"].into_iter().chain(round).chain(round).chain(["delete ann"]);
    assert_eq!(stops.take(), expected.collect::<Vec<_>>());
    assert_eq!(other.list(Member::by_room("hall")).one().await.unwrap(), ann());
}

#[tokio::test(start_paused = true)]
async fn tickets_that_are_made_first_spare_the_reading() {
    let Clients { seen, stops, other, .. } = Clients::<Member>::new().await;
    seen.insert(&ann()).tickets_first().await.unwrap();
    assert_eq!(stops.take(), ["insert R:hall", "commit ann", "commit R:hall", "delete ann"]);
    assert_eq!(other.list(Member::by_room("hall")).one().await.unwrap(), ann());
    let mut loaded = other.reload(&ann()).await.unwrap();
    loaded.room = "attic".into();
    seen.save(&mut loaded).tickets_first().await.unwrap();
    assert_eq!(
        stops.take(),
        [
            "insert R:attic",
            "insert R:hall",
            "commit ann",
            "commit R:attic",
            "commit R:hall",
            "delete ann"
        ]
    );
    assert_eq!(other.list(Member::by_room("hall")).count().await.unwrap(), 0);
    assert_eq!(other.list(Member::by_room("attic")).one().await.unwrap().room, "attic");
    seen.delete(loaded).tickets_first().await.unwrap();
    assert_eq!(stops.take().len(), 4);
    assert_eq!(other.list(Member::by_room("attic")).count().await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_plan_with_tickets_first_has_the_requests_in_their_order() {
    let Clients { seen, stops, other, .. } = Clients::<Member>::new().await;
    let places = |partitions: &[(TableName, String)]| {
        partitions.iter().map(|(_, partition)| partition.clone()).collect::<Vec<_>>()
    };
    let insert = ann();
    let insert = seen.insert(&insert).tickets_first();
    let plan = insert.plan().unwrap();
    let [Step::MakeTickets { partitions: made, .. }, Step::Commit { .. }, last] = &plan.steps[..]
    else {
        panic!("{plan}")
    };
    let Step::SettleWithTickets { partitions: settled, .. } = last else { panic!("{plan}") };
    assert_eq!((places(made), places(settled)), (vec!["R:hall".into()], vec!["R:hall".into()]));
    insert.await.unwrap();
    assert_eq!(stops.take().len(), made.len() + 1 + settled.len() + 1);
    assert!(plan.to_string().contains("2 requests that write the rows"), "{plan}");
    assert!(plan.to_string().contains("1 request that makes tickets for rows"), "{plan}");

    // Which rows change follows from what is stored.
    let update = other.update(Member::partition("ann").row(), |ann| ann.visits = 1);
    let plan = update.tickets_first().plan().unwrap();
    let [.., Step::MakeTickets { .. }, Step::CommitChanges { .. }, last] = &plan.steps[..] else {
        panic!("{plan}")
    };
    assert!(matches!(last, Step::SettleWithTickets { partitions, .. } if partitions.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn tickets_of_a_refused_write_are_given_back() {
    let clients = Clients::<Member>::new().await;
    clients.other.insert(&ann()).await.unwrap();
    let refused = clients.seen.insert(&ann()).tickets_first().await;
    assert!(matches!(refused, Err(Error::AlreadyExists(_))), "{refused:?}");
    assert_eq!(clients.stops.take(), ["insert R:hall", "commit ann", "delete R:hall"]);
    // A change that meets another one makes its tickets anew.
    let other = clients.other.clone();
    clients.stops.before(3, async move {
        other.update(Member::partition("ann").row(), |ann| ann.visits = 1).await.unwrap();
    });
    let key = Member::partition("ann").row();
    clients.seen.update(key, |ann| ann.room = "attic".into()).tickets_first().await.unwrap();
    let rows = clients.rows();
    let left = rows.list("R:hall", ..).collect().await.unwrap();
    assert_eq!(left, Vec::<DynamicEntity>::new());
    let moved = clients.other.list(Member::by_room("attic")).one().await.unwrap();
    assert_eq!((moved.visits, rows.list("R:attic", ..).collect().await.unwrap().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_lost_race_of_tickets_that_were_made_first_is_run_again_with_a_reading() {
    let Clients { seen, stops, other, .. } = Clients::<Member>::new().await;
    let sweeper = other.clone();
    stops.before(3, async move {
        let key = Member::partition("ann").row();
        sweeper.update(key, |ann| ann.visits = 7).await.unwrap();
    });
    seen.insert(&ann()).tickets_first().await.unwrap();
    assert_eq!(
        stops.take(),
        [
            "insert R:hall",
            "commit ann",
            "commit R:hall",
            "insert R:hall",
            "get ann",
            "commit R:hall",
            "delete ann"
        ]
    );
    assert_eq!(other.list(Member::by_room("hall")).one().await.unwrap().visits, 7);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(
    name = "users",
    partition = "{id}",
    row = "USER",
    unique(login, across),
    unique(mail, across)
)]
struct User {
    id: String,
    login: String,
    mail: Option<String>,
}

fn user(id: &str, login: &str) -> User {
    User { id: id.into(), login: login.into(), mail: None }
}

#[tokio::test(start_paused = true)]
async fn values_take_a_guard_each_and_a_ticket() {
    let Clients { seen, stops, other, .. } = Clients::<User>::new().await;
    seen.insert(&user("1", "ann")).await.unwrap();
    assert_eq!(stops.take(), ["insert 1", "insert UNQ:login:ann", "commit 1"]);
    let two = User { mail: Some("b@b".into()), ..user("2", "bob") };
    seen.insert(&two).await.unwrap();
    assert_eq!(stops.take().len(), 4);

    let mut loaded = other.reload(&user("1", "ann")).await.unwrap();
    loaded.login = "anna".into();
    seen.save(&mut loaded).await.unwrap();
    let release = |value: &str| {
        let guard = format!("UNQ:login:{value}");
        [format!("get {guard}"), "get 1".into(), "get 1".into(), format!("delete {guard}")]
    };
    let reserve = ["insert 1", "insert UNQ:login:anna", "commit 1"].map(str::to_owned);
    let expected: Vec<_> =
        reserve.into_iter().chain(release("ann")).chain(["delete 1".into()]).collect();
    assert_eq!(stops.take(), expected);
    seen.delete(loaded).await.unwrap();
    assert_eq!(stops.take().len(), 6);
    let loaded = other.reload(&two).await.unwrap();
    seen.delete(loaded).await.unwrap();
    assert_eq!(stops.take().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_another_entity_has_takes_5_requests() {
    let Clients { seen, stops, other, .. } = Clients::<User>::new().await;
    other.insert(&user("1", "ann")).await.unwrap();
    let taken = seen.insert(&user("2", "ann")).await;
    assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
    let guard = "UNQ:login:ann";
    let (insert, get) = (format!("insert {guard}"), format!("get {guard}"));
    assert_eq!(stops.take(), ["insert 2", &insert, &get, "get 1", "delete 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_a_slow_client_gets_meanwhile_takes_7_requests() {
    let clients = Clients::<User>::new().await;
    let (slow, slow_stops) = clients.third();
    let [reserved, go] = [(); 2].map(|()| Arc::new(Notify::new()));
    // The slow client stops before its transaction.
    slow_stops.before(3, {
        let (reserved, go) = (Arc::clone(&reserved), Arc::clone(&go));
        async move {
            reserved.notify_one();
            go.notified().await;
        }
    });
    let inserted = tokio::spawn(async move { slow.insert(&user("1", "ann")).await });
    reserved.notified().await;
    // It goes on just before its ticket is looked for, and wins.
    clients.stops.before(5, async move {
        go.notify_one();
        inserted.await.unwrap().unwrap();
    });
    let taken = clients.seen.insert(&user("2", "ann")).await;
    assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
    let guard = "UNQ:login:ann";
    let (insert, get) = (format!("insert {guard}"), format!("get {guard}"));
    assert_eq!(
        clients.stops.take(),
        ["insert 2", &insert, &get, "get 1", "get 1", "get 1", "delete 2"]
    );
    assert_eq!(slow_stops.take().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_value_of_a_client_that_is_too_slow_goes_to_the_next() {
    let clients = Clients::<User>::new().await;
    let (slow, slow_stops) = clients.third();
    let seen = clients.seen.clone();
    slow_stops.before(3, async move {
        seen.insert(&user("2", "ann")).await.unwrap();
    });
    let taken = slow.insert(&user("1", "ann")).await;
    assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
    let guard = "UNQ:login:ann";
    let (insert, get) = (format!("insert {guard}"), format!("get {guard}"));
    let replace = format!("replace {guard}");
    assert_eq!(
        clients.stops.take(),
        ["insert 2", &insert, &get, "get 1", "get 1", "commit 1", "get 1", &replace, "commit 2"]
    );
}
