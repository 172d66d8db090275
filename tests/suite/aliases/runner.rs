//! One type under four sets of stored names, with all that reads or writes a property by its name.

use proptest::prelude::*;
use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};

/// A runner, whatever its properties are called.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    pub bib: u32,
    pub name: String,
    pub age: u8,
    pub chip: u32,
    pub city: Option<String>,
    pub score: f64,
    pub paid: bool,
    pub laps: Vec<u16>,
}

/// What one call does.
#[derive(Debug, Clone)]
pub enum Call {
    Upsert(Data),
    InsertOrMerge(Data),
    /// `update` of all fields.
    Update(Data),
    /// The same by `load`, and `save` in a transaction.
    Save(Data),
    /// A patch of some of the fields city, score, paid and laps, by the bits of the number.
    Merge(Data, u8),
    Delete(u32),
    /// A backfill, which writes rows in other partitions anew.
    Backfill,
}

pub fn data(bibs: u32) -> impl Strategy<Value = Data> {
    let text = || prop_oneof![Just("Bonn"), Just("Oslo"), Just("Rome")].prop_map(str::to_owned);
    let score = prop_oneof![Just(-1.5), Just(0.0), Just(2.5)];
    let rest = (
        proptest::option::of(text()),
        score,
        any::<bool>(),
        proptest::collection::vec(0..3_u16, 0..2),
    );
    (0..bibs, text(), 0..4_u8, rest).prop_map(|(bib, name, age, (city, score, paid, laps))| Data {
        bib,
        name,
        age,
        chip: bib + 100,
        city,
        score,
        paid,
        laps,
    })
}

pub fn call(bibs: u32) -> impl Strategy<Value = Call> {
    prop_oneof![
        1 => data(bibs).prop_map(Call::Upsert),
        1 => data(bibs).prop_map(Call::InsertOrMerge),
        2 => data(bibs).prop_map(Call::Update),
        1 => data(bibs).prop_map(Call::Save),
        4 => (data(bibs), 0..16_u8).prop_map(|(data, which)| Call::Merge(data, which)),
        1 => (0..bibs).prop_map(Call::Delete),
        1 => Just(Call::Backfill),
    ]
}

/// The rows of a table by their keys, without what the store adds.
pub async fn rows(tables: &Tables) -> Vec<DynamicEntity> {
    let (table, permit) = (TableName::new("runners").unwrap(), ScanPermit::because("a test"));
    let mut rows = tables.scan(table, permit).ordered(true).collect().await.unwrap();
    rows.iter_mut().for_each(|row| (row.etag, row.timestamp) = (None, None));
    rows
}

