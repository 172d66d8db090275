//! An app that knows `table-orm` by another name, with every derive.

use orm::{KeyPart, Projection, Properties, TableEntity, TableUnion};

/// An enum with codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, KeyPart)]
#[key(crate = orm)]
pub enum Sex {
    /// Female.
    #[key("F")]
    Female,
    /// Male.
    #[key("M")]
    Male,
}

/// A newtype.
#[derive(Debug, Clone, PartialEq, Eq, KeyPart)]
#[key(crate = orm)]
pub struct Bib(u32);

/// A group of properties.
#[derive(Debug, Clone, PartialEq, Eq, Properties)]
#[table(crate = orm)]
pub struct Address {
    street: String,
    city: Option<String>,
}

/// An entity with every kind of field and row.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "race", partition = "{event}", unique(bib), crate = orm)]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_sex, key = "SEX:{sex}__{down}", include(name), when = is_named)]
#[component(down = desc(age))]
pub struct Runner {
    #[table(key_only)]
    event: String,
    bib: Bib,
    sex: Sex,
    #[table(max = 120)]
    age: u8,
    #[table(max_len = 60)]
    name: String,
    #[table(series)]
    laps: [Option<u32>; 3],
    #[table(flatten)]
    address: Address,
    #[table(default)]
    notes: String,
}

fn is_named(runner: &Runner) -> bool {
    !runner.name.is_empty()
}

/// An entity of one row, with a parameter.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "race", partition = "{event}", row = "TEAM:{team}", crate = orm)]
pub struct Team<T: KeyPart + orm::property::Property + Send + Sync> {
    event: String,
    team: T,
}

/// Both, in one partition.
#[derive(Debug, PartialEq, Eq, TableUnion)]
#[table(crate = orm)]
pub enum Entry {
    /// One.
    Runner(Runner),
    /// Many.
    Team(Team<String>),
}

/// A smaller struct.
#[derive(Debug, PartialEq, Eq, Projection)]
#[projection(of = Runner, crate = orm)]
pub struct NameOnly {
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_derive_works_under_another_name() -> Result<(), Box<dyn std::error::Error>> {
        let tables = orm::Tables::in_memory()?;
        let (runners, teams) = (tables.repo::<Runner>(), tables.repo::<Team<String>>());
        runners.create_table().await?;
        let address = Address { street: "Main St".into(), city: None };
        let (event, name) = ("Boston".to_owned(), "Ann".to_owned());
        let laps = [None, Some(61), None];
        let notes = String::new();
        let mut ann =
            Runner { event, bib: Bib(7), sex: Sex::Female, age: 30, name, laps, address, notes };
        runners.insert(&ann).await?;
        let harriers = Team { event: "Boston".into(), team: "Harriers".to_owned() };
        teams.insert(&harriers).await?;

        let race = Runner::partition("Boston");
        let key = race.by_bib().bib(Bib(7));
        runners.merge(&key, RunnerPatch::default().notes("fast").laps_at(0, 59_u32)).await?;
        (ann.notes, ann.laps) = ("fast".into(), [Some(59), Some(61), None]);
        assert_eq!(runners.get(&key).await?.as_ref(), Some(&ann));
        let names = runners.list(race.by_sex().sex(Sex::Female).down_in(20..40));
        assert_eq!(names.project::<NameOnly>().one().await?.name, "Ann");
        let entries = tables.union::<Entry>(race).collect().await?;
        assert_eq!(entries, [Entry::Runner(ann), Entry::Team(harriers)]);
        Ok(())
    }
}
