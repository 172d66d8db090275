//! The questions that a race office asks, each answered by the row that is sorted for it.

use crate::book;
use crate::entity::{Bib, CHECKPOINTS, Finisher, FinisherPartition, Named, Registered, Timed};
use crate::report::Column::{self, Left, Right};
use crate::report::{Report, counted, took};
use std::io::{self, Write};
use std::time::{Duration, Instant};
use table_orm::entity::FromRow;
use table_orm::entity::Row;
use table_orm::layer::as_pattern;
use table_orm::plan::{Plan, Step};
use table_orm::query::PageToken;
use table_orm::repo::List;
use table_orm::{Error, Repo};

/// The country whose runners a question lists.
const COUNTRY: &str = "CAN";
/// Three hours, in seconds.
const THREE_HOURS: u32 = 3 * 60 * 60;
/// The rows of a page of results.
const PAGE: usize = 5;

/// The reason why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum OfficeError {
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] Error),
    /// The answer cannot be written.
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
}

type Result<T> = std::result::Result<T, OfficeError>;

/// The office of one race.
pub struct Office<'a, W> {
    /// The finishers of all races.
    pub repo: &'a Repo<Finisher>,
    /// Those of this race.
    pub race: &'a FinisherPartition,
    /// The output.
    pub report: &'a mut Report<W>,
}

