//! Entities of several types in one partition, read into one enum.

use support::recorder::recorded;
use table_orm::query::QueryClass;
use table_orm::repo::Table;
use table_orm::{DynamicEntity, Error, TableEntity, TableUnion, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "staff", partition = "{department}", row = "{number:05}")]
pub struct Employee {
    pub department: String,
    pub number: u32,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "staff", partition = "{name}", row = "Department")]
pub struct Department {
    pub name: String,
    pub employees: u32,
}

/// Behind and before the others, with an index row between them.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "staff", partition = "{department}")]
#[row(by_day, key = "Meeting:{day:03}__{topic}")]
#[row(by_topic, key = "Agenda:{topic}__{day:03}")]
pub struct Meeting {
    pub department: String,
    pub day: u16,
    pub topic: String,
}

#[derive(Debug, Clone, PartialEq, TableUnion)]
pub enum Office {
    Employee(Employee),
    Department(Department),
    Meeting(Meeting),
}

#[derive(Debug, Clone, PartialEq, TableUnion)]
enum Directory {
    Department(Department),
    Employee(Employee),
}

fn employee(number: u32) -> Employee {
    Employee { department: "Marketing".to_owned(), number, name: format!("Employee {number}") }
}

fn marketing() -> Vec<Office> {
    let department = Department { name: "Marketing".to_owned(), employees: 2 };
    let meeting = |day, topic: &str| {
        let (department, topic) = ("Marketing".to_owned(), topic.to_owned());
        Office::Meeting(Meeting { department, day, topic })
    };
    vec![
        Office::Employee(employee(1)),
        Office::Employee(employee(2)),
        Office::Department(department),
        meeting(1, "Budget"),
        meeting(7, "Fair"),
    ]
}

async fn office() -> (Tables, Table) {
    let tables = Tables::in_memory().unwrap();
    let staff = tables.repo::<Employee>();
    staff.create_table().await.unwrap();
    let other = Employee { department: "Sales".to_owned(), ..employee(3) };
    staff.insert(&other).await.unwrap();
    for entity in marketing() {
        match entity {
            Office::Employee(employee) => staff.insert(&employee).await.unwrap(),
            Office::Department(department) => {
                tables.repo::<Department>().insert(&department).await.unwrap()
            }
            Office::Meeting(meeting) => tables.repo::<Meeting>().insert(&meeting).await.unwrap(),
        };
    }
    let rows = tables.table(staff.table().clone());
    (tables, rows)
}

#[tokio::test]
async fn a_partition_of_several_types_is_read_by_one_query_each_entity_once() {
    let (tables, rows) = office().await;
    let stored = rows.list("Marketing", ..).collect().await.unwrap();
    let keys: Vec<_> = stored.iter().map(|row| row.row_key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "00001",
            "00002",
            "Agenda:Budget__001",
            "Agenda:Fair__007",
            "Department",
            "Meeting:001__Budget",
            "Meeting:007__Fair"
        ]
    );
    let list = tables.union::<Office>(Employee::partition("Marketing"));
    let plan = list.plan().unwrap();
    assert_eq!((plan.steps.len(), plan.class()), (1, Some(QueryClass::RowRange)));
    assert_eq!(list.clone().collect().await.unwrap(), marketing());
    // The partition of any of the types works.
    let by_department = tables.union::<Office>(Department::partition("Marketing"));
    assert_eq!(by_department.plan().unwrap(), plan);
    let mut stream = list.stream();
    assert_eq!(stream.next().await.unwrap(), marketing().into_iter().next());
    let none = tables.union::<Office>(Meeting::partition("Nowhere")).collect().await.unwrap();
    assert_eq!(none, []);
}

