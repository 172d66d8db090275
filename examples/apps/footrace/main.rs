//! A foot race's results in an embedded table: loads a results file, then answers a race office's
//! questions.
//!
//! ```text
//! cargo run --example footrace
//! cargo run --release --example footrace -- --csv results.csv --db race.redb
//! cargo run --example footrace --features azure -- --azure "UseDevelopmentStorage=true"
//! cargo run --example footrace --features azure -- --azure env:STORAGE
//! ```

mod book;
mod entity;
#[path = "../from_env.rs"]
mod from_env;
mod load;
mod office;
#[path = "../report.rs"]
mod report;
mod results;

use entity::{Bib, Distance, Finisher};
use lexopt::ValueExt as _;
use load::{LoadError, Loading};
use office::{Office, OfficeError};
use report::{Report, counted, grouped, took};
use results::{Results, ResultsError, WrongLine};
use std::error::Error as _;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use table_orm::layer::Measure;
use table_orm::{Error, Tables};

const HELP: &str = "\
footrace: a race's results in a table, and what a race office asks of them

usage: cargo run --example footrace -- [options]

  --csv FILE     the results to load; without it, a small sample
  --db PATH      the database file to keep them in, created if it is not there; without it, memory
  --azure TEXT   keep them in the storage account of this connection string instead; Azurite's is
                 UseDevelopmentStorage=true. env:NAME is the one that the environment variable
                 NAME has: it has the account's key, and a command line is shown to everyone
  --event NAME   what to call the race of FILE; without it, the file's name
  --book FOLDER  write the book of access patterns there, with what they cost and what was measured
  --bib BIB      the runner to ask for: 1234 (the default), W1, F3
  --help         this text

FILE is comma-separated, with a header that names its columns: bib, name, gender, age, official,
overall, city, state, country, 5k, 10k, 20k, half, 25k, 30k, 35k, 40k, and 15k if there is one.
Times are minutes; - is a split that was not taken. Wrong lines are reported, the rest is loaded.

A finisher whose bib is in the database already, under the same event, is left as it is. So an
interrupted load is completed by running it again, and loading twice changes nothing.
";

/// The sample, and the name of its race. Its runners are invented.
const SAMPLE: (&str, &str) = ("Lindholm Marathon 2014", include_str!("sample.csv"));

