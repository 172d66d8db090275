//! The rows of a page as a checked query reads them: what each says about its entity.

use crate::entity::{
    EventualHead, Loaded, OwnRows, ReadBackError, Row, RowHead, SkipUnreadable, TableEntity,
    canonical, home_key, is_alive, partition_key, read_entity, read_rows, row_key, split_page,
};
use crate::error::Result;
use crate::plan::CanonicalKey;
use bytes::Bytes;

/// A row that was found, and the key of its entity's canonical row.
#[derive(Debug, Clone)]
pub struct FoundRow {
    pub keys: RowHead,
    /// The table of the entity, in a row in another partition that says it.
    pub home_table: Option<String>,
    pub home: CanonicalKey,
}

/// Reads rows in another partition by their keys and the table of their entities alone.
pub fn read_eventual<R: Row>(
    own: &OwnRows,
    page: &[u8],
    skip: Option<&SkipUnreadable>,
    most: usize,
) -> Result<(Vec<FoundRow>, bool)> {
    let (heads, whole) = read_rows::<EventualHead>(own, page, skip, most)?;
    let found = heads.into_iter().filter_map(|EventualHead { keys, home_table }| {
        let home = home_key::<R::Entity>(R::INDEX, &keys.partition_key, &keys.row_key);
        let (partition_key, row_key) = home?;
        Some(FoundRow { keys, home_table, home: CanonicalKey { partition_key, row_key } })
    });
    Ok((found.collect(), whole))
}

/// Reads full copies in the entity's own partition.
pub fn read_copies<R: Row>(
    own: &OwnRows,
    page: &[u8],
    skip: Option<&SkipUnreadable>,
    most: usize,
) -> Result<(Vec<FoundRow>, bool)> {
    read_alive::<R::Entity, _>(own, page, most, |json| {
        let Some((entity, row)) = listed(read_entity::<R, R::Entity>(json, None), skip)? else {
            return Ok(None);
        };
        let home = CanonicalKey {
            row_key: row_key(&entity, canonical::<R::Entity>())?.unwrap_or_default(),
            partition_key: partition_key(&entity)?,
        };
        let (partition_key, row_key) = (row.partition_key.into_owned(), row.row_key.into_owned());
        let keys = RowHead { partition_key, row_key };
        Ok(Some(FoundRow { keys, home_table: None, home }))
    })
}

/// Reads canonical rows. Leaves out those that were moved.
pub fn read_canonical<E: TableEntity>(
    own: &OwnRows,
    page: &[u8],
    skip: Option<&SkipUnreadable>,
    most: usize,
) -> Result<(Vec<Loaded<E>>, bool)> {
    read_alive::<E, _>(own, page, most, |json| {
        listed(Loaded::read(Bytes::copy_from_slice(json), None), skip)
    })
}

/// Reads the canonical row of a whole key. Fails where it was moved: the caller asked for this one.
pub fn read_point<E: TableEntity>(
    own: &OwnRows,
    page: &[u8],
    skip: Option<&SkipUnreadable>,
    most: usize,
) -> Result<(Vec<Loaded<E>>, bool)> {
    read_alive::<E, _>(own, page, most, |json| {
        readable(Loaded::read(Bytes::copy_from_slice(json), None), skip)
    })
}

/// What was read of a row; `None` also for one that was moved, which a list leaves out.
pub fn listed<T>(
    read: Result<Option<T>, ReadBackError>,
    skip: Option<&SkipUnreadable>,
) -> Result<Option<T>> {
    match read {
        Err(ReadBackError::Moved(_)) => Ok(None),
        read => readable(read, skip),
    }
}

/// What was read of a row; `None` also for one that cannot be read and may be left out.
fn readable<T>(
    read: Result<Option<T>, ReadBackError>,
    skip: Option<&SkipUnreadable>,
) -> Result<Option<T>> {
    match read {
        Err(ReadBackError::Property(error)) => Ok(SkipUnreadable::take(skip, Err(error))?),
        read => Ok(read?),
    }
}

/// Reads rows of `E` as `read_each` does, without those of expired entities.
fn read_alive<E: TableEntity, T>(
    own: &OwnRows,
    page: &[u8],
    most: usize,
    read: impl Fn(&[u8]) -> Result<Option<T>>,
) -> Result<(Vec<T>, bool)> {
    read_each(page, most, |json| if is_alive::<E>(json, own.now) { read(json) } else { Ok(None) })
}

/// Reads at most a number of rows of a page. Returns whether these are all of the page's rows, too.
fn read_each<T>(
    page: &[u8],
    most: usize,
    read: impl Fn(&[u8]) -> Result<Option<T>>,
) -> Result<(Vec<T>, bool)> {
    let (mut rows, mut whole) = (Vec::new(), true);
    for row in split_page(page)? {
        if rows.len() == most {
            break;
        }
        let read = read(row.get().as_bytes())?;
        whole &= read.is_some();
        rows.extend(read);
    }
    Ok((rows, whole))
}