impl<W: Write> Office<'_, W> {
    /// Asks and answers all questions; `bib` is the runner some of them are about.
    pub async fn answer_all(&mut self, bib: Bib) -> Result<()> {
        self.who_wears(bib).await?;
        self.how_old().await?;
        self.who_is_called("o'").await?;
        self.who_registered_last().await?;
        self.page_by_page().await?;
        self.fastest_from(COUNTRY).await?;
        self.correct_age(bib).await
    }

    /// One runner, by the canonical row's complete key.
    async fn who_wears(&mut self, bib: Bib) -> Result<()> {
        self.report.question(&format!("Who wears bib {bib}, and what were the splits?"))?;
        let key = || self.race.by_bib().wave(bib.wave).bib(bib.number);
        let plan = self.repo.get(key()).plan()?;
        let started = Instant::now();
        let runner = as_pattern(book::WHO_WEARS, self.repo.get(key())).await?;
        let elapsed = started.elapsed();
        self.cost(&Cost { plan, rows: runner.iter().len(), pages: 1, elapsed })?;
        let Some(runner) = runner else { return Ok(self.nobody_wears(bib)?) };
        self.report.table(FINISHER, std::slice::from_ref(&runner), finisher)?;
        let split = |split: Option<f64>| match split {
            Some(minutes) => clock((minutes * 60.0).round() as u32),
            None => "-".to_owned(),
        };
        self.report.table(CHECKPOINTS.map(Right), &[runner.splits], |splits| splits.map(split))?;
        Ok(())
    }

    /// A range of ages; within an age the fastest come first, because the time follows in the row's
    /// key.
    async fn how_old(&mut self) -> Result<()> {
        self.report.question("Who was 70 or older, by age and time?")?;
        let query = || self.repo.list(self.race.by_age().age_in(70..));
        let (runners, cost) = as_pattern(book::HOW_OLD, ask(query)).await?;
        self.cost(&cost)?;
        self.report.table(FINISHER, &runners, finisher)?;
        Ok(())
    }

    /// The start of a name, in any case, because the key holds it in lower case.
    async fn who_is_called(&mut self, start: &str) -> Result<()> {
        self.report.question(&format!("Whose name starts with {start:?}, in whatever case?"))?;
        let query = || self.race.by_name().surname_starts_with(start);
        let named = || self.repo.list(query()).project::<Named>();
        let (runners, cost) = as_pattern(book::WHOSE_NAME, ask(named)).await?;
        self.cost(&cost)?;
        let columns = [Right("bib"), Left("name"), Right("age"), Left("from"), Right("official")];
        self.report.table(columns, &runners, |runner| {
            [
                Bib { wave: runner.wave, number: runner.bib }.to_string(),
                runner.name.clone(),
                runner.age.to_string(),
                runner.city.clone().unwrap_or_default(),
                clock(runner.official),
            ]
        })?;
        Ok(())
    }

    /// Newest first, because the key counts the time down; four properties of each.
    async fn who_registered_last(&mut self) -> Result<()> {
        self.report.question("Who were the last five to register?")?;
        let query = || self.repo.list(self.race.by_registration()).project::<Registered>().take(5);
        let (runners, cost) = as_pattern(book::LAST_TO_REGISTER, ask(query)).await?;
        self.cost(&cost)?;
        let columns = [Left("registered (UTC)"), Right("bib"), Left("name")];
        self.report.table(columns, &runners, |runner| {
            let at = runner.registered_at;
            [
                format!("{} {:02}:{:02}", at.date(), at.hour(), at.minute()),
                Bib { wave: runner.wave, number: runner.bib }.to_string(),
                runner.name.clone(),
            ]
        })?;
        Ok(())
    }

    /// The results as a web page would show them: the token is text that a browser can hold.
    async fn page_by_page(&mut self) -> Result<()> {
        self.report.question(&format!("What are the results, {PAGE} at a time?"))?;
        let results = || self.repo.list(self.race.by_time()).project::<Timed>();
        let plan = results().plan()?;
        let started = Instant::now();
        let first = as_pattern(book::RESULTS, results().pages(PAGE).next()).await?;
        let elapsed = started.elapsed();
        let (rows, token) = first.map_or((Vec::new(), None), |page| (page.items, page.next));
        self.cost(&Cost { plan, rows: rows.len(), pages: 1, elapsed })?;
        self.report.table(TIMED, &rows, timed)?;
        let Some(token) = token else {
            self.report.line("That was the last page.")?;
            return Ok(());
        };
        let token = token.to_string();
        self.report.gap()?;
        self.report.line("The next page, in another request, from the token's text:")?;
        self.report.line(&token)?;
        let started = Instant::now();
        let token: PageToken = token.parse().map_err(Error::from)?;
        let mut rest = results().pages(PAGE).resume(token);
        let second = as_pattern(book::RESULTS, rest.next()).await?;
        let rows = second.map_or_else(Vec::new, |page| page.items);
        self.report.line(&format!(
            "{} read, 1 page, {}",
            counted(rows.len(), "row"),
            took(started.elapsed())
        ))?;
        self.report.table(TIMED, &rows, timed)?;
        Ok(())
    }

    /// A range of times, and a condition on a property that is in no key.
    async fn fastest_from(&mut self, country: &str) -> Result<()> {
        self.report.question(&format!("Who from {country} finished in less than three hours?"))?;
        let in_time = || self.repo.list(self.race.by_time().official_in(..THREE_HOURS));
        let from_there =
            || in_time().filter(|finisher| finisher.country.eq(country)).project::<Timed>();
        let (runners, cost) = as_pattern(book::FASTEST_FROM, ask(from_there)).await?;
        self.cost(&cost)?;
        let passed = counted(in_time().count().await?, "row");
        self.report.line(&format!("The store looked at {passed} to find them."))?;
        self.report.table(TIMED, &runners, timed)?;
        Ok(())
    }

    /// Changes a property that is part of an index row's key, which moves that row. Changes it back
    /// at the end.
    async fn correct_age(&mut self, bib: Bib) -> Result<()> {
        self.report
            .question(&format!("Bib {bib} is a year older than we thought: what changes?"))?;
        let key = || self.race.by_bib().wave(bib.wave).bib(bib.number);
        let plan = self.repo.load(key()).plan()?;
        let started = Instant::now();
        let runner = self.repo.load(key()).await?.optional()?;
        let elapsed = started.elapsed();
        self.cost(&Cost { plan, rows: runner.iter().len(), pages: 1, elapsed })?;
        let Some(mut runner) = runner else { return Ok(self.nobody_wears(bib)?) };
        let before = runner.age;
        runner.age = before.saturating_add(1);
        let plan = self.repo.save(&mut runner).plan()?;
        let operations: usize = plan.steps.iter().map(operations).sum();
        let started = Instant::now();
        runner = self.repo.save(runner).await?;
        let elapsed = started.elapsed();
        self.report.gap()?;
        self.report.plan(&plan)?;
        let written = counted(operations, "operation");
        self.report.line(&format!("{written}, 1 request, {}", took(elapsed)))?;
        let mut found = Vec::new();
        for age in [before, runner.age] {
            let row = self.race.by_age().age(age).official(runner.official);
            let row = self.repo.get(row.wave(bib.wave).bib(bib.number)).await?;
            found.push((age, row.map(|finisher| finisher.name)));
        }
        self.report.table(
            [Right("age"), Left("found there afterwards")],
            &found,
            |(age, name)| [age.to_string(), name.clone().unwrap_or_else(|| "nobody".to_owned())],
        )?;
        let back = self.repo.update(key(), |finisher| finisher.age = before);
        as_pattern(book::CORRECTS, back).await?;
        self.report.gap()?;
        self.report.line(&format!("Taken back by an update: the age is {before} again."))?;
        Ok(())
    }

    /// What a query sent, and its cost.
    fn cost(&mut self, cost: &Cost) -> io::Result<()> {
        self.report.plan(&cost.plan)?;
        let class = cost.plan.class().map(|class| format!("{class}: ")).unwrap_or_default();
        let took = took(cost.elapsed);
        let (rows, pages) = (counted(cost.rows, "row"), counted(cost.pages, "page"));
        self.report.line(&format!("{class}{rows} read, {pages}, {took}"))
    }

    fn nobody_wears(&mut self, bib: Bib) -> io::Result<()> {
        self.report.line(&format!("No finisher wears {bib}; ask for another one with --bib."))
    }
}

