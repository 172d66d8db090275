#[path = "../staff.rs"]
mod staff;

use staff::*;
use table_orm::TableUnion;

#[derive(TableUnion)]
enum Office<T> {
    Employee(Employee),
    Other(T),
}

fn main() {}
