//! A lock finds what two names or two codes hide that have changed places.

use std::path::Path;
use table_orm::schema_lock::{LockError, Reads, SchemaChange, SchemaLock};

/// An invoice whose two states have these codes, and whose two texts have these names.
macro_rules! version {
    ($name:ident: $open:literal $paid:literal, $first:literal $last:literal) => {
        mod $name {
            use table_orm::{KeyPart, TableEntity};

            #[derive(Debug, Clone, Copy, KeyPart)]
            pub enum State {
                #[key($open)]
                Open,
                #[key($paid)]
                Paid,
            }

            #[derive(Debug, Clone, TableEntity)]
            #[table(name = "invoices", partition = "{customer}", row = "{number:03}")]
            pub struct Invoice {
                pub customer: String,
                pub number: u16,
                pub state: State,
                #[table(rename = $first)]
                pub first: String,
                #[table(rename = $last)]
                pub last: String,
            }

            pub fn sample(number: u16, state: State) -> Invoice {
                let (first, last) = ("Ann".to_owned(), "Lee".to_owned());
                Invoice { customer: "acme".to_owned(), number, state, first, last }
            }

            pub fn samples() -> [Invoice; 2] {
                [sample(1, State::Open), sample(2, State::Paid)]
            }
        }
    };
}

version!(first: "O" "P", "First" "Last");
version!(swapped_codes: "P" "O", "First" "Last");
version!(swapped_names: "O" "P", "Last" "First");

fn at(folder: &Path) -> SchemaLock {
    SchemaLock::new(folder.join("tables.lock"))
}

fn locked() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    at(folder.path()).with(first::samples()).update().check().unwrap();
    folder
}

/// The changes for which an update is refused, which leaves the file as it was.
fn refused(lock: SchemaLock, folder: &Path) -> Vec<SchemaChange> {
    let text = || std::fs::read_to_string(folder.join("tables.lock")).unwrap();
    let before = text();
    let error = lock.update().check().unwrap_err();
    assert!(error.to_string().contains("give it keys of its own"), "{error}");
    let LockError::Breaking { changes, .. } = error else { panic!("{error}") };
    assert_eq!(text(), before);
    changes
}

#[test]
fn two_variants_that_swap_their_codes_are_found() {
    let folder = locked();
    let lock = at(folder.path()).with(swapped_codes::samples());
    let changes = refused(lock, folder.path());
    assert!(changes.iter().all(|change| change.reads == Reads::Unknown), "{changes:?}");
    let found: Vec<_> = changes.iter().map(|change| &*change.what).collect();
    assert_eq!(
        found,
        [
            r#"property State: the sample "acme" / "001" stored 'O', and stores 'P' now"#,
            r#"property State: the sample "acme" / "002" stored 'P', and stores 'O' now"#,
        ]
    );
}

#[test]
fn two_fields_that_swap_their_names_are_found() {
    let folder = locked();
    let changes = refused(at(folder.path()).with(swapped_names::samples()), folder.path());
    let of = |property: &str| changes.iter().filter(|one| one.what.contains(property)).count();
    assert_eq!((of("property First"), of("property Last")), (2, 2), "{changes:?}");
}

#[test]
fn two_samples_of_the_same_keys_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let same = || [1, 1].map(|number| first::sample(number, first::State::Open));
    at(folder.path()).with(same()).update().check().unwrap();
    let both = [first::State::Open, first::State::Paid].map(|state| first::sample(1, state));
    let error = at(folder.path()).with(both).update().check().unwrap_err();
    assert!(matches!(error, LockError::SameKeys { entity: "Invoice", .. }), "{error}");
    let said = r#"the keys "acme" / "001", and different values of the property State"#;
    assert!(error.to_string().contains(said), "{error}");
    let third = first::Invoice { last: "Low".to_owned(), ..first::sample(1, first::State::Open) };
    refused(at(folder.path()).with([third]), folder.path());
}

#[test]
fn a_sample_agrees_with_one_of_those_that_versions_stored_under_its_keys() {
    let folder = locked();
    let path = folder.path().join("tables.lock");
    let text = std::fs::read_to_string(&path).unwrap();
    let line = text.lines().find(|line| line.contains(r#""RowKey":"001""#)).unwrap();
    let newer = line.replace("Ann", "Bob");
    std::fs::write(&path, text.replace(line, &format!("{line}\n{newer}"))).unwrap();
    at(folder.path()).with(first::samples()).check().unwrap();
    let bob = first::Invoice { first: "Bob".to_owned(), ..first::sample(1, first::State::Open) };
    at(folder.path()).with([bob]).check().unwrap();
}

#[test]
fn another_sample_has_keys_of_its_own() {
    let folder = locked();
    let other = || first::sample(3, first::State::Paid);
    let lock = at(folder.path()).with(first::samples().into_iter().chain([other()]));
    let error = lock.check().unwrap_err();
    assert!(matches!(error, LockError::Outdated { .. }), "{error}");
    assert!(error.to_string().contains("lacks some of its samples"), "{error}");
    at(folder.path()).with([other()]).update().check().unwrap();
    let changed = first::Invoice { first: "Bob".to_owned(), ..other() };
    assert_eq!(refused(at(folder.path()).with([changed]), folder.path()).len(), 1);
    // All samples that the file has stay as they are.
    at(folder.path()).with(first::samples()).check().unwrap();
}
