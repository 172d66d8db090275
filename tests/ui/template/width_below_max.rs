use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "DAY:{day:03}")]
struct Run {
    club: String,
    #[table(max = 36_500)]
    day: u32,
}

fn main() {}
