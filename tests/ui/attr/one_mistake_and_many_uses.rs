use table_orm::{TableEntity, Tables};

#[derive(Debug, TableEntity)]
#[table(name = "my-runs", partition = "{club}")]
#[row(by_day, key = "DAY:{day:05}__{name}")]
#[row(by_name, key = "NAME:{name}")]
struct Run {
    club: String,
    day: u32,
    name: String,
    town: Option<String>,
}

async fn uses(run: &Run) -> table_orm::Result<()> {
    let runs = Tables::in_memory()?.repo::<Run>();
    runs.insert(run).await?;
    let club = Run::partition("Harriers");
    runs.get(club.by_day().day(1).name("Ann")).await?;
    runs.list(club.by_day().day_in(0..7)).filter(|row| row.name.eq("Ann")).collect().await?;
    let mut first = runs.load(club.by_name().name_starts_with("A")).await?.one()?;
    first.day += 1;
    runs.save(first).await?;
    runs.merge(club.by_day().day(1).name("Ann"), RunPatch::default().town("York")).await?;
    Ok(())
}

fn main() {}
