//! A lock before, during and after a migration: the keys of the old form stay those of the stored rows.

use std::fs;
use std::path::Path;
use table_orm::schema_lock::{LockError, SchemaChange, SchemaLock};

macro_rules! order {
    ($module:ident::$name:ident, $table:literal, $key:literal $(, from $old:ty)?) => {
        mod $module {
            use table_orm::TableEntity;

            #[derive(Debug, Clone, TableEntity)]
            #[table(name = $table, partition = "{shop}", row = $key $(, migrate_from = $old)?)]
            pub struct $name {
                pub shop: String,
                pub n: u32,
                pub cents: i64,
            }

            $(
                impl From<$old> for $name {
                    fn from(old: $old) -> Self {
                        Self { shop: old.shop, n: old.n, cents: old.cents }
                    }
                }

                impl From<$name> for $old {
                    fn from($name { shop, n, cents }: $name) -> Self {
                        Self { shop, n, cents }
                    }
                }
            )?

            #[allow(dead_code)]
            pub fn sample() -> $name {
                $name { shop: "oslo".into(), n: 7, cents: 500 }
            }
        }
    };
}

order!(before::Order, "orders", "ORD:{n:05}");
order!(old_form::OrderV1, "orders", "ORD:{n:05}");
order!(migrating::Order, "orders2", "ORD:{n:08}", from super::old_form::OrderV1);
order!(of_one_name::Order, "orders2", "ORD:{n:08}", from super::before::Order);
order!(wrong_form::OrderV1, "orders", "ORD:{n:06}");
order!(from_wrong_form::Order, "orders2", "ORD:{n:08}", from super::wrong_form::OrderV1);
order!(after::Order, "orders2", "ORD:{n:08}");

fn lock(folder: &Path) -> SchemaLock {
    SchemaLock::new(folder.join("tables.lock"))
}

/// A folder with the lock of version 0.
fn locked() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    lock(folder.path()).with([before::sample()]).update().check().unwrap();
    folder
}

fn outdated(check: Result<(), LockError>) -> Vec<String> {
    let Err(LockError::Outdated { changes, .. }) = check else { panic!("{check:?}") };
    changes.iter().map(SchemaChange::to_string).collect()
}

#[test]
fn keys_that_were_locked_are_those_of_the_old_form_until_all_have_moved() {
    let folder = locked();
    let lock = || lock(folder.path());
    let text = || fs::read_to_string(folder.path().join("tables.lock")).unwrap();
    let stored = |text: &str| text.matches("    row: {").count();
    // Without the old form, stored rows would not be read.
    let lost = lock().with([after::sample()]).check();
    assert!(matches!(lost, Err(LockError::Breaking { .. })), "{lost:?}");
    let changes = outdated(lock().with_migrating([migrating::sample()]).check());
    let [moved] = &changes[..] else { panic!("{changes:?}") };
    let said = "`Order`: its keys in the lock are those of `OrderV1` now, and it has others; stored rows are still read";
    assert!(moved.starts_with(said), "{moved}");
    lock().with_migrating([migrating::sample()]).update().check().unwrap();
    lock().with_migrating([migrating::sample()]).check().unwrap();
    assert!(text().contains("entity OrderV1\n") && text().contains("migrates from: OrderV1\n"));
    assert_eq!(stored(&text()), 2);
    // Another old form than that of the stored rows.
    let other = lock().with_migrating([from_wrong_form::sample()]).check();
    let Err(LockError::Breaking { changes, .. }) = other else { panic!("{other:?}") };
    assert!(changes.iter().all(|change| change.entity == "OrderV1"), "{changes:?}");
    // The end.
    let changes = outdated(lock().with([after::sample()]).check());
    assert!(
        changes[0].starts_with("`OrderV1`: the old form is not checked any more"),
        "{changes:?}"
    );
    assert!(changes[1].contains("migrates from of keys of the partition: `OrderV1` is now none"));
    assert!(changes[1].ends_with("`verify_migrated` is complete"), "{changes:?}");
    lock().with([after::sample()]).update().check().unwrap();
    lock().with([after::sample()]).check().unwrap();
    assert!(!text().contains("OrderV1"));
    assert_eq!(stored(&text()), 1);
}

