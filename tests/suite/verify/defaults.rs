//! Fields that were added to a type with a default, over rows that lack them.

use super::permit;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use table_orm::embedded::EmbeddedStore;
use table_orm::repo::{Problem, RewriteProgress, SkipReason, Table};
use table_orm::store::{Batch, Middleware, Store, StoreError};
use table_orm::{DynamicEntity, ETag, Properties, Repo, TableEntity, TableName, Tables};

/// The types as they were.
mod before {
    use table_orm::{Properties, TableEntity};

    #[derive(Debug, TableEntity)]
    #[table(name = "members", partition = "{club}", unique(nick))]
    #[row(by_id, key = "ID:{id:04}")]
    #[row(by_age, key = "AGE:{age:03}__{id:04}")]
    #[row(by_nick, key = "NICK:{nick}__{id:04}", include(age))]
    pub struct Member {
        pub club: String,
        pub id: u16,
        pub age: u8,
        pub nick: String,
        pub points: u16,
        pub fax: String,
        #[table(flatten)]
        pub address: Option<Address>,
    }

    #[derive(Debug, Properties)]
    pub struct Address {
        pub city: String,
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "members", partition = "{club}", unique(nick))]
#[row(by_id, key = "ID:{id:04}")]
#[row(by_age, key = "AGE:{age:03}__{id:04}")]
#[row(by_nick, key = "NICK:{nick}__{id:04}", include(age, tier, paid))]
struct Member {
    club: String,
    id: u16,
    age: u8,
    nick: String,
    points: u16,
    #[table(default = basic)]
    tier: String,
    #[table(default)]
    paid: bool,
    #[table(flatten)]
    address: Option<Address>,
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct Address {
    city: String,
    #[table(default)]
    floor: i16,
}

fn basic() -> String {
    "basic".to_owned()
}

struct Club {
    tables: Tables,
    repo: Repo<Member>,
    rows: Table,
}

impl Club {
    /// Members that the type before stored.
    async fn of(tables: Tables, members: u16) -> Self {
        let old = tables.repo::<before::Member>();
        old.create_table().await.unwrap();
        for id in 0..members {
            let member = before::Member {
                club: "chess".into(),
                id,
                age: 40,
                nick: format!("n{id}"),
                points: 7,
                fax: "none".into(),
                address: id.is_multiple_of(2).then(|| before::Address { city: "Oslo".into() }),
            };
            old.insert(&member).await.unwrap();
        }
        let (repo, rows) = (tables.repo::<Member>(), tables.table(old.table().clone()));
        Self { tables, repo, rows }
    }

    async fn new(members: u16) -> Self {
        Self::of(Tables::in_memory().unwrap(), members).await
    }

    async fn row(&self, row_key: &str) -> DynamicEntity {
        self.rows.get("chess", row_key).await.unwrap().unwrap()
    }

    async fn problems(&self) -> Vec<(String, Problem)> {
        let findings = self.repo.verify_table(permit()).await.unwrap().findings;
        findings.into_iter().map(|finding| (finding.row_key, finding.problem)).collect()
    }

