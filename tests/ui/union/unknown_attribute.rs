#[path = "../staff.rs"]
mod staff;

use staff::*;
use table_orm::TableUnion;

#[derive(TableUnion)]
#[table(name = "staff")]
enum Office {
    Employee(Employee),
    Department(Department),
}

fn main() {}