#[test]
fn an_old_form_that_differs_from_what_is_locked_is_refused_from_the_start() {
    let folder = locked();
    let other = lock(folder.path()).with_migrating([from_wrong_form::sample()]).update().check();
    let Err(LockError::Breaking { changes, .. }) = other else { panic!("{other:?}") };
    let said = "template of row row: `ORD:{n:05}` is now `ORD:{n:06}`";
    assert!(changes.iter().any(|change| change.what == said), "{changes:?}");
}

#[test]
fn both_forms_may_have_one_name() {
    let folder = locked();
    let lock = || lock(folder.path());
    lock().with_migrating([of_one_name::sample()]).update().check().unwrap();
    lock().with_migrating([of_one_name::sample()]).check().unwrap();
    let text = fs::read_to_string(folder.path().join("tables.lock")).unwrap();
    assert!(
        text.contains("entity Order before\n") && text.contains("migrates from: Order before\n")
    );
    lock().with([after::sample()]).update().check().unwrap();
    // A type of which nothing says that its entities have moved is not forgotten.
    let forgotten = lock().with([third::Player2 { id: 7 }]).update().check();
    assert!(matches!(forgotten, Err(LockError::Breaking { .. })), "{forgotten:?}");
}

#[test]
fn a_type_that_migrates_is_refused_without_its_old_form() {
    let folder = locked();
    let alone = lock(folder.path()).with([migrating::sample()]).check();
    assert!(matches!(alone, Err(LockError::OldFormMissing("Order"))), "{alone:?}");
}

#[test]
fn both_forms_may_share_a_table_with_the_same_row_keys() {
    mod players {
        use table_orm::TableEntity;

        #[derive(Debug, Clone, TableEntity)]
        #[table(name = "players", partition = "{share}", row = "P:{id:05}")]
        #[component(share = shard(id, 16))]
        pub struct PlayerV1 {
            pub id: u32,
        }

        #[derive(Debug, Clone, TableEntity)]
        #[table(name = "players", partition = "{share}", row = "P:{id:05}", migrate_from = PlayerV1)]
        #[component(share = shard(id, 32))]
        pub struct Player {
            pub id: u32,
        }

        impl From<PlayerV1> for Player {
            fn from(PlayerV1 { id }: PlayerV1) -> Self {
                Self { id }
            }
        }

        impl From<Player> for PlayerV1 {
            fn from(Player { id }: Player) -> Self {
                Self { id }
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let lock = || lock(folder.path()).with_migrating([players::Player { id: 7 }]);
    lock().update().check().unwrap();
    lock().check().unwrap();
    // A third type of the table is still compared with both.
    let alike = lock().with([third::Player2 { id: 7 }]).check();
    assert!(matches!(alike, Err(LockError::Alike { .. })), "{alike:?}");
}

mod third {
    #[derive(Debug, table_orm::TableEntity)]
    #[table(name = "players", partition = "{id:02}", row = "P:{id:05}")]
    pub struct Player2 {
        pub id: u32,
    }
}

#[test]
fn one_sample_survives_both_conversions_at_least() {
    mod lossy {
        use table_orm::TableEntity;

        #[derive(Debug, Clone, TableEntity)]
        #[table(name = "orders", partition = "{shop}", row = "ORD:{n:05}")]
        pub struct OrderV1 {
            pub shop: String,
            pub n: u32,
        }

        #[derive(Debug, Clone, TableEntity)]
        #[table(name = "orders2", partition = "{shop}", row = "ORD:{n:08}", migrate_from = OrderV1)]
        pub struct Order {
            pub shop: String,
            pub n: u32,
            pub note: Option<String>,
        }

        impl From<OrderV1> for Order {
            fn from(OrderV1 { shop, n }: OrderV1) -> Self {
                Self { shop, n, note: None }
            }
        }

        impl From<Order> for OrderV1 {
            fn from(Order { shop, n, .. }: Order) -> Self {
                Self { shop, n }
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let check = |notes: &[Option<&str>]| {
        let order = |note: &Option<&str>| lossy::Order {
            shop: "oslo".into(),
            n: 7,
            note: note.map(str::to_owned),
        };
        lock(folder.path()).with_migrating(notes.iter().map(order)).update().check()
    };
    assert!(matches!(check(&[Some("new")]), Err(LockError::Lossy("Order"))));
    // What only the new form holds is locked, too.
    check(&[None, Some("new")]).unwrap();
    let text = fs::read_to_string(folder.path().join("tables.lock")).unwrap();
    assert_eq!(text.matches("    row: {").count(), 3);
    assert_eq!(text.matches("\"Note\":\"new\"").count(), 1);
}
