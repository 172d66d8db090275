use table_orm::TableEntity;

impl Run {
    fn is_long(&self) -> bool {
        self.day > 9
    }
}

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}")]
#[row(by_day, key = "DAY:{day:05}", when = Run::is_long)]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
