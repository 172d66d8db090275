//! Which rows of a scan have expired, page by page. The query of the scan does not say, so that a checkpoint opens
//! it later.

use crate::entity::ExpiryProperty;
use crate::model::DateTime;
use crate::plan::{Expiry, TableClient};
use crate::query::RowQuery;
use crate::sync::WallClock;
use std::borrow::Cow;

/// What says which rows have expired. The default reads all rows.
#[derive(Debug, Clone, Default)]
pub(in crate::scan) struct Alive {
    clock: Option<WallClock>,
    property: Option<ExpiryProperty>,
}

impl Alive {
    /// As reads of the client have it.
    pub fn of(client: &TableClient) -> Self {
        let clock = (!client.expiry.included).then(|| client.connection.clock.clone());
        Self { property: client.expiry.property.filter(|_| clock.is_some()), clock }
    }

    /// The clock, for calls of another kind.
    pub const fn clock(&self) -> Option<&WallClock> {
        self.clock.as_ref()
    }

    /// The same for calls of a client.
    pub fn expiry(&self) -> Expiry {
        Expiry { property: self.property, included: self.clock.is_none(), ..Expiry::default() }
    }

    /// The instant at which a page of now is read.
    pub fn now(&self) -> Option<DateTime> {
        self.clock.as_ref().map(WallClock::now)
    }

    /// The number of comparisons that [`only`](Self::only) adds.
    pub fn comparisons(&self) -> usize {
        self.property.map_or(0, ExpiryProperty::comparisons)
    }

    /// The request, without rows that the store can leave out.
    pub fn only<'q>(&self, request: &'q RowQuery) -> Cow<'q, RowQuery> {
        match self.property.zip(self.now()) {
            Some((property, now)) => Cow::Owned(request.clone().and(property.alive_filter(now))),
            None => Cow::Borrowed(request),
        }
    }
}
