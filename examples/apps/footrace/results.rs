//! A results file: CSV lines become finishers, or a line number and a reason.
//!
//! Invariant: a wrong line costs only itself. Columns are found by the names in the header, so
//! their order and further columns do not matter.

use crate::entity::{Bib, CHECKPOINTS, Distance, Finisher, NotABib, Sex};
use csv::{ErrorKind, StringRecord};
use std::io::{self, Read};
use time::{Duration, OffsetDateTime};

/// When registration opened: 9 September 2013, 14:00 UTC, in seconds since 1970.
const REGISTRATION_OPENED: i64 = 1_378_735_200;
/// The text in place of a time that was not taken.
const NO_TIME: &str = "-";

/// The columns of a finisher, besides the splits, whose columns have the names of their
/// checkpoints.
const COLUMNS: [&str; 9] =
    ["bib", "name", "gender", "age", "official", "overall", "city", "state", "country"];
/// Checkpoints that a file may leave out.
const OPTIONAL: [&str; 1] = ["15k"];

/// A results file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// A column is not there.
    #[error("has no column `{column}`; its first line must name {}", column_names())]
    NoColumn {
        /// The column's name.
        column: &'static str,
    },
    /// Reading failed.
    #[error("cannot be read: {0}; give the path of a results file")]
    Read(#[source] io::Error),
}

/// A line that is not a finisher.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct WrongLine {
    /// Counted from 1, the header included.
    pub line: u64,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// More or fewer fields than the header.
    #[error("has {found} fields where the header has {expected}")]
    Fields {
        /// The number of the header's fields.
        expected: u64,
        /// The number of the line's fields.
        found: u64,
    },
    /// Bytes that are not UTF-8.
    #[error("is not UTF-8 text")]
    NotText,
    /// A field that must not be empty.
    #[error("`{0}` is empty")]
    Empty(&'static str),
    /// A field with text that it cannot hold.
    #[error("`{column}` is {value:?}, {expected}")]
    Value {
        /// The field's column.
        column: &'static str,
        /// Its text.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// The bib is malformed.
    #[error("`bib` is {value:?}: {source}")]
    Bib {
        /// Its text.
        value: String,
        /// What a bib is.
        source: NotABib,
    },
    /// The rest of the file cannot be read.
    #[error("the file cannot be read from here on: {0}")]
    Read(#[source] io::Error),
    /// An earlier line has the same bib.
    #[error("bib {0} is that of an earlier line")]
    Taken(Bib),
    /// The store rejects it.
    #[error(transparent)]
    Refused(#[from] table_orm::Error),
}

/// A finisher, and the line that names it.
#[derive(Debug, PartialEq)]
pub struct Line {
    /// Counted from 1, the header included.
    pub number: u64,
    /// The finisher.
    pub finisher: Finisher,
}

/// The lines of a results file, read one at a time.
pub struct Results<R> {
    reader: csv::Reader<R>,
    columns: [usize; COLUMNS.len()],
    splits: [Option<usize>; CHECKPOINTS.len()],
    event: String,
    record: StringRecord,
    ended: bool,
}

impl<R: Read> Results<R> {
    /// Reads the header of the results of that event.
    pub fn new(event: &str, input: R) -> Result<Self, ResultsError> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(input);
        let header = match reader.headers() {
            Ok(header) => header,
            Err(error) => return Err(ResultsError::Read(error.into())),
        };
        let find = |column| header.iter().position(|name| name == column);
        let mut columns = [0; COLUMNS.len()];
        for (at, column) in columns.iter_mut().zip(COLUMNS) {
            *at = find(column).ok_or(ResultsError::NoColumn { column })?;
        }
        let mut splits = [None; CHECKPOINTS.len()];
        for (at, column) in splits.iter_mut().zip(CHECKPOINTS) {
            *at = find(column);
            if at.is_none() && !OPTIONAL.contains(&column) {
                return Err(ResultsError::NoColumn { column });
            }
        }
        let (event, record) = (event.to_owned(), StringRecord::new());
        Ok(Self { reader, columns, splits, event, record, ended: false })
    }

    fn finisher(&self, line: u64) -> Result<Finisher, Reason> {
        let [bib, name, gender, age, official, overall, city, state, country] =
            std::array::from_fn(|column| Field {
                column: COLUMNS[column],
                text: self.record.get(self.columns[column]).unwrap_or_default(),
            });
        let bib: Bib = bib.given()?.parse().map_err(|source| bib.not_a_bib(source))?;
        let mut splits = [None; CHECKPOINTS.len()];
        for ((split, at), column) in splits.iter_mut().zip(self.splits).zip(CHECKPOINTS) {
            let text = at.and_then(|at| self.record.get(at)).unwrap_or(NO_TIME);
            *split = Field { column, text }.split()?;
        }
        let minutes = Duration::minutes(i64::try_from(line).unwrap_or(i64::MAX / 60));
        Ok(Finisher {
            event: self.event.clone(),
            distance: Distance::Full,
            wave: bib.wave,
            bib: bib.number,
            name: name.given()?.to_owned(),
            sex: gender.sex()?,
            age: age.age()?,
            official: official.seconds()?,
            place: overall.place()?,
            city: city.optional(),
            state: state.optional(),
            country: country.optional(),
            registered_at: OffsetDateTime::UNIX_EPOCH
                .saturating_add(Duration::seconds(REGISTRATION_OPENED))
                .saturating_add(minutes),
            splits,
        })
    }
}

impl<R: Read> Iterator for Results<R> {
    type Item = Result<Line, WrongLine>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.reader.read_record(&mut self.record);
        let position = match &read {
            Ok(_) => self.record.position(),
            Err(error) => error.position(),
        };
        let line = position.unwrap_or_else(|| self.reader.position()).line();
        let item = match read {
            Ok(false) => return None,
            Ok(true) => self.finisher(line).map(|finisher| Line { number: line, finisher }),
            Err(error) => Err(match error.into_kind() {
                ErrorKind::UnequalLengths { expected_len, len, .. } => {
                    Reason::Fields { expected: expected_len, found: len }
                }
                ErrorKind::Utf8 { .. } => Reason::NotText,
                ErrorKind::Io(error) => {
                    self.ended = true;
                    Reason::Read(error)
                }
                // Kinds of writers and of typed records.
                _ => Reason::NotText,
            }),
        };
        Some(item.map_err(|reason| WrongLine { line, reason }))
    }
}

/// A field of a line.
#[derive(Clone, Copy)]
struct Field<'a> {
    column: &'static str,
    text: &'a str,
}

