//! Results into the table: many inserts in flight, so that they share transactions.

use crate::book;
use crate::entity::{Bib, Finisher, FinisherPartition, Wearer};
use crate::report::{counted, grouped};
use crate::results::{Line, Reason, Results, WrongLine};
use futures_util::{StreamExt as _, stream};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::HashSet;
use std::io::Read;
use std::time::{Duration, Instant};
use table_orm::entity::TableEntity as _;
use table_orm::layer::as_pattern;
use table_orm::{Error, Repo};

/// How many inserts are in flight at once. The store writes those that wait as one durable
/// transaction.
const UNDER_WAY: usize = 256;
/// How many wrong lines are kept to show.
const KEPT: usize = 10;
/// How many lines pass between two updates of the progress bar's text.
const LINES_A_LOOK: usize = 500;

/// Why loading ends early. What was inserted before stays.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The store fails.
    #[error(transparent)]
    Store(#[from] Error),
    /// The file cannot be read to its end.
    #[error(transparent)]
    Read(WrongLine),
}

/// The outcome of loading a results file.
#[derive(Debug, Default)]
pub struct Loading {
    /// Finishers that were inserted.
    pub inserted: usize,
    /// Finishers that were there before.
    pub present: usize,
    /// Lines that were left out.
    pub wrong: usize,
    /// The first of them.
    pub first_wrong: Vec<WrongLine>,
    /// The time it took, reading the file included.
    pub elapsed: Duration,
}

