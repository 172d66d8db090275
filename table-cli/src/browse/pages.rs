//! The pages: what each address shows.

use super::html::{Escaped, page, query};
use crate::failure::Failure;
use crate::keys::largest;
use crate::selection::{EmptyRows, Selection, WrongFilter, permit};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use table_orm::entity::RowHead;
use table_orm::model::Edm;
use table_orm::{DynamicEntity, Error, TableName, Tables};

/// Rows on a page.
const ROWS: usize = 50;
/// Partitions on a page.
const PARTITIONS: usize = 200;
/// The characters of a value that are shown before it is opened.
const SHORT: usize = 100;

/// The fields of the form that selects rows.
pub(super) const FIELDS: [&str; 5] = ["partition", "prefix", "from", "to", "filter"];

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub(super) enum PageError {
    #[error("there is no such page")]
    NoPage,
    #[error("the filter cannot be read: {0}")]
    Filter(#[from] WrongFilter),
    #[error(transparent)]
    EmptyRows(#[from] EmptyRows),
    #[error(transparent)]
    Store(#[from] Error),
    #[error(transparent)]
    Failure(Box<Failure>),
}

impl From<Failure> for PageError {
    fn from(failure: Failure) -> Self {
        Self::Failure(Box::new(failure))
    }
}

/// The parameters of an address.
pub(super) type Parameters = BTreeMap<String, String>;

/// The page at a path after the root, which ends with `/`.
pub(super) async fn show(
    tables: &Tables,
    root: &str,
    path: &str,
    parameters: &Parameters,
) -> Result<String, PageError> {
    let parts: Vec<_> = path.split('/').collect();
    let table = |name: &str| TableName::new(name).map_err(|_| PageError::NoPage);
    match *parts {
        [""] => list(tables, root).await,
        ["table", name] => rows(tables, root, &table(name)?, parameters).await,
        ["table", name, "partitions"] => {
            partitions(tables, root, &table(name)?, parameters.contains_key("largest")).await
        }
        _ => Err(PageError::NoPage),
    }
}

/// A page that says what went wrong.
pub(super) fn error(root: &str, error: &PageError) -> String {
    let text = crate::with_causes(error);
    let body = format!(
        "<nav><a href=\"{root}\" rel=\"up\">Tables</a></nav>\n<h1>No page</h1>\n\
         <p class=\"error\" role=\"alert\">{}</p>",
        Escaped(&text)
    );
    page("No page", root, &body)
}

async fn list(tables: &Tables, root: &str) -> Result<String, PageError> {
    let names = tables.list().await?;
    let mut body = "<h1>Tables</h1>\n<ul>\n".to_owned();
    for name in &names {
        let name = Escaped(name.as_str());
        let _ = writeln!(
            body,
            "<li><a href=\"{root}table/{name}\">{name}</a> \
             <small><a href=\"{root}table/{name}/partitions\">partitions</a></small></li>"
        );
    }
    body.push_str("</ul>\n");
    if names.is_empty() {
        body.push_str("<p class=\"note\">There are no tables.</p>\n");
    }
    Ok(page("Tables", root, &body))
}

async fn partitions(
    tables: &Tables,
    root: &str,
    table: &TableName,
    by_size: bool,
) -> Result<String, PageError> {
    let scan = || tables.scan(table.clone(), permit()).ordered(true);
    let found: Vec<(String, Option<(u64, u64)>)> = if by_size {
        let found = largest(scan(), PARTITIONS, |_| ()).await?;
        let sized = found.into_iter();
        sized.map(|partition| (partition.key, Some((partition.rows, partition.bytes)))).collect()
    } else {
        let mut keys = scan().take(PARTITIONS).partition_keys();
        let mut found = Vec::new();
        while let Some(key) = keys.next().await? {
            found.push((key, None));
        }
        found
    };
    let name = Escaped(table.as_str());
    let title = if by_size { "Largest partitions of" } else { "Partitions of" };
    let other = match by_size {
        true => format!("<a href=\"{root}table/{name}/partitions\">In key order</a>"),
        false => format!(
            "<a href=\"{root}table/{name}/partitions?largest=1\">Largest first</a> \
             <small>reads every row</small>"
        ),
    };
    let mut body = format!(
        "<nav><a href=\"{root}\" rel=\"up\">Tables</a> / <a href=\"{root}table/{name}\">{name}</a></nav>\n\
         <h1>{title} {name}</h1>\n<p>{other}</p>\n<div class=\"scroll\"><table>\n<thead><tr>\
         <th scope=\"col\">PartitionKey</th>"
    );
    if by_size {
        body.push_str("<th scope=\"col\">Rows</th><th scope=\"col\">Bytes of JSON</th>");
    }
    body.push_str("</tr></thead>\n<tbody>\n");
    for (key, size) in &found {
        let link = query([("partition", &**key)]);
        let shown = if key.is_empty() { "(empty)" } else { key };
        let _ = write!(
            body,
            "<tr><td><a href=\"{root}table/{name}{link}\"><code>{}</code></a></td>",
            Escaped(shown)
        );
        if let Some((rows, bytes)) = size {
            let _ =
                write!(body, "<td class=\"number\">{rows}</td><td class=\"number\">{bytes}</td>");
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody>\n</table></div>\n");
    if found.len() == PARTITIONS {
        let _ = writeln!(body, "<p class=\"note\">These are {PARTITIONS}; there may be more.</p>");
    }
    Ok(page(&format!("{title} {table}"), root, &body))
}

async fn rows(
    tables: &Tables,
    root: &str,
    table: &TableName,
    parameters: &Parameters,
) -> Result<String, PageError> {
    let selection = Selection::of_form(|field| parameters.get(field).cloned())?;
    selection.check()?;
    let mut scan = selection.of(tables.scan(table.clone(), permit())).ordered(true).take(ROWS + 1);
    if let (Some(partition_key), Some(row_key)) =
        (parameters.get("after_partition"), parameters.get("after_row"))
    {
        let (partition_key, row_key) = (partition_key.clone(), row_key.clone());
        scan = scan.after(RowHead { partition_key, row_key });
    }
    let mut found = scan.collect().await?;
    let has_more = found.len() > ROWS;
    found.truncate(ROWS);

    let name = Escaped(table.as_str());
    let mut body = format!(
        "<nav><a href=\"{root}\" rel=\"up\">Tables</a> / \
         <a href=\"{root}table/{name}/partitions\">partitions</a></nav>\n<h1>{name}</h1>\n\
         <form action=\"{root}table/{name}\" role=\"search\">\n"
    );
    let labels = [
        "PartitionKey",
        "PartitionKey starts with",
        "RowKey from",
        "RowKey before",
        "Filter, as Age ge 50",
    ];
    for (label, field) in labels.into_iter().zip(FIELDS) {
        let value = Escaped(parameters.get(field).map_or("", String::as_str));
        let _ = writeln!(
            body,
            "<label>{label}<input name=\"{field}\" value=\"{value}\" autocomplete=\"off\" \
             spellcheck=\"false\"></label>"
        );
    }
    body.push_str("<button>Show</button>\n</form>\n");
    write_rows(&mut body, &found);
    let is_first = !parameters.contains_key("after_partition");
    let next = found.last().filter(|_| has_more);
    body.push_str("<p class=\"pages\">");
    let given =
        || FIELDS.iter().filter_map(|field| Some((*field, parameters.get(*field)?.as_str())));
    if !is_first {
        let link = query(given());
        let _ = write!(body, "<a href=\"{root}table/{name}{link}\">First page</a>");
    }
    if let Some(last) = next {
        let after = [("after_partition", &*last.partition_key), ("after_row", &*last.row_key)];
        let link = query(given().chain(after));
        let _ = write!(body, "<a href=\"{root}table/{name}{link}\" rel=\"next\">Next page</a>");
    }
    body.push_str("</p>\n<p class=\"note\">Keys: n next page, / search, t tables.</p>\n");
    Ok(page(table.as_str(), root, &body))
}

fn write_rows(body: &mut String, rows: &[DynamicEntity]) {
    if rows.is_empty() {
        body.push_str("<p class=\"note\" role=\"status\">No rows.</p>\n");
        return;
    }
    let names: BTreeSet<&String> = rows.iter().flat_map(|row| row.properties.keys()).collect();
    body.push_str("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Rows\"><table class=\"rows\">\n<thead><tr>");
    for name in ["PartitionKey", "RowKey"].into_iter().chain(names.iter().map(|name| &***name)) {
        let _ = write!(body, "<th scope=\"col\">{}</th>", Escaped(name));
    }
    body.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        body.push_str("<tr>");
        for (name, key) in [("PartitionKey", &row.partition_key), ("RowKey", &row.row_key)] {
            let _ = write!(body, "<td data-name=\"{name}\">{}</td>", value(key));
        }
        for name in &names {
            let Some(stored) = row.properties.get(*name) else {
                body.push_str("<td></td>");
                continue;
            };
            let edm = stored.edm_type().name();
            let edm = edm.strip_prefix("Edm.").unwrap_or(edm);
            let _ = write!(
                body,
                "<td data-name=\"{}\"><div>{}<small>{edm}</small></div></td>",
                Escaped(name),
                value(&text(stored))
            );
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody>\n</table></div>\n");
}

/// A value; a long one can be opened.
fn value(text: &str) -> String {
    match text.char_indices().nth(SHORT) {
        None if text.is_empty() => "<small>empty</small>".to_owned(),
        None => format!("<code>{}</code>", Escaped(text)),
        Some((end, _)) => format!(
            "<details><summary><code>{}…</code> <small>{} characters</small></summary>\
             <code>{}</code></details>",
            Escaped(&text[..end]),
            text.chars().count(),
            Escaped(text)
        ),
    }
}

fn text(value: &Edm) -> String {
    match value {
        Edm::String(text) => text.clone(),
        Edm::Int64(number) => number.to_string(),
        Edm::Double(number) => format!("{number:?}"),
        Edm::DateTime(instant) => instant.to_string(),
        Edm::Guid(guid) => guid.to_string(),
        Edm::Binary(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        // A filter has these as they are.
        value => value.to_string(),
    }
}
