//! What a table holds, as a number of rows and a hash that does not depend on their order.

use std::hash::{DefaultHasher, Hash, Hasher};
use table_orm::model::Edm;
use table_orm::repo::Table;
use table_orm::{DynamicEntity, Error, ScanPermit};

/// Two tables with the same content have the same rows, types and values to the bit. Timestamps
/// and ETags, which the store sets, do not count.
///
/// The hashes of all rows are added, so rows may come in any order; a missing, repeated or
/// different row changes the sum. It detects accidents, not forgery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Content {
    /// The number of rows.
    pub rows: u64,
    /// The sum of their hashes.
    pub hash: u128,
}

impl Content {
    /// Reads all of a table, with `readers` requests in flight; calls `read` for each page.
    pub async fn of(table: &Table, readers: usize, read: impl Fn(u64)) -> Result<Self, Error> {
        let mut content = Self::default();
        let scan = table.scan(ScanPermit::because("check of a copy")).concurrency(readers);
        let scan = scan.on_page(|page| {
            page.rows.iter().for_each(|row| content.add(row));
            read(page.rows.len() as u64);
            async { Ok::<_, Error>(()) }
        });
        scan.await?;
        Ok(content)
    }

    /// Adds a row.
    pub fn add(&mut self, row: &DynamicEntity) {
        let half = |which: u8| {
            let mut hasher = DefaultHasher::new();
            which.hash(&mut hasher);
            (&row.partition_key, &row.row_key).hash(&mut hasher);
            for (name, value) in &row.properties {
                name.hash(&mut hasher);
                hash(value, &mut hasher);
            }
            u128::from(hasher.finish())
        };
        self.rows += 1;
        self.hash = self.hash.wrapping_add(half(0) << 64 | half(1));
    }
}

fn hash(value: &Edm, hasher: &mut DefaultHasher) {
    value.edm_type().hash(hasher);
    match value {
        Edm::Double(number) => number.to_bits().hash(hasher),
        Edm::String(text) => text.hash(hasher),
        Edm::Binary(bytes) => bytes.hash(hasher),
        // The literal of every other type holds its value.
        value => value.to_string().hash(hasher),
    }
}
