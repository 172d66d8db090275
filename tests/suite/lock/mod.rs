//! A lock fails where a change of a type would not read stored rows, and says what to do.

// Rows may include the same fields: https://github.com/rust-lang/rust-clippy/issues/13238.
#![allow(clippy::duplicated_attributes)]

mod expiry;
mod migrating;
mod pairs;
mod swaps;
mod unions;

use std::fs;
use std::path::Path;
use table_orm::TableEntity;
use table_orm::property::{Hours, Minutes, Numbered, Ring};
use table_orm::schema_lock::{LockError, Reads, SchemaLock};

/// A type as it was locked first, or with one change.
macro_rules! version {
    ($name:ident: [$($table:tt)*] [$($row:tt)*] [$($codes:tt)*] {
        $($(#[$attr:meta])* $field:ident: $ty:ty = $value:expr,)*
    }) => {
        mod $name {
            use table_orm::schema_lock::SchemaLock;
            use table_orm::{KeyPart, Sum, TableEntity};

            #[derive(Debug, Clone, Copy, KeyPart)]
            pub enum Sex { $($codes)* }

            #[derive(Debug, Clone, TableEntity)]
            #[table(partition = "{race}", $($table)*)]
            $($row)*
            pub struct Runner {
                race: String,
                bib: u32,
                age: u8,
                sex: Sex,
                day: u32,
                $($(#[$attr])* $field: $ty,)*
            }

            #[allow(dead_code)]
            impl Runner {
                const AGES: Sum<Self> = Sum::of("ages", |runner: &Self| i64::from(runner.age));
                const SUMS: &'static [Sum<Self>] = &[Self::AGES];

                const fn is_old(&self) -> bool {
                    self.age > 65
                }
            }

            pub fn lock(lock: SchemaLock) -> SchemaLock {
                let (race, sex) = ("Boston".to_owned(), Sex::M);
                lock.with([Runner { race, bib: 7, age: 30, sex, day: 5, $($field: $value,)* }])
            }
        }
    };
    // With the fields of the first version.
    ($name:ident: [$($table:tt)*] [$($row:tt)*] [$($codes:tt)*]) => {
        version!($name: [$($table)*] [$($row)*] [$($codes)*] {
            #[table(max_len = 20)] name: String = "Ann".to_owned(),
            city: Option<String> = Some("Oslo".to_owned()),
            score: i32 = 3,
        });
    };
    // With its rows.
    ($name:ident: [$($table:tt)*] [$($codes:tt)*] $({ $($fields:tt)* })?) => {
        version!($name: [$($table)*] [
            #[row(by_bib, key = "BIB:{bib:05}")]
            #[row(by_sex, key = "SEX:{sex}__{bib:05}")]
            #[row(by_day, key = "DAY:{newest}__{bib:05}", include(age))]
            #[row(by_age, partition = "A:{age}", key = "AGE:{bib:05}__{race}", eventual)]
            #[component(newest = desc(day))]
        ] [$($codes)*] $({ $($fields)* })?);
    };
    // With other fields only.
    ($name:ident: { $($fields:tt)* }) => {
        version!($name: [name = "runners", unique(bib), sums = Runner::SUMS] [F, M] { $($fields)* });
    };
}

version!(first: {
    #[table(max_len = 20)] name: String = "Ann".to_owned(),
    city: Option<String> = Some("Oslo".to_owned()),
    score: i32 = 3,
});
version!(other_sample: {
    #[table(max_len = 20)] name: String = "Bob".to_owned(),
    city: Option<String> = Some("Oslo".to_owned()),
    score: i32 = 3,
});
version!(other_order: {
    score: i32 = 3,
    #[table(max_len = 20)] name: String = "Ann".to_owned(),
    city: Option<String> = Some("Oslo".to_owned()),
});
version!(renamed: {
    #[table(max_len = 20)] title: String = "Ann".to_owned(),
    city: Option<String> = None,
    score: i32 = 3,
});
version!(aliased: {
    #[table(max_len = 20, alias = "Name")] title: String = "Ann".to_owned(),
    city: Option<String> = None,
    score: i32 = 3,
});
version!(aliased_and_shorter: {
    #[table(max_len = 10, alias = "Name")] title: String = "Ann".to_owned(),
    city: Option<String> = Some("Oslo".to_owned()),
    score: i32 = 3,
});
version!(aliased_and_required: {
    #[table(max_len = 20)] name: String = "Ann".to_owned(),
    #[table(alias = "City")] town: String = "Oslo".to_owned(),
    score: i32 = 3,
});
version!(two_in_one: {
    #[table(max_len = 20, alias = "City")] name: String = "Ann".to_owned(),
    score: i32 = 3,
});
version!(optional_lost: {
    #[table(max_len = 20)] name: String = "Ann".to_owned(),
    score: i32 = 3,
});
version!(optional_required: {
    #[table(max_len = 20)] name: String = "Ann".to_owned(),
    city: String = "Oslo".to_owned(),
    score: i32 = 3,
});
version!(more_optional: {
    #[table(max_len = 20)] name: String = "Ann".to_owned(),
    city: Option<String> = None,
    score: i32 = 3,
    club: Option<String> = None,
    #[table(default)] paid: bool = true,
});
version!(more_required: {
    #[table(max_len = 20)] name: String = "Ann".to_owned(),
    city: Option<String> = None,
    score: i32 = 3,
    paid: bool = true,
});
version!(wider_number: {
    #[table(max_len = 20)] name: String = "Ann".to_owned(),
    city: Option<String> = None,
    score: i64 = 3,
});
version!(number_as_text: {
    #[table(max_len = 20)] name: String = "Ann".to_owned(),
    city: Option<String> = None,
    score: String = "3".to_owned(),
});
version!(longer_name: {
    #[table(max_len = 40)] name: String = "Ann".to_owned(),
    city: Option<String> = None,
    score: i32 = 3,
});
version!(shorter_name: {
    #[table(max_len = 10)] name: String = "Ann".to_owned(),
    city: Option<String> = None,
    score: i32 = 3,
});
version!(other_table: [name = "racers", unique(bib), sums = Runner::SUMS] [F, M]);
version!(marked: [name = "runners", unique(bib), sums = Runner::SUMS, kind = "runner"] [F, M]);
version!(wider_bib: [name = "runners", unique(bib), sums = Runner::SUMS] [
    #[row(by_bib, key = "BIB:{bib:06}")]
    #[row(by_sex, key = "SEX:{sex}__{bib:05}")]
    #[row(by_day, key = "DAY:{newest}__{bib:05}", include(age))]
    #[row(by_age, partition = "A:{age}", key = "AGE:{bib:05}__{race}", eventual)]
    #[component(newest = desc(day))]
] [F, M]);
version!(other_keys: [name = "runners", unique(bib), sums = Runner::SUMS] [
    #[row(by_bib, key = "BIB:{bib:05}")]
    #[row(by_sex, key = "S:{sex}__{bib:05}")]
    #[row(by_day, key = "DAY:{newest}__{bib:05}", include(age))]
    #[row(by_age, partition = "AG:{age}", key = "AGE:{bib:05}__{race}", eventual)]
    #[component(newest = desc(day))]
] [F, M]);
version!(oldest_first: [name = "runners", unique(bib), sums = Runner::SUMS] [
    #[row(by_bib, key = "BIB:{bib:05}")]
    #[row(by_sex, key = "SEX:{sex}__{bib:05}")]
    #[row(by_day, key = "DAY:{newest}__{bib:05}", include(age))]
    #[row(by_age, partition = "A:{age}", key = "AGE:{bib:05}__{race}", eventual)]
    #[component(newest = asc(day))]
] [F, M]);
version!(other_code: [name = "runners", unique(bib), sums = Runner::SUMS] [#[key("W")] F, M]);
version!(another_code: [name = "runners", unique(bib), sums = Runner::SUMS] [F, M, X]);
version!(other_unique: [name = "runners", unique(bib, across)] [F, M]);
version!(other_rows: [name = "runners", unique(bib), unique(name), outbox(after)] [
    #[row(by_number, key = "BIB:{bib:05}")]
    #[row(by_day, key = "DAY:{newest}__{bib:05}", include(age, name))]
    #[row(by_age, partition = "A:{age}", key = "AGE:{bib:05}__{race}", eventual)]
    #[row(by_name, key = "NAME:{name}__{bib:05}")]
    #[component(newest = desc(day))]
] [F, M]);
version!(renamed_and_reversed: [name = "runners", unique(bib), sums = Runner::SUMS] [
    #[row(by_number, key = "BIB:{bib:05}")]
    #[row(sexes, key = "SEX:{sex}__{bib:05}")]
    #[row(newest, key = "DAY:{newest}__{bib:05}", include(age))]
    #[row(by_age, partition = "A:{age}", key = "AGE:{bib:05}__{race}", eventual)]
    #[component(newest = asc(day))]
] [F, M]);
version!(sometimes: [name = "runners", unique(bib), sums = Runner::SUMS] [
    #[row(by_bib, key = "BIB:{bib:05}")]
    #[row(by_sex, key = "SEX:{sex}__{bib:05}", when = Runner::is_old)]
    #[row(by_day, key = "DAY:{newest}__{bib:05}", include(age))]
    #[row(by_age, partition = "A:{age}", key = "AGE:{bib:05}__{race}", eventual)]
    #[component(newest = desc(day))]
] [F, M]);

type Lock = fn(SchemaLock) -> SchemaLock;

/// A folder with the lock of the first version.
fn locked() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    first::lock(at(folder.path())).update().check().unwrap();
    first::lock(at(folder.path())).check().unwrap();
    folder
}

fn at(folder: &Path) -> SchemaLock {
    SchemaLock::new(folder.join("tables.lock"))
}

fn text(folder: &Path) -> String {
    fs::read_to_string(folder.join("tables.lock")).unwrap()
}

/// Checks that these changes are refused, and leave the file as it was.
fn refused(version: Lock, reads: Reads, phrases: &[&str]) {
    refused_in(&locked(), version, reads, phrases);
}

fn refused_in(folder: &tempfile::TempDir, version: Lock, reads: Reads, phrases: &[&str]) {
    let before = text(folder.path());
    for lock in [version(at(folder.path())), version(at(folder.path())).update()] {
        let error = lock.check().unwrap_err();
        let LockError::Breaking { changes, .. } = &error else { panic!("{error}") };
        assert!(changes.iter().any(|change| change.reads == reads), "{error}");
        for phrase in phrases {
            assert!(error.to_string().contains(phrase), "no {phrase:?} in: {error}");
        }
    }
    assert_eq!(text(folder.path()), before);
}

/// Checks that these changes are written when asked to, and that rows of the first version stay in the lock.
fn accepted(version: Lock, phrases: &[&str]) {
    let folder = locked();
    let before = text(folder.path());
    let error = version(at(folder.path())).check().unwrap_err();
    let LockError::Outdated { .. } = &error else { panic!("{error}") };
    assert!(error.to_string().contains("TABLE_ORM_LOCK=update cargo test"), "{error}");
    for phrase in phrases {
        assert!(error.to_string().contains(phrase), "no {phrase:?} in: {error}");
    }
    assert_eq!(text(folder.path()), before);
    version(at(folder.path())).update().check().unwrap();
    version(at(folder.path())).check().unwrap();
    let after = text(folder.path());
    let rows = before.lines().filter(|line| line.contains("{\"PartitionKey\""));
    for row in rows {
        assert!(after.contains(row), "no {row} in {after}");
    }
}

#[test]
fn a_lock_names_all_that_rows_depend_on() {
    let text = text(locked().path());
    let shown: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    for line in [
        "entity Runner",
        "    table: runners",
        "    component race: text",
        "  row by_sex",
        "    template: SEX:{sex}__{bib:05}",
        "    component sex: code \"F\" \"M\"",
        "    stores: Age",
        "    place: A:{age} on runners",
        "  unique bib",
        "    scope: one partition",
        "  property Name",
        "    limit: 20 UTF-16 units",
        "    in every row: no",
        "  sum ages",
    ] {
        assert!(shown.contains(&line), "no {line:?} in {text}");
    }
    assert!(
        text.contains("    by_age: {\"PartitionKey\":\"A:30\",\"RowKey\":\"AGE:00007__Boston\"")
    );
}

#[test]
fn a_lock_that_is_absent_or_damaged_fails_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let error = first::lock(at(folder.path())).check().unwrap_err();
    assert!(matches!(error, LockError::Absent { .. }), "{error}");
    fs::write(folder.path().join("tables.lock"), "# text\n\nentity A\nrow b\n").unwrap();
    let error = first::lock(at(folder.path())).check().unwrap_err();
    assert!(matches!(error, LockError::Malformed { line: 4, .. }), "{error}");
    let error = first::lock(renamed::lock(at(folder.path()))).check().unwrap_err();
    assert!(matches!(error, LockError::SameName(_)), "{error}");
}

#[test]
fn a_lock_with_other_line_ends_is_the_same_lock() {
    let folder = locked();
    let text = text(folder.path()).replace('\n', "\r\n");
    fs::write(folder.path().join("tables.lock"), &text).unwrap();
    first::lock(at(folder.path())).check().unwrap();
    first::lock(at(folder.path())).update().check().unwrap();
    assert_eq!(self::text(folder.path()), text, "nothing has changed");
    refused_in(&folder, renamed::lock, Reads::NotAll, &["alias"]);
}

#[test]
fn a_lock_says_what_it_lacks_where_rows_stay_as_they_are() {
    refused(other_sample::lock, Reads::Unknown, &["property Name", "give it keys of its own"]);
    accepted(other_order::lock, &["another order"]);
}

#[test]
fn a_type_that_is_not_checked_any_more_is_refused() {
    let folder = locked();
    let error = at(folder.path()).update().check().unwrap_err();
    assert!(error.to_string().contains("not checked any more"), "{error}");
}

#[test]
fn a_property_is_renamed_by_an_alias_only() {
    refused(
        renamed::lock,
        Reads::NotAll,
        &["`Title` of `Runner`", "alias", "no property Name any more"],
    );
    accepted(aliased::lock, &["new property Title", "rewrite"]);
    // What holds for the values holds under another name, too.
    refused(aliased_and_shorter::lock, Reads::All, &["limit of property Name", "keep the limit"]);
    refused(
        aliased_and_required::lock,
        Reads::NotAll,
        &["in every row of property City", "default"],
    );
    refused(two_in_one::lock, Reads::All, &["properties `City`, `Name` are one now", "alias"]);
}

#[test]
fn a_property_is_not_lost() {
    refused(optional_lost::lock, Reads::All, &["no property City any more", "alias", "flatten"]);
}

#[test]
fn a_new_property_may_be_absent() {
    accepted(more_optional::lock, &["new property Club", "new property Paid"]);
    refused(more_required::lock, Reads::NotAll, &["new property Paid", "default"]);
    refused(optional_required::lock, Reads::NotAll, &["in every row of property City", "default"]);
}

#[test]
fn a_property_keeps_a_type_that_reads_stored_values() {
    accepted(wider_number::lock, &["`Edm.Int32` is now `Edm.Int64`", "rewrite"]);
    refused(number_as_text::lock, Reads::NotAll, &["property `Score`", "keep its type"]);
}

#[test]
fn a_limit_may_only_be_raised() {
    accepted(
        longer_name::lock,
        &["limit of property Name: `20 UTF-16 units` is now `40 UTF-16 units`"],
    );
    refused(
        shorter_name::lock,
        Reads::All,
        &["limit of property Name: `20 UTF-16 units` is now `10 UTF-16 units`"],
    );
}

#[test]
fn a_table_and_a_kind_stay() {
    refused(other_table::lock, Reads::NotAll, &["`runners` is now `racers`", "new table"]);
    refused(marked::lock, Reads::NotAll, &["kind of keys of the partition", "new table"]);
}

#[test]
fn keys_stay() {
    let canonical = ["template of row by_bib", "`5 digits` is now `6 digits`", "new table"];
    refused(wider_bib::lock, Reads::NotAll, &canonical);
    let others = [
        "`SEX:{sex}__{bib:05}` is now `S:{sex}__{bib:05}`",
        "place of row by_age",
        "drop_eventual_row",
    ];
    refused(other_keys::lock, Reads::NotAll, &others);
    refused(oldest_first::lock, Reads::NotAll, &["keys of row by_day", "drop_eventual_row"]);
    // The names of rows are not stored.
    refused(renamed_and_reversed::lock, Reads::NotAll, &["keys of row by_day"]);
    refused(
        sometimes::lock,
        Reads::NotAll,
        &["keys of row by_sex", "not written any more", "repair"],
    );
}

#[test]
fn codes_stay_and_more_may_come() {
    refused(
        other_code::lock,
        Reads::NotAll,
        &["component sex of row by_sex", "\"F\" \"M\"", "\"W\""],
    );
    accepted(another_code::lock, &["component sex of row by_sex"]);
}

#[test]
fn a_unique_value_keeps_its_scope() {
    refused(
        other_unique::lock,
        Reads::All,
        &["`one partition` is now `all partitions`", "backfill"],
    );
}

#[test]
fn rows_come_and_go_with_what_has_to_be_done() {
    accepted(
        other_rows::lock,
        &[
            "no row by_sex any more",
            "drop_row",
            "new row by_name",
            "new unique name",
            "backfill",
            "stores of row by_day: `Age` is now `Age, Name`",
            "`verify`, then `repair`",
            "no sum ages any more",
        ],
    );
}

#[test]
fn a_ring_keeps_its_periods_and_its_stamps() {
    /// A type with a series of this type, as it is locked.
    macro_rules! load {
        ($name:ident: $series:ty) => {
            fn $name(lock: SchemaLock) -> SchemaLock {
                #[derive(Debug, Clone, TableEntity)]
                #[table(name = "loads", partition = "{server}", row = "LOAD")]
                struct Load {
                    server: String,
                    #[table(series)]
                    used: $series,
                }
                lock.with([Load { server: "a".to_owned(), used: <$series>::default() }])
            }
        };
    }
    load!(minutes: Ring<f64, 8, Minutes>);
    load!(hours: Ring<f64, 8, Hours>);
    load!(numbered: Ring<f64, 8, Numbered>);
    load!(plain: [Option<f64>; 8]);
    let changed = |first: Lock, second: Lock| {
        let folder = tempfile::tempdir().unwrap();
        first(at(folder.path())).update().check().unwrap();
        second(at(folder.path())).check().map_err(|error| error.to_string())
    };
    changed(minutes, minutes).unwrap();
    let error = changed(minutes, hours).unwrap_err();
    assert!(error.contains("period") && error.contains("`60 s` is now `3600 s`"), "{error}");
    // Numbers are no periods of a length.
    assert!(changed(minutes, numbered).unwrap_err().contains("`60 s` is now none"));
    assert!(changed(numbered, minutes).unwrap_err().contains("none is now `60 s`"));
    for (first, second) in [(minutes as Lock, plain as Lock), (plain, minutes)] {
        let error = changed(first, second).unwrap_err();
        assert!(error.contains("stamps") && error.contains("another name"), "{error}");
    }
}

#[test]
fn a_property_that_a_copy_has_under_its_former_name_needs_a_rewrite_and_no_repair() {
    macro_rules! visit {
        ($name:ident, $field:ident, [$($alias:tt)*]) => {
            mod $name {
                use table_orm::TableEntity;
                #[derive(Debug, Clone, TableEntity)]
                #[table(name = "visits", partition = "{clinic}")]
                #[row(by_id, key = "ID:{id:05}")]
                #[row(by_day, key = "DAY:{day:05}__{id:05}", include(day, $field))]
                pub struct Visit {
                    pub clinic: String,
                    pub id: u32,
                    pub day: u32,
                    #[table($($alias)*)]
                    pub $field: String,
                }
                pub fn visit() -> Visit {
                    Visit { clinic: "c".into(), id: 1, day: 2, $field: "r".into() }
                }
            }
        };
    }
    visit!(before, room, [max_len = 20]);
    visit!(after, place, [max_len = 20, alias = "Room"]);
    let folder = tempfile::tempdir().unwrap();
    let lock = || SchemaLock::new(folder.path().join("tables.lock"));
    lock().with([before::visit()]).update().check().unwrap();
    let outdated = lock().with([after::visit()]).check().unwrap_err();
    let LockError::Outdated { changes, .. } = &outdated else { panic!("{outdated}") };
    let of_row = changes.iter().find(|change| change.what.contains("row by_day")).unwrap();
    assert!(of_row.remedy.contains("`rewrite`") && !of_row.remedy.contains("`repair`"), "{of_row}");
}

#[test]
fn another_encoder_that_writes_texts_of_the_same_shape_is_refused() {
    macro_rules! player {
        ($($name:ident: $share:expr, $mail:expr, $order:expr;)*) => {$(
            mod $name {
                use table_orm::TableEntity;
                #[derive(Debug, Clone, TableEntity)]
                #[table(name = "players", partition = "{share}", row = "ID:{id:05}", unique(name))]
                #[row(by_score, key = "SCORE:{order}__{id:05}")]
                #[component(share = $share, name = $mail, order = $order)]
                pub struct Player {
                    pub id: u32,
                    pub mail: String,
                    pub score: u32,
                }
                #[allow(dead_code)]
                fn same(player: &Player) -> String {
                    player.mail.clone()
                }
                pub fn lock(lock: super::SchemaLock) -> super::SchemaLock {
                    lock.with([Player { id: 7, mail: "ann@x.org".into(), score: u32::MAX / 2 }])
                }
            }
        )*};
    }
    player! {
        first: shard(id, 16), lower(mail), desc(score);
        more_shards: shard(id, 32), lower(mail), desc(score);
        case_matters: shard(id, 16), with(same), desc(score);
        other_way_round: shard(id, 16), lower(mail), asc(score);
    }
    let folder = tempfile::tempdir().unwrap();
    let at = || SchemaLock::new(folder.path().join("tables.lock"));
    first::lock(at()).update().check().unwrap();
    first::lock(at()).check().unwrap();
    for (changed, reads, said) in [
        (
            more_shards::lock as Lock,
            Reads::NotAll,
            "encoder share of keys of the partition: `shard of 16` is now `shard of 32`",
        ),
        (case_matters::lock, Reads::All, "encoder name of unique name: `lower case` is now"),
        (
            other_way_round::lock,
            Reads::NotAll,
            "encoder order of row by_score: `descending` is now `ascending`",
        ),
    ] {
        refused_in(&folder, changed, reads, &[said]);
    }
    let error = more_shards::lock(at()).check().unwrap_err().to_string();
    assert!(error.contains("`migrate_from`"), "{error}");

    // A lock of an earlier version has no encoders: they are added.
    let path = folder.path().join("tables.lock");
    let whole = fs::read_to_string(&path).unwrap();
    let earlier: String = whole
        .lines()
        .filter(|line| !line.contains("  encoder "))
        .flat_map(|line| [line, "\n"])
        .collect();
    fs::write(&path, &earlier).unwrap();
    let outdated = first::lock(at()).check().unwrap_err();
    assert!(matches!(outdated, LockError::Outdated { .. }), "{outdated}");
    first::lock(at()).update().check().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), whole);
}

#[test]
fn a_value_of_all_partitions_that_is_taken_under_another_key_is_refused() {
    macro_rules! member {
        ($($name:ident: $mail:literal;)*) => {$(
            mod $name {
                use table_orm::TableEntity;
                use table_orm::schema_lock::SchemaLock;

                #[derive(Debug, TableEntity)]
                #[table(name = "members", partition = "{club}", row = "M:{id:05}", unique(login, across))]
                #[component(login = with(login))]
                struct Member {
                    club: String,
                    id: u32,
                    mail: String,
                }

                fn login(member: &Member) -> String {
                    format!($mail, member.mail)
                }

                pub fn lock(lock: SchemaLock) -> SchemaLock {
                    lock.with([Member { club: "A".into(), id: 7, mail: "ann@x.org".into() }])
                }
            }
        )*};
    }
    member! {
        first: "{}";
        other: "mail {}";
    }
    let folder = tempfile::tempdir().unwrap();
    let at = || SchemaLock::new(folder.path().join("tables.lock"));
    first::lock(at()).update().check().unwrap();
    first::lock(at()).check().unwrap();
    // A lock of an earlier version does not say it: it is added where the sample is.
    let path = folder.path().join("tables.lock");
    let whole = fs::read_to_string(&path).unwrap();
    let earlier: String = whole
        .lines()
        .filter(|line| !line.starts_with("    takes "))
        .flat_map(|line| [line, "\n"])
        .collect();
    assert_ne!(earlier, whole);
    fs::write(&path, &earlier).unwrap();
    let outdated = first::lock(at()).check().unwrap_err();
    assert!(matches!(outdated, LockError::Outdated { .. }), "{outdated}");
    first::lock(at()).update().check().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), whole);
    let said = "unique login: a stored sample has it as \"UNQ:login:ann@x.org\", and as \"UNQ:login:mail ann@x.org\" now";
    refused_in(&folder, other::lock as Lock, Reads::All, &[said]);
}
