//! What all queries of many rows share, whatever type they read rows into.
//!
//! Invariant: a query sends the requests that its plan shows.

use super::pages::{PageReader, Pages};
use crate::entity::{InvalidEntity, SkipUnreadable};
use crate::error::{Error, RowCount};
use crate::plan::TableClient;
use crate::property::PropertyError;
use crate::query::{Filter, RowQuery};

/// A query of many rows, with its limit and its treatment of unreadable rows.
#[derive(Debug, Clone)]
pub(super) struct Listing {
    pub client: TableClient,
    pub query: Result<RowQuery, InvalidEntity>,
    pub limit: Option<usize>,
    pub skip: Option<SkipUnreadable>,
    /// Whether only the primary location may answer.
    pub from_primary: bool,
}

impl Listing {
    pub const fn new(client: TableClient, query: Result<RowQuery, InvalidEntity>) -> Self {
        Self { client, query, limit: None, skip: None, from_primary: false }
    }

    /// Keeps the rows that meet this condition and the earlier ones.
    pub fn filter(mut self, condition: Result<Filter, InvalidEntity>) -> Self {
        self.query = self.query.and_then(|query| Ok(query.and(condition?)));
        self
    }

    /// Reads at most `rows` rows in all.
    pub fn take(mut self, rows: usize) -> Self {
        self.limit = Some(self.limit.map_or(rows, |limit| limit.min(rows)));
        self
    }

    /// Leaves out rows that cannot be read.
    pub fn skip_unreadable(self, on_skip: impl Fn(&PropertyError) + Send + Sync + 'static) -> Self {
        self.skipping(SkipUnreadable::new(on_skip))
    }

    pub fn skipping(self, skip: SkipUnreadable) -> Self {
        Self { skip: Some(skip), ..self }
    }

    /// Reads from a copy in another region too, where the connection has one.
    pub fn may_be_old(mut self) -> Self {
        if let Ok(query) = &mut self.query {
            query.mark.may_be_old = !self.from_primary;
        }
        self
    }

    /// The pages of the answer, of at most `size` rows; `None` for the page size of the store.
    pub fn pages<T>(self, reader: PageReader<T>, size: Option<usize>) -> Pages<T> {
        let query = self.query.map_err(Error::from);
        Pages::read_by(self.client, reader, query, self.limit, size).skipping(self.skip)
    }
}

/// The last methods of a query of many rows: each sends it, or shows what it would send.
///
/// The type has a method `ask(self, size: Option<usize>) -> Pages<$item>`. The bounds on an item are
/// those of each method, so that rustc shows one error that names the missing trait.
macro_rules! last_methods {
    ($item:ident, $name:expr, $what:literal where [$($read:tt)*] [$($send:tt)*]) => {
        /// Returns the first request that it will send, which repeats for each page. Sends nothing.
        ///
        /// # Errors
        /// When a key or filter cannot hold one of the values.
        pub fn plan(&self) -> $crate::Result<$crate::plan::Plan>
        where
            $($read)*
        {
            self.clone().ask(None).first_request()
        }

        /// Returns the answer in pages that a token resumes. Each page is one request of at most
        /// `size` rows, 1 to 1000. [`take`](Self::take) counts from the start of the first page read.
        pub fn pages(self, size: usize) -> $crate::repo::Pages<$item>
        where
            $($read)*
        {
            self.ask(Some(size))
        }

        #[doc = concat!("Returns the ", $what, " one after another. Reads one page ahead: holds two pages of at most 1000 rows in memory.")]
        #[must_use]
        pub fn stream(self) -> $crate::repo::RowStream<$item>
        where
            $($send)*
        {
            self.ask(None).into_stream()
        }

        #[doc = concat!("Reads all ", $what, ", 1000 rows a request.")]
        ///
        /// # Errors
        /// When a key or filter cannot hold one of the values, the store rejects a request, or a
        /// row cannot be read.
        pub fn collect(self) -> futures_core::future::BoxFuture<'static, $crate::Result<Vec<$item>>>
        where
            $($send)*
        {
            Box::pin(self.ask(None).collect())
        }

        #[doc = concat!("Reads the first of the ", $what, " in key order: one row. Returns `None` when nothing matches.")]
        ///
        /// # Errors
        /// As [`collect`](Self::collect).
        pub fn first(self) -> futures_core::future::BoxFuture<'static, $crate::Result<Option<$item>>>
        where
            $($send)*
        {
            let rows = self.take(1).collect();
            Box::pin(async { Ok(rows.await?.into_iter().next()) })
        }

        #[doc = concat!("Reads the only one of the ", $what, ": at most two rows.")]
        ///
        /// # Errors
        /// [`Error::RowCount`](crate::Error::RowCount) when nothing or more than one matches. Otherwise as
        /// [`collect`](Self::collect).
        pub fn one(self) -> futures_core::future::BoxFuture<'static, $crate::Result<$item>>
        where
            $($send)*
        {
            let rows = self.take(2).collect();
            Box::pin(async { $crate::repo::only($name, rows.await?) })
        }
    };
}

pub(super) use last_methods;

/// The only one of the rows.
pub(crate) fn only<T>(entity: &'static str, rows: Vec<T>) -> Result<T, Error> {
    let found = rows.len();
    let mut rows = rows.into_iter();
    match (rows.next(), rows.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(Error::RowCount(RowCount { entity, found })),
    }
}
