//! Several entities of several types in one transaction.

use table_orm::key::KeyFault;
use table_orm::model::MAX_TRANSACTION_BYTES;
use table_orm::plan::Step;
use table_orm::repo::TransactionError;
use table_orm::store::Operation;
use table_orm::{Error, Repo, ScanPermit, TableEntity, TableName, Tables};

#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "offices", partition = "{office}", unique(email))]
#[row(by_id, key = "EMP:{id:05}")]
#[row(by_name, key = "NAME:{name}__{id:05}")]
struct Employee {
    office: String,
    id: u32,
    name: String,
    email: String,
}

#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "offices", partition = "{office}", row = "OFFICE")]
struct Office {
    office: String,
    employees: u32,
    motto: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "badges", partition = "{office}", row = "{number:05}")]
struct Badge {
    office: String,
    number: u32,
}

fn employee(id: u32) -> Employee {
    Employee { office: "Oslo".to_owned(), id, name: format!("N{id}"), email: format!("{id}@oslo") }
}

fn office() -> Office {
    Office { office: "Oslo".to_owned(), employees: 0, motto: None }
}

async fn tables() -> (Tables, Repo<Office>, Repo<Employee>) {
    let tables = Tables::in_memory().unwrap();
    let (offices, employees) = (tables.repo::<Office>(), tables.repo::<Employee>());
    offices.create_table().await.unwrap();
    (tables, offices, employees)
}

async fn keys(tables: &Tables) -> Vec<String> {
    let rows = tables.table(TableName::new("offices").unwrap());
    let rows = rows.scan(ScanPermit::because("test")).collect().await.unwrap();
    rows.into_iter().map(|row| row.row_key).collect()
}

