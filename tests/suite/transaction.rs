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
    let Error::UniqueViolation { unique, key, rejection, .. } = error else { panic!("{error}") };
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
    assert_eq!(error, TransactionError::TooManyOperations { found: 120, most: 100 });

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
    #[row(by_plate, key = "PLATE:{plate}", allow_key_conflict)]
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

#[tokio::test]
async fn two_entities_swap_a_unique_value_and_a_key() {
    let (tables, _, employees) = tables().await;
    let oslo = Employee::partition("Oslo");
    let load = async |id| employees.load(oslo.by_id().id(id)).await.unwrap().one().unwrap();
    for id in [1, 2] {
        employees.insert(&employee(id)).await.unwrap();
    }
    let (mut one, mut two) = (load(1).await, load(2).await);
    std::mem::swap(&mut one.email, &mut two.email);
    let swap = tables.transaction(&oslo).save(&mut one).save(&mut two);
    assert_eq!(swap.len(), 6);
    let etags = swap.commit().await.unwrap();
    assert_eq!(etags, [Some(one.etag().clone()), Some(two.etag().clone())]);
    assert_eq!((&*load(1).await.email, &*load(2).await.email), ("2@oslo", "1@oslo"));
    let sound = employees.verify(&oslo).await.unwrap();
    assert!(sound.findings.is_empty(), "{sound:?}");

    // The keys themselves: each canonical row is replaced under the ETag of the entity that it held.
    (one.id, two.id) = (2, 1);
    let swap = tables.transaction(&oslo).save(&mut one).save(&mut two);
    assert_eq!(
        swap.plan().unwrap().operations().filter(|row| row.action.name() == "replace").count(),
        2
    );
    let etags = swap.commit().await.unwrap();
    assert_eq!(etags, [Some(one.etag().clone()), Some(two.etag().clone())]);
    assert_eq!(load(2).await, one);
    assert_eq!(load(1).await, two);
    let sound = employees.verify(&oslo).await.unwrap();
    assert_eq!((sound.entities, sound.findings.len()), (2, 0), "{sound:?}");

    // A stale entity of the two undoes both, and the error names its row.
    employees.update(oslo.by_id().id(1), |one| one.name = "Eve".into()).await.unwrap();
    let before = keys(&tables).await;
    (one.id, two.id) = (1, 2);
    let swap = tables.transaction(&oslo).save(&mut one).save(&mut two).commit().await;
    let Err(Error::Conflict(rejection)) = swap else { panic!("{swap:?}") };
    assert_eq!(rejection.row_key, "EMP:00001");
    assert_eq!(keys(&tables).await, before);
}

#[tokio::test]
async fn an_entity_is_deleted_and_another_inserted_under_its_keys() {
    let (tables, _, employees) = tables().await;
    let oslo = Employee::partition("Oslo");
    let old = employees.insert_loaded(&employee(1)).await.unwrap();
    let new = Employee { name: "New".into(), ..employee(1) };
    for insert_first in [false, true] {
        let old = employees.reload(&old).await.unwrap();
        let transaction = tables.transaction(&oslo);
        let transaction = if insert_first {
            transaction.insert(&new).delete(old)
        } else {
            transaction.delete(old).insert(&new)
        };
        let etags = transaction.commit().await.unwrap();
        let stored = employees.reload(&new).await.unwrap();
        assert_eq!(etags.into_iter().flatten().collect::<Vec<_>>(), [stored.etag().clone()]);
        let sound = employees.verify(&oslo).await.unwrap();
        assert_eq!((sound.entities, sound.findings.len()), (1, 0), "{sound:?}");
    }
    assert_eq!(keys(&tables).await, ["EMP:00001", "NAME:New__00001", "UNQ:email:1@oslo"]);
    // Two that insert one row still do not go together.
    let twice = tables.transaction(&oslo).insert(&employee(1)).insert(&employee(1));
    assert!(matches!(unit_error(twice.plan()), TransactionError::SameRow { .. }));
}

