//! Sums of entities that have other features too: rows for elements, rows in other partitions and tables,
//! unique values, a `kind`, a sequence.

#![allow(clippy::duplicated_attributes)]

use std::collections::BTreeSet;
use table_orm::{Repo, Sum, TableEntity, TableName, Tables, shares_table};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "tickets", partition = "{team}", unique(slug), sums = Ticket::SUMS)]
#[row(by_number, key = "TIC:{number:05}")]
#[row(by_label, key = "LAB:{label}__{number:05}", each(label in labels), include(points))]
#[row(by_person, partition = "@{person}", key = "AT:{team}__{number:05}", each(person in people), eventual)]
#[row(archived, table = "archive", key = "TIC:{number:05}", eventual)]
struct Ticket {
    team: String,
    number: u32,
    slug: Option<String>,
    points: i64,
    #[table(json)]
    labels: Vec<String>,
    #[table(json)]
    people: BTreeSet<String>,
}

impl Ticket {
    const COUNT: Sum<Self> = Sum::count("tickets");
    const POINTS: Sum<Self> = Sum::of("points", |ticket| ticket.points);
    const SUMS: &'static [Sum<Self>] = &[Self::COUNT, Self::POINTS];
}

fn ticket(number: u32, points: i64, labels: &[&str], people: &[&str]) -> Ticket {
    Ticket {
        team: "red".into(),
        number,
        slug: Some(format!("slug-{number}")),
        points,
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
        people: people.iter().map(|&person| person.to_owned()).collect(),
    }
}

/// Checks totals and rows, here and elsewhere, against the stored tickets. Returns count and points.
async fn check(tables: &Tables, tickets: &Repo<Ticket>, after: &str) -> (i64, i64) {
    let red = Ticket::partition("red");
    let stored = tickets.list(&red).collect().await.unwrap();
    let points = stored.iter().map(|ticket| ticket.points).sum::<i64>();
    assert_eq!(tickets.sum(&red, &Ticket::COUNT).await.unwrap(), stored.len() as i64, "{after}");
    assert_eq!(tickets.sum(&red, &Ticket::POINTS).await.unwrap(), points, "{after}");
    assert_eq!(tickets.verify_sums(&red).await.unwrap(), [], "{after}");
    assert_eq!(tickets.verify(&red).await.unwrap().findings, [], "{after}");
    let archive = tables.table(TableName::new("archive").unwrap());
    let archived = archive.list("red", ..).collect().await.unwrap();
    let archived: Vec<_> = archived.into_iter().map(|row| row.row_key).collect();
    let expected: Vec<_> =
        stored.iter().map(|ticket| format!("TIC:{:05}", ticket.number)).collect();
    assert_eq!(archived, expected, "{after}");
    let rows = tables.table(tickets.table().clone());
    let mut here: Vec<_> = rows.list("red", ..).collect().await.unwrap();
    here.retain(|row| row.row_key.starts_with("DUE:") || row.row_key.starts_with("TKT:"));
    assert_eq!(here, [], "{after}");
    for person in ["ann", "bob"] {
        let listed = tickets.list(Ticket::by_person(person)).collect().await.unwrap();
        let mut mentioned = stored.clone();
        mentioned.retain(|ticket| ticket.people.contains(person));
        assert_eq!(listed, mentioned, "{after}");
    }
    (stored.len() as i64, points)
}

