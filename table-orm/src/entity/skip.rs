//! Pages of which the rows that cannot be read are left out.
//!
//! Invariants: a page that reads well is read as if there were no such rows, at no cost; of another
//! page each row is read by itself, and its error tells its own key; each row left out is told of.

use super::read::{ReadRow, read_page, read_row, split_page};
use crate::property::PropertyError;
use std::fmt;
use std::sync::Arc;

/// Who is told of the rows that are left out.
#[derive(Clone)]
pub(crate) struct SkipUnreadable(Arc<dyn Fn(&PropertyError) + Send + Sync>);

impl SkipUnreadable {
    pub fn new(told: impl Fn(&PropertyError) + Send + Sync + 'static) -> Self {
        Self(Arc::new(told))
    }

    /// What was read; `None` for what is left out, if anything may be.
    pub fn take<T>(
        skip: Option<&Self>,
        read: Result<T, PropertyError>,
    ) -> Result<Option<T>, PropertyError> {
        match (read, skip) {
            (Ok(value), _) => Ok(Some(value)),
            (Err(error), Some(Self(told))) => {
                told(&error);
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

/// Reads the first `most` rows of a page's `value` array that are not left out, and looks at no others
/// where one cannot be read.
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
    fn a_row_left_out_tells_its_own_key_wherever_that_stands() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let keys = Arc::clone(&told);
        let skip = SkipUnreadable::new(move |error| keys.lock().unwrap().push(error.clone()));
        let rows = read_rows::<DynamicEntity>(0, PAGE.as_bytes(), Some(&skip), usize::MAX).unwrap();
        assert_eq!(rows.iter().map(|row| &*row.row_key).collect::<Vec<_>>(), ["1", "3"]);
        let refused = read_rows::<DynamicEntity>(0, PAGE.as_bytes(), None, usize::MAX).unwrap_err();
        assert_eq!((&*refused.partition_key, &*refused.row_key), ("p", "2"));
        assert_eq!(*told.lock().unwrap(), [refused]);
        told.lock().unwrap().clear();
        let first = read_rows::<DynamicEntity>(0, PAGE.as_bytes(), Some(&skip), 1).unwrap();
        assert_eq!((first.len(), told.lock().unwrap().len()), (1, 0));
    }

    #[test]
    fn a_page_that_is_none_is_an_error_whatever_may_be_left_out() {
        let skip = SkipUnreadable::new(|error| panic!("{error}"));
        let read = read_rows::<DynamicEntity>(0, b"{\"value\":[{]}", Some(&skip), 1);
        assert!(read.is_err());
    }
}
