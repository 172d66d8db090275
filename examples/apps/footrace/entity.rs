//! What is stored about a finisher, and in which rows.

use std::fmt;
use std::str::FromStr;
use table_orm::{KeyPart, Projection, TableEntity};
use time::OffsetDateTime;

/// The points of the course at which a split is taken, in the order of [`Finisher::splits`].
pub const CHECKPOINTS: [&str; 9] = ["5k", "10k", "15k", "20k", "half", "25k", "30k", "35k", "40k"];

/// A runner who finished a race: five rows, one for each question the race office asks.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "finishers", partition = "{event}__{distance}")]
#[row(by_bib, key = "BIB:{wave}{bib:05}")]
#[row(by_age, key = "AGE:{age:03}__{official:05}__{wave}{bib:05}")]
#[row(
    by_time,
    key = "TIME:{official:05}__{wave}{bib:05}",
    include(wave, bib, name, sex, official, country)
)]
#[row(
    by_name,
    key = "NAME:{surname}__{wave}{bib:05}",
    include(wave, bib, name, age, city, official)
)]
#[row(
    by_registration,
    key = "NEW:{newest}__{wave}{bib:05}",
    include(wave, bib, name, registered_at)
)]
#[component(surname = lower(name), newest = desc(registered_at))]
// Rows may include the same fields: https://github.com/rust-lang/rust-clippy/issues/13238.
#[allow(clippy::duplicated_attributes)]
pub struct Finisher {
    /// The race and its year.
    pub event: String,
    /// The course.
    pub distance: Distance,
    /// The start; with the number it makes the bib.
    pub wave: Wave,
    /// The number on the bib, without the wave's letter.
    #[table(max = 99_999)]
    pub bib: u32,
    /// Surname first, as the results list it: `O'Neil, Aoife`.
    #[table(max_len = 80)]
    pub name: String,
    /// Male or female, as the results write it.
    pub sex: Sex,
    /// Years, on the day of the race.
    pub age: u8,
    /// The official time, in seconds.
    #[table(max = 99_999)]
    pub official: u32,
    /// The place in the results of all starts as the file counts it.
    pub place: u32,
    /// Where the runner lives.
    pub city: Option<String>,
    /// The state or province.
    pub state: Option<String>,
    /// The country, by its three-letter code.
    pub country: Option<String>,
    /// When the runner registered. Results files do not contain it, so the loader invents it: the
    /// day registration opened, plus a minute for each line of the file.
    pub registered_at: OffsetDateTime,
    /// Minutes since the start at each of the [`CHECKPOINTS`]; stored as `Splits00` to `Splits08`.
    #[table(series)]
    pub splits: [Option<f64>; 9],
}

impl Finisher {
    /// The runner's bib.
    pub const fn bib(&self) -> Bib {
        Bib { wave: self.wave, number: self.bib }
    }
}

/// A course.
#[derive(Debug, Clone, Copy, PartialEq, Eq, KeyPart)]
pub enum Distance {
    /// 42.195 km.
    #[key("Full")]
    Full,
}

/// A start of the race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, KeyPart)]
pub enum Wave {
    /// Elite women, with bibs such as `F3`.
    #[key("F")]
    EliteWomen,
    /// Everybody else, with bibs such as `1234`.
    #[key("O")]
    Open,
    /// Wheelchairs, with bibs such as `W1`.
    #[key("W")]
    Wheelchair,
}

/// Male or female.
#[derive(Debug, Clone, Copy, PartialEq, Eq, KeyPart)]
pub enum Sex {
    /// Female.
    #[key("F")]
    F,
    /// Male.
    #[key("M")]
    M,
}

impl Sex {
    /// As the results write it.
    pub const fn letter(self) -> &'static str {
        match self {
            Self::F => "F",
            Self::M => "M",
        }
    }
}

/// What a runner wears: a letter for a start of its own, and a number. `W1`, `F3`, `1234`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bib {
    /// The start.
    pub wave: Wave,
    /// The number.
    pub number: u32,
}

/// Text that is no bib.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a bib is a number of up to five digits, after `W`, `F` or no letter")]
pub struct NotABib;

impl FromStr for Bib {
    type Err = NotABib;

    fn from_str(text: &str) -> Result<Self, NotABib> {
        let (wave, number) = match text.as_bytes().first() {
            Some(b'F') => (Wave::EliteWomen, &text[1..]),
            Some(b'W') => (Wave::Wheelchair, &text[1..]),
            _ => (Wave::Open, text),
        };
        let is_number =
            (1..=5).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = number.parse().ok().filter(|_| is_number).ok_or(NotABib)?;
        Ok(Self { wave, number })
    }
}

impl fmt::Display for Bib {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.wave {
            Wave::EliteWomen => "F",
            Wave::Open => "",
            Wave::Wheelchair => "W",
        };
        f.pad(&format!("{letter}{}", self.number))
    }
}

/// Which runner it is, and nothing else.
#[derive(Debug, Clone, PartialEq, Projection)]
#[projection(of = Finisher)]
pub struct Wearer {
    /// The start.
    pub wave: Wave,
    /// The number on the bib.
    pub bib: u32,
}

/// A line of the results by time: what `by_time` stores.
#[derive(Debug, Clone, PartialEq, Projection)]
#[projection(of = Finisher)]
pub struct Timed {
    /// The start.
    pub wave: Wave,
    /// The number on the bib.
    pub bib: u32,
    /// Surname first.
    pub name: String,
    /// Male or female.
    pub sex: Sex,
    /// The official time, in seconds.
    pub official: u32,
    /// The country, by its three-letter code.
    pub country: Option<String>,
}

/// A line of the list by name: what `by_name` stores.
#[derive(Debug, Clone, PartialEq, Projection)]
#[projection(of = Finisher)]
pub struct Named {
    /// The start.
    pub wave: Wave,
    /// The number on the bib.
    pub bib: u32,
    /// Surname first.
    pub name: String,
    /// Years.
    pub age: u8,
    /// Where the runner lives.
    pub city: Option<String>,
    /// The official time, in seconds.
    pub official: u32,
}

/// A line of the registrations: what `by_registration` stores.
#[derive(Debug, Clone, PartialEq, Projection)]
#[projection(of = Finisher)]
pub struct Registered {
    /// The start.
    pub wave: Wave,
    /// The number on the bib.
    pub bib: u32,
    /// Surname first.
    pub name: String,
    /// When the runner registered.
    pub registered_at: OffsetDateTime,
}
