//! Stored rows back into values: one row, or a page of them.

use super::own_rows::{MovedRow, OwnRowError, OwnRows, Ownership};
use super::row_head::{EventualHead, RowHead};
use crate::codec::{Alias, Json, Members, NameCache, RowContext};
use crate::entity::{Query, Row, RowOf, TableEntity};
use crate::model::{DateTime, ETag, HOME_TABLE, Metadata, PARTITION_KEY, ROW_KEY, TIMESTAMP};
use crate::property::{PropertyError, PropertyFault, RowFault};
use serde::de::Error as _;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::marker::PhantomData;
use std::mem;
use std::ops::Range;

/// A value that is read from a row: an entity, a projection, or a row of any shape.
pub trait ReadRow: Sized {
    /// The name for error messages.
    const NAME: &'static str;
    /// The properties to ask the store for; `None` asks for all.
    const SELECT: Option<&'static [&'static str]> = None;
    /// How much the store says about the properties' types.
    const METADATA: Metadata = Metadata::None;
    /// The former names of properties, each with the present one: `#[table(alias = "..")]`. A row that has a
    /// property under several names is read from the alias that comes first.
    const ALIASES: &'static [Alias] = &[];

    /// The properties to ask the store for: [`SELECT`](Self::SELECT), and those whose names no constant
    /// holds.
    #[must_use]
    fn select() -> Option<Vec<Cow<'static, str>>> {
        Self::SELECT.map(|names| names.iter().copied().map(Cow::Borrowed).collect())
    }

    /// Reads the row that was written from the entity's key template `row`. The members have the present
    /// names of properties that are stored under former ones.
    ///
    /// # Errors
    /// When a property is missing or is not a value of its field's type.
    fn read_row(row: usize, members: Members<'_, '_>) -> Result<Self, RowFault>;

    /// Returns about how many bytes of memory the value takes beside itself and the text of its row, such as those
    /// of a map's nodes. A [scan](crate::scan::Scan::buffer) counts them towards its buffer.
    #[must_use]
    fn extra_bytes(&self) -> usize {
        0
    }
}

/// A value that can be read from rows of kind `R`: they store all of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from rows of `{R}`: they do not store all of its fields",
    label = "not stored in these rows",
    note = "a partial copy (`include`/`exclude`) is read with `.project::<P>()`, where \
            `#[derive(Projection)] struct P` has only fields that the row stores, or that its keys \
            give back",
    note = "of rows in another partition (`eventual`), `.list(..).checked().loaded().collect()` reads the \
            entities"
)]
pub trait FromRow<R: Row>: ReadRow {}

/// A query of rows that store whole entities of type `E`.
// The bound is on the query: one on the entity would be decided before the query is known.
pub trait WholeRows<E: TableEntity>: Query<Row: RowOf<E>> {}

impl<E: TableEntity + FromRow<Q::Row>, Q: Query<Row: RowOf<E>>> WholeRows<E> for Q {}

/// Reads one row's JSON object.
pub(crate) fn read_row<T: ReadRow>(row: usize, json: &[u8]) -> Result<T, PropertyError> {
    read_in(&mut RowContext::with_aliases(T::NAME, T::ALIASES), row, json)
}

/// Reads one row's JSON object, with its keys and its version: the one stated beside it, or else
/// its own.
pub(crate) fn read_row_in_context<'a, T: ReadRow>(
    row: usize,
    json: &'a [u8],
    stated: Option<&ETag>,
) -> Result<(T, RowContext<'a>), PropertyError> {
    read_with(RowContext::with_aliases(T::NAME, T::ALIASES), row, json, stated)
}

fn read_with<'a, T: ReadRow>(
    mut context: RowContext<'a>,
    row: usize,
    json: &'a [u8],
    stated: Option<&ETag>,
) -> Result<(T, RowContext<'a>), PropertyError> {
    if let Some(etag) = stated {
        context.stated_etag = etag.as_str().to_owned().into();
    }
    let value = read_in(&mut context, row, json)?;
    Ok((value, context))
}

/// The version of a row, from its ETag or timestamp.
pub(crate) fn read_etag(json: &[u8]) -> Result<ETag, PropertyError> {
    let mut context = RowContext::new(RowHead::NAME);
    read_in::<RowHead>(&mut context, 0, json)?;
    if context.timestamp.is_empty() {
        return Err(context.error(RowFault::new(TIMESTAMP, PropertyFault::Missing)));
    }
    Ok(context.etag())
}

