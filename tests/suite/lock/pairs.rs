//! A lock compares every two of its types that share a table, whether or not `shares_table!` names them.

use table_orm::schema_lock::{LockError, SchemaLock};
use table_orm::{Sum, TableEntity};

#[derive(Debug, Clone, TableEntity)]
#[table(name = "documents", partition = "{folder}", row = "DOC:{name}", sums = Document::SUMS)]
struct Document {
    folder: String,
    name: String,
}

impl Document {
    const SUMS: &'static [Sum<Self>] = &[Sum::count("all")];
}

#[derive(Debug, Clone, TableEntity)]
#[table(name = "Documents", partition = "{folder}", row = "DOC:{name}__REV:{revision:03}")]
struct Revision {
    folder: String,
    name: String,
    revision: u16,
}

#[derive(Debug, Clone, TableEntity)]
#[table(name = "documents", partition = "{folder}", row = "NOTE:{name}", sums = Self::SUMS)]
struct Note {
    folder: String,
    name: String,
}

impl Note {
    const SUMS: &'static [Sum<Self>] = &[Sum::count("notes"), Sum::count("all")];
}

#[derive(Debug, Clone, TableEntity)]
#[table(name = "emails", partition = "{name}", row = "DOC:{folder}")]
struct Email {
    folder: String,
    name: String,
}

fn texts() -> (String, String) {
    ("folder".to_owned(), "name".to_owned())
}

#[test]
fn a_lock_refuses_two_types_of_a_table_whose_rows_are_alike() {
    let (folder, name) = texts();
    let document = [Document { folder, name }];
    let (folder, name) = texts();
    let revision = [Revision { folder, name, revision: 1 }];
    let (folder, name) = texts();
    let note = [Note { folder, name }];
    let (folder, name) = texts();
    let email = [Email { folder, name }];

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tables.lock");
    let lock = || SchemaLock::new(&path).with(email.clone()).update();
    let alike = |lock: SchemaLock| match lock.check() {
        Err(error @ LockError::Alike { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let keys = alike(lock().with(document.clone()).with(revision.clone()));
    assert!(keys.starts_with("`Document` and `Revision` share a table: a RowKey can be"), "{keys}");
    let sums = alike(lock().with(note.clone()).with(document.clone()));
    assert!(sums.contains("a sum of the same name"), "{sums}");
    assert!(!path.exists());
    lock().with(note).with(revision).check().unwrap();
    assert!(path.exists());
}
