//! What a scan makes of the rows of a page.
//!
//! Invariants: an unreadable row is reported by the range that owns it, once. It counts as read, but
//! not towards a limit, as rows of other types. So all rows are read before their page is committed,
//! outside the lock, and reported after the commit.

use crate::entity::{OwnRows, PageRows, ReadRow, RowHead, read_page};
use crate::property::PropertyError;

/// Reads a page: which rows, and its body.
pub(in crate::scan) type ReadRows<T> = fn(&OwnRows, &[u8]) -> Result<PageRows<T>, PropertyError>;

/// Only how many rows there are.
pub(in crate::scan) fn no_rows(own: &OwnRows, body: &[u8]) -> Result<PageRows<()>, PropertyError> {
    let PageRows { rows, left_out, extra_bytes, texts } = read_page::<RowHead>(own, body)?;
    Ok(PageRows { rows: vec![(); rows.len()], left_out, extra_bytes, texts })
}

/// Of each row, whether it is an own one.
pub(in crate::scan) fn whose_rows(
    own: &OwnRows,
    body: &[u8],
) -> Result<PageRows<bool>, PropertyError> {
    let PageRows { rows, left_out, extra_bytes, texts } = read_page::<RowHead>(own, body)?;
    let mut others = left_out.iter().map(|(at, _)| *at).peekable();
    let all = 0..rows.len() + left_out.len();
    let whose = all.map(|at| others.next_if_eq(&at).is_none()).collect();
    Ok(PageRows { rows: whose, left_out: Vec::new(), extra_bytes, texts })
}

/// The PartitionKeys of the rows, each once.
pub(in crate::scan) fn partition_keys(
    own: &OwnRows,
    body: &[u8],
) -> Result<PageRows<String>, PropertyError> {
    let PageRows { rows, left_out, extra_bytes, texts } = read_page::<RowHead>(own, body)?;
    let (mut keys, mut unread) = (Vec::<String>::new(), left_out.into_iter().peekable());
    let mut page = PageRows { rows: Vec::new(), left_out: Vec::new(), extra_bytes, texts };
    for RowHead { partition_key, .. } in rows {
        while let Some(other) = unread.next_if(|(at, _)| *at == keys.len() + page.left_out.len()) {
            page.left_out.push(other);
        }
        if keys.last() == Some(&partition_key) {
            page.left_out.push((keys.len() + page.left_out.len(), None));
        } else {
            keys.push(partition_key);
        }
    }
    page.left_out.extend(unread);
    Ok(PageRows { rows: keys, ..page })
}

/// The rows themselves.
pub(in crate::scan) fn typed_rows<T: ReadRow>(
    own: &OwnRows,
    body: &[u8],
) -> Result<PageRows<T>, PropertyError> {
    read_page(own, body)
}
