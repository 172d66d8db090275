//! A token bucket: entities a second, with one second's worth in reserve.

#[derive(Debug)]
pub(super) struct Bucket {
    rate: f64,
    tokens: f64,
    at: f64,
}

impl Bucket {
    pub const fn new(rate: f64) -> Self {
        Self { rate, tokens: rate, at: 0.0 }
    }

    /// Whether `entities` may be read now.
    pub fn holds(&mut self, now: f64, entities: f64) -> bool {
        self.tokens = ((now - self.at).mul_add(self.rate, self.tokens)).min(self.rate);
        self.at = now;
        self.tokens >= entities
    }

    pub fn take(&mut self, entities: f64) {
        self.tokens -= entities;
    }
}
