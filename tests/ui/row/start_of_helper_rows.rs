use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "tasks", partition = "{owner}", unique(title, key = "TKT:{title}"))]
#[row(by_id, key = "TASK:{id:05}")]
#[row(by_day, key = "DUE:{day:03}__{id:05}")]
#[row(by_title, key = "UNQ:{title}")]
struct Task {
    owner: String,
    id: u32,
    day: u16,
    title: String,
}

fn main() {}