fn unit_error<T: std::fmt::Debug>(result: Result<T, Error>) -> TransactionError {
    match result {
        Err(Error::Transaction(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn entities_of_several_types_are_written_together() {
    let (tables, offices, employees) = tables().await;
    let oslo = Office::partition("Oslo");
    let etags = tables
        .transaction(&oslo)
        .insert(&office())
        .insert(&employee(1))
        .insert(&employee(2))
        .commit()
        .await
        .unwrap();
    assert_eq!(etags.len(), 3);
    assert!(etags.iter().all(Option::is_some));
    assert_eq!(keys(&tables).await.len(), 7);

    let mut stored = offices.load(oslo.row()).await.unwrap().one().unwrap();
    assert_eq!(etags[0].as_ref(), Some(stored.etag()));
    let by_id = Employee::partition("Oslo").by_id();
    let mut one = employees.load(by_id.clone().id(1)).await.unwrap().one().unwrap();
    let two = employees.load(by_id.id(2)).await.unwrap().one().unwrap();
    assert_eq!(etags[2].as_ref(), Some(two.etag()));
    stored.employees = 1;
    one.name = "Ann".to_owned();
    let etags = tables
        .transaction(&oslo)
        .save(&mut stored)
        .save(&mut one)
        .delete(two)
        .commit()
        .await
        .unwrap();
    assert_eq!(etags[2], None);
    assert_eq!(etags[0].as_ref(), Some(stored.etag()));
    assert_eq!(keys(&tables).await, ["EMP:00001", "NAME:Ann__00001", "OFFICE", "UNQ:email:1@oslo"]);
    // Both have their new version.
    stored.employees = 2;
    offices.save(stored).await.unwrap();
    one.name = "Bea".to_owned();
    employees.save(one).await.unwrap();
}

#[tokio::test]
async fn one_rejected_operation_undoes_all_and_is_named_with_its_entity() {
    let (tables, offices, employees) = tables().await;
    offices.insert(&office()).await.unwrap();
    employees.insert(&employee(1)).await.unwrap();
    let before = keys(&tables).await;
    let oslo = Office::partition("Oslo");

    let same_email = Employee { email: "1@oslo".to_owned(), ..employee(3) };
    let error = tables
        .transaction(&oslo)
        .insert(&employee(2))
        .insert(&same_email)
        .commit()
        .await
        .unwrap_err();
    let Error::UniqueViolation { unique, key, rejection } = error else { panic!("{error}") };
    assert_eq!((unique, key.as_str()), ("email", "UNQ:email:1@oslo"));
    assert_eq!((rejection.entity, rejection.operation), ("Employee", Some((4, "insert"))));

    let error = tables
        .transaction(Employee::partition("Oslo"))
        .insert(&employee(2))
        .insert(&office())
        .commit()
        .await
        .unwrap_err();
    let Error::AlreadyExists(rejection) = error else { panic!("{error}") };
    assert_eq!((rejection.entity, rejection.row_key.as_str()), ("Office", "OFFICE"));
    assert_eq!(keys(&tables).await, before);

    // A stale version.
    let mut stale = offices.load(oslo.row()).await.unwrap().one().unwrap();
    offices.update(oslo.row(), |office| office.employees = 9).await.unwrap();
    stale.employees = 1;
    let etag = stale.etag().clone();
    let error =
        tables.transaction(&oslo).insert(&employee(2)).save(&mut stale).commit().await.unwrap_err();
    let Error::Conflict(rejection) = error else { panic!("{error}") };
    assert_eq!(rejection.entity, "Office");
    assert_eq!(stale.etag(), &etag);
    assert_eq!(keys(&tables).await, before);
}

#[tokio::test]
async fn what_no_transaction_can_write_is_refused_before_anything_is_sent() {
    let (tables, _, _) = tables().await;
    let oslo = Office::partition("Oslo");
    let elsewhere = Employee { office: "Rome".to_owned(), ..employee(1) };
    let error = unit_error(tables.transaction(&oslo).insert(&elsewhere).commit().await);
    assert!(matches!(
        &error,
        TransactionError::OtherPartition { entity: "Employee", expected, found }
            if expected == "Oslo" && found == "Rome"
    ));

    let badge = Badge { office: "Oslo".to_owned(), number: 1 };
    let error = unit_error(tables.transaction(&oslo).insert(&badge).commit().await);
    assert_eq!(
        error,
        TransactionError::OtherTable { entity: "Badge", expected: "offices", found: "badges" }
    );

    let twice = tables.transaction(&oslo).insert(&employee(1)).insert(&employee(1));
    let error = unit_error(twice.plan());
    assert_eq!(
        error,
        TransactionError::SameRow { entity: "Employee", row_key: "EMP:00001".to_owned() }
    );

    let many = (0..40)
        .fold(tables.transaction(&oslo), |transaction, id| transaction.insert(&employee(id)));
    let error = unit_error(many.commit().await);
    assert_eq!(error, TransactionError::TooManyOperations(120));

    let blind = tables.transaction(&oslo).upsert(&employee(1));
    assert_eq!(unit_error(blind.commit().await), TransactionError::NotBlind("Employee"));

    let slash = tables.transaction(Office::partition("Os/lo")).insert(&office());
    let Err(Error::Key(error)) = slash.commit().await else { panic!("not rejected") };
    assert!(matches!(error.fault, KeyFault::Forbidden(_)), "{error}");
    assert!(keys(&tables).await.is_empty());
}

#[tokio::test]
async fn over_4_mib_is_rejected_to_the_byte() {
    #[derive(Debug, TableEntity)]
    #[table(name = "offices", partition = "{office}", row = "DOC:{id:05}")]
    struct Document {
        office: String,
        id: u32,
        #[table(series)]
        pages: Vec<String>,
    }
    let (tables, _, _) = tables().await;
    let document = |id, last| Document {
        office: "Oslo".to_owned(),
        id,
        pages: (0..15).map(|page| "x".repeat(if page < 14 { 20_000 } else { last })).collect(),
    };
    let oslo = Office::partition("Oslo");
    let documents = |last| {
        (0..14).fold(tables.transaction(&oslo), |transaction, id| {
            transaction.insert(&document(id, if id < 13 { 20_000 } else { last }))
        })
    };
    // The embedded store counts keys and bodies.
    let plan = documents(0).plan().unwrap();
    let [Step::Commit { batch, .. }] = &plan.steps[..] else { panic!("{plan}") };
    let bytes = |operation: &Operation| {
        let body = operation.action.body().map_or(0, |body| body.len());
        batch.partition_key.len() + operation.row_key.len() + body
    };
    let rest = MAX_TRANSACTION_BYTES - batch.operations.iter().map(bytes).sum::<usize>();
    let rejected = documents(rest + 1).commit().await;
    assert!(matches!(rejected, Err(Error::TooLarge(_))), "{rejected:?}");
    assert_eq!(keys(&tables).await, [""; 0]);
    documents(rest).commit().await.unwrap();
    assert_eq!(keys(&tables).await.len(), 14);
}

#[tokio::test]
async fn blind_writes_go_along_where_keys_follow() {
    let (tables, offices, _) = tables().await;
    let oslo = Office::partition("Oslo");
    let first = Office { motto: Some("a".to_owned()), ..office() };
    tables.transaction(&oslo).upsert(&first).insert(&employee(1)).commit().await.unwrap();
    let patch = OfficePatch::default().employees(1u32);
    let etags = tables
        .transaction(&oslo)
        .merge::<Office, _>(oslo.row(), patch)
        .insert(&employee(2))
        .commit()
        .await
        .unwrap();
    let stored = offices.load(oslo.row()).await.unwrap().one().unwrap();
    assert_eq!(etags[0].as_ref(), Some(stored.etag()));
    assert_eq!((stored.employees, stored.motto.as_deref()), (1, Some("a")));
    tables.transaction(&oslo).insert_or_merge(&office()).commit().await.unwrap();
    let stored = offices.get(oslo.row()).await.unwrap().unwrap();
    assert_eq!((stored.employees, stored.motto.as_deref()), (0, Some("a")));
}

#[tokio::test]
async fn an_empty_transaction_sends_nothing() {
    let tables = Tables::in_memory().unwrap();
    // Not even the table exists.
    let etags = tables.transaction(Office::partition("Oslo")).commit().await.unwrap();
    assert!(etags.is_empty());
    assert!(tables.transaction(Office::partition("Oslo")).plan().unwrap().steps.is_empty());
}

#[tokio::test]
async fn a_transaction_of_a_repo_writes_that_repos_table() {
    let tables = Tables::in_memory().unwrap();
    let other = TableName::new("others").unwrap();
    let offices = tables.repo_in::<Office>(other.clone());
    offices.create_table().await.unwrap();
    offices.transaction(Office::partition("Oslo")).insert(&employee(1)).commit().await.unwrap();
    let rows = tables.table(other).scan(ScanPermit::because("test")).collect().await.unwrap();
    assert_eq!(rows.len(), 3);
}

#[tokio::test]
async fn a_rejected_index_row_is_named() {
    #[derive(Debug, TableEntity)]
    #[table(name = "Offices", partition = "{office}")]
    #[row(by_id, key = "CAR:{id:05}")]
    #[row(by_plate, key = "PLATE:{plate}")]
    struct Car {
        office: String,
        id: u32,
        plate: String,
    }
    let (tables, _, _) = tables().await;
    let car = |id| Car { office: "Oslo".to_owned(), id, plate: "EL 1".to_owned() };
    let oslo = Office::partition("Oslo");
    // Two names that differ only in case name one table.
    tables.transaction(&oslo).insert(&office()).insert(&car(1)).commit().await.unwrap();
    let rejected = tables.transaction(&oslo).insert(&employee(1)).insert(&car(2)).commit().await;
    let Err(error @ Error::AlreadyExists(_)) = rejected else { panic!("{rejected:?}") };
    let rejection = error.rejection().unwrap();
    assert_eq!((rejection.entity, rejection.index_row), ("Car", Some("by_plate")));
    assert!(
        error.to_string().contains("add a component to its template that makes the key unique")
    );
}
