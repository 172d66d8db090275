//! A lock holds when entities expire, how the rows that find them are keyed, and what is added up.

use std::fs;
use std::path::Path;
use table_orm::schema_lock::{LockError, Reads, SchemaChange, SchemaLock};

/// A type with one change.
macro_rules! version {
    ($name:ident: [$($table:tt)*] [$($sum:tt)*] { $($(#[$attr:meta])* $field:ident: $ty:ty = $value:expr,)* }) => {
        mod $name {
            use table_orm::schema_lock::SchemaLock;
            use table_orm::model::DateTime;
            use table_orm::{Sum, TableEntity};

            #[derive(Debug, Clone, TableEntity)]
            #[table(name = "sessions", partition = "{user}", row = "ID:{id:05}", sums = Session::SUMS, $($table)*)]
            pub struct Session {
                user: String,
                id: u32,
                $($(#[$attr])* $field: $ty,)*
            }

            impl Session {
                const TOTAL: Sum<Self> = $($sum)*;
                const SUMS: &'static [Sum<Self>] = &[Self::TOTAL];
            }

            pub fn lock(lock: SchemaLock) -> SchemaLock {
                let at: DateTime = "2026-11-24T00:00:00Z".parse().unwrap();
                lock.with([Session { user: "ann".to_owned(), id: 7, $($field: $value(at),)* }])
            }
        }
    };
    ($name:ident: [$($table:tt)*]) => {
        version!($name: [$($table)*] [Sum::of("ids", |session: &Self| i64::from(session.id))] {
            until: Option<DateTime> = Some,
            opened: DateTime = DateTime::from,
        });
    };
    ($name:ident: sum [$($sum:tt)*]) => {
        version!($name: [expires = until, purge_index] [$($sum)*] {
            until: Option<DateTime> = Some,
            opened: DateTime = DateTime::from,
        });
    };
}

version!(first: [expires = until, purge_index]);
version!(without_expiry: []);
version!(without_index: [expires = until]);
version!(by_another_field: [expires = opened, purge_index]);
version!(renamed: [expires = ends, purge_index] [Sum::of("ids", |session: &Self| i64::from(session.id))] {
    #[table(alias = "Until")] ends: Option<DateTime> = Some,
    opened: DateTime = DateTime::from,
});
version!(by_a_renamed_field: [expires = ends] [Sum::of("ids", |session: &Self| i64::from(session.id))] {
    until: Option<DateTime> = Some,
    #[table(alias = "Opened")] ends: DateTime = DateTime::from,
});
version!(by_a_new_field: [expires = ends] [Sum::of("ids", |session: &Self| i64::from(session.id))] {
    until: Option<DateTime> = Some,
    opened: DateTime = DateTime::from,
    ends: Option<DateTime> = |_| None,
});
version!(counted: sum [Sum::count("ids")]);
version!(added_twice: sum [Sum::of("ids", |session: &Self| 2 * i64::from(session.id))]);
version!(by_group: sum [Sum::by_group("ids", |session: &Self| (session.user.clone(), i64::from(session.id)))]);
version!(in_more_rows: sum [Sum::<Self>::of("ids", |session| i64::from(session.id)).shards(4)]);
version!(over_partitions: sum [Sum::<Self>::of("ids", |session| i64::from(session.id)).over_partitions()]);

type Lock = fn(SchemaLock) -> SchemaLock;

fn at(folder: &Path) -> SchemaLock {
    SchemaLock::new(folder.join("tables.lock"))
}

fn locked(version: Lock) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    version(at(folder.path())).update().check().unwrap();
    version(at(folder.path())).check().unwrap();
    folder
}

fn text(folder: &tempfile::TempDir) -> String {
    fs::read_to_string(folder.path().join("tables.lock")).unwrap()
}

/// Checks that the change is refused with these words, also by an update.
fn refused(folder: &tempfile::TempDir, version: Lock, reads: Reads, phrases: &[&str]) {
    let before = text(folder);
    let error = version(at(folder.path())).update().check().unwrap_err();
    let LockError::Breaking { changes, .. } = &error else { panic!("{error}") };
    let meant = |change: &&SchemaChange| {
        let change = change.to_string();
        phrases.iter().all(|phrase| change.contains(phrase))
    };
    let found = changes.iter().find(meant).map(|change| change.reads);
    assert_eq!(found, Some(reads), "{phrases:?} in {error}");
    assert_eq!(text(folder), before);
}

/// Checks that the check fails with these words, and that an update adds the change.
fn accepted(folder: &tempfile::TempDir, version: Lock, phrases: &[&str]) {
    let error = version(at(folder.path())).check().unwrap_err();
    assert!(matches!(error, LockError::Outdated { .. }), "{error}");
    for phrase in phrases {
        assert!(error.to_string().contains(phrase), "no {phrase:?} in: {error}");
    }
    version(at(folder.path())).update().check().unwrap();
    version(at(folder.path())).check().unwrap();
}

#[test]
fn a_lock_names_the_instant_the_rows_that_find_it_and_what_a_sample_adds() {
    let text = text(&locked(first::lock));
    for line in [
        "  expiry of entities\n    instant: Until\n    stored as: Edm.DateTime\n",
        "  sum ids\n    counts: a number of each entity\n",
        "    expiry: {\"PartitionKey\":\"EXP:Session:",
        "\"RowKey\":\"EXP:Session:2026-11-24T00:00:00.0000000Z~~ann~~00007\"",
        "    adds to ids: 7\n",
    ] {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
}

#[test]
fn entities_that_expire_keep_their_instant() {
    let folder = locked(first::lock);
    let gone = ["no expiry of entities any more", "`purge` with the version before"];
    refused(&folder, without_expiry::lock, Reads::All, &gone);
    let moved = ["instant of expiry of entities: `Until` is now `Opened`", "`rewrite`"];
    refused(&folder, by_another_field::lock, Reads::NotAll, &moved);
    accepted(&folder, renamed::lock, &["`Until` is now `Ends`", "`rewrite`"]);
}

#[test]
fn stored_entities_do_not_begin_to_expire_unless_the_file_says_so() {
    let folder = locked(without_expiry::lock);
    let new = ["new expiry of entities", "left out and deleted now", "by hand"];
    refused(&folder, without_index::lock, Reads::NotAll, &new);
    let by_hand = text(&folder).replace(
        "  sum ids",
        "  expiry of entities\n    instant: Until\n    stored as: Edm.DateTime\n  sum ids",
    );
    fs::write(folder.path().join("tables.lock"), by_hand).unwrap();
    without_index::lock(at(folder.path())).check().unwrap();
    // Stored rows have a property under its former name.
    let folder = locked(without_expiry::lock);
    refused(&folder, by_a_renamed_field::lock, Reads::NotAll, &["new expiry of entities"]);
    // No stored row has a property that is new.
    let folder = locked(without_expiry::lock);
    accepted(&folder, by_a_new_field::lock, &["new expiry of entities", "new property Ends"]);
}

#[test]
fn the_rows_that_find_expired_entities_come_and_go_with_what_has_to_be_done() {
    let folder = locked(first::lock);
    accepted(&folder, without_index::lock, &["no row expiry any more", "`drop_eventual_row`"]);
    let folder = locked(without_index::lock);
    accepted(&folder, first::lock, &["new row expiry", "`backfill`"]);
}

#[test]
fn a_golden_row_of_the_index_stays_readable() {
    let folder = locked(first::lock);
    let path = folder.path().join("tables.lock");
    let other = text(&folder).replace("EXP:Session:2026-11-24T00", "EXP:Session:2026-11-25T00");
    fs::write(path, other).unwrap();
    refused(&folder, first::lock, Reads::NotAll, &["keys of row expiry", "2026-11-24T00"]);
}

#[test]
fn a_sum_keeps_what_it_adds() {
    let folder = locked(first::lock);
    let counted = ["counts of sum ids", "is now `entities`", "another name"];
    refused(&folder, counted::lock, Reads::All, &counted);
    let twice = ["sum ids: a stored sample added 7, and adds 14 now", "`repair_sums`"];
    refused(&folder, added_twice::lock, Reads::All, &twice);
    let group = ["sum ids: a stored sample added 7, and adds 7 in \"ann\" now"];
    refused(&folder, by_group::lock, Reads::All, &group);
    accepted(&folder, in_more_rows::lock, &["rows of sum ids: none is now `4`"]);
    accepted(&locked(first::lock), over_partitions::lock, &["over partitions", "`repair_sums`"]);
}
