#[path = "../staff.rs"]
mod staff;

use staff::*;
use table_orm::TableUnion;

#[derive(TableUnion)]
enum Office {
    Employee(Employee),
    Name(String),
}

fn main() {}
