#[path = "../staff.rs"]
mod staff;

use staff::*;
use table_orm::TableUnion;

#[derive(TableUnion)]
enum Office {
    Employee(Employee),
    Department(Department),
}

fn main() {
    let _ = tables().union::<Office>(Room::partition("Marketing"));
}
