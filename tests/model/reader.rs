//! The stored rows, read and judged without the code that writes them.

use crate::calls::Ledger;
use crate::entities::{COUNTED, EVENTS};
use std::collections::{BTreeMap, BTreeSet};
use table_orm::model::Edm;
use table_orm::repo::Table;
use table_orm::{DynamicEntity, ScanPermit};

type Properties = BTreeMap<String, Edm>;
/// Rows by PartitionKey and RowKey.
pub type Rows = BTreeMap<(String, String), Properties>;

pub async fn read(table: &Table) -> Rows {
    let rows = table.scan(ScanPermit::because("check")).collect().await.unwrap();
    rows.into_iter().map(|row| ((row.partition_key, row.row_key), row.properties)).collect()
}

/// Whether the rows are exactly those that the canonical rows imply, and hold every update.
pub fn check(stored: &Rows, ledger: &Ledger) -> Result<(), String> {
    let mut expected = Rows::new();
    for ((event, row_key), properties) in stored {
        let rows = match row_key.split_once(':') {
            Some(("BIB", _)) => runner(properties)?,
            Some(("LAP", _)) => lap(properties)?,
            _ => continue,
        };
        if text(properties, "Event")? != *event {
            return Err(format!("{row_key} lies in the partition {event}"));
        }
        if !rows.contains_key(row_key) {
            return Err(format!("{event} / {row_key} is not the key of its content"));
        }
        for (row_key, properties) in rows {
            let at = (event.clone(), row_key);
            if expected.insert(at.clone(), properties).is_some() {
                return Err(format!("two entities make the row {at:?}"));
            }
        }
    }
    for (at, properties) in stored {
        match expected.get(at) {
            None => return Err(format!("orphan {at:?}")),
            Some(wanted) if wanted != properties => {
                return Err(format!("stale {at:?}: {properties:?}, not {wanted:?}"));
            }
            Some(_) => {}
        }
    }
    if let Some(missing) = expected.keys().find(|at| !stored.contains_key(*at)) {
        return Err(format!("missing {missing:?}"));
    }
    updates(stored, ledger)
}

fn updates(stored: &Rows, ledger: &Ledger) -> Result<(), String> {
    for event in EVENTS {
        for bib in COUNTED {
            let start = format!("BIB:{bib:03}__");
            let rows: Vec<_> = stored
                .iter()
                .filter(|((partition, row), _)| partition == event && row.starts_with(&start))
                .collect();
            let [(_, properties)] = rows[..] else {
                return Err(format!("{} runners have the bib {bib} of {event}", rows.len()));
            };
            let count = number(properties, "Count")?;
            let acknowledged = i64::from(ledger.of(event, bib));
            if count != acknowledged {
                return Err(format!(
                    "{event} {bib}: {acknowledged} updates were acknowledged, {count} are stored"
                ));
            }
        }
    }
    Ok(())
}

fn text<'p>(properties: &'p Properties, name: &str) -> Result<&'p str, String> {
    match properties.get(name) {
        Some(Edm::String(text)) => Ok(text),
        other => Err(format!("{name} is {other:?}")),
    }
}

fn number(properties: &Properties, name: &str) -> Result<i64, String> {
    match properties.get(name) {
        Some(Edm::Int64(number)) => Ok(*number),
        Some(Edm::Int32(number)) => Ok((*number).into()),
        other => Err(format!("{name} is {other:?}")),
    }
}

fn only(properties: &Properties, keep: impl Fn(&str) -> bool) -> Properties {
    let kept = properties.iter().filter(|(name, _)| keep(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The rows of a runner with these properties.
fn runner(all: &Properties) -> Result<BTreeMap<String, Properties>, String> {
    let (bib, age, name) = (number(all, "Bib")?, number(all, "Age")?, text(all, "Name")?);
    let canonical = format!("BIB:{bib:03}__{name}");
    let reference = || {
        let guard = DynamicEntity::new("", "").with("Canonical", canonical.as_str());
        guard.properties
    };
    let mut rows = BTreeMap::from([
        (canonical.clone(), all.clone()),
        (format!("AGE:{age:03}__{bib:03}__{name}"), all.clone()),
        (format!("NO:{bib:03}"), reference()),
    ]);
    if let Ok(city) = text(all, "City") {
        let copied = BTreeSet::from(["Name", "Note"]);
        let partial = only(all, |name| copied.contains(name));
        rows.insert(format!("CITY:{city}__{bib:03}__{name}"), partial);
    }
    if age >= 60 {
        rows.insert(format!("SEN:{bib:03}__{name}"), only(all, |name| name != "Note"));
    }
    if let Ok(email) = text(all, "Email") {
        rows.insert(format!("UNQ:email:{email}"), reference());
    }
    Ok(rows)
}

/// The rows of a lap with these properties.
fn lap(all: &Properties) -> Result<BTreeMap<String, Properties>, String> {
    let number = number(all, "Number")?;
    Ok(BTreeMap::from([
        (format!("LAP:{number:02}"), all.clone()),
        (format!("SHOW:{number:02}"), only(all, |name| name == "Label")),
        (format!("TWIN:{number:02}"), all.clone()),
    ]))
}