#[tokio::test]
async fn rows_of_no_member_are_left_out_and_broken_ones_are_an_error() {
    let (tables, rows) = office().await;
    for (row_key, name) in [("-1", "x"), ("0001", "x"), ("Departments", "x"), ("Zebra", "x")] {
        let row = DynamicEntity::new("Marketing", row_key).with("Name", name);
        rows.insert(&row).await.unwrap();
    }
    let office = || tables.union::<Office>(Employee::partition("Marketing"));
    assert_eq!(office().collect().await.unwrap(), marketing());
    let directory = tables.union::<Directory>(Employee::partition("Marketing"));
    let directory = directory.collect().await.unwrap();
    assert_eq!(directory.len(), 3, "{directory:?}");
    rows.insert(&DynamicEntity::new("Marketing", "00009").with("Number", "9")).await.unwrap();
    let broken = office().collect().await;
    let Err(Error::Property(error)) = broken else { panic!("{broken:?}") };
    assert_eq!((error.entity, error.row_key.as_str()), ("Employee", "00009"));
}

#[tokio::test]
async fn pages_go_on_by_token_over_rows_that_are_left_out() {
    let (tables, _rows) = office().await;
    let list = || tables.union::<Office>(Employee::partition("Marketing"));
    let mut pages = list().pages(2);
    let (mut all, mut token, mut sizes) = (Vec::new(), None, Vec::new());
    while let Some(page) = pages.next().await.unwrap() {
        sizes.push(page.len());
        all.extend(page.items);
        token = page.next;
        // Every page in another process.
        match &token {
            Some(token) => {
                pages = list().pages(2).resume(token.to_string().parse().unwrap());
            }
            None => break,
        }
    }
    assert_eq!(all, marketing());
    assert_eq!(sizes, [2, 0, 2, 1]);
    assert_eq!(token, None);
    let first = list().pages(2).next().await.unwrap().unwrap();
    let elsewhere = tables.union::<Office>(Employee::partition("Sales")).pages(2);
    let rejected = elsewhere.resume(first.next.unwrap()).next().await;
    assert!(matches!(rejected, Err(Error::Token(_))));
    assert!(matches!(list().pages(0).next().await, Err(Error::PageSize(0))));
}

