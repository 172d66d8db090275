//! The rows of a page between two keys.

use super::read::{read_row, split_page};
use super::row_head::RowHead;
use crate::property::PropertyError;
use bytes::Bytes;

/// A page without the rows outside of a range of keys.
#[derive(Debug)]
pub(crate) struct PageRange {
    pub body: Bytes,
    /// Whether the page had rows at or above the end.
    pub is_cut: bool,
}

/// Leaves out the rows of a page that are below `from`, and those at or above `end`. The page is in key
/// order.
pub(crate) fn cut_page(
    page: Bytes,
    from: Option<&RowHead>,
    end: Option<&RowHead>,
) -> Result<PageRange, PropertyError> {
    if from.is_none() && end.is_none() {
        return Ok(PageRange { body: page, is_cut: false });
    }
    let (mut rows, mut is_cut) = (Vec::new(), false);
    for row in split_page(&page)? {
        let head = read_row::<RowHead>(0, row.get().as_bytes())?;
        if end.is_some_and(|end| head >= *end) {
            is_cut = true;
            break;
        }
        if from.is_none_or(|from| head >= *from) {
            rows.push(row.get());
        }
    }
    let body = format!(r#"{{"value":[{}]}}"#, rows.join(",")).into();
    Ok(PageRange { body, is_cut })
}