impl<'a> Field<'a> {
    fn given(self) -> Result<&'a str, Reason> {
        if self.text.is_empty() { Err(Reason::Empty(self.column)) } else { Ok(self.text) }
    }

    fn optional(self) -> Option<String> {
        (!self.text.is_empty()).then(|| self.text.to_owned())
    }

    fn wrong(self, expected: &'static str) -> Reason {
        Reason::Value { column: self.column, value: self.text.to_owned(), expected }
    }

    fn not_a_bib(self, source: NotABib) -> Reason {
        Reason::Bib { value: self.text.to_owned(), source }
    }

    fn sex(self) -> Result<Sex, Reason> {
        match self.given()? {
            "F" => Ok(Sex::F),
            "M" => Ok(Sex::M),
            _ => Err(self.wrong("not `F` or `M`")),
        }
    }

    fn age(self) -> Result<u8, Reason> {
        let age = self.given()?.parse().ok().filter(|age| (1..=120).contains(age));
        age.ok_or_else(|| self.wrong("not an age in years"))
    }

    fn place(self) -> Result<u32, Reason> {
        self.given()?.parse().map_err(|_| self.wrong("not a place: a whole number"))
    }

    /// Minutes with decimals.
    fn minutes(self) -> Result<f64, Reason> {
        let minutes = self.text.parse().ok().filter(|minutes: &f64| {
            // Less than a day. The syntax of Rust's floats allows more than the file may use.
            (0.0..24.0 * 60.0).contains(minutes) && !self.text.contains(['e', 'E', '+', '-'])
        });
        minutes.ok_or_else(|| self.wrong("not a time in minutes such as 208.37"))
    }

    fn seconds(self) -> Result<u32, Reason> {
        self.given()?;
        // It is less than a day, so it fits.
        Ok((self.minutes()? * 60.0).round() as u32)
    }

    fn split(self) -> Result<Option<f64>, Reason> {
        if self.text == NO_TIME || self.text.is_empty() {
            return Ok(None);
        }
        self.minutes().map(Some)
    }
}