/// The progress of reading `bytes` bytes; not shown unless stderr is a terminal.
pub fn progress(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    match ProgressStyle::with_template("  loading {bar:28} {percent:>3} %  {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Inserts the finishers that are not there yet. A wrong line is left out and counted.
///
/// # Errors
/// [`LoadError`]; never because of a single line.
pub async fn load<R: Read>(
    repo: &Repo<Finisher>,
    race: &FinisherPartition,
    results: Results<R>,
    bar: &ProgressBar,
) -> Result<Loading, LoadError> {
    let started = Instant::now();
    let mut stored = stored_bibs(repo, race).await?;
    let mut lines = stream::iter(results)
        .map(|line| {
            let insert = line.map(|Line { number, finisher }| {
                let bib = finisher.bib();
                let absent = !stored.remove(&bib);
                (number, bib, absent.then(|| as_pattern(book::FINISHES, repo.insert(&finisher))))
            });
            async move {
                match insert {
                    Err(wrong) => Ok(Outcome::Wrong(wrong)),
                    Ok((_, _, None)) => Ok(Outcome::Present),
                    Ok((line, bib, Some(insert))) => {
                        insert.await.map(|_| Outcome::Inserted).or_else(|error| {
                            // Only this program makes these rows, so equal ones are its own.
                            if error.is_stored_as_sent() {
                                return Ok(Outcome::Inserted);
                            }
                            rejected(error, bib).map(|reason| WrongLine { line, reason }.into())
                        })
                    }
                }
            }
        })
        .buffered(UNDER_WAY);
    let mut loading = Loading::default();
    while let Some(outcome) = lines.next().await {
        match outcome.map_err(LoadError::Store)? {
            Outcome::Inserted => loading.inserted += 1,
            Outcome::Present => loading.present += 1,
            Outcome::Wrong(line) if matches!(line.reason, Reason::Read(_)) => {
                return Err(LoadError::Read(line));
            }
            Outcome::Wrong(line) => {
                loading.wrong += 1;
                if loading.first_wrong.len() < KEPT {
                    loading.first_wrong.push(line);
                }
            }
        }
        if loading.lines().is_multiple_of(LINES_A_LOOK) {
            loading.elapsed = started.elapsed();
            bar.set_message(loading.speed());
        }
    }
    loading.elapsed = started.elapsed();
    Ok(loading)
}

/// The bibs of the finishers that are there already, from an earlier or an interrupted load.
async fn stored_bibs(
    repo: &Repo<Finisher>,
    race: &FinisherPartition,
) -> Result<HashSet<Bib>, Error> {
    let mut bibs = HashSet::new();
    let mut wearers = repo.list(race.by_bib()).project::<Wearer>().stream();
    while let Some(Wearer { wave, bib }) = wearers.next().await? {
        bibs.insert(Bib { wave, number: bib });
    }
    Ok(bibs)
}

/// The outcome of a line.
enum Outcome {
    Inserted,
    Present,
    Wrong(WrongLine),
}

impl From<WrongLine> for Outcome {
    fn from(line: WrongLine) -> Self {
        Self::Wrong(line)
    }
}

/// Separates what is wrong with a line from what is wrong with the store.
fn rejected(error: Error, bib: Bib) -> Result<Reason, Error> {
    match error {
        Error::AlreadyExists(_) => Ok(Reason::Taken(bib)),
        Error::Key(_) | Error::Property(_) | Error::TooLarge(_) => Ok(error.into()),
        _ => Err(error),
    }
}

impl Loading {
    /// The lines that were looked at.
    pub const fn lines(&self) -> usize {
        self.inserted + self.present + self.wrong
    }

    /// The rows that were written.
    pub const fn rows(&self) -> usize {
        self.inserted * Finisher::ROWS.len()
    }

    /// How many rows were written, and how many of them a second.
    pub fn speed(&self) -> String {
        let each_second = self.rows() as f64 / self.elapsed.as_secs_f64().max(f64::EPSILON);
        format!("{}, {} rows/s", counted(self.rows(), "row"), grouped(each_second as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Distance;
    use table_orm::Tables;

    const SAMPLE: &str = include_str!("sample.csv");

    async fn load_text(repo: &Repo<Finisher>, text: &str) -> Loading {
        let race = Finisher::partition("Test 2014", Distance::Full);
        let results = Results::new("Test 2014", text.as_bytes()).unwrap();
        load(repo, &race, results, &ProgressBar::hidden()).await.unwrap()
    }

    async fn repo() -> Repo<Finisher> {
        let repo = Tables::in_memory().unwrap().repo();
        repo.create_table().await.unwrap();
        repo
    }

    #[tokio::test]
    async fn loading_again_completes_an_interrupted_load_and_then_changes_nothing() {
        let repo = repo().await;
        let half: String = SAMPLE.lines().take(11).map(|line| format!("{line}\n")).collect();
        let first = load_text(&repo, &half).await;
        assert_eq!((first.inserted, first.present, first.wrong), (10, 0, 0));
        let second = load_text(&repo, SAMPLE).await;
        assert_eq!((second.inserted, second.present, second.wrong), (30, 10, 2));
        let third = load_text(&repo, SAMPLE).await;
        assert_eq!((third.inserted, third.present, third.wrong), (0, 40, 2));
    }

    #[tokio::test]
    async fn every_row_of_every_finisher_is_written() {
        let repo = repo().await;
        assert_eq!(load_text(&repo, SAMPLE).await.rows(), 200);
        let race = Finisher::partition("Test 2014", Distance::Full);
        let counts = [
            repo.list(race.by_bib()).count().await.unwrap(),
            repo.list(race.by_age()).count().await.unwrap(),
            repo.list(race.by_time()).count().await.unwrap(),
            repo.list(race.by_name()).count().await.unwrap(),
            repo.list(race.by_registration()).count().await.unwrap(),
        ];
        assert_eq!(counts, [40; 5]);
    }

    #[tokio::test]
    async fn what_the_store_rejects_costs_only_its_line() {
        let mut lines: Vec<String> = SAMPLE.lines().take(4).map(str::to_owned).collect();
        lines[2] = lines[2].replacen(", ", ", A/", 1);
        lines.push(lines[1].clone());
        let loading = load_text(&repo().await, &lines.join("\n")).await;
        assert_eq!((loading.inserted, loading.wrong), (2, 2));
        let reasons: Vec<_> = loading.first_wrong.iter().map(ToString::to_string).collect();
        assert!(reasons[0].starts_with("line 3: key component `surname` of `Finisher`"));
        assert!(reasons[1].ends_with("is that of an earlier line"), "{}", reasons[1]);
        assert_eq!(loading.first_wrong[1].line, 5);
    }
}
