//! What the service charges, from a file that an app replaces.

use serde::{Deserialize, Serialize};

/// What the service charges for requests and for what is stored.
///
/// ```
/// use table_orm::book::Prices;
/// let prices = Prices::from_json(
///     r#"{
///         "source": "our contract", "date": "2026-10-01", "currency": "EUR",
///         "per_10_000_transactions": 0.0004, "per_gib_month": 0.06
///     }"#,
/// )?;
/// assert_eq!(prices.currency, "EUR");
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Prices {
    /// Where the prices are from.
    pub source: String,
    /// The day they were read, such as `2026-10-01`.
    pub date: String,
    /// The currency, such as `USD`.
    pub currency: String,
    /// The price of 10,000 billed transactions.
    pub per_10_000_transactions: f64,
    /// The price of a GiB that is stored for a month.
    pub per_gib_month: f64,
}

impl Prices {
    /// Returns made-up prices, to be replaced by those of your region and redundancy.
    #[must_use]
    pub fn example() -> Self {
        Self {
            source: "an example: replace it by the prices of your region and redundancy".to_owned(),
            date: "none".to_owned(),
            currency: "USD".to_owned(),
            per_10_000_transactions: 0.0004,
            per_gib_month: 0.05,
        }
    }

    /// Reads a price file: a JSON object with the fields of this type.
    ///
    /// # Errors
    /// When the text is no such object.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }
}