#[tokio::test]
async fn take_counts_entities_and_not_rows() {
    let (tables, _rows) = office().await;
    for count in 0..7 {
        let list = tables.union::<Office>(Employee::partition("Marketing")).take(count);
        let expected: Vec<_> = marketing().into_iter().take(count).collect();
        assert_eq!(list.clone().collect().await.unwrap(), expected);
        let mut pages = list.pages(1);
        let mut found = Vec::new();
        while let Some(page) = pages.next().await.unwrap() {
            found.extend(page.items);
        }
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn few_entities_are_few_rows_and_never_many_requests() {
    let (tables, record) = recorded();
    let staff = tables.repo::<Employee>();
    let department = Department { name: "Marketing".to_owned(), employees: 20 };
    staff.create_table().await.unwrap();
    staff.insert_many((1..=20).map(employee)).await.all().unwrap();
    let directory = || tables.union::<Directory>(Employee::partition("Marketing"));
    record.take();
    assert_eq!(directory().take(2).collect().await.unwrap().len(), 2);
    let tops: Vec<_> = record.take().queries.iter().map(|query| query.top).collect();
    assert_eq!(tops, [Some(2)], "the store is asked for no more");
    // Rows of a third type lie between those of the union.
    let rows = tables.table(staff.table().clone());
    let others = (0..2500).map(|n| DynamicEntity::new("Marketing", format!("0a{n:05}")));
    rows.insert_or_replace_many(others).await.all().unwrap();
    tables.repo::<Department>().insert(&department).await.unwrap();
    for number in 1..=20 {
        staff.force_delete(&employee(number)).await.unwrap();
    }
    record.take();
    let found = directory().take(2).collect().await.unwrap();
    assert_eq!(found, [Directory::Department(department)]);
    assert_eq!(record.take().queries.len(), 4, "two rows, then whole pages");
}

#[tokio::test]
async fn typed_calls_do_not_see_the_other_types_of_their_partition() {
    let (tables, _rows) = office().await;
    let staff = tables.repo::<Employee>();
    let partition = Employee::partition("Marketing");
    let all = [employee(1), employee(2)];
    assert_eq!(staff.list(&partition).collect().await.unwrap(), all);
    assert_eq!(staff.list(&partition).count().await.unwrap(), 2);
    assert_eq!(staff.list(partition.row().number_in(2..)).collect().await.unwrap(), all[1..]);
    assert_eq!(staff.list(partition.row().number_in(..2)).collect().await.unwrap(), all[..1]);
    assert_eq!(staff.load(&partition).await.unwrap().len(), 2);
    let scanned = staff.scan(table_orm::ScanPermit::because("test")).collect().await.unwrap();
    assert_eq!(scanned.len(), 3);
    let departments = tables.repo::<Department>();
    let found = departments.list(Department::partition("Marketing")).collect().await.unwrap();
    assert_eq!(found.len(), 1);
    let scanned = departments.scan(table_orm::ScanPermit::because("test")).collect().await.unwrap();
    assert_eq!(scanned, found);
    assert_eq!(staff.delete_partition(&partition).await.unwrap().entities, 2);
    let left = tables.union::<Office>(&partition).collect().await.unwrap();
    assert_eq!(left, marketing()[2..]);
}

#[tokio::test]
async fn the_end_of_one_types_partition_spares_rows_that_end_otherwise() {
    #[derive(Debug, TableEntity)]
    #[table(name = "orders", partition = "{shop}", row = "{order}__HEAD")]
    struct Order {
        shop: String,
        order: u32,
        note: Option<String>,
    }
    #[derive(Debug, TableEntity)]
    #[table(name = "orders", partition = "{shop}", row = "{order}__LINE{line:03}")]
    struct Line {
        shop: String,
        order: u32,
        line: u16,
    }
    let tables = Tables::in_memory().unwrap();
    let (orders, lines) = (tables.repo::<Order>(), tables.repo::<Line>());
    orders.create_table().await.unwrap();
    let (shop, order) = ("A".to_owned(), 7);
    orders.insert(&Order { shop: shop.clone(), order, note: None }).await.unwrap();
    lines
        .insert_many((1..4).map(|line| Line { shop: shop.clone(), order, line }))
        .await
        .all()
        .unwrap();
    let verified = orders.verify(Order::partition("A")).await.unwrap();
    assert_eq!((verified.entities, verified.rows, verified.findings.len()), (1, 4, 0));
    let deleted = orders.delete_partition(Order::partition("A")).await.unwrap();
    assert_eq!((deleted.entities, deleted.rows), (1, 1));
    let left = lines.list(Line::partition("A")).collect().await.unwrap();
    assert!(left.iter().map(|line| (line.order, line.line)).eq([(7, 1), (7, 2), (7, 3)]));
}

#[tokio::test]
async fn a_union_counts_what_the_service_reads_for_it_and_what_it_returns() {
    let (tables, _) = office().await;
    let all = || tables.union::<Office>(Employee::partition("Marketing"));
    let read = tables.table("staff".parse().unwrap());
    let in_partition = read.list("Marketing", ..).collect().await.unwrap().len() as u64;
    let explained = all().take(1).explain().await.unwrap();
    assert_eq!(explained.matching, all().count().await.unwrap() as u64);
    assert!(explained.matching < explained.in_range && explained.in_range <= in_partition);
    assert_eq!((explained.transactions, explained.transactions_unfiltered), (1, 1));
    let text = explained.to_string();
    assert!(text.contains("1 billed transaction,"), "{text}");
    // Without the meetings, their index rows in front are outside the range.
    let directory = tables.union::<Directory>(Employee::partition("Marketing"));
    let directory = directory.explain().await.unwrap();
    assert_eq!(directory.matching, 3);
    assert!(directory.in_range < explained.in_range);
}
