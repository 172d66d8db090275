//! The entities: rows of every kind, in partitions that two types share.

use fastrand::Rng;
use table_orm::TableEntity;

pub const EVENTS: [&str; 2] = ["Boston", "New York"];
/// Bibs of runners whose updates are counted, and that are never deleted.
pub const COUNTED: [u32; 3] = [900, 901, 902];

/// A full, a partial and two sparse copies beside the canonical row, and two guards.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "runners", partition = "{event}", unique(email), unique(bib, key = "NO:{bib:03}"))]
#[row(by_bib, key = "BIB:{bib:03}__{name}")]
#[row(by_age, key = "AGE:{age:03}__{bib:03}__{name}")]
#[row(by_city, key = "CITY:{city}__{bib:03}__{name}", include(name, note))]
#[row(seniors, key = "SEN:{bib:03}__{name}", when = Runner::is_senior, exclude(note))]
pub struct Runner {
    pub event: String,
    pub bib: u32,
    pub name: String,
    pub email: Option<String>,
    pub age: u8,
    pub city: Option<String>,
    pub note: Option<String>,
    pub count: u32,
}

impl Runner {
    pub fn is_senior(&self) -> bool {
        self.age >= 60
    }

    pub fn random(random: &mut Rng) -> Self {
        let mut runner = Self {
            event: (*random.choice(&EVENTS).unwrap()).to_owned(),
            bib: random.u32(0..6),
            name: (*random.choice(["Ann", "Bob"].iter()).unwrap()).to_owned(),
            email: None,
            age: 0,
            city: None,
            note: None,
            count: 0,
        };
        runner.change(random);
        runner
    }

    /// Changes fields that are not part of the canonical key.
    pub fn change(&mut self, random: &mut Rng) {
        let some = |random: &mut Rng, words: u32| {
            random.bool().then(|| format!("w{}", random.u32(0..words)))
        };
        self.email = some(random, 8);
        self.age = *random.choice(&[20, 40, 60, 80]).unwrap();
        self.city = some(random, 3);
        self.note = some(random, 100);
    }
}

/// An entity whose row keys follow from its canonical key: written blindly.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "runners", partition = "{event}")]
#[row(by_number, key = "LAP:{number:02}")]
#[row(board, key = "SHOW:{number:02}", include(label))]
#[row(copy, key = "TWIN:{number:02}", allow_duplicate)]
pub struct Lap {
    pub event: String,
    pub number: u32,
    pub label: Option<String>,
    pub metres: u32,
}

impl Lap {
    pub fn random(random: &mut Rng) -> Self {
        Self {
            event: (*random.choice(&EVENTS).unwrap()).to_owned(),
            number: random.u32(0..5),
            label: random.bool().then(|| format!("l{}", random.u32(0..100))),
            metres: random.u32(0..1000),
        }
    }
}