fn column_names() -> String {
    let splits = CHECKPOINTS.iter().filter(|name| !OPTIONAL.contains(name));
    let names: Vec<&str> = COLUMNS.iter().chain(splits).copied().collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Wave;

    const HEADER: &str = "10k,name,25k,gender,age,official,bib,35k,overall,state,30k,5k,half,20k,\
                          country,city,40k,15k\n";

    fn read(lines: &str) -> Vec<Result<Line, WrongLine>> {
        let text = format!("{HEADER}{lines}");
        Results::new("Test 2014", text.as_bytes()).unwrap().collect()
    }

    fn reasons(lines: &str) -> Vec<String> {
        read(lines).into_iter().map(|line| line.unwrap_err().to_string()).collect()
    }

    const GOOD: &str = "39.08,\"O'Testa, Zoë (zo)\",103.07,F,42,188.92,F12,-,642,,130.00,19.50,\
                        87.10,82.40,SWE,\"Lund, Skåne\",-,\n";

    #[test]
    fn a_line_becomes_a_finisher() {
        let lines = read(GOOD);
        let [Ok(Line { number: 2, finisher })] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(finisher.event, "Test 2014");
        assert_eq!(finisher.bib(), Bib { wave: Wave::EliteWomen, number: 12 });
        assert_eq!(finisher.name, "O'Testa, Zoë (zo)");
        assert_eq!((finisher.sex, finisher.age), (Sex::F, 42));
        assert_eq!((finisher.official, finisher.place), (11_335, 642));
        assert_eq!(finisher.city.as_deref(), Some("Lund, Skåne"));
        assert_eq!((finisher.state.as_deref(), finisher.country.as_deref()), (None, Some("SWE")));
        let splits = [19.5, 39.08, 0.0, 82.4, 87.1, 103.07, 130.0, 0.0, 0.0];
        assert_eq!(finisher.splits, splits.map(|split| (split > 0.0).then_some(split)));
    }

    #[test]
    fn later_lines_registered_later() {
        let registered = |line: &Result<Line, _>| line.as_ref().unwrap().finisher.registered_at;
        let lines = read(&format!("{GOOD}{GOOD}"));
        assert_eq!(registered(&lines[1]) - registered(&lines[0]), Duration::MINUTE);
    }

    #[test]
    fn a_wrong_field_is_named_with_its_text() {
        let wrong = |from: &str, to: &str| reasons(&GOOD.replacen(from, to, 1)).join("\n");
        assert_eq!(
            wrong(",F12,", ",X12,"),
            "line 2: `bib` is \"X12\": a bib is a number of up to five digits, after `W`, `F` or \
             no letter"
        );
        assert_eq!(wrong(",F12,", ",,"), "line 2: `bib` is empty");
        assert_eq!(wrong("\"O'Testa, Zoë (zo)\"", " "), "line 2: `name` is empty");
        assert_eq!(wrong(",F,", ",f,"), "line 2: `gender` is \"f\", not `F` or `M`");
        assert_eq!(wrong(",42,", ",forty,"), "line 2: `age` is \"forty\", not an age in years");
        assert_eq!(wrong(",42,", ",256,"), "line 2: `age` is \"256\", not an age in years");
        assert_eq!(
            wrong(",642,", ",6.5,"),
            "line 2: `overall` is \"6.5\", not a place: a whole number"
        );
        for time in ["3:08:55", "-188.92", "NaN", "inf", "1e2", "1440"] {
            assert_eq!(
                wrong(",188.92,", &format!(",{time},")),
                format!("line 2: `official` is {time:?}, not a time in minutes such as 208.37")
            );
        }
        assert_eq!(
            wrong(",103.07,", ",about 100,"),
            "line 2: `25k` is \"about 100\", not a time in minutes such as 208.37"
        );
    }

    #[test]
    fn no_official_time_is_wrong_but_no_split_is_not() {
        assert_eq!(
            reasons(&GOOD.replace("188.92", "-")),
            ["line 2: `official` is \"-\", not a time in minutes such as 208.37"]
        );
        assert!(read(&GOOD.replace("103.07", "-"))[0].is_ok());
    }

    #[test]
    fn a_wrong_line_costs_only_itself() {
        let lines = read(&format!("{GOOD}1,2,3\n{GOOD}"));
        let [Ok(_), Err(wrong), Ok(Line { number: 4, .. })] = &lines[..] else {
            panic!("{lines:?}")
        };
        assert_eq!(wrong.to_string(), "line 3: has 3 fields where the header has 18");
    }

    #[test]
    fn bytes_that_are_no_text_cost_only_their_line() {
        let mut bytes = format!("{HEADER}{GOOD}").into_bytes();
        let at = bytes.iter().position(|byte| *byte == b'\'').unwrap();
        bytes[at] = 0xED;
        bytes.extend_from_slice(GOOD.as_bytes());
        let lines: Vec<_> = Results::new("Test", &bytes[..]).unwrap().collect();
        let [Err(wrong), Ok(Line { number: 3, .. })] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(wrong.to_string(), "line 2: is not UTF-8 text");
    }

    #[test]
    fn a_file_that_stops_being_readable_ends_with_that_error() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let text = format!("{HEADER}{GOOD}");
        let lines: Vec<_> = Results::new("Test", text.as_bytes().chain(Broken)).unwrap().collect();
        let [Ok(_), Err(wrong)] = &lines[..] else { panic!("{lines:?}") };
        assert!(matches!(wrong, WrongLine { line: 3, reason: Reason::Read(_) }), "{wrong}");
    }

    #[test]
    fn a_file_of_something_else_is_refused_by_its_header() {
        let rejected = |text: &'static str| {
            Results::new("Test", text.as_bytes()).map(drop).unwrap_err().to_string()
        };
        assert!(
            rejected("a,b\n1,2\n").starts_with("has no column `bib`; its first line must name")
        );
        assert!(rejected("").starts_with("has no column `bib`"));
    }
}
