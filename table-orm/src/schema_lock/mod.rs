//! The schemas of an app's types in a file, which a test checks.
//!
//! Stored rows outlive the types that wrote them. A [`SchemaLock`] keeps what rows the types store in a text
//! file of the repository, with sample rows. A test then fails when a change of a type would no longer read
//! them, and says what to do.
//!
//! Invariants:
//! - A change that stored rows do not survive is never written to the file.
//! - The sample rows of every version in the file are read by the types as they are now.
//! - No row of one of the types can be taken for a row of another.

mod change;
mod compare;
mod describe;
mod error;
mod former_row;
mod keys;
mod profile;
mod samples;
mod text;

pub use change::{Reads, SchemaChange};
pub use error::LockError;
pub use profile::LockedTypeError;

use crate::entity::{EntityRows, ReadRow as _, TableEntity, TableUnion, UnionMember};
use crate::migrate::{Migrates, is_held};
use change::breaking;
use std::path::PathBuf;
use std::{env, fs, io};
use text::{Entity, Item};

/// What a test compares with its file: types, and the file's path.
///
/// ```
/// use table_orm::TableEntity;
/// use table_orm::schema_lock::SchemaLock;
///
/// #[derive(TableEntity)]
/// #[table(name = "runners", partition = "{race}", row = "BIB:{bib:05}")]
/// struct Runner { race: String, bib: u32, name: Option<String> }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tables.lock");
/// let ann = || Runner { race: "Boston".into(), bib: 7, name: Some("Ann".into()) };
/// // `TABLE_ORM_LOCK=update cargo test` does the same as `update`.
/// SchemaLock::new(&path).with([ann()]).update().check()?;
/// SchemaLock::new(&path).with([ann()]).check()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is checked until `check`"]
#[derive(Debug)]
pub struct SchemaLock {
    path: PathBuf,
    types: Vec<Type>,
    update: bool,
    /// The first sample that no store would take.
    fault: Option<LockError>,
}

/// A type as it is now.
#[derive(Debug)]
struct Type {
    entity: Entity,
    /// Reads sample rows of earlier versions, and compares them with those of now.
    read: fn(&Item, &Item) -> samples::Read,
    /// What distinguishes its rows from those of other types; `None` for a union.
    member: Option<UnionMember>,
    /// The name of its old form, while entities are stored in both.
    old_form: Option<String>,
}

