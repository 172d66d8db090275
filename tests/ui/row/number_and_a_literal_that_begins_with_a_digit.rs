use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "staff", partition = "{department}")]
#[row(by_number, key = "{number:05}")]
#[row(by_review, key = "2024:{review:05}__{number:05}")]
struct Employee {
    department: String,
    number: u32,
    review: u32,
}

fn main() {}
