//! The access patterns of the race office, with what they cost on the weekend of the race: `BOOK.md`.

use crate::entity::{Distance, Finisher, Named, Registered, Timed};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;
use table_orm::book::{Book, BookReport, Pattern, Prices, Sample};
use table_orm::layer::MeasuredPattern;
use table_orm::{Error, Tables};

// The names of the patterns. A call `as_pattern` has the same.
pub const WHO_WEARS: &str = "who wears a bib";
pub const HOW_OLD: &str = "who was 70 or older, by age and time";
pub const WHOSE_NAME: &str = "whose name starts so";
pub const LAST_TO_REGISTER: &str = "the last five to register";
pub const RESULTS: &str = "the results, 50 at a time";
pub const FASTEST_FROM: &str = "who from a country was faster than three hours";
pub const FINISHES: &str = "a runner finishes";
pub const CORRECTS: &str = "the office corrects a runner";

/// The runners of a large marathon, and of all races that are kept.
const OF_ONE_RACE: u64 = 50_000;
const OF_ALL_RACES: u64 = 1_500_000;

/// Works out the book, for a race like the sampled one, beside what was measured.
///
/// # Errors
/// When a key cannot hold a value of a sample.
pub fn report(
    finishers: &[Finisher],
    measured: impl IntoIterator<Item = MeasuredPattern>,
) -> Result<BookReport, Error> {
    let repo = Tables::in_memory()?.repo::<Finisher>();
    let Some(runner) = finishers.first() else {
        return Ok(Book::new("Race office", Prices::east_us_2()).report());
    };
    let race = Finisher::partition(&*runner.event, Distance::Full);
    let bib = || race.by_bib().wave(runner.wave).bib(runner.bib);
    let patterns = [
        Pattern::new(WHO_WEARS, repo.get(bib()).plan()?)
            .per_second(40.0)
            .within(Duration::from_millis(50)),
        Pattern::new(HOW_OLD, repo.list(race.by_age().age_in(70..)).plan()?)
            .per_hour(20.0)
            .reading(700),
        Pattern::new(
            WHOSE_NAME,
            repo.list(race.by_name().surname_starts_with("o'")).project::<Named>().plan()?,
        )
        .per_second(5.0)
        .within(Duration::from_millis(300))
        .reading(200),
        Pattern::new(
            LAST_TO_REGISTER,
            repo.list(race.by_registration()).project::<Registered>().take(5).plan()?,
        )
        .per_second(1.0),
        Pattern::new(RESULTS, repo.list(race.by_time()).project::<Timed>().take(50).plan()?)
            .per_second(20.0)
            .within(Duration::from_millis(200)),
        Pattern::new(
            FASTEST_FROM,
            repo.list(race.by_time().official_in(..3 * 60 * 60))
                .filter(|finisher| finisher.country.eq("CAN"))
                .project::<Timed>()
                .plan()?,
        )
        .per_hour(100.0),
        Pattern::new(FINISHES, repo.insert(runner).plan()?).per_second(4.0),
        Pattern::new(CORRECTS, repo.update(bib(), |_| {}).plan()?).per_hour(30.0),
    ];
    let sample = Sample::of(finishers)?.entities(OF_ALL_RACES).largest_partition(OF_ONE_RACE);
    let book = Book::new("Race office", Prices::east_us_2()).entity(sample).measured(measured);
    Ok(patterns.into_iter().fold(book, Book::pattern).report())
}

/// Writes `BOOK.md`, `book.json` and `book.html` into a folder.
///
/// # Errors
/// When a file cannot be written.
pub fn write(report: &BookReport, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("BOOK.md"), report.markdown())?;
    fs::write(folder.join("book.json"), report.json()?)?;
    fs::write(folder.join("book.html"), report.html())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Results;

    fn sample() -> Vec<Finisher> {
        let (event, text) = crate::SAMPLE;
        let lines = Results::new(event, text.as_bytes()).unwrap();
        lines.filter_map(|line| Some(line.ok()?.finisher)).collect()
    }

    /// `UPDATE_EXPECT=1` writes the file anew.
    #[test]
    fn the_book_beside_this_file_is_what_the_patterns_cost() {
        let markdown = report(&sample(), []).unwrap().markdown();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("apps/footrace/BOOK.md");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&path, &markdown).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(markdown, expected, "UPDATE_EXPECT=1 writes BOOK.md anew");
    }

    #[test]
    fn a_folder_gets_the_book_in_three_forms() {
        let folder = tempfile::tempdir().unwrap();
        write(&report(&sample(), []).unwrap(), folder.path()).unwrap();
        let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(text("BOOK.md").contains("```mermaid\n"));
        assert!(text("book.html").starts_with("<!doctype html>"));
        assert!(text("book.json").contains("\"name\": \"Finisher\""));
    }

    #[test]
    fn each_row_of_a_finisher_serves_a_pattern() {
        let report = report(&sample(), []).unwrap();
        for row in &report.entities[0].rows {
            assert!(!row.patterns.is_empty(), "{row:?}");
        }
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = report(&sample(), []).unwrap().html();
        for from_elsewhere in ["http:", "https:", "src=", "href=", "@import", "url(", "<script"] {
            assert!(!page.contains(from_elsewhere), "{from_elsewhere}");
        }
    }
}
