//! A lock knows the codes of enums in properties, and the types that a union reads.

use std::fs;
use std::path::Path;
use table_orm::schema_lock::{LockError, SchemaLock};

/// A note with a state, and the union that reads it beside what else the version has.
macro_rules! version {
    ($name:ident: [$($code:ident)*] [$($member:ident)*]) => {
        mod $name {
            use table_orm::schema_lock::SchemaLock;
            use table_orm::{KeyPart, TableEntity, TableUnion};

            #[derive(Debug, Clone, Copy, KeyPart)]
            pub enum State { $($code),* }

            #[derive(Debug, Clone, Copy, KeyPart)]
            pub struct Status(State);

            #[derive(Debug, Clone, TableEntity)]
            #[table(name = "papers", partition = "{folder}", row = "NOTE:{id:05}")]
            pub struct Note {
                folder: String,
                id: u32,
                state: Option<State>,
                status: Status,
                #[table(series)] past: Vec<State>,
            }

            #[derive(Debug, Clone, TableEntity)]
            #[table(name = "papers", partition = "{folder}", row = "MEMO:{id:05}")]
            pub struct Memo { folder: String, id: u32 }

            #[derive(Debug, Clone, TableEntity)]
            #[table(name = "papers", partition = "{folder}", row = "PLAN:{id:05}")]
            pub struct Plan { folder: String, id: u32 }

            #[derive(Debug, TableUnion)]
            #[allow(dead_code)]
            pub enum Paper { $($member($member)),* }

            pub fn lock(lock: SchemaLock) -> SchemaLock {
                let (folder, id, state) = ("f".to_owned(), 1, State::Open);
                let note = Note { folder, id, state: Some(state), status: Status(state), past: vec![state] };
                let unset = Note { state: None, past: Vec::new(), ..note.clone() };
                lock.with([note, unset])
                    .with([Memo { folder: "f".into(), id }])
                    .with([Plan { folder: "f".into(), id }])
                    .with_union::<Paper>()
            }
        }
    };
}

version!(first: [Open Done] [Note Memo]);
version!(more: [Open Done Lost] [Note Memo Plan]);
version!(fewer_codes: [Open] [Note Memo]);
version!(fewer_types: [Open Done] [Note Plan]);

type Lock = fn(SchemaLock) -> SchemaLock;

fn at(folder: &Path) -> SchemaLock {
    SchemaLock::new(folder.join("tables.lock"))
}

/// A folder with the lock of the first version.
fn locked() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    first::lock(at(folder.path())).update().check().unwrap();
    folder
}

fn text(folder: &Path) -> String {
    fs::read_to_string(folder.join("tables.lock")).unwrap()
}

#[test]
fn a_lock_names_the_codes_of_properties_and_the_types_of_unions() {
    let text = text(locked().path());
    assert_eq!(text.matches("    codes: code \"Open\" \"Done\"\n").count(), 3, "{text}");
    let union = "\nunion Paper\n  union of types\n    member: Note\n    member: Memo\n";
    assert!(text.contains(union), "{text}");
    first::lock(at(locked().path())).check().unwrap();
}

/// Checks that a change is refused, though no sample has what it removes.
fn refused(version: Lock, phrases: &[&str]) {
    let folder = locked();
    let before = text(folder.path());
    let error = version(at(folder.path())).update().check().unwrap_err();
    let LockError::Breaking { .. } = &error else { panic!("{error}") };
    for phrase in phrases {
        assert!(error.to_string().contains(phrase), "no {phrase:?} in: {error}");
    }
    assert_eq!(text(folder.path()), before);
}

#[test]
fn a_code_that_a_property_may_store_stays() {
    refused(
        fewer_codes::lock,
        &[
            "codes of property State: `code \"Open\" \"Done\"` is now `code \"Open\"`",
            "codes of property Status",
            "codes of property Past",
            "NOT read",
            "keep the variant of each code",
        ],
    );
}

#[test]
fn a_type_that_a_union_reads_stays() {
    refused(
        fewer_types::lock,
        &[
            "`Paper`: member of union of types: `Note`, `Memo` is now `Note`, `Plan`",
            "leave out rows of other types",
        ],
    );
    let folder = locked();
    let error = at(folder.path()).update().check().unwrap_err();
    assert!(error.to_string().contains("`Paper`: the type is not checked any more"), "{error}");
}

#[test]
fn codes_and_types_may_be_added() {
    let folder = locked();
    let error = more::lock(at(folder.path())).check().unwrap_err();
    assert!(matches!(error, LockError::Outdated { .. }), "{error}");
    more::lock(at(folder.path())).update().check().unwrap();
    let text = text(folder.path());
    assert!(text.contains("\"Open\" \"Done\" \"Lost\"") && text.contains("member: Plan"), "{text}");
}

#[test]
fn a_lock_from_before_codes_were_in_it_is_brought_up_to_date() {
    let folder = locked();
    let old = text(folder.path());
    let without: String = old
        .lines()
        .filter(|line| !line.contains("codes:"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(folder.path().join("tables.lock"), without).unwrap();
    let error = first::lock(at(folder.path())).check().unwrap_err();
    assert!(matches!(error, LockError::Outdated { .. }), "{error}");
    first::lock(at(folder.path())).update().check().unwrap();
    assert_eq!(text(folder.path()), old);
}
