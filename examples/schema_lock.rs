//! A lock for the schema: a test compares the types with a file, and says what stored rows would not survive.

use table_orm::TableEntity;
use table_orm::schema_lock::{LockError, SchemaLock};

/// A version of a type.
macro_rules! version {
    ($version:ident, $(#[$attr:meta])* $field:ident) => {
        mod $version {
            #[derive(table_orm::TableEntity)]
            #[table(name = "runners", partition = "{race}", row = "BIB:{bib:05}")]
            pub struct Runner {
                race: String,
                bib: u32,
                $(#[$attr])* $field: String,
            }

            /// A sample. Give one with each code, and with `None` in optional fields.
            pub fn ann() -> Runner {
                Runner { race: "Boston".into(), bib: 7, $field: "Ann".into() }
            }
        }
    };
}

version!(first, name);
version!(renamed, full_name);
version! { with_alias, #[table(alias = "Name")] full_name }

fn verdict(checked: &Result<(), LockError>) -> &'static str {
    match checked {
        Ok(()) => "the types are as the file says",
        Err(LockError::Absent { .. }) => "there is no file yet",
        Err(LockError::Outdated { .. }) => {
            "stored rows stay readable: update the file, and review it"
        }
        Err(LockError::Breaking { .. }) => "refused: stored rows would not be read",
        Err(_) => "the file cannot be used",
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let lock = || SchemaLock::new(folder.path().join("tables.lock"));
    fn check<E: TableEntity>(lock: SchemaLock, sample: E) {
        println!("{}", verdict(&lock.with([sample]).check()));
    }
    // In an app, this is one test, and `TABLE_ORM_LOCK=update cargo test` is the update.
    check(lock(), first::ann());
    lock().with([first::ann()]).update().check()?;
    check(lock(), first::ann());
    check(lock(), renamed::ann());
    check(lock(), with_alias::ann());
    Ok(())
}
// Prints:
// there is no file yet
// the types are as the file says
// refused: stored rows would not be read
// stored rows stay readable: update the file, and review it
