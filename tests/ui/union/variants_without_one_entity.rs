#[path = "../staff.rs"]
mod staff;

use staff::*;
use table_orm::TableUnion;

#[derive(TableUnion)]
enum Office {
    Employee(Employee),
    Both(Employee, Department),
    Named { department: Department },
    Nothing,
}

fn main() {
    let _ = tables().union::<Office>(Employee::partition("Marketing")).stream();
}
