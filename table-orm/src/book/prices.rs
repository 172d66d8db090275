//! What the service charges, from a file that an app replaces.

use serde::de::Error as _;
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
    /// Returns the retail prices of Table storage in East US 2 with local redundancy (LRS) on 2026-10-03: 0.00036
    /// USD for 10,000 transactions, and 0.045 USD for a GB and month of the first TB.
    ///
    /// Their source is [Microsoft's list of retail prices][list], which anyone can query: its items of product
    /// `Tables` and this region have the same prices today, or newer ones. Other regions and redundancies have other
    /// prices. [Read](Self::from_json) yours from a file.
    ///
    /// [list]: https://prices.azure.com/api/retail/prices?$filter=productName%20eq%20%27Tables%27%20and%20armRegionName%20eq%20%27eastus2%27
    ///
    /// ```
    /// # use table_orm::book::Prices;
    /// // A file to start from.
    /// let file = serde_json::to_string_pretty(&Prices::east_us_2())?;
    /// assert_eq!(Prices::from_json(&file)?, Prices::east_us_2());
    /// # Ok::<_, serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn east_us_2() -> Self {
        Self {
            source: "retail prices of Table storage in East US 2, locally redundant (LRS), first TB; compare \
                     prices.azure.com/api/retail/prices?$filter=productName eq 'Tables' and armRegionName eq \
                     'eastus2'"
                .to_owned(),
            date: "2026-10-03".to_owned(),
            currency: "USD".to_owned(),
            per_10_000_transactions: 0.00036,
            per_gib_month: 0.045,
        }
    }

    /// Reads a price file: a JSON object with the fields of this type.
    ///
    /// # Errors
    /// When the text is no such object, or a price is below zero.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        let prices: Self = serde_json::from_str(json)?;
        for (name, price) in [
            ("per_10_000_transactions", prices.per_10_000_transactions),
            ("per_gib_month", prices.per_gib_month),
        ] {
            if price < 0.0 {
                let error = format!("`{name}` is {price}; a price is 0 or more");
                return Err(serde_json::Error::custom(error));
            }
        }
        Ok(prices)
    }
}
