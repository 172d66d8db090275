//! Pages from which unreadable rows are left out.
//!
//! Invariants: a page without unreadable rows costs nothing extra. On another page each row is read
//! by itself, so that its error names its own key. Each row left out is reported.

use super::read::{ReadRow, read_page, read_row, split_page};
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

/// Reads the first `most` readable rows of a page's `value` array. Rows behind them are not
/// reported.
pub(crate) fn read_rows<T: ReadRow>(
    row: usize,
    json: &[u8],
    skip: Option<&SkipUnreadable>,
    most: usize,
) -> Result<Vec<T>, PropertyError> {
    if let Ok(mut rows) = read_page(row, json) {
        rows.truncate(most);
        return Ok(rows);
    }
    let rows = split_page(json)?.into_iter();
    let taken = rows.map(|json| SkipUnreadable::take(skip, read_row(row, json.get().as_bytes())));
    taken.filter_map(Result::transpose).take(most).collect()
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
        let rows = read_rows::<DynamicEntity>(0, PAGE.as_bytes(), Some(&skip), usize::MAX).unwrap();
        assert_eq!(rows.iter().map(|row| &*row.row_key).collect::<Vec<_>>(), ["1", "3"]);
        let rejected =
            read_rows::<DynamicEntity>(0, PAGE.as_bytes(), None, usize::MAX).unwrap_err();
        assert_eq!((&*rejected.partition_key, &*rejected.row_key), ("p", "2"));
        assert_eq!(*skipped.lock().unwrap(), [rejected]);
        skipped.lock().unwrap().clear();
        let first = read_rows::<DynamicEntity>(0, PAGE.as_bytes(), Some(&skip), 1).unwrap();
        assert_eq!((first.len(), skipped.lock().unwrap().len()), (1, 0));
    }

    #[test]
    fn a_malformed_page_is_an_error_even_when_rows_may_be_left_out() {
        let skip = SkipUnreadable::new(|error| panic!("{error}"));
        let read = read_rows::<DynamicEntity>(0, b"{\"value\":[{]}", Some(&skip), 1);
        assert!(read.is_err());
    }
}
