//! How many rows a second a service grants, with one second's worth in reserve.
//!
//! It counts entities, where `sync::TokenBucket` counts time: the rounding of either decides which
//! request is throttled, and published figures were measured with this one.

#[derive(Debug)]
pub(super) struct EntityBucket {
    rate: f64,
    entities: f64,
    at: f64,
}

impl EntityBucket {
    pub const fn new(rate: f64) -> Self {
        Self { rate, entities: rate, at: 0.0 }
    }

    /// Whether `entities` may be read now.
    pub fn holds(&mut self, now: f64, entities: f64) -> bool {
        self.entities = ((now - self.at).mul_add(self.rate, self.entities)).min(self.rate);
        self.at = now;
        self.entities >= entities
    }

    pub fn take(&mut self, entities: f64) {
        self.entities -= entities;
    }
}
