//! Pages from which rows are left out: those of other types, silently, and unreadable ones.
//!
//! Invariants: a page without such rows costs nothing extra. The error of an unreadable row names its
//! own key. Each unreadable row left out is reported.

use super::own_rows::OwnRows;
use super::read::{PageRows, ReadRow, read_page};
use crate::property::PropertyError;
use std::fmt;
use std::sync::Arc;

/// The callback that receives the error of each row left out.
#[derive(Clone)]
pub(crate) struct SkipUnreadable(Arc<dyn Fn(&PropertyError) + Send + Sync>);

impl SkipUnreadable {
    pub fn new(on_skip: impl Fn(&PropertyError) + Send + Sync + 'static) -> Self {
        Self(Arc::new(on_skip))
    }

    /// The value that was read; `None` for an unreadable row that may be left out.
    pub fn take<T>(
        skip: Option<&Self>,
        read: Result<T, PropertyError>,
    ) -> Result<Option<T>, PropertyError> {
        match (read, skip) {
            (Ok(value), _) => Ok(Some(value)),
            (Err(error), Some(Self(on_skip))) => {
                on_skip(&error);
                Ok(None)
            }
            (Err(error), None) => Err(error),
        }
    }
}

impl fmt::Debug for SkipUnreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SkipUnreadable")
    }
}

impl<T> PageRows<T> {
    /// The indices of the rows that were not read.
    pub fn unread(&self) -> Vec<usize> {
        self.left_out.iter().map(|(index, _)| *index).collect()
    }

    /// The first `most` rows that were read. Returns whether these are all of the page's rows, too.
    pub fn at_most(
        self,
        most: usize,
        skip: Option<&SkipUnreadable>,
    ) -> Result<(Vec<T>, bool), PropertyError> {
        let whole = self.left_out.is_empty();
        Ok((self.first(usize::MAX, most, skip)?, whole))
    }

    /// The first `most` rows that were read, of the first `stored` rows of the page. Reports the
    /// unreadable ones before them.
    pub fn first(
        mut self,
        stored: usize,
        most: usize,
        skip: Option<&SkipUnreadable>,
    ) -> Result<Vec<T>, PropertyError> {
        self.rows.truncate(count_first(self.left_out, stored, most, skip)?);
        Ok(self.rows)
    }
}

/// How many rows are before the end that [`PageRows::first`] describes.
fn count_first(
    left_out: Vec<(usize, Option<PropertyError>)>,
    stored: usize,
    most: usize,
    skip: Option<&SkipUnreadable>,
) -> Result<usize, PropertyError> {
    let (mut end, mut before) = (most, 0);
    for (index, error) in left_out {
        if index >= end.min(stored) {
            break;
        }
        // Each row left out before the end moves the end by one.
        end = end.saturating_add(1);
        before += 1;
        if let Some(error) = error {
            SkipUnreadable::take(skip, Err::<(), _>(error))?;
        }
    }
    Ok(end.min(stored) - before)
}

/// Reads the first `most` own rows of a page's `value` array, without unreadable ones that may be left
/// out. Rows after them are not reported. Returns whether these are all of the page's rows, too.
pub(crate) fn read_rows<T: ReadRow>(
    own: &OwnRows,
    json: &[u8],
    skip: Option<&SkipUnreadable>,
    most: usize,
) -> Result<(Vec<T>, bool), PropertyError> {
    read_page(own, json)?.at_most(most, skip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::DynamicEntity;
    use std::sync::Mutex;

    const PAGE: &str = r#"{"value":[
        {"PartitionKey":"p","RowKey":"1","A":1},
        {"A":"x","A@odata.type":"Edm.Guid","PartitionKey":"p","RowKey":"2"},
        {"PartitionKey":"p","RowKey":"3","A":3}]}"#;

    #[test]
    fn the_error_of_a_row_left_out_names_its_own_key() {
        let skipped = Arc::new(Mutex::new(Vec::new()));
        let keys = Arc::clone(&skipped);
        let skip = SkipUnreadable::new(move |error| keys.lock().unwrap().push(error.clone()));
        let rows =
            read_rows::<DynamicEntity>(&OwnRows::ANY, PAGE.as_bytes(), Some(&skip), usize::MAX)
                .unwrap()
                .0;
        assert_eq!(rows.iter().map(|row| &*row.row_key).collect::<Vec<_>>(), ["1", "3"]);
        let rejected = read_rows::<DynamicEntity>(&OwnRows::ANY, PAGE.as_bytes(), None, usize::MAX)
            .unwrap_err();
        assert_eq!((&*rejected.partition_key, &*rejected.row_key), ("p", "2"));
        assert_eq!(*skipped.lock().unwrap(), [rejected]);
        skipped.lock().unwrap().clear();
        let first =
            read_rows::<DynamicEntity>(&OwnRows::ANY, PAGE.as_bytes(), Some(&skip), 1).unwrap().0;
        assert_eq!((first.len(), skipped.lock().unwrap().len()), (1, 0));
    }

    #[test]
    fn a_malformed_page_is_an_error_even_when_rows_may_be_left_out() {
        let skip = SkipUnreadable::new(|error| panic!("{error}"));
        let read = read_rows::<DynamicEntity>(&OwnRows::ANY, b"{\"value\":[{]}", Some(&skip), 1);
        assert!(read.is_err());
    }
}