#[tokio::test]
async fn a_required_entity_is_as_it_was_loaded_when_the_rest_is_written() {
    let (tables, offices, employees) = tables().await;
    let oslo = Office::partition("Oslo");
    let mut boss = employees.insert_loaded(&employee(1)).await.unwrap();
    let mut place = offices.insert_loaded(&office()).await.unwrap();
    let rows = keys(&tables).await.len();
    let stale = place.clone();
    let transaction = tables.transaction(&oslo).require(&mut place).insert(&employee(2));
    assert_eq!((transaction.len(), transaction.room().operations), (4, 96));
    let etags = transaction.commit().await.unwrap();
    assert_eq!(etags[0].as_ref(), Some(place.etag()));
    assert_ne!(place.etag(), stale.etag());
    assert_eq!((*place).clone(), offices.reload(&place).await.unwrap().into_inner());

    // The old version is no longer there.
    let late = tables.transaction(&oslo).require(&stale).insert(&employee(3)).commit().await;
    let Err(Error::Conflict(rejection)) = late else { panic!("{late:?}") };
    assert_eq!((rejection.entity, rejection.row_key.as_str()), ("Office", "OFFICE"));
    assert_eq!(keys(&tables).await.len(), rows + 3);

    // With a save of the same entity, the save is the condition, in either order.
    place.employees = 5;
    let same = place.clone();
    let both = tables.transaction(&oslo).require(&same).save(&mut place).insert(&employee(3));
    assert_eq!(both.len(), 4);
    both.commit().await.unwrap();
    boss.name = "Bea".into();
    let same = boss.clone();
    let both = tables.transaction(&oslo).save(&mut boss).require(&same).require(&same);
    assert_eq!(both.commit().await.unwrap()[0].as_ref(), Some(boss.etag()));
    place.employees = 6;
    let other = tables.transaction(&oslo).require(&stale).save(&mut place);
    assert!(matches!(unit_error(other.plan()), TransactionError::SameRow { .. }));
    drop(other);
    let sound = employees.verify(Employee::partition("Oslo")).await.unwrap();
    assert!(sound.findings.is_empty(), "{sound:?}");

    // A `&mut` that was required can be saved.
    offices.save(&mut place).await.unwrap();
}

#[tokio::test]
async fn a_plan_leaves_the_transaction_as_it_is() {
    let (tables, _, _) = tables().await;
    let oslo = Office::partition("Oslo");
    let fine = tables.transaction(&oslo).insert(&office());
    assert!(!fine.is_empty());
    let before = fine.room();
    assert_eq!(fine.plan().unwrap(), fine.plan().unwrap());
    let fine = fine.insert(&employee(1));
    assert_eq!(fine.len(), 4);
    assert_eq!(fine.room().operations, before.operations - 3);
    assert!(fine.room().bytes < before.bytes);
    fine.commit().await.unwrap();
    let broken =
        tables.transaction(&oslo).insert(&Employee { office: "Rome".into(), ..employee(1) });
    let (first, second) = (unit_error(broken.plan()), unit_error(broken.plan()));
    assert_eq!(first, second);
    assert_eq!(unit_error(broken.commit().await), first);
}

#[tokio::test]
async fn a_required_entity_that_a_copy_saves_keeps_its_version() {
    let (tables, _, employees) = tables().await;
    for requires_first in [true, false] {
        let id = 1 + u32::from(requires_first);
        let mut required = employees.insert_loaded(&employee(id)).await.unwrap();
        let old = required.etag().clone();
        let mut copy = required.clone();
        copy.name = "New".to_owned();
        let oslo = tables.transaction(Employee::partition("Oslo"));
        let both = if requires_first {
            oslo.require(&mut required).save(&mut copy)
        } else {
            oslo.save(&mut copy).require(&mut required)
        };
        both.commit().await.unwrap();
        assert_eq!(required.etag(), &old);
        assert_ne!(copy.etag(), &old);
        // Its rows are those of the old name.
        required.name = "Late".to_owned();
        assert!(matches!(employees.save(&mut required).await, Err(Error::Conflict(_))));
        copy.name = "Last".to_owned();
        employees.save(&mut copy).await.unwrap();
    }
    let names = keys(&tables).await.into_iter().filter(|key| key.starts_with("NAME:"));
    assert_eq!(names.collect::<Vec<_>>(), ["NAME:Last__00001", "NAME:Last__00002"]);
}

#[tokio::test]
async fn a_required_entity_that_another_client_deleted_is_a_typed_error() {
    let (tables, offices, employees) = tables().await;
    let oslo = Office::partition("Oslo");
    let place = offices.insert_loaded(&office()).await.unwrap();
    let boss = employees.insert_loaded(&employee(1)).await.unwrap();
    offices.force_delete(&office()).await.unwrap();
    employees.force_delete(&employee(1)).await.unwrap();
    let one = tables.transaction(&oslo).require(&place).insert(&employee(2)).commit().await;
    let Err(Error::NotFound(rejection)) = one else { panic!("{one:?}") };
    assert_eq!((rejection.entity, rejection.row_key.as_str()), ("Office", "OFFICE"));
    let one = tables.transaction(&oslo).insert(&employee(2)).require(&boss).commit().await;
    let Err(Error::NotFound(rejection)) = one else { panic!("{one:?}") };
    assert_eq!((rejection.entity, rejection.row_key.as_str()), ("Employee", "EMP:00001"));
    assert_eq!(keys(&tables).await, [""; 0]);

    // Another one in its place is another version.
    offices.insert(&office()).await.unwrap();
    let one = tables.transaction(&oslo).require(&place).insert(&employee(2)).commit().await;
    assert!(matches!(one, Err(Error::Conflict(_))), "{one:?}");
    assert_eq!(keys(&tables).await, ["OFFICE"]);
}