impl SchemaLock {
    /// A check of the file at that path, such as `tables.lock`. Tests run in the folder of their package. The
    /// file is written where the environment has `TABLE_ORM_LOCK=update`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let update = env::var_os("TABLE_ORM_LOCK").is_some_and(|value| value == "update");
        Self { path: path.into(), types: Vec::new(), update, fault: None }
    }

    /// Adds the type of the samples. Their rows are kept in the file, and must be read by each later version.
    /// Give samples with values in every field, with `None` where a field has an `Option`, and with each code
    /// of an enum, best each sample under keys of its own.
    pub fn with<E: TableEntity>(mut self, samples: impl IntoIterator<Item = E>) -> Self {
        if E::MIGRATES {
            self.fault = self.fault.or(Some(LockError::OldFormMissing(E::NAME)));
            return self;
        }
        self.add(E::NAME, &Vec::from_iter(samples), None)
    }

    /// Adds a type with `migrate_from`, and its old form, while entities are stored in both.
    ///
    /// The samples of the old form are those that are the same after they are converted to it and back: clients that still
    /// insert the old form refuse to write the others. Give one at least.
    ///
    /// The lock may still have the type under its name with the keys of the old form: these are kept as those of the old
    /// form. When the migration has ended, add the type by [`with`](Self::with), and the lock forgets the old form.
    ///
    /// ```
    /// use table_orm::TableEntity;
    /// use table_orm::schema_lock::SchemaLock;
    ///
    /// #[derive(Debug, Clone, TableEntity)]
    /// #[table(name = "seats", partition = "{hall}", row = "S:{n:03}")]
    /// struct SeatV1 { hall: String, n: u32 }
    ///
    /// #[derive(Debug, Clone, TableEntity)]
    /// #[table(name = "seats", partition = "{hall}", row = "SEAT:{n:08}", migrate_from = SeatV1)]
    /// struct Seat { hall: String, n: u32 }
    /// # impl From<SeatV1> for Seat { fn from(SeatV1 { hall, n }: SeatV1) -> Self { Self { hall, n } } }
    /// # impl From<Seat> for SeatV1 { fn from(Seat { hall, n }: Seat) -> Self { Self { hall, n } } }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("tables.lock");
    /// let seat = Seat { hall: "a".into(), n: 7 };
    /// SchemaLock::new(&path).with_migrating([seat]).update().check()?;
    /// assert!(std::fs::read_to_string(&path)?.contains("    migrates from: SeatV1\n"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_migrating<E: Migrates>(mut self, samples: impl IntoIterator<Item = E>) -> Self {
        let samples = Vec::from_iter(samples);
        // What cannot be stored is an error of the sample.
        let is_held = |sample: &&E| {
            let rows = EntityRows::of(*sample);
            rows.and_then(|rows| is_held(*sample, &rows)).unwrap_or(true)
        };
        let old: Vec<_> = samples.iter().filter(is_held).cloned().map(E::Old::from).collect();
        if old.is_empty() && !samples.is_empty() {
            self.fault = self.fault.or(Some(LockError::Lossy(E::NAME)));
        }
        let old_form = match <E::Old>::NAME {
            // Of a module of its own.
            name if name == E::NAME => format!("{name} before"),
            name => name.to_owned(),
        };
        self.add(E::NAME, &samples, Some(old_form.clone())).add(&old_form, &old, None)
    }

    fn add<E: TableEntity>(mut self, name: &str, samples: &[E], old_form: Option<String>) -> Self {
        let stored = samples::stored(samples);
        let described = stored.and_then(|stored| {
            samples::check_keys::<E>(&stored)?;
            let mut entity = describe::entity(name, samples, old_form.as_deref())?;
            entity.items.push(stored);
            Ok(entity)
        });
        match described {
            Ok(entity) => {
                let (read, member) = (samples::read::<E>, Some(UnionMember::of::<E>()));
                self.types.push(Type { entity, read, member, old_form });
            }
            Err(fault) => self.fault = self.fault.or(Some(fault)),
        }
        self
    }

    /// Adds a union: which types it reads. A variant that is removed fails the check, because queries of the union
    /// leave out rows of other types. Add the types of its variants by [`with`](Self::with).
    ///
    /// ```
    /// use table_orm::schema_lock::SchemaLock;
    /// use table_orm::{TableEntity, TableUnion};
    ///
    /// #[derive(TableEntity)]
    /// #[table(name = "orders", partition = "{order}", row = "HEAD")]
    /// struct Head { order: String }
    ///
    /// #[derive(TableEntity)]
    /// #[table(name = "orders", partition = "{order}", row = "LINE:{number:03}")]
    /// struct Line { order: String, number: u32 }
    ///
    /// #[derive(TableUnion)]
    /// enum Part { Head(Head), Line(Line) }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("tables.lock");
    /// let lock = SchemaLock::new(&path)
    ///     .with([Head { order: "A1".into() }])
    ///     .with([Line { order: "A1".into(), number: 1 }])
    ///     .with_union::<Part>();
    /// lock.update().check()?;
    /// assert!(std::fs::read_to_string(&path)?.contains("    member: Line\n"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_union<U: TableUnion>(mut self) -> Self {
        let (entity, read) =
            (describe::union::<U>(), |_: &Item, _: &Item| samples::Read::default());
        self.types.push(Type { entity, read, member: None, old_form: None });
        self
    }

    /// Writes the file, unless stored rows would no longer be read.
    pub const fn update(mut self) -> Self {
        self.update = true;
        self
    }

    /// Compares the types with the file.
    ///
    /// # Errors
    /// - [`LockError::Alike`] when two of the types share a table, and a row of one can be taken for one of the other.
    /// - [`LockError::Breaking`] when stored rows would no longer be read, or values be lost, or when a sample differs
    ///   from a stored one of its keys.
    /// - [`LockError::Outdated`] when the file lacks a change that stored rows survive, and `update` was not
    ///   called.
    /// - [`LockError::Absent`] when there is no file, and `update` was not called.
    /// - Other errors when the file cannot be read or written, a sample cannot be stored, or two have the same keys.
    pub fn check(self) -> Result<(), LockError> {
        let Self { path, mut types, update, fault } = self;
        fault.map_or(Ok(()), Err)?;
        types.sort_by(|left, right| left.entity.name.cmp(&right.entity.name));
        if let Some(pair) = types.windows(2).find(|pair| pair[0].entity.name == pair[1].entity.name)
        {
            return Err(LockError::SameName(pair[0].entity.name.clone()));
        }
        compare_pairs(&types)?;
        let locked = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(LockError::Io { path, error }),
        };
        if locked.is_none() && !update {
            return Err(LockError::Absent { path });
        }
        let before = text::parse(locked.as_deref().unwrap_or_default())
            .map_err(|line| LockError::Malformed { path: path.clone(), line })?;
        let (now, changes) = compare::all(&before, types);
        if changes.iter().any(breaking) {
            let changes = changes.into_iter().filter(breaking).collect();
            return Err(LockError::Breaking { path, changes });
        }
        if locked.is_some() && changes.is_empty() {
            return Ok(());
        }
        if !update {
            return Err(LockError::Outdated { path, changes });
        }
        fs::write(&path, text::write(&now)).map_err(|error| LockError::Io { path, error })
    }
}

/// Compares every two types of one table, as `shares_table!` does those that it names. `migrate_from` compares the two
/// forms of a type.
fn compare_pairs(types: &[Type]) -> Result<(), LockError> {
    let is_old_form = |one: &Type, of: &Type| of.old_form.as_ref() == Some(&one.entity.name);
    for (at, one) in types.iter().enumerate() {
        let others = types[..at].iter();
        let others = others.filter(|other| !(is_old_form(one, other) || is_old_form(other, one)));
        for (member, other) in others.filter_map(|other| one.member.zip(other.member)) {
            let reason = match member.shared_helpers(&other) {
                _ if !member.shares_any_table(&other) => continue,
                Some(reason) => reason,
                None if member.has_other_keys(&other) => continue,
                None => KEYS,
            };
            return Err(LockError::Alike { types: [other.entity, member.entity], reason });
        }
    }
    Ok(())
}

const KEYS: &str = "a RowKey can be that of a row of both, so one would be taken for the other; start the rows of each with \
                    a different literal, or mark both types with a `kind` of their own";