#[tokio::test]
async fn totals_elements_and_eventual_rows_stay_in_step_through_every_call() {
    let tables = Tables::in_memory().unwrap();
    let tickets = tables.repo::<Ticket>();
    tickets.create_table().await.unwrap();
    tables.create(&TableName::new("archive").unwrap()).await.ok();
    let red = Ticket::partition("red");
    let key = |number: u32| red.by_number().number(number);
    let is = async |after: &str| check(&tables, &tickets, after).await;

    tickets.insert(&ticket(1, 10, &["a", "b"], &["ann"])).await.unwrap();
    assert_eq!(is("insert").await, (1, 10));
    let again = tickets.insert(&ticket(1, 10, &["c"], &["bob"])).await;
    assert!(again.is_err());
    assert_eq!(is("a refused insert").await, (1, 10));
    tickets.upsert(&ticket(1, 7, &["b", "c"], &["ann", "bob"])).await.unwrap();
    tickets.upsert(&ticket(2, 5, &["a"], &[])).await.unwrap();
    assert_eq!(is("upsert").await, (2, 12));
    tickets.update(key(2), |ticket| ticket.people = ["bob".to_owned()].into()).await.unwrap();
    tickets.merge(key(2), TicketPatch::default().points(6)).await.unwrap();
    assert_eq!(is("update and merge").await, (2, 13));
    let mut moved = tickets.load(key(2)).await.unwrap().one().unwrap();
    moved.number = 3;
    tickets.save(&mut moved).await.unwrap();
    assert_eq!(is("a move").await, (2, 13));

    let many = (10..40).map(|number| ticket(number, 1, &["x", "y", "z"], &["ann"]));
    tickets.insert_many(many).await.all().unwrap();
    assert_eq!(is("bulk insert").await, (32, 43));
    let many = (30..45).map(|number| ticket(number, 2, &["z", "x"], &["bob"]));
    tickets.upsert_many(many).await.all().unwrap();
    assert_eq!(is("bulk upsert").await, (37, 63));

    let mut one = tickets.load(key(1)).await.unwrap().one().unwrap();
    one.labels.push("d".into());
    let other = tickets.load(key(10)).await.unwrap().one().unwrap();
    let tx = tickets.transaction(&red).save(&mut one).delete(other);
    tx.insert(&ticket(50, 100, &["d"], &["ann", "bob"])).commit().await.unwrap();
    assert_eq!(is("transaction").await, (37, 162));
    let with = tickets.transaction_with(&red, async |tx| {
        if let Some(mut ticket) = tx.load(Ticket::partition("red").by_number().number(50)).await? {
            ticket.points -= 50;
            ticket.people.clear();
            tx.save(ticket);
        }
        Ok(())
    });
    with.await.unwrap();
    assert_eq!(is("transaction_with").await, (37, 112));

    let numbers = tickets.sequence(&red, "tickets").starting_at(60);
    let mut two = [ticket(0, 3, &["n"], &["ann"]), ticket(0, 4, &["n", "m"], &[])];
    two[1].slug = None;
    let given = numbers.insert_numbered(&mut two, |ticket, number| ticket.number = number as u32);
    assert_eq!(given.await.unwrap(), 60..62);
    assert_eq!(is("numbered").await, (39, 119));

    assert!(tickets.rewrite_partition(&red).await.ended.is_none());
    assert_eq!(is("rewrite").await, (39, 119));
    tickets.backfill(&red).await.all().unwrap();
    assert_eq!(is("backfill").await, (39, 119));
    tickets.delete(tickets.load(key(61)).await.unwrap().one().unwrap()).await.unwrap();
    assert_eq!(is("delete").await, (38, 115));
    tickets.delete_partition(&red).await.unwrap();
    assert_eq!(is("delete_partition").await, (0, 0));
    let archive = tables.table(TableName::new("archive").unwrap());
    assert_eq!(archive.list("red", ..).collect().await.unwrap(), []);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "things", partition = "{shop}", row = "{code}", kind = "Product", sums = Product::SUMS)]
struct Product {
    shop: String,
    code: String,
    cents: i64,
}

impl Product {
    const CENTS: Sum<Self> = Sum::of("cents", |product| product.cents);
    const SUMS: &'static [Sum<Self>] = &[Self::CENTS];
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "things", partition = "{shop}", row = "{code}", kind = "Service", sums = Service::SUMS)]
struct Service {
    shop: String,
    code: String,
    minutes: i64,
}

impl Service {
    const MINUTES: Sum<Self> = Sum::of("minutes", |service| service.minutes);
    const SUMS: &'static [Sum<Self>] = &[Self::MINUTES];
}

shares_table!(Product, Service);

#[tokio::test]
async fn types_that_only_their_kind_tells_apart_are_added_up_each_by_itself() {
    let tables = Tables::in_memory().unwrap();
    let (products, services) = (tables.repo::<Product>(), tables.repo::<Service>());
    products.create_table().await.unwrap();
    let shop = Product::partition("S");
    let product = |code: &str, cents| Product { shop: "S".into(), code: code.into(), cents };
    let service = |code: &str, minutes| Service { shop: "S".into(), code: code.into(), minutes };
    let totals = async || {
        let minutes = services.sum(Service::partition("S"), &Service::MINUTES).await.unwrap();
        (products.sum(&shop, &Product::CENTS).await.unwrap(), minutes)
    };
    let tx = tables.transaction(&shop).insert(&product("a", 5)).insert(&service("b", 60));
    tx.commit().await.unwrap();
    assert_eq!(totals().await, (5, 60));
    let mut loaded =
        services.load(Service::partition("S").row().code("b")).await.unwrap().one().unwrap();
    loaded.minutes = 90;
    tables.transaction(&shop).insert(&product("c", 1)).save(&mut loaded).commit().await.unwrap();
    assert_eq!(totals().await, (6, 90));
    products.delete_partition(&shop).await.unwrap();
    assert_eq!(totals().await, (0, 90));
    assert_eq!(products.verify_sums(&shop).await.unwrap(), []);
    assert_eq!(services.verify_sums(Service::partition("S")).await.unwrap(), []);
}