/// The text of a value, for comparisons of what is read.
pub fn text(value: impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

macro_rules! runner {
    ($module:ident: $age:tt $chip:tt $city:tt $score:tt $paid:tt $laps:tt) => {
        #[allow(dead_code, reason = "one version only writes")]
        pub mod $module {
            use super::{Call, Data, text};
            use table_orm::query::Condition;
            use table_orm::{Error, Projection, Repo, Sum, TableEntity, Tables};

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "runners", partition = "{race}", unique(chip), sums = Self::SUMS)]
            #[row(by_bib, key = "BIB:{bib:05}")]
            #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
            #[row(by_name, key = "NAME:{name}__{bib:05}", include(age, city, score, paid))]
            #[row(by_team, partition = "TEAM:{name}", key = "TEAM:{bib:05}__{race}", exclude(laps), eventual)]
            pub struct Runner {
                pub race: String,
                pub bib: u32,
                pub name: String,
                #[table $age]
                pub age: u8,
                #[table $chip]
                pub chip: u32,
                #[table $city]
                pub city: Option<String>,
                #[table $score]
                pub score: f64,
                #[table $paid]
                pub paid: bool,
                #[table $laps]
                pub laps: Vec<u16>,
            }

            impl Runner {
                pub const AGES: Sum<Self> = Sum::of("ages", |runner: &Self| i64::from(runner.age));
                const SUMS: &'static [Sum<Self>] = &[Self::AGES];
            }

            /// The renamed fields that `by_name` stores.
            #[derive(Debug, Clone, PartialEq, Projection)]
            #[projection(of = Runner)]
            pub struct Short {
                age: u8,
                city: Option<String>,
                score: f64,
                #[projection(default)]
                paid: bool,
            }

            impl From<&Data> for Runner {
                fn from(data: &Data) -> Self {
                    let Data { bib, name, age, chip, city, score, paid, laps } = data.clone();
                    Self { race: "R".to_owned(), bib, name, age, chip, city, score, paid, laps }
                }
            }

            pub fn repo(tables: &Tables) -> Repo<Runner> {
                tables.repo()
            }

            /// Makes a call. Returns the text of its error.
            pub async fn call(tables: &Tables, call: &Call) -> String {
                let (runners, race) = (repo(tables), Runner::partition("R"));
                let done = match call {
                    Call::Upsert(data) => runners.upsert(&data.into()).await.map(drop),
                    Call::InsertOrMerge(data) => {
                        runners.insert_or_merge(&data.into()).await.map(drop)
                    }
                    Call::Update(data) => {
                        let key = race.by_bib().bib(data.bib);
                        runners.update(key, |runner| *runner = data.into()).await.map(drop)
                    }
                    Call::Save(data) => {
                        let loaded = runners.load(race.by_bib().bib(data.bib)).await.unwrap();
                        let Ok(mut loaded) = loaded.one() else { return String::new() };
                        *loaded = data.into();
                        tables.transaction(&race).save(loaded).commit().await.map(drop)
                    }
                    Call::Merge(data, which) => {
                        let patches: [&dyn Fn(RunnerPatch) -> RunnerPatch; 4] = [
                            &|patch| patch.city(data.city.clone().unwrap_or_default()),
                            &|patch| patch.score(data.score),
                            &|patch| patch.paid(data.paid),
                            &|patch| patch.laps(data.laps.clone()),
                        ];
                        let chosen = patches.iter().enumerate();
                        let chosen = chosen.filter(|(index, _)| which >> index & 1 > 0);
                        let patch =
                            chosen.fold(RunnerPatch::default(), |patch, (_, set)| set(patch));
                        runners.merge(race.by_bib().bib(data.bib), patch).await.map(drop)
                    }
                    Call::Delete(bib) => {
                        match runners.get(race.by_bib().bib(*bib)).await.unwrap() {
                            Some(runner) => runners.force_delete(&runner).await,
                            None => Ok(()),
                        }
                    }
                    Call::Backfill => {
                        let report = runners.backfill(&race).await;
                        assert!(report.skipped.is_empty(), "{report:?}");
                        report.all().map(drop)
                    }
                };
                match done {
                    Ok(()) => String::new(),
                    Err(Error::NotFound(_)) => "not found".to_owned(),
                    Err(error) => error.to_string(),
                }
            }

            /// All that a condition finds.
            async fn found(
                tables: &Tables,
                condition: impl FnOnce(<RunnerByBib as table_orm::entity::Row>::Columns) -> Condition,
            ) -> String {
                let rows = repo(tables).list(Runner::partition("R").by_bib()).filter(condition);
                text(rows.collect().await.unwrap().iter().map(|runner| runner.bib).collect::<Vec<_>>())
            }

            /// All that reads find, in the same order for the same runners.
            pub async fn read(tables: &Tables) -> Vec<String> {
                let (runners, race) = (repo(tables), Runner::partition("R"));
                let mut pages = runners.list(race.by_age()).pages(2);
                let mut all = vec![
                    text(runners.list(race.by_bib()).collect().await.unwrap()),
                    text(runners.list(race.by_age().age_in(1..3)).collect().await.unwrap()),
                    text(runners.list(race.by_name()).project::<Short>().collect().await.unwrap()),
                    text(runners.list(race.by_bib()).project::<Short>().collect().await.unwrap()),
                    text(pages.next().await.unwrap().map(|page| page.items)),
                    text(runners.sum(&race, &Runner::AGES).await.unwrap()),
                    found(tables, |row| row.city.eq("Oslo")).await,
                    found(tables, |row| row.city.ne("Oslo")).await,
                    found(tables, |row| !row.city.eq("Oslo")).await,
                    found(tables, |row| row.city.lt("Oslo").or(row.age.ge(2))).await,
                    found(tables, |row| row.city.is_absent()).await,
                    found(tables, |row| row.city.is_present()).await,
                    found(tables, |row| row.score.gt(0.0)).await,
                    found(tables, |row| !row.score.le(0.0)).await,
                    found(tables, |row| row.score.ne(0.0)).await,
                    found(tables, |row| row.score.is_absent()).await,
                    found(tables, |row| row.paid.eq(false)).await,
                    found(tables, |row| row.paid.ne(false)).await,
                    found(tables, |row| row.paid.le(true)).await,
                    found(tables, |row| row.paid.is_present().and(row.age.lt(2))).await,
                    found(tables, |row| row.chip.eq(101_u32)).await,
                ];
                for name in ["Bonn", "Oslo", "Rome"] {
                    let team = runners.list(Runner::by_team(name)).project::<Short>();
                    all.push(text(team.collect().await.unwrap()));
                    let paid = runners.list(Runner::by_team(name)).filter(|row| row.paid.eq(true));
                    all.push(text(paid.count().await.unwrap()));
                }
                let findings = runners.verify(&race).await.unwrap().findings;
                assert!(findings.is_empty(), "{findings:#?}");
                assert!(runners.verify_sums(&race).await.unwrap().is_empty());
                all
            }
        }
    };
}

runner!(former: (rename = "Years") (rename = "Tag") (rename = "Town") (rename = "Points")
    (rename = "Settled", default) (rename = "Rounds", json));
// Reads both, and writes the former names.
runner!(bridge: (rename = "Years", alias = "Age") (rename = "Tag", alias = "Chip")
    (rename = "Town", alias = "City") (rename = "Points", alias = "Score")
    (rename = "Settled", alias = "Paid", default) (rename = "Rounds", alias = "Laps", json));
// Reads both, and writes the present names.
runner!(present: (alias = "Years") (alias = "Tag") (alias = "Oldest", alias = "Town") (alias = "Points")
    (alias = "Settled", default) (alias = "Rounds", json));
// Knows the present names only.
runner!(always: () () () () (default) (json));
