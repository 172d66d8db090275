use table_orm::KeyPart;

#[derive(KeyPart)]
struct Pace(f64);

#[derive(table_orm::TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{pace}")]
struct Run {
    club: String,
    #[table(key_only)]
    pace: Pace,
}

fn main() {}
