//! The form of an export's text.

use super::csv::Columns;
use crate::entity::DynamicEntity;
use crate::error::Result;

/// The form of the text.
#[derive(Debug, Clone)]
pub(super) enum Format {
    /// A JSON object in each line.
    JsonLines,
    /// A header, and a record for each row.
    Csv(Columns),
}

impl Format {
    /// The line before the first row.
    pub fn header(&self) -> String {
        match self {
            Self::JsonLines => String::new(),
            Self::Csv(columns) => format!("{columns}\n"),
        }
    }

    /// Appends the text of a row.
    pub fn write(&self, text: &mut String, row: &DynamicEntity) -> Result<()> {
        match self {
            Self::JsonLines => text.push_str(&row.to_json()?),
            Self::Csv(columns) => text.push_str(&columns.record(row)?),
        }
        text.push('\n');
        Ok(())
    }

    /// Reads the text of a row, without its line end.
    pub fn read(&self, line: &str) -> Result<DynamicEntity> {
        match self {
            Self::JsonLines => Ok(DynamicEntity::from_json(line)?),
            Self::Csv(columns) => Ok(columns.row(line)?),
        }
    }
}