    /// Removes what the type no longer has, which is out of step until a rewrite.
    async fn without_fax(self) -> Self {
        for mut row in self.rows.list("chess", ..).collect().await.unwrap() {
            if row.properties.remove("Fax").is_some() {
                self.rows.replace(&row).await.unwrap();
            }
        }
        self
    }
}

#[tokio::test]
async fn a_default_is_equal_to_its_absence() {
    let club = Club::new(4).await.without_fax().await;
    assert_eq!(club.problems().await, []);
    // Whoever saves an entity stores its defaults in some of its rows.
    let mut member =
        club.repo.load(Member::partition("chess").by_id().id(1)).await.unwrap().one().unwrap();
    assert!(club.repo.save(&mut member).plan().unwrap().steps.is_empty());
    member.points = 8;
    club.repo.save(&mut member).await.unwrap();
    assert_eq!(club.row("ID:0001").await.properties["Tier"], "basic".into());
    assert!(!club.row("NICK:n1__0001").await.properties.contains_key("Tier"));
    assert_eq!(club.problems().await, []);
    // A copy that lacks another value than the default is out of step.
    member.tier = "gold".into();
    club.repo.save(&mut member).await.unwrap();
    assert_eq!(club.problems().await, []);
    let mut copy = club.row("NICK:n1__0001").await;
    copy.properties.remove("Tier").unwrap();
    copy.properties.remove("Paid").unwrap();
    club.rows.replace(&copy).await.unwrap();
    let lacking =
        Problem::WrongProjection { lacking: vec!["Tier".into()], extra: vec![], differing: vec![] };
    assert_eq!(club.problems().await, [("NICK:n1__0001".to_owned(), lacking)]);
}

#[tokio::test]
async fn all_defaults_of_an_optional_group_are_not_its_absence() {
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "rooms", partition = "{house}")]
    #[row(by_id, key = "ID:{id:04}")]
    #[row(copy, key = "COPY:{id:04}", allow_duplicate)]
    struct Room {
        house: String,
        id: u16,
        #[table(flatten)]
        size: Option<Size>,
    }
    #[derive(Debug, Clone, PartialEq, Properties)]
    struct Size {
        #[table(default)]
        width: u16,
        #[table(default)]
        depth: u16,
    }
    let tables = Tables::in_memory().unwrap();
    let repo = tables.repo::<Room>();
    repo.create_table().await.unwrap();
    let size = Some(Size { width: 0, depth: 0 });
    repo.insert(&Room { house: "h".into(), id: 1, size }).await.unwrap();
    let rows = tables.table(repo.table().clone());
    let mut copy = rows.get("h", "COPY:0001").await.unwrap().unwrap();
    copy.properties.remove("Width").unwrap();
    rows.replace(&copy).await.unwrap();
    assert_eq!(repo.verify(Room::partition("h")).await.unwrap().findings, []);
    let mut copy = rows.get("h", "COPY:0001").await.unwrap().unwrap();
    copy.properties.remove("Depth").unwrap();
    rows.replace(&copy).await.unwrap();
    assert_eq!(repo.verify(Room::partition("h")).await.unwrap().findings.len(), 1);
}

#[tokio::test]
async fn backfill_and_repair_leave_rows_without_defaults() {
    let club = Club::new(3).await.without_fax().await;
    let before = super::stored(&club.tables, club.repo.table()).await;
    let done = club.repo.backfill_table(permit()).await;
    assert_eq!((done.skipped.len(), done.failures.len()), (0, 0));
    let done = done.all().unwrap();
    assert_eq!((done.entities, done.rows), (3, 0));
    assert_eq!(super::stored(&club.tables, club.repo.table()).await, before);
    // A finding that was made by an earlier version says nothing any more.
    let finding = table_orm::repo::Finding {
        entity: "Member".into(),
        row: "by_age".into(),
        partition_key: "chess".into(),
        row_key: "AGE:040__0001".into(),
        canonical: Some("ID:0001".into()),
        location: None,
        etag: None,
        problem: Problem::Stale { properties: vec!["Tier".into()] },
    };
    let report = club.repo.repair([finding]).await;
    assert_eq!(report.skipped[0].reason, SkipReason::NoLongerHolds);
    assert_eq!(super::stored(&club.tables, club.repo.table()).await, before);
}

