//! Queries of entities and tables.

use crate::error::ServiceError;
use crate::filter::{self, FilterError};
use crate::uri::Parameters;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use table_orm::TableName;
use table_orm::azure::protocol::json::is_property_name;
use table_orm::model::{Continuation, Edm, MAX_COMPARISONS, MAX_PAGE_ROWS, Metadata};
use table_orm::query::{Filter, RowQuery};

/// The most properties of an entity, with its keys and its timestamp.
const MAX_SELECTED: usize = 255;

/// A query of entities: the store's query, and the properties to return.
#[derive(Debug)]
pub(crate) struct EntityQuery {
    pub(crate) rows: RowQuery,
    pub(crate) select: Option<Vec<String>>,
}

impl EntityQuery {
    pub(super) fn read(table: TableName, parameters: &Parameters) -> Result<Self, ServiceError> {
        refuse_unknown(parameters)?;
        let (keys, filter) = match read_filter(parameters)? {
            Some(filter) => {
                check_names(&filter)?;
                filter::split_keys(filter)
            }
            None => (table_orm::query::KeyRange::ALL, None),
        };
        let continuation = match parameters.get("NextPartitionKey") {
            Some(token) => Some(Continuation {
                next_partition_key: decode_token(token)?,
                next_row_key: match parameters.get("NextRowKey") {
                    Some(token) => decode_token(token)?,
                    None => None,
                },
            }),
            None if parameters.get("NextRowKey").is_some() => {
                return Err(ServiceError::INVALID_QUERY_PARAMETER);
            }
            None => None,
        };
        let select = select(parameters)?;
        let top = top(parameters)?;
        let rows = RowQuery {
            filter,
            // The keys and the timestamp make up the metadata of each entity.
            select: select.as_ref().map(|names| {
                let system = ["PartitionKey", "RowKey", "Timestamp"].map(str::to_owned);
                let rest = names.iter().filter(|name| !system.contains(name)).cloned();
                system.iter().cloned().chain(rest).map(Into::into).collect()
            }),
            top,
            continuation,
            metadata: Metadata::Minimal,
            ..RowQuery::new(table, keys)
        };
        Ok(Self { rows, select })
    }
}

/// A query of tables.
#[derive(Debug)]
pub(crate) struct TableQuery {
    filter: Option<Filter>,
    top: usize,
    /// The name of the first table of the page.
    next: Option<String>,
}

/// A page of tables, and the name at which the next one starts.
type Continued = (Vec<TableName>, Option<String>);

impl TableQuery {
    pub(super) fn read(parameters: &Parameters) -> Result<Self, ServiceError> {
        refuse_unknown(parameters)?;
        let filter = read_filter(parameters)?;
        if filter.as_ref().is_some_and(|filter| !filter::only_on(filter, "TableName")) {
            return Err(ServiceError::invalid("Tables have no property but TableName."));
        }
        let next = parameters.get("NextTableName").map(decode_token).transpose()?.flatten();
        Ok(Self { filter, top: top(parameters)?.unwrap_or(MAX_PAGE_ROWS).into(), next })
    }

    /// Returns the page of all tables, which are in order.
    pub(crate) fn page(&self, tables: Vec<TableName>) -> Continued {
        let lower = |table: &TableName| table.as_str().to_ascii_lowercase();
        let after = |table: &TableName| self.next.as_ref().is_none_or(|next| lower(table) >= *next);
        let mut found: Vec<_> = tables
            .into_iter()
            .filter(after)
            .filter(|table| self.matches(table.as_str()))
            .take(self.top + 1)
            .collect();
        let next = if found.len() > self.top { found.pop() } else { None };
        (found, next.as_ref().map(lower))
    }

    /// Names are compared without regard to case, as tables are found.
    fn matches(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let Some(filter) = &self.filter else { return true };
        filter.evaluate(&mut |_, comparison, value| {
            let Edm::String(value) = value else { return false };
            let order = name.cmp(&value.to_ascii_lowercase());
            comparison.holds(Some(order))
        })
    }
}

/// Refuses what the service does not implement.
fn refuse_unknown(parameters: &Parameters) -> Result<(), ServiceError> {
    let unknown = ["$orderby", "$skip", "$expand", "$inlinecount", "$count"];
    if unknown.iter().any(|name| parameters.get(name).is_some()) {
        return Err(ServiceError::NOT_IMPLEMENTED);
    }
    Ok(())
}

