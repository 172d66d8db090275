use table_orm::{Projection, Repo, TableEntity};

#[derive(TableEntity)]
#[table(name = "clubs", partition = "{city}")]
#[row(by_founded, key = "Y:{founded:04}")]
#[row(by_name, key = "N:{low}", include(), allow_key_conflict)]
#[component(low = lower(name))]
struct Club {
    city: String,
    founded: u16,
    name: String,
}

#[derive(Projection)]
#[projection(of = Club)]
struct NameAndCity {
    name: String,
    city: String,
}

fn names(repo: Repo<Club>) {
    let _ = repo.list(Club::partition("Boston").by_name()).project::<NameAndCity>();
}

fn main() {}
