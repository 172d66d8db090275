//! Rows as CSV with a typed header.
//!
//! Invariant: a record is read back as the row it was written from, value for value and type for type.
//! A property that a row lacks is an empty field, an empty text is `""`. Own code, because readers of
//! CSV do not distinguish the two.

use crate::entity::{DynamicEntity, RowHead};
use crate::error::TransferError;
use crate::model::{Edm, EdmType, PARTITION_KEY, ROW_KEY};
use base64::Engine as _;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The columns of a CSV text: the keys, then each property with its type.
///
/// A property that has two types in different rows has two columns. A field without text is a property
/// that the row lacks; an empty text is `""`.
///
/// ```
/// use table_orm::DynamicEntity;
/// use table_orm::transfer::Columns;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rows = [
///     DynamicEntity::new("Boston", "00007").with("Name", "Ann").with("Chip", 7_i64),
///     DynamicEntity::new("Boston", "00009").with("Name", ""),
/// ];
/// let columns: Columns = rows.iter().collect();
/// assert_eq!(columns.to_string(), "PartitionKey,RowKey,Chip:Edm.Int64,Name:Edm.String");
/// assert_eq!(columns.record(&rows[0])?, "Boston,00007,7,Ann");
/// assert_eq!(columns.record(&rows[1])?, r#"Boston,00009,,"""#);
/// assert_eq!(columns.row(r#"Boston,00009,,"""#)?, rows[1]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Columns {
    /// In the order of the header.
    columns: Vec<(String, EdmType)>,
}

impl Columns {
    /// Returns the row as one record, without a line end. Text may have line ends within quotes.
    ///
    /// # Errors
    /// When the row has a property without a column: [`TransferError::Column`].
    pub fn record(&self, row: &DynamicEntity) -> Result<String, TransferError> {
        let mut record = String::new();
        write_field(&mut record, &row.partition_key);
        record.push(',');
        write_field(&mut record, &row.row_key);
        let mut written = 0;
        for (name, edm) in &self.columns {
            record.push(',');
            if let Some(value) = row.properties.get(name).filter(|value| value.edm_type() == *edm) {
                write_field(&mut record, &text(value));
                written += 1;
            }
        }
        if written == row.properties.len() { Ok(record) } else { Err(self.missing(row)) }
    }

    /// Reads a record, without its line end.
    ///
    /// # Errors
    /// When it does not fit the columns: [`TransferError::Record`].
    pub fn row(&self, record: &str) -> Result<DynamicEntity, TransferError> {
        let fields = fields(record).map_err(|why| TransferError::Record(why.to_owned()))?;
        let expected = self.columns.len() + 2;
        if fields.len() != expected {
            let found = fields.len();
            let why = format!("the row has {found} fields, and the header has {expected}");
            return Err(TransferError::Record(why));
        }
        let mut fields = fields.into_iter();
        let mut key = || fields.next().flatten().unwrap_or_default();
        let mut row = DynamicEntity::new(key(), key());
        for ((name, edm), field) in self.columns.iter().zip(fields) {
            let Some(text) = field else { continue };
            let value = value(*edm, &text).ok_or_else(|| {
                TransferError::Record(format!("`{text:.80}` in column `{name}` is not an {edm}"))
            })?;
            if row.properties.insert(name.clone(), value).is_some() {
                let why = format!("the row has two values of `{name}`, in columns of two types");
                return Err(TransferError::Record(why));
            }
        }
        Ok(row)
    }

    fn missing(&self, row: &DynamicEntity) -> TransferError {
        let has = |(name, value): &(&String, &Edm)| {
            self.columns.iter().any(|column| (&column.0, column.1) == (*name, value.edm_type()))
        };
        let (partition_key, row_key) = (row.partition_key.clone(), row.row_key.clone());
        let property = row.properties.iter().find(|property| !has(property));
        let (property, edm) = property.map_or_else(
            || (String::new(), EdmType::String),
            |(name, value)| (name.clone(), value.edm_type()),
        );
        TransferError::Column { key: RowHead { partition_key, row_key }, property, edm }
    }
}

/// The columns that these rows need.
impl<'a> FromIterator<&'a DynamicEntity> for Columns {
    fn from_iter<I: IntoIterator<Item = &'a DynamicEntity>>(rows: I) -> Self {
        let mut columns = Self::default();
        columns.extend(rows);
        columns
    }
}

/// Adds the columns that more rows need.
impl<'a> Extend<&'a DynamicEntity> for Columns {
    fn extend<I: IntoIterator<Item = &'a DynamicEntity>>(&mut self, rows: I) {
        self.columns.sort_by(|one, other| order(one).cmp(&order(other)));
        for row in rows {
            for (name, value) in &row.properties {
                let edm = value.edm_type();
                let column = (name.as_str(), edm.name());
                if let Err(at) = self.columns.binary_search_by(|found| order(found).cmp(&column)) {
                    self.columns.insert(at, (name.clone(), edm));
                }
            }
        }
    }
}

/// By what the columns of rows are sorted.
fn order((name, edm): &(String, EdmType)) -> (&str, &'static str) {
    (name, edm.name())
}

