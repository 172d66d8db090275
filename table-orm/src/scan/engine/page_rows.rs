//! What a scan makes of the rows of a page.
//!
//! Invariants: an unreadable row is reported by the range that owns it, once. It counts as read, but
//! not towards a limit, as rows of other types. So all rows are read before their page is committed,
//! outside the lock, and reported after the commit.

use crate::entity::{BorrowedFrom, MapRows, OwnRows, PageRows, ReadRow, Row, RowHead, read_page};
use crate::property::PropertyError;
use crate::repo::PageReader;
use std::borrow::Cow;

/// Reads a page.
#[derive(Debug)]
pub(in crate::scan) enum ReadRows<T> {
    By(ReadPage<T>),
    Mapped(MapRows<T>),
}

/// Which rows, and the page's body.
type ReadPage<T> = fn(&OwnRows, &[u8]) -> Result<PageRows<T>, PropertyError>;

impl<T> ReadRows<T> {
    pub fn page(&self, own: &OwnRows, body: &[u8]) -> Result<PageRows<T>, PropertyError> {
        match self {
            Self::By(read) => read(own, body),
            Self::Mapped(map) => map.read(own, body),
        }
    }
}

impl<T> Clone for ReadRows<T> {
    fn clone(&self) -> Self {
        match self {
            Self::By(read) => Self::By(*read),
            Self::Mapped(map) => Self::Mapped(map.clone()),
        }
    }
}

/// What a scan makes of the rows that it delivers.
#[derive(Debug)]
pub(in crate::scan) struct RowReader<T> {
    /// The name for error messages.
    pub name: &'static str,
    /// The properties to ask the store for.
    pub select: fn() -> Option<Vec<Cow<'static, str>>>,
    pub read: ReadRows<T>,
}

impl<T: ReadRow> RowReader<T> {
    /// A `T` of each row.
    pub fn typed() -> Self {
        Self { name: T::NAME, select: T::select, read: ReadRows::By(read_page) }
    }
}

impl<T> RowReader<T> {
    /// What a function makes of the `P` of each row.
    pub fn mapped<R: Row, P: BorrowedFrom<R>>(
        map: impl Fn(P::Of<'_>) -> T + Send + Sync + 'static,
    ) -> Self {
        let read = ReadRows::Mapped(MapRows::new::<R, P>(map));
        Self { name: P::NAME, select: P::select, read }
    }

    /// The same for pages that are read one by one.
    pub fn of_pages(self, own: OwnRows) -> PageReader<T> {
        match self.read {
            ReadRows::By(read) => PageReader::whole(own, read),
            ReadRows::Mapped(map) => PageReader::mapped(own, map),
        }
    }
}

impl<T> Clone for RowReader<T> {
    fn clone(&self) -> Self {
        Self { read: self.read.clone(), ..*self }
    }
}

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