/// Why the program ends early: one line, with what to do.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}; --help lists the options")]
    Arguments(String),
    #[error("`{}` cannot be opened: {source}; give --csv the path of a results file", .path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("`{}` {source}", .path.display())]
    Results { path: PathBuf, source: ResultsError },
    #[error("`{}`, {line}; load it again when it can be read", .path.display())]
    Broken { path: PathBuf, line: Box<WrongLine> },
    #[error(transparent)]
    Store(#[from] Error),
    #[error(transparent)]
    Office(#[from] OfficeError),
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough: `footrace | head`.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("footrace: {}", failure.one_line());
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Failure> {
    let stdout = io::stdout();
    let Some(arguments) = Arguments::read(lexopt::Parser::from_env())? else {
        return Ok(stdout.lock().write_all(HELP.as_bytes())?);
    };
    let mut report = Report::new(stdout.lock(), stdout.is_terminal());
    let (input, reader) = Input::of(&arguments)?;
    let bar = load::progress(input.bytes);
    let results = Results::new(&input.event, bar.wrap_read(reader))
        .map_err(|source| Failure::Results { path: input.path.clone(), source })?;

    let (tables, place) = match (&arguments.azure, &arguments.db) {
        (Some(text), _) => (azure(text)?, "the storage account".to_owned()),
        (None, Some(path)) => (Tables::open(path)?, path.display().to_string()),
        (None, None) => (Tables::in_memory()?, "memory".to_owned()),
    };
    let measure = Measure::new();
    let finishers = tables.layer(measure.clone())?.repo::<Finisher>();
    match finishers.create_table().await {
        Ok(()) | Err(Error::AlreadyExists(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let race = Finisher::partition(&*input.event, Distance::Full);

    let loading = load::load(&finishers, &race, results, &bar).await;
    bar.finish_and_clear();
    let loading = loading.map_err(|error| match error {
        LoadError::Store(error) => Failure::Store(error),
        LoadError::Read(line) => Failure::Broken { path: input.path.clone(), line: Box::new(line) },
    })?;
    report.title(&format!("{}, from {} into {place}", input.event, input.path.display()))?;
    describe(&mut report, &loading)?;
    let mut office = Office { repo: &finishers, race: &race, report: &mut report };
    office.answer_all(arguments.bib).await?;
    if let Some(folder) = &arguments.book {
        let sample = finishers.list(race.by_bib()).collect().await?;
        book::write(&book::report(&sample, measure.patterns())?, folder)?;
    }
    Ok(())
}

/// A storage account.
#[cfg(feature = "azure")]
fn azure(connection_string: &str) -> Result<Tables, Failure> {
    Ok(Tables::from_connection_string(connection_string)?)
}

#[cfg(not(feature = "azure"))]
fn azure(_: &str) -> Result<Tables, Failure> {
    let message = "--azure is not in this build: run it with `--features azure`";
    Err(Failure::Arguments(message.to_owned()))
}

/// What was loaded, how fast, and what was left out.
fn describe<W: Write>(report: &mut Report<W>, loading: &Loading) -> io::Result<()> {
    if loading.inserted > 0 || loading.present == 0 {
        let (finishers, speed) = (counted(loading.inserted, "finisher"), loading.speed());
        report.line(&format!("loaded {finishers} in {}: {speed}", took(loading.elapsed)))?;
    }
    if loading.present > 0 {
        let finishers = counted(loading.present, "finisher");
        report.line(&format!("{finishers} there already, left as they are"))?;
    }
    if loading.wrong > 0 {
        report.line(&format!("{} left out:", counted(loading.wrong, "wrong line")))?;
    }
    for line in &loading.first_wrong {
        report.item(&line.to_string())?;
    }
    match loading.wrong - loading.first_wrong.len() {
        0 => Ok(()),
        more => report.item(&format!("and {} more", grouped(more))),
    }
}

/// The options of the command line.
#[derive(Debug)]
struct Arguments {
    csv: Option<PathBuf>,
    db: Option<PathBuf>,
    azure: Option<String>,
    book: Option<PathBuf>,
    event: Option<String>,
    bib: Bib,
}

impl Arguments {
    /// `None` when the user asks for the help text.
    fn read(mut parser: lexopt::Parser) -> Result<Option<Self>, Failure> {
        let wrong = |error: lexopt::Error| Failure::Arguments(error.to_string());
        let bib = Bib { wave: entity::Wave::Open, number: 1234 };
        let mut arguments = Self { csv: None, db: None, azure: None, book: None, event: None, bib };
        while let Some(argument) = parser.next().map_err(wrong)? {
            match argument {
                lexopt::Arg::Long("csv") => {
                    arguments.csv = Some(parser.value().map_err(wrong)?.into());
                }
                lexopt::Arg::Long("db") => {
                    arguments.db = Some(parser.value().map_err(wrong)?.into());
                }
                lexopt::Arg::Long("azure") => {
                    let text = parser.value().and_then(|text| text.string());
                    let text = from_env::connection_string(&text.map_err(wrong)?);
                    arguments.azure = Some(text.map_err(Failure::Arguments)?);
                }
                lexopt::Arg::Long("book") => {
                    arguments.book = Some(parser.value().map_err(wrong)?.into());
                }
                lexopt::Arg::Long("event") => {
                    let event = parser.value().and_then(|event| event.string());
                    arguments.event = Some(event.map_err(wrong)?);
                }
                lexopt::Arg::Long("bib") => {
                    let bib = parser.value().and_then(|bib| bib.parse());
                    arguments.bib = bib.map_err(wrong)?;
                }
                lexopt::Arg::Long("help") | lexopt::Arg::Short('h') => return Ok(None),
                _ => return Err(wrong(argument.unexpected())),
            }
        }
        if arguments.event.is_some() && arguments.csv.is_none() {
            let message = "--event names the race of a --csv file, and there is none";
            return Err(Failure::Arguments(message.to_owned()));
        }
        if arguments.azure.is_some() && arguments.db.is_some() {
            let message = "--db and --azure are two places for the results; give one";
            return Err(Failure::Arguments(message.to_owned()));
        }
        Ok(Some(arguments))
    }
}

/// The results to load.
struct Input {
    path: PathBuf,
    event: String,
    bytes: u64,
}

impl Input {
    fn of(arguments: &Arguments) -> Result<(Self, Box<dyn Read>), Failure> {
        let Some(path) = &arguments.csv else {
            let (event, text) = SAMPLE;
            let (path, event) = (PathBuf::from("the sample"), event.to_owned());
            let bytes = text.len() as u64;
            return Ok((Self { path, event, bytes }, Box::new(text.as_bytes())));
        };
        let open = |path: &Path| {
            let file = File::open(path)?;
            let bytes = file.metadata()?.len();
            Ok((file, bytes))
        };
        let (file, bytes) =
            open(path).map_err(|source| Failure::Open { path: path.clone(), source })?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let event = arguments.event.clone().or(stem).unwrap_or_default();
        Ok((Self { path: path.clone(), event, bytes }, Box::new(file)))
    }
}

impl Failure {
    /// The failure and what caused it, once each.
    fn one_line(&self) -> String {
        let mut text = self.to_string();
        let mut source = self.source();
        while let Some(error) = source {
            let cause = error.to_string();
            if !text.contains(&cause) {
                text = format!("{text}: {cause}");
            }
            source = error.source();
        }
        text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
    }

    fn is_broken_pipe(&self) -> bool {
        match self {
            Self::Output(error) | Self::Office(OfficeError::Output(error)) => {
                error.kind() == io::ErrorKind::BrokenPipe
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use table_orm::schema_lock::{LockError, SchemaLock};

    #[test]
    fn stored_finishers_stay_readable() -> Result<(), LockError> {
        let (event, text) = SAMPLE;
        let lines = Results::new(event, text.as_bytes()).unwrap();
        let finishers = lines.filter_map(|line| Some(line.ok()?.finisher));
        SchemaLock::new("apps/footrace/tables.lock").with(finishers.take(2)).check()
    }

    fn arguments(text: &str) -> Result<Option<Arguments>, Failure> {
        Arguments::read(lexopt::Parser::from_args(text.split_whitespace()))
    }

    #[test]
    fn wrong_arguments_are_one_line_that_says_what_to_do() {
        for wrong in [
            "--bogus",
            "extra",
            "--csv",
            "--bib Q7",
            "--bib 123456",
            "--event X",
            "--db x --azure y",
            "--azure env:FOOTRACE_NO_SUCH_VARIABLE",
        ] {
            let line = arguments(wrong).unwrap_err().one_line();
            assert!(line.ends_with("; --help lists the options"), "{line}");
            assert!(!line.contains('\n'), "{line}");
        }
        assert!(arguments("--db x --help").unwrap().is_none());
        let azurite = "UseDevelopmentStorage=true";
        let given = arguments(&format!("--azure {azurite}")).unwrap().unwrap();
        assert_eq!(given.azure.as_deref(), Some(azurite));
    }

    #[test]
    fn a_missing_file_is_named_with_what_to_do() {
        let missing = arguments("--csv no/such.csv").unwrap().unwrap();
        let line = Input::of(&missing).map(drop).unwrap_err().one_line();
        assert!(line.starts_with("`no/such.csv` cannot be opened: "), "{line}");
        assert!(line.ends_with("; give --csv the path of a results file"), "{line}");
    }

    #[tokio::test]
    async fn the_sample_answers_every_question_in_100_columns() {
        let (event, text) = SAMPLE;
        let finishers = Tables::in_memory().unwrap().repo::<Finisher>();
        finishers.create_table().await.unwrap();
        let race = Finisher::partition(event, Distance::Full);
        let results = Results::new(event, text.as_bytes()).unwrap();
        let bar = indicatif::ProgressBar::hidden();
        let loading = load::load(&finishers, &race, results, &bar).await.unwrap();
        let mut out = Vec::new();
        let mut report = Report::new(&mut out, false);
        describe(&mut report, &loading).unwrap();
        let mut office = Office { repo: &finishers, race: &race, report: &mut report };
        office.answer_all("1234".parse().unwrap()).await.unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
        assert!(out.contains("2 wrong lines left out"), "{out}");
        assert_eq!(out.matches("\n7. ").count(), 1, "{out}");
        assert!(out.contains("4 operations, 1 request"), "{out}");
        assert!(!out.contains('\x1b'), "{out}");
    }
}
