//! Which rows a command reads.

use crate::failure::Failure;
use table_orm::azure::protocol::json::is_property_name;
use table_orm::model::{Edm, order};
use table_orm::query::Filter;
use table_orm::scan::{MAX_CONCURRENCY, Scan};
use table_orm::{DynamicEntity, ScanPermit};
use table_server::filter::{self, FilterError};

/// Which rows of a table; all without an option.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Which rows")]
pub(crate) struct Selection {
    /// Only the partition of that key
    #[arg(long, value_name = "KEY", conflicts_with_all = ["prefix", "from_partition", "to_partition"])]
    pub partition: Option<String>,
    /// Only partitions whose keys start with that text
    #[arg(long, value_name = "TEXT")]
    pub prefix: Option<String>,
    /// Only partitions from that key on
    #[arg(long, value_name = "KEY")]
    from_partition: Option<String>,
    /// Only partitions before that key
    #[arg(long, value_name = "KEY")]
    to_partition: Option<String>,
    /// Only rows from that RowKey on
    #[arg(long, value_name = "KEY")]
    from_row: Option<String>,
    /// Only rows before that RowKey
    #[arg(long, value_name = "KEY")]
    to_row: Option<String>,
    /// Only rows that match, as `Age ge 50 and Name ne 'Ann'`
    #[arg(long, value_name = "FILTER", value_parser = read_filter)]
    filter: Option<FilterText>,
}

/// A range of RowKeys that has none.
#[derive(Debug, thiserror::Error)]
#[error(
    "no RowKey lies from {from:?} on and before {to:?}; give a range that starts before its end"
)]
pub(crate) struct EmptyRows {
    from: String,
    to: String,
}

impl From<EmptyRows> for Failure {
    fn from(error: EmptyRows) -> Self {
        Self::new(error, 2)
    }
}

/// A filter, with the text it was read from.
#[derive(Debug, Clone)]
struct FilterText {
    text: String,
    filter: Filter,
}

/// A text that is no filter of a query.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WrongFilter {
    #[error(transparent)]
    Syntax(#[from] FilterError),
    #[error("no filter compares with NaN or an infinity")]
    NotFinite,
}

fn read_filter(text: &str) -> Result<FilterText, WrongFilter> {
    let filter = filter::parse(text)?;
    if !is_finite(&filter) {
        return Err(WrongFilter::NotFinite);
    }
    Ok(FilterText { text: text.to_owned(), filter })
}

fn is_finite(filter: &Filter) -> bool {
    match filter {
        Filter::Compare { value: Edm::Double(number), .. } => number.is_finite(),
        Filter::Compare { .. } => true,
        Filter::And(left, right) | Filter::Or(left, right) => is_finite(left) && is_finite(right),
        Filter::Not(inner) => is_finite(inner),
    }
}

/// Reads the number of requests at a time.
pub(crate) fn requests(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (1..=MAX_CONCURRENCY).contains(&number) => Ok(number),
        _ => Err(format!("it is no number from 1 to {MAX_CONCURRENCY}")),
    }
}

/// Reads the name of a property to print.
pub(crate) fn property(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("the name of a property is empty".to_owned()),
        "Timestamp" => {
            Err("the service sets it, and it is not part of what is shown or exported".to_owned())
        }
        name if is_property_name(name) => Ok(name.to_owned()),
        _ => Err("no property has such a name: give letters, digits and `_`, and no digit first"
            .to_owned()),
    }
}

impl Selection {
    /// Reads the fields of a form; `field` returns the text of one.
    pub(crate) fn of_form(field: impl Fn(&str) -> Option<String>) -> Result<Self, WrongFilter> {
        Ok(Self {
            partition: field("partition"),
            prefix: field("prefix"),
            from_row: field("from"),
            to_row: field("to"),
            filter: field("filter").as_deref().map(read_filter).transpose()?,
            ..Self::default()
        })
    }

    /// Refuses a range of RowKeys that ends before it begins. A scan refuses such a range of PartitionKeys.
    pub(crate) fn check(&self) -> Result<(), EmptyRows> {
        match (&self.from_row, &self.to_row) {
            (Some(from), Some(to)) if order::compare(from, to).is_ge() => {
                Err(EmptyRows { from: from.clone(), to: to.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Limits a scan to these rows.
    pub(crate) fn of(&self, mut scan: Scan<DynamicEntity>) -> Scan<DynamicEntity> {
        if let Some(key) = &self.partition {
            scan = scan.partition_range(key.clone()..=key.clone());
        }
        if let Some(prefix) = &self.prefix {
            scan = scan.prefix(prefix);
        }
        scan = match (self.from_partition.clone(), self.to_partition.clone()) {
            (None, None) => scan,
            (Some(from), None) => scan.partition_range(from..),
            (None, Some(to)) => scan.partition_range(..to),
            (Some(from), Some(to)) => scan.partition_range(from..to),
        };
        scan = match (self.from_row.clone(), self.to_row.clone()) {
            (None, None) => scan,
            (Some(from), None) => scan.row_range(from..),
            (None, Some(to)) => scan.row_range(..to),
            (Some(from), Some(to)) => scan.row_range(from..to),
        };
        match &self.filter {
            Some(filter) => scan.filter(filter.filter.clone()),
            None => scan,
        }
    }

    /// Whether it is every row of the table. An empty text, as of an unset variable of a shell, leaves
    /// nothing out where a range or a prefix starts.
    pub(crate) fn is_all(&self) -> bool {
        let Self { partition, prefix, from_partition, to_partition, from_row, to_row, filter } =
            self;
        let starts = [prefix, from_partition, from_row];
        let others = [partition, to_partition, to_row];
        starts.into_iter().flatten().all(String::is_empty)
            && others.into_iter().all(Option::is_none)
            && filter.is_none()
    }

    /// Whether rows are selected by their properties, too.
    pub(crate) const fn has_filter(&self) -> bool {
        self.filter.is_some()
    }
}

/// The options as they were given.
impl std::fmt::Display for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let filter = self.filter.as_ref().map(|filter| filter.text.clone());
        let options = [
            ("partition", &self.partition),
            ("prefix", &self.prefix),
            ("from-partition", &self.from_partition),
            ("to-partition", &self.to_partition),
            ("from-row", &self.from_row),
            ("to-row", &self.to_row),
            ("filter", &filter),
        ];
        let given = options.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        for (at, (name, value)) in given.enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}--{name} {value:?}")?;
        }
        Ok(())
    }
}

/// A permit for what the command line asks for.
pub(crate) fn permit() -> ScanPermit {
    ScanPermit::because("asked for on the command line")
}
