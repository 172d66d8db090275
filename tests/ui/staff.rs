//! The entities of the unions in these fixtures.
#![allow(dead_code)]

use table_orm::{TableEntity, Tables};

#[derive(Debug, TableEntity)]
#[table(name = "staff", partition = "{department}", row = "{number:05}")]
pub struct Employee {
    pub department: String,
    pub number: u32,
}

#[derive(Debug, TableEntity)]
#[table(name = "staff", partition = "{name}", row = "Department")]
pub struct Department {
    pub name: String,
    pub employees: u32,
}

#[derive(Debug, TableEntity)]
#[table(name = "staff", partition = "{department}", row = "{name}")]
pub struct Guest {
    pub department: String,
    pub name: String,
}

#[derive(Debug, TableEntity)]
#[table(name = "rooms", partition = "{department}", row = "R:{room}")]
pub struct Room {
    pub department: String,
    pub room: u16,
}

pub fn tables() -> Tables {
    loop {}
}
