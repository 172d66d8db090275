//! Types whose entities expire: gone in either form, and in nobody's way.

use super::types::{Counter, Loses, permit};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use table_orm::embedded::EmbeddedStore;
use table_orm::migrate::{Migrating, MigrationError, StoredForm};
use table_orm::model::DateTime;
use table_orm::{Error, Repo, TableEntity, Tables};
use time::{Duration, OffsetDateTime};

/// To another table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "links", partition = "{user}", row = "L:{n:03}", expires = until)]
struct LinkV1 {
    user: String,
    n: u32,
    token: String,
    until: Option<OffsetDateTime>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "links2", partition = "U{user}", row = "L:{n:08}", expires = until, migrate_from = LinkV1)]
struct Link {
    user: String,
    n: u32,
    token: String,
    until: Option<OffsetDateTime>,
}

both_ways!(Link, LinkV1 { user, n, token, until });

/// Within a partition, with a unique value.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "sessions", partition = "{user}", row = "S:{n:03}", expires = until, unique(token))]
struct SessionV1 {
    user: String,
    n: u32,
    token: String,
    until: Option<OffsetDateTime>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "sessions", partition = "{user}", row = "SES:{n:08}", expires = until)]
#[table(unique(token), migrate_from = SessionV1)]
struct Session {
    user: String,
    n: u32,
    token: String,
    until: Option<OffsetDateTime>,
}

both_ways!(Session, SessionV1 { user, n, token, until });

macro_rules! link_key {
    ($n:expr) => {
        Link::partition("ann").row().n($n)
    };
}

struct App {
    now: Arc<Mutex<OffsetDateTime>>,
    loses: Arc<Loses>,
    store: Arc<Counter>,
    links: Repo<LinkV1>,
    /// Versions 1 and 2.
    versions: [Migrating<Link>; 2],
    sessions: Repo<SessionV1>,
    sessions_of: [Migrating<Session>; 2],
}

async fn app() -> App {
    let now = Arc::new(Mutex::new(OffsetDateTime::UNIX_EPOCH + Duration::days(20_000)));
    let clock = Arc::clone(&now);
    let inner = EmbeddedStore::in_memory().unwrap();
    let loses = Arc::new(Loses { inner, landings: AtomicBool::new(false) });
    let store = Arc::new(Counter::around(loses.clone()));
    let clock = move || DateTime::try_from(*clock.lock().unwrap()).unwrap();
    let tables = Tables::builder(store.clone()).bare().clock(clock).build().unwrap();
    let (links, sessions) = (tables.repo::<LinkV1>(), tables.repo::<SessionV1>());
    links.create_table().await.unwrap();
    sessions.create_table().await.unwrap();
    let new = tables.migrating::<Link>().unwrap();
    new.create_table_if_not_exists().await.unwrap();
    let versions = [new.clone().inserting(StoredForm::Old), new];
    let new = tables.migrating::<Session>().unwrap();
    let sessions_of = [new.clone().inserting(StoredForm::Old), new];
    store.take();
    App { now, loses, store, links, versions, sessions, sessions_of }
}

impl App {
    fn pass(&self) {
        *self.now.lock().unwrap() += Duration::HOUR;
    }

    fn link(&self, n: u32) -> Link {
        let until = Some(*self.now.lock().unwrap() + Duration::HOUR);
        Link { user: "ann".into(), n, token: "-".into(), until }
    }

    fn session(&self, n: u32, token: &str) -> Session {
        let Link { user, until, .. } = self.link(n);
        Session { user, n, token: token.into(), until }
    }

    /// Three links: in the old form, in the new one, and on its way.
    async fn three(&self) {
        let [version_1, version_2] = &self.versions;
        version_1.insert(&self.link(1)).await.unwrap();
        version_2.insert(&self.link(2)).await.unwrap();
        version_1.insert(&self.link(3)).await.unwrap();
        self.loses.landings.store(true, Relaxed);
        version_2
            .save(&mut version_2.load(link_key!(3_u32)).await.unwrap().unwrap())
            .await
            .unwrap();
        self.loses.landings.store(false, Relaxed);
        self.store.take();
    }
}