/// The cost of an answer.
struct Cost {
    /// What was sent.
    plan: Plan,
    /// The rows that came back.
    rows: usize,
    /// The requests it took to get them.
    pages: usize,
    /// The time from asking to having them.
    elapsed: Duration,
}

/// Reads all pages of a query, and counts them.
async fn ask<R, C, T>(query: impl Fn() -> List<R, C, T>) -> Result<(Vec<T>, Cost)>
where
    R: Row,
    T: FromRow<R>,
{
    let plan = query().plan()?;
    let started = Instant::now();
    let (mut rows, mut read) = (Vec::new(), 0);
    let mut pages = query().pages(1000);
    while let Some(page) = pages.next().await? {
        read += 1;
        rows.extend(page.items);
    }
    let cost = Cost { plan, rows: rows.len(), pages: read, elapsed: started.elapsed() };
    Ok((rows, cost))
}

/// How many rows a step writes.
fn operations(step: &Step) -> usize {
    match step {
        Step::Commit { batch, .. } => batch.operations.len(),
        Step::Write { .. } => 1,
        _ => 0,
    }
}

/// A race time: `2:08:37`.
fn clock(seconds: u32) -> String {
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

const FINISHER: [Column; 6] =
    [Right("bib"), Left("name"), Left("sex"), Right("age"), Left("from"), Right("official")];

fn finisher(runner: &Finisher) -> [String; 6] {
    let places = [&runner.city, &runner.state, &runner.country];
    let from: Vec<&str> = places.into_iter().flatten().map(String::as_str).collect();
    [
        runner.bib().to_string(),
        runner.name.clone(),
        runner.sex.letter().to_owned(),
        runner.age.to_string(),
        from.join(", "),
        clock(runner.official),
    ]
}

const TIMED: [Column; 5] =
    [Right("official"), Right("bib"), Left("name"), Left("sex"), Left("country")];

fn timed(runner: &Timed) -> [String; 5] {
    [
        clock(runner.official),
        Bib { wave: runner.wave, number: runner.bib }.to_string(),
        runner.name.clone(),
        runner.sex.letter().to_owned(),
        runner.country.clone().unwrap_or_default(),
    ]
}