/// When a row was last written; `None` where it does not say.
pub(crate) fn read_timestamp(json: &[u8]) -> Option<DateTime> {
    let mut context = RowContext::new(RowHead::NAME);
    read_in::<RowHead>(&mut context, 0, json).ok()?;
    context.timestamp.parse().ok()
}

impl ReadRow for RowHead {
    const NAME: &'static str = "row";
    const SELECT: Option<&'static [&'static str]> = Some(&[PARTITION_KEY, ROW_KEY]);

    fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
        members.skip()?;
        Ok(Self {
            partition_key: members.partition_key().into_owned(),
            row_key: members.row_key().into_owned(),
        })
    }
}

#[diagnostic::do_not_recommend]
impl<R: Row> FromRow<R> for RowHead {}

impl ReadRow for EventualHead {
    const NAME: &'static str = RowHead::NAME;
    const SELECT: Option<&'static [&'static str]> = Some(&[PARTITION_KEY, ROW_KEY, HOME_TABLE]);

    fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
        members.skip()?;
        let (partition_key, row_key) = (members.partition_key(), members.row_key());
        let keys =
            RowHead { partition_key: partition_key.into_owned(), row_key: row_key.into_owned() };
        Ok(Self { keys, home_table: members.home_table().map(Cow::into_owned) })
    }
}

fn read_in<'de, T: ReadRow>(
    context: &mut RowContext<'de>,
    row: usize,
    json: &'de [u8],
) -> Result<T, PropertyError> {
    read_object(context, row, json).map_err(|fault| with_keys(context.error(fault), json))
}

fn read_object<'de, T: ReadRow>(
    context: &mut RowContext<'de>,
    row: usize,
    json: &'de [u8],
) -> Result<T, RowFault> {
    let mut json = Json::new(json)?;
    let value = T::read_row(row, Members::new(&mut json, context, &mut None))?;
    json.end()?;
    Ok(value)
}

/// The error of a row, with its keys even when they come after the unreadable property.
#[cold]
fn with_keys(error: PropertyError, json: &[u8]) -> PropertyError {
    let mut head = RowContext::new(error.entity);
    match read_object(&mut head, 0, json) {
        Ok(RowHead { partition_key, row_key }) => PropertyError { partition_key, row_key, ..error },
        Err(_) => error,
    }
}

/// The rows of a page that a call may use.
#[derive(Debug)]
pub(crate) struct PageRows<T> {
    /// Those that were read.
    pub rows: Vec<T>,
    /// The indices of the others, in order: rows of other types, and own ones that cannot be read,
    /// with the reason.
    pub left_out: Vec<(usize, Option<PropertyError>)>,
    /// The [extra bytes](ReadRow::extra_bytes) of those that were read.
    pub extra_bytes: usize,
    /// Where the text of each row of the page is, read or left out.
    pub texts: Vec<Range<usize>>,
}

/// Reads every own row of a page's `value` array.
pub(crate) fn read_page<T: ReadRow>(
    own: &OwnRows,
    body: &[u8],
) -> Result<PageRows<T>, PropertyError> {
    read_page_by(T::NAME, own, body, T::read_row, |row: T, page| {
        page.extra_bytes += row.extra_bytes();
        page.rows.push(row);
    })
}

/// Reads every own row of a page's `value` array with `read`, and hands it to `keep`.
pub(super) fn read_page_by<'de, R, T>(
    name: &'static str,
    own: &OwnRows,
    body: &'de [u8],
    read: impl Fn(usize, Members<'_, 'de>) -> Result<R, RowFault>,
    mut keep: impl FnMut(R, &mut PageRows<T>),
) -> Result<PageRows<T>, PropertyError> {
    let mut context = RowContext::new(name);
    let mut names = Some(NameCache::default());
    let mut page = PageRows::none();
    let all = read_value(body, |json| {
        json.array(|json| {
            let from = body.len() - json.rest.len();
            context = own.context(name);
            let start = json.rest;
            match read(own.index, Members::new(json, &mut context, &mut names)) {
                Ok(row) if own.take(&context) => keep(row, &mut page),
                Ok(_) => page.leave_out(None),
                Err(fault) => {
                    json.rest = start;
                    context = own.context(name);
                    skip(json, &mut context)?;
                    page.leave_out(own.take(&context).then(|| context.error(fault)));
                }
            }
            page.texts.push(from..body.len() - json.rest.len());
            Ok(())
        })
    });
    all.map_err(|fault| context.error(fault))?;
    Ok(page)
}