#[tokio::test]
async fn an_expired_entity_is_gone_in_either_form_and_on_its_way() {
    let app = app().await;
    app.three().await;
    let ann = Link::partition("ann");
    for client in &app.versions {
        assert_eq!(client.list(&ann).count().await.unwrap(), 3);
        assert_eq!(client.scan(&permit()).await.unwrap().len(), 3);
        assert!(client.get(link_key!(3_u32)).await.unwrap().is_some());
    }
    app.pass();
    for client in &app.versions {
        for (n, requests) in [(1_u32, 2), (2, 1), (3, 3)] {
            app.store.take();
            assert_eq!(client.get(link_key!(n)).await.unwrap(), None);
            assert_eq!(app.store.take(), requests);
            assert!(client.load(link_key!(n)).await.unwrap().is_none());
            let updated = client.update(link_key!(n), |link| link.token = "new".into()).await;
            assert!(matches!(updated, Err(Error::NotFound(_))), "{updated:?}");
            let merged = client.merge(link_key!(n), LinkPatch::default().token("new")).await;
            assert!(matches!(merged, Err(Error::NotFound(_))), "{merged:?}");
        }
        assert_eq!(client.list(&ann).count().await.unwrap(), 0);
        assert!(client.list(&ann).pages(2).next().await.unwrap().unwrap().is_empty());
        assert!(client.scan(&permit()).await.unwrap().is_empty());
        let all = client.clone().including_expired();
        assert_eq!(all.list(&ann).count().await.unwrap(), 3);
        assert_eq!(all.scan(&permit()).await.unwrap().len(), 3);
    }
}

#[tokio::test]
async fn an_expired_entity_makes_room_in_either_form_and_on_its_way() {
    for version in [0, 1] {
        for n in [1, 2, 3] {
            let app = app().await;
            app.three().await;
            let client = &app.versions[version];
            let taken = client.insert(&app.link(n)).await;
            assert!(matches!(taken, Err(Error::AlreadyExists(_))), "{taken:?}");
            app.pass();
            let new = Link { token: "new".into(), ..app.link(n) };
            client.insert(&new).await.unwrap();
            for reader in &app.versions {
                assert_eq!(reader.get(link_key!(n)).await.unwrap(), Some(new.clone()));
                assert_eq!(reader.list(Link::partition("ann")).count().await.unwrap(), 1);
            }
            assert!(matches!(client.insert(&new).await, Err(Error::AlreadyExists(_))));
            client.upsert(&Link { token: "newer".into(), ..new }).await.unwrap();
            let report = app.versions[1].migrate(&permit()).await;
            assert!(report.skipped.is_empty() && report.ended.is_none(), "{report:?}");
            let verified = app.versions[1].verify_migrated(&permit()).await.unwrap();
            assert!(verified.is_complete() && verified.left_over.is_empty(), "{verified:?}");
            let kept = app.versions[1].get(link_key!(n)).await.unwrap().unwrap();
            assert_eq!(kept.token, "newer");
        }
    }
}

#[tokio::test]
async fn many_inserts_take_the_places_of_expired_entities() {
    for version in [0, 1] {
        let app = app().await;
        app.three().await;
        app.pass();
        let report = app.versions[version].insert_many((1..6).map(|n| app.link(n))).await;
        assert_eq!(report.all().unwrap(), 5);
        assert_eq!(app.versions[0].list(Link::partition("ann")).count().await.unwrap(), 5);
        let all = app.versions[1].clone().including_expired();
        assert_eq!(all.list(Link::partition("ann")).count().await.unwrap(), 5);
    }
}

#[tokio::test]
async fn inserts_of_a_transaction_take_the_places_of_expired_entities() {
    for version in [0, 1] {
        let app = app().await;
        app.three().await;
        app.pass();
        let client = &app.versions[version];
        let ann = Link::partition("ann");
        let all = (1..5).fold(client.transaction(&ann), |all, n| all.insert(&app.link(n)));
        all.commit().await.unwrap();
        assert_eq!(app.versions[0].list(&ann).count().await.unwrap(), 4);
        app.pass();
        // Nothing was read, so it is inserted.
        let one = client.transaction_with(&ann, async |tx| {
            assert_eq!(tx.load(link_key!(2_u32)).await?.map(|held| held.n), None);
            tx.insert(&app.link(2));
            Ok(())
        });
        one.await.unwrap();
        assert_eq!(client.list(&ann).count().await.unwrap(), 1);
        let verified = app.versions[1].verify_migrated(&permit()).await.unwrap();
        assert!(verified.twice.is_empty(), "{verified:?}");
    }
}