/// Writes the header.
impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PARTITION_KEY},{ROW_KEY}")?;
        self.columns.iter().try_for_each(|(name, edm)| {
            let mut column = String::new();
            write_field(&mut column, &format!("{name}:{edm}"));
            write!(f, ",{column}")
        })
    }
}

/// Reads a header.
impl FromStr for Columns {
    type Err = TransferError;

    fn from_str(header: &str) -> Result<Self, TransferError> {
        let malformed = || TransferError::Header(header.chars().take(200).collect());
        let names = fields(header).map_err(|_| malformed())?;
        let names: Option<Vec<String>> = names.into_iter().collect();
        let names = names.ok_or_else(malformed)?;
        let [partition_key, row_key, columns @ ..] = &*names else { return Err(malformed()) };
        if (&**partition_key, &**row_key) != (PARTITION_KEY, ROW_KEY) {
            return Err(malformed());
        }
        let column = |name: &String| {
            let (name, edm) = name.rsplit_once(':')?;
            Some((name.to_owned(), EdmType::from_name(edm)?))
        };
        let columns: Option<Vec<_>> = columns.iter().map(column).collect();
        let columns = columns.ok_or_else(malformed)?;
        let mut distinct = BTreeSet::new();
        if let Some((name, edm)) = columns.iter().find(|column| !distinct.insert(order(column))) {
            return Err(TransferError::RepeatedColumn(format!("{name}:{edm}")));
        }
        Ok(Self { columns })
    }
}

/// Where in a record its text so far has ended. A quote opens quotes at the start of a field only, so that one within
/// another field ends with its line and takes no row after it along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Place {
    #[default]
    FieldStart,
    Unquoted,
    Quoted,
    /// Behind a quote that closes the field, unless a second one follows.
    Closed,
}

impl Place {
    /// Where the record is after more of its text.
    pub fn after(self, text: &[u8]) -> Self {
        text.iter().fold(self, |place, byte| match (place, byte) {
            (Self::FieldStart | Self::Closed, b'"') => Self::Quoted,
            (Self::Quoted, b'"') => Self::Closed,
            (Self::Quoted, _) => Self::Quoted,
            (_, b',') => Self::FieldStart,
            _ => Self::Unquoted,
        })
    }
}

/// The fields of a record; `None` for a field without text or quotes.
fn fields(record: &str) -> Result<Vec<Option<String>>, &'static str> {
    let mut fields = Vec::new();
    let mut rest = record;
    loop {
        let (field, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_field(quoted)?,
            None => {
                let (field, behind) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                if field.contains('"') {
                    return Err("a quote stands within a field that does not start with one");
                }
                ((!field.is_empty()).then(|| field.to_owned()), behind)
            }
        };
        fields.push(field);
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None if behind.is_empty() => return Ok(fields),
            None => return Err("text stands between a closing quote and the next comma"),
        }
    }
}

/// A field after its opening quote, and the text after it.
fn quoted_field(quoted: &str) -> Result<(Option<String>, &str), &'static str> {
    let mut text = String::new();
    let mut rest = quoted;
    loop {
        let (before, behind) = rest.split_once('"').ok_or("a quote is not closed")?;
        text.push_str(before);
        match behind.strip_prefix('"') {
            Some(next) => {
                text.push('"');
                rest = next;
            }
            None => return Ok((Some(text), behind)),
        }
    }
}

fn write_field(record: &mut String, text: &str) {
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        record.push('"');
        record.push_str(&text.replace('"', "\"\""));
        record.push('"');
    } else {
        record.push_str(text);
    }
}

fn text(value: &Edm) -> String {
    match value {
        Edm::String(text) => text.clone(),
        Edm::Int32(number) => number.to_string(),
        Edm::Int64(number) => number.to_string(),
        Edm::Double(number) if number.is_infinite() => {
            if *number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
        }
        Edm::Double(number) => format!("{number:?}"),
        Edm::Boolean(flag) => flag.to_string(),
        Edm::DateTime(instant) => instant.to_string(),
        Edm::Guid(guid) => guid.to_string(),
        Edm::Binary(bytes) => base64::engine::general_purpose::STANDARD.encode(bytes),
    }
}

/// Reads a Double. A number that no Double can hold is not infinity.
fn double(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    (number.is_finite() || ["Infinity", "-Infinity", "NaN"].contains(&text)).then_some(number)
}

fn value(edm: EdmType, text: &str) -> Option<Edm> {
    Some(match edm {
        EdmType::String => Edm::String(text.to_owned()),
        EdmType::Int32 => Edm::Int32(text.parse().ok()?),
        EdmType::Int64 => Edm::Int64(text.parse().ok()?),
        EdmType::Double => Edm::Double(double(text)?),
        EdmType::Boolean => Edm::Boolean(text.parse().ok()?),
        EdmType::DateTime => Edm::DateTime(text.parse().ok()?),
        EdmType::Guid => Edm::Guid(text.parse().ok()?),
        EdmType::Binary => {
            Edm::Binary(base64::engine::general_purpose::STANDARD.decode(text).ok()?)
        }
    })
}