fn read_filter(parameters: &Parameters) -> Result<Option<Filter>, ServiceError> {
    let Some(text) = parameters.get("$filter").filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    let filter = filter::parse(text).map_err(|error| match error {
        FilterError::Function => ServiceError::NOT_IMPLEMENTED,
        error => ServiceError::invalid(format!("The filter is not valid: {error}.")),
    })?;
    let found = filter.comparisons();
    if found > MAX_COMPARISONS {
        let message =
            format!("The filter has {found} comparisons; the limit is {MAX_COMPARISONS}.");
        return Err(ServiceError::invalid(message));
    }
    Ok(Some(filter))
}

fn check_names(filter: &Filter) -> Result<(), ServiceError> {
    match filter {
        Filter::Compare { property, .. } if is_property_name(property) => Ok(()),
        Filter::Compare { .. } => Err(ServiceError::invalid("The filter names no property.")),
        Filter::And(left, right) | Filter::Or(left, right) => {
            check_names(left)?;
            check_names(right)
        }
        Filter::Not(inner) => check_names(inner),
    }
}

/// Reads `$select`; `None` returns all properties.
pub(super) fn select(parameters: &Parameters) -> Result<Option<Vec<String>>, ServiceError> {
    let Some(text) = parameters.get("$select") else { return Ok(None) };
    let mut names: Vec<String> = Vec::new();
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        if name == "*" {
            return Ok(None);
        }
        if !is_property_name(name) {
            return Err(ServiceError::invalid(
                "The parameter $select is not a list of properties.",
            ));
        }
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        if names.len() > MAX_SELECTED {
            return Err(ServiceError::invalid("The parameter $select names too many properties."));
        }
    }
    Ok((!names.is_empty()).then_some(names))
}

fn top(parameters: &Parameters) -> Result<Option<u16>, ServiceError> {
    let Some(text) = parameters.get("$top") else { return Ok(None) };
    // A number of Rust may begin with a plus sign.
    match text.parse() {
        Ok(rows @ 1..=MAX_PAGE_ROWS) if !text.starts_with('+') => Ok(Some(rows)),
        _ => Err(ServiceError::invalid("The parameter $top is not a number from 1 to 1000.")),
    }
}

/// Writes a part of a continuation as the text of a header: `1!length!base64`.
pub(crate) fn encode_token(text: &str) -> String {
    let token = URL_SAFE_NO_PAD.encode(text);
    format!("1!{}!{token}", token.len())
}

fn decode_token(token: &str) -> Result<Option<String>, ServiceError> {
    if token.is_empty() {
        return Ok(None);
    }
    let text = token
        .strip_prefix("1!")
        .and_then(|rest| rest.split_once('!'))
        .and_then(|(_, text)| String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok());
    text.map(Some).ok_or_else(|| ServiceError::invalid("The continuation token is not valid."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(query: &str, names: &[&str]) -> (Vec<String>, Option<String>) {
        let query = TableQuery::read(&Parameters::read(query).unwrap()).unwrap();
        let tables = names.iter().map(|name| TableName::new(name).unwrap()).collect();
        let (found, next) = query.page(tables);
        (found.iter().map(|table| table.as_str().to_owned()).collect(), next)
    }

    #[test]
    fn pages_of_tables_continue_where_they_end() {
        let names = ["Aaa", "bbb", "Ccc", "ddd"];
        let (first, next) = tables("$filter=TableName%20ge%20'b'&$top=2", &names);
        assert_eq!(
            (first, next.as_deref()),
            (vec!["bbb".to_owned(), "Ccc".to_owned()], Some("ddd"))
        );
        let token = encode_token("ddd").replace('!', "%21");
        assert_eq!(
            tables(&format!("NextTableName={token}"), &names),
            (vec!["ddd".to_owned()], None)
        );
        assert_eq!(tables("$filter=TableName%20eq%20'ccc'", &names).0, ["Ccc"]);
    }

    #[test]
    fn tokens_of_others_and_invalid_parameters_are_refused() {
        for query in [
            "NextPartitionKey=x",
            "NextPartitionKey=1!x",
            "NextPartitionKey=1!4!%2F%2F",
            "$top=0",
            "$top=1001",
            "$top=x",
            "$top=%2B1",
            "$select=a-b",
            "$filter=x",
            "$filter=-1 eq 1",
        ] {
            let parameters = Parameters::read(query).unwrap();
            let read = EntityQuery::read(TableName::new("People").unwrap(), &parameters);
            if query != "$filter=x" {
                assert_eq!(read.unwrap_err().status, 400, "{query}");
            }
        }
        let ordered = Parameters::read("$orderby=A").unwrap();
        let read = EntityQuery::read(TableName::new("People").unwrap(), &ordered);
        assert_eq!(read.unwrap_err().status, 501);
    }
}