#[tokio::test]
async fn a_rewrite_stores_every_row_as_its_type_does_now() {
    let club = Club::new(25).await;
    let read = club.repo.list(Member::partition("chess")).collect().await.unwrap();
    let done = club.repo.rewrite(permit()).await;
    assert_eq!((done.skipped.len(), done.failures.len()), (0, 0));
    let done = done.all().unwrap();
    // Guard rows have one form.
    assert_eq!((done.entities, done.rows, done.token), (25, 75, None));
    assert_eq!(club.repo.list(Member::partition("chess")).collect().await.unwrap(), read);
    let fresh = Tables::in_memory().unwrap();
    let repo = fresh.repo::<Member>();
    repo.create_table().await.unwrap();
    for member in &read {
        repo.insert(member).await.unwrap();
    }
    let (table, expected) = (club.repo.table(), super::stored(&fresh, repo.table()).await);
    assert_eq!(super::stored(&club.tables, table).await, expected);
    let again = club.repo.rewrite_partition(Member::partition("chess")).await.all().unwrap();
    assert_eq!((again.entities, again.rows), (25, 0));
    assert_eq!(club.problems().await, []);
}

#[tokio::test]
async fn a_rewrite_leaves_rows_that_are_out_of_step_and_missing() {
    let club = Club::new(3).await;
    club.rows
        .merge(&DynamicEntity::new("chess", "AGE:040__0001").with("Points", 99))
        .await
        .unwrap();
    club.rows.delete(&club.row("NICK:n2__0002").await).await.unwrap();
    let report = club.repo.rewrite(permit()).await;
    let [skipped] = &*report.skipped else { panic!("{report:?}") };
    assert_eq!(skipped.reason, SkipReason::OutOfStep);
    assert_eq!(skipped.finding.row_key, "AGE:040__0001");
    // The other rows of these entities are written.
    assert_eq!((report.progress.entities, report.progress.rows), (2, 7));
    let repaired = club.repo.repair([skipped.finding.clone()]).await.all().unwrap();
    assert_eq!(repaired, 1);
    assert_eq!(club.repo.backfill_table(permit()).await.all().unwrap().rows, 1);
    assert_eq!(club.problems().await, []);
}

#[tokio::test]
async fn a_rewrite_goes_on_where_it_stopped() {
    let tables = Tables::in_memory().unwrap().layer(super::between::SmallPages(10)).unwrap();
    let club = Club::of(tables, 25).await;
    let mut pages = Vec::new();
    let progress = |progress: &RewriteProgress| pages.push(progress.clone());
    let rewrite = club.repo.rewrite(permit()).on_progress(progress).parallelism(0);
    assert_eq!(rewrite.await.all().unwrap().rows, 75);
    let counts: Vec<_> = pages.iter().map(|page| page.entities).collect();
    assert_eq!(counts, [10, 20, 25]);
    let token = pages[0].token.clone().unwrap().to_string().parse().unwrap();
    let rest = club.repo.rewrite(permit()).resume(token).await.all().unwrap();
    assert_eq!((rest.entities, rest.rows), (15, 0));
}

/// Lets another client write between the read and the write of each entity.
#[derive(Debug)]
struct Meanwhile {
    store: Arc<EmbeddedStore>,
    left: AtomicUsize,
}

impl Middleware for Meanwhile {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let left = self.left.load(Ordering::SeqCst);
        if left > 0 && batch.operations.len() > 4 {
            self.left.store(left - 1, Ordering::SeqCst);
            let tables = Tables::new(Arc::clone(&self.store) as Arc<dyn Store>);
            let member = Member::partition("chess").by_id().id(1);
            tables.repo::<Member>().update(member, |member| member.points += 1).await.unwrap();
        }
        self.store.commit(table, batch).await
    }
}

#[tokio::test]
async fn a_rewrite_loses_no_write_of_another_client() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let club = Club::of(Tables::new(Arc::clone(&store) as Arc<dyn Store>), 3).await;
    let tables = Tables::new(Meanwhile { store, left: AtomicUsize::new(1) });
    let done = tables.repo::<Member>().rewrite(permit()).await.all().unwrap();
    assert_eq!(done.entities, 3);
    assert_eq!(
        club.repo.get(Member::partition("chess").by_id().id(1)).await.unwrap().unwrap().points,
        8
    );
    assert_eq!(club.problems().await, []);
    assert_eq!(club.repo.rewrite(permit()).await.all().unwrap().rows, 0);
}