#[tokio::test]
async fn the_unique_value_of_an_expired_entity_is_free_in_either_form() {
    for (holder, taker) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let app = app().await;
        let [holder, taker] = [holder, taker].map(|version| &app.sessions_of[version]);
        holder.insert(&app.session(1, "secret")).await.unwrap();
        let taken = taker.insert(&app.session(2, "secret")).await;
        assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
        app.pass();
        taker.insert(&app.session(2, "secret")).await.unwrap();
        let all = taker.clone().including_expired();
        assert_eq!(all.list(Session::partition("ann")).count().await.unwrap(), 1);
        // Its own key is free, too.
        taker.insert(&app.session(1, "other")).await.unwrap();
        // So is the value that a save asks for while it moves the entity.
        app.sessions.insert(&app.session(3, "old").into()).await.unwrap();
        holder.insert(&app.session(4, "wanted")).await.unwrap();
        let key = Session::partition("ann").row().n(3_u32);
        let mut held = app.sessions_of[1].load(&key).await.unwrap().unwrap();
        app.pass();
        (held.token, held.until) = ("wanted".into(), None);
        app.sessions_of[1].save(&mut held).await.unwrap();
        assert_eq!(held.form(), StoredForm::New);
        assert!(app.sessions_of[1].verify_migrated(&permit()).await.unwrap().twice.is_empty());
        assert_eq!(taker.get(&key).await.unwrap().unwrap().token, "wanted");
    }
}

#[tokio::test]
async fn a_mover_keeps_what_has_expired_and_it_stays_expired() {
    let app = app().await;
    app.links.insert_many((1..5).map(|n| app.link(n).into())).await.all().unwrap();
    app.pass();
    let version_2 = &app.versions[1];
    assert_eq!(version_2.migrate(&permit()).in_bulk().await.all().unwrap(), 4);
    assert_eq!(version_2.list(Link::partition("ann")).count().await.unwrap(), 0);
    // They are deleted in either form.
    app.links.insert(&app.link(5).into()).await.unwrap();
    app.pass();
    let all = version_2.clone().including_expired();
    let mut expired = Vec::new();
    for link in all.scan(&permit()).await.unwrap() {
        expired.extend(all.load(link_key!(link.n)).await.unwrap());
    }
    assert_eq!(expired.len(), 5);
    assert_eq!(all.delete_many(expired).await.all().unwrap(), 5);
    assert_eq!(all.scan(&permit()).await.unwrap(), []);
}

#[tokio::test]
async fn an_insert_that_meets_an_expired_entity_costs_what_the_guide_says() {
    // In the old form, and in the new one.
    for (n, requests) in [(1, [4, 5]), (2, [7, 7])] {
        for (version, requests) in [0, 1].into_iter().zip(requests) {
            let app = app().await;
            app.three().await;
            app.pass();
            app.store.take();
            app.versions[version].insert(&app.link(n)).await.unwrap();
            assert_eq!(app.store.take(), requests, "{n} {version}");
        }
    }
    // Within a partition.
    for (holder, requests) in [(0, 4), (1, 7)] {
        for version in [0, 1] {
            let app = app().await;
            app.sessions_of[holder].insert(&app.session(1, "old")).await.unwrap();
            app.pass();
            app.store.take();
            app.sessions_of[version].insert(&app.session(1, "new")).await.unwrap();
            assert_eq!(app.store.take(), requests, "{holder} {version}");
        }
    }
}

#[tokio::test]
async fn a_conversion_that_changes_the_instant_is_refused() {
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "codes", partition = "{user}", row = "C:{n:03}", expires = until)]
    struct CodeV1 {
        user: String,
        n: u32,
        until: Option<OffsetDateTime>,
    }
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "codes", partition = "{user}", row = "CODE:{n:03}", expires = until, migrate_from = CodeV1)]
    struct Code {
        user: String,
        n: u32,
        until: Option<OffsetDateTime>,
    }
    impl From<CodeV1> for Code {
        fn from(CodeV1 { user, n, .. }: CodeV1) -> Self {
            Self { user, n, until: None }
        }
    }
    impl From<Code> for CodeV1 {
        fn from(Code { user, n, until }: Code) -> Self {
            Self { user, n, until }
        }
    }

    let tables = Tables::in_memory().unwrap();
    let old = tables.repo::<CodeV1>();
    old.create_table().await.unwrap();
    let until = Some(OffsetDateTime::now_utc() + Duration::HOUR);
    old.insert(&CodeV1 { user: "ann".into(), n: 1, until }).await.unwrap();
    let codes = tables.migrating::<Code>().unwrap();
    let report = codes.migrate(&permit()).await;
    let [skipped] = &*report.skipped else { panic!("{report:?}") };
    let reason = &skipped.reason;
    assert!(matches!(reason, Error::Migration(MigrationError::ExpiryDiffers { .. })), "{reason}");
}
