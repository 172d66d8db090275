#[path = "../staff.rs"]
mod staff;

use staff::*;
use table_orm::{TableEntity, TableUnion};

#[derive(TableEntity)]
#[table(name = "staff", partition = "{department}", row = "2024{number}")]
pub struct Review {
    pub department: String,
    pub number: u32,
}

#[derive(TableUnion)]
enum Office {
    Employee(Employee),
    Review(Review),
}

fn main() {}
