//! Writes of entities with rows in other partitions: every query finds them afterwards.

use super::{Order, Shop, numbers, order};
use table_orm::{EntityKeys, Repo, TableEntity, Tables};

async fn days(orders: &Repo<Order>) -> [Vec<u32>; 2] {
    let day = async |day: &str| numbers(&orders.list(Order::by_date(day)).collect().await.unwrap());
    [day("2026-11-23").await, day("2026-11-24").await]
}

#[tokio::test]
async fn eventual_rows_follow_each_kind_of_write() {
    let Shop { orders, tables, .. } = Shop::empty().await;
    for number in 1..=3 {
        orders.insert(&order("acme", number)).await.unwrap();
    }
    assert_eq!(days(&orders).await, [vec![1, 2, 3], vec![]]);
    let key = |number: u32| order("acme", number).key();
    orders.update(key(1), |order| order.day = "2026-11-24".into()).await.unwrap();
    let mut second = orders.reload(&order("acme", 2)).await.unwrap();
    (second.day, second.courier) = ("2026-11-24".into(), None);
    orders.save(&mut second).await.unwrap();
    assert_eq!(days(&orders).await, [vec![3], vec![1, 2]]);
    assert_eq!(orders.list(Order::by_courier("Ann")).count().await.unwrap(), 2);
    orders.upsert(&Order { cents: 200_000, ..order("acme", 1) }).await.unwrap();
    assert_eq!(days(&orders).await, [vec![1, 3], vec![2]]);
    assert_eq!(numbers(&orders.list(Order::large("acme")).collect().await.unwrap()), [1]);
    let third = orders.reload(&order("acme", 3)).await.unwrap();
    orders.delete(third).await.unwrap();
    orders.insert_many((4..=8).map(|number| order("init", number))).await.all().unwrap();
    assert_eq!(days(&orders).await, [vec![1, 4, 5, 6, 7, 8], vec![2]]);
    orders.delete_partition(Order::partition("init")).await.unwrap();
    assert_eq!(days(&orders).await, [vec![1], vec![2]]);
    clean(&orders, &tables).await;
}

/// No helper row is left, and all rows are in step.
async fn clean(orders: &Repo<Order>, tables: &Tables) {
    for customer in ["acme", "init"] {
        assert_eq!(orders.verify(Order::partition(customer)).await.unwrap().findings, []);
        let rows = tables.table(orders.table().clone()).list(customer, ..).collect().await.unwrap();
        assert!(rows.iter().all(|row| !row.row_key.starts_with("DUE:")), "{rows:?}");
    }
    for day in ["2026-11-23", "2026-11-24"] {
        let report = orders.verify_eventual(Order::by_date(day)).await.unwrap();
        assert_eq!(report.findings, []);
        let rows = tables.table(orders.table().clone()).list(day, ..).collect().await.unwrap();
        assert_eq!(rows.len() as u64, report.entities, "no ticket is left: {rows:?}");
    }
}

#[tokio::test]
async fn a_transaction_carries_its_eventual_rows() {
    let Shop { orders, tables, .. } = Shop::empty().await;
    let acme = Order::partition("acme");
    let two = tables.transaction(&acme).insert(&order("acme", 1)).insert(&order("acme", 2));
    two.commit().await.unwrap();
    assert_eq!(days(&orders).await, [vec![1, 2], vec![]]);
    clean(&orders, &tables).await;
}

/// Each side of the relation has the partition of the other's name, and they may be the same text.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
#[row(by_room, partition = "{room}", key = "USER:{user}", eventual)]
struct Member {
    user: String,
    room: String,
}

#[tokio::test]
async fn a_partition_may_be_home_to_some_and_foreign_to_others() {
    let members = Tables::in_memory().unwrap().repo::<Member>();
    members.create_table().await.unwrap();
    for (user, room) in [("x", "y"), ("y", "x"), ("x", "x")] {
        members.insert(&Member { user: user.into(), room: room.into() }).await.unwrap();
    }
    let rooms = members.list(Member::partition("x")).collect().await.unwrap();
    assert_eq!(rooms.iter().map(|one| &*one.room).collect::<Vec<_>>(), ["x", "y"]);
    let users = members.list(Member::by_room("x")).collect().await.unwrap();
    assert_eq!(users.iter().map(|one| &*one.user).collect::<Vec<_>>(), ["x", "y"]);
    let report = members.verify(Member::partition("x")).await.unwrap();
    assert_eq!((report.entities, report.findings.len()), (2, 0));
    members.delete_partition(Member::partition("x")).await.unwrap();
    let users = members.list(Member::by_room("x")).collect().await.unwrap();
    assert_eq!(users, [Member { user: "y".into(), room: "x".into() }]);
    assert_eq!(members.list(Member::by_room("y")).count().await.unwrap(), 0);
}