impl<T> PageRows<T> {
    const fn none() -> Self {
        Self { rows: Vec::new(), left_out: Vec::new(), extra_bytes: 0, texts: Vec::new() }
    }

    #[cold]
    fn leave_out(&mut self, error: Option<PropertyError>) {
        self.left_out.push((self.rows.len() + self.left_out.len(), error));
    }
}

/// Reads the keys and marks of a row that could not be read. Text that is not JSON fails again.
#[cold]
fn skip<'de>(json: &mut Json<'de>, context: &mut RowContext<'de>) -> Result<(), RowFault> {
    Members::new(json, context, &mut None).skip()
}

/// Reads the keys and marks of a row.
pub(super) fn read_head<'a>(
    own: &OwnRows,
    json: &'a [u8],
) -> Result<RowContext<'a>, PropertyError> {
    read_with::<RowHead>(own.context(RowHead::NAME), own.index, json, None).map(|(_, head)| head)
}

/// Reads the row of a key; `None` for a row of another type, and for one that has expired.
pub(crate) fn read_own<'a, T: ReadRow>(
    own: &OwnRows,
    json: &'a [u8],
    stated: Option<&ETag>,
) -> Result<Option<(T, RowContext<'a>)>, OwnRowError> {
    let read = read_with::<T>(own.context(T::NAME), own.index, json, stated);
    let ownership = match &read {
        Ok((_, context)) => own.judge(context),
        Err(_) => match read_head(own, json) {
            Ok(head) => own.judge(&head),
            Err(_) => Ownership::Own,
        },
    };
    match ownership {
        Ownership::Own => Ok(Some(read?)),
        Ownership::OtherType => Ok(None),
        Ownership::Moved(to) => {
            let RowHead { partition_key, row_key } = read_row(own.index, json)?;
            Err(OwnRowError::Moved(Box::new(MovedRow {
                entity: T::NAME,
                partition_key,
                row_key,
                to,
            })))
        }
    }
}

/// The keys of a row whose text was read before: reads no further than the second key.
pub(crate) fn read_keys(json: &[u8]) -> Result<RowHead, PropertyError> {
    let mut context = RowContext::new(RowHead::NAME);
    keys_in(&mut context, json).map_err(|fault| context.error(fault))?;
    let RowContext { partition_key, row_key, .. } = context;
    Ok(RowHead { partition_key: partition_key.into_owned(), row_key: row_key.into_owned() })
}

fn keys_in<'de>(context: &mut RowContext<'de>, json: &'de [u8]) -> Result<(), RowFault> {
    let mut json = Json::new(json)?;
    let (mut names, mut found) = (None, 0);
    let mut members = Members::new(&mut json, context, &mut names);
    while found < 2
        && let Some((_, role)) = members.next_member()?
    {
        found += usize::from(role.is_key());
        members.keep(role)?;
    }
    Ok(())
}

/// The JSON objects of a page's `value` array, unread.
pub(crate) fn split_page(json: &[u8]) -> Result<Vec<&RawValue>, PropertyError> {
    read_value(json, |json| json.own_value(PhantomData::<Vec<&RawValue>>))
        .map_err(|fault| RowContext::new("page").error(fault))
}

/// The keys of a page's first row; `None` for a page without rows.
pub(crate) fn first_head(json: &[u8]) -> Option<RowHead> {
    let mut head = None;
    let mut context = RowContext::new(RowHead::NAME);
    // The error ends the reading after the first row.
    let _ = read_value(json, |json| {
        json.array(|json| {
            head = Some(RowHead::read_row(0, Members::new(json, &mut context, &mut None))?);
            Err::<(), _>(RowFault::new("", PropertyFault::Missing))
        })
    });
    head
}

/// Reads the member `value` of a page object.
fn read_value<'de, T>(
    json: &'de [u8],
    mut read: impl FnMut(&mut Json<'de>) -> Result<T, RowFault>,
) -> Result<T, RowFault> {
    let mut json = Json::new(json)?;
    let mut value = None;
    let mut is_first = true;
    while let Some(name) = json.name(mem::replace(&mut is_first, false))? {
        if name == "value" && value.is_none() {
            value = Some(read(&mut json)?);
        } else {
            json.ignore()?;
        }
    }
    json.end()?;
    value.ok_or_else(|| RowFault::unreadable("", &serde_json::Error::missing_field("value")))
}
