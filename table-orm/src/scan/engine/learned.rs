//! What the pages of a scan have taught about its keys: where to split, and how large a page is.

use super::key_line::KeyLines;
use super::key_model::KeyModels;
use super::page_keys::PageKeys;
use super::partition_sizes::PartitionSizes;
use super::rules::Rules;
use crate::model::MAX_PAGE_ROWS;
use crate::property::PropertyError;
use std::sync::Arc;

#[derive(Debug)]
pub(in crate::scan) struct Learned {
    pub rules: Arc<Rules>,
    pub models: KeyModels,
    /// The same where rows leave in order.
    pub(super) lines: KeyLines,
    pub(super) sizes: PartitionSizes,
    /// Committed pages, by the rows of a full one.
    pub pages: f64,
    /// Splits without an estimate.
    pub speculative: f64,
    /// Splits whose upper part held no rows.
    pub misses: u64,
    /// Splits whose upper part began with hardly any rows.
    pub poor: u64,
    /// The most rows of a page that was not the last.
    fullest: usize,
}

impl Learned {
    pub fn new(rules: Arc<Rules>) -> Self {
        Self {
            rules,
            models: KeyModels::default(),
            lines: KeyLines::default(),
            sizes: PartitionSizes::default(),
            pages: 0.0,
            speculative: 0.0,
            misses: 0,
            poor: 0,
            fullest: 0,
        }
    }

    /// The rows of a full page.
    pub fn page_rows(&self) -> f64 {
        let asked = self.rules.query.top.unwrap_or(MAX_PAGE_ROWS);
        if self.fullest == 0 { f64::from(asked) } else { self.fullest as f64 }
    }

    /// Learns from a page. Its first `keep` rows are used, and `more` says whether rows follow it.
    /// Returns its size in pages.
    pub fn learn(
        &mut self,
        page: &PageKeys<'_>,
        keep: usize,
        more: bool,
    ) -> Result<f64, PropertyError> {
        let measured = !self.rules.is_sparse() && !self.rules.keys_only;
        if more && measured {
            self.fullest = self.fullest.max(page.len());
        }
        if self.rules.ordered {
            self.lines.learn(page, keep)?;
        } else {
            self.models.learn(page, keep)?;
        }
        // Where rows are left out, each page that is not the last was a page's work.
        Ok(if more && !measured { 1.0 } else { keep as f64 / self.page_rows() })
    }

    /// Whether misses have used up what a scan may spend on them: two for each worker, and one for
    /// each page.
    pub fn has_spent_misses(&self) -> bool {
        self.misses as f64 > 2.0 * self.rules.workers as f64 + self.pages
    }
}
