#[path = "../staff.rs"]
mod staff;

use staff::*;
use table_orm::TableUnion;

#[derive(TableUnion)]
struct Office {
    employee: Employee,
}

fn main() {}
