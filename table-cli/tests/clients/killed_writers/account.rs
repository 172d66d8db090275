//! What the processes write: rows in three partitions of two tables, and a value that no other account has.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use support::draw;
use table_orm::{Projection, TableEntity};

/// The accounts of a writer.
const NUMBERS: u64 = 6;
pub const DAYS: u64 = 3;
pub const ROOMS: u64 = 2;
/// The logins that all writers ask for.
const LOGINS: u64 = 24;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TableEntity)]
#[table(name = "accounts", partition = "{writer}", row = "ACC:{number:04}", unique(login, across))]
#[row(by_day, partition = "day:{day}", key = "DAY:{number:04}__{writer}", eventual)]
#[row(
    by_room,
    table = "rooms",
    partition = "{room}",
    key = "ROOM:{number:04}__{writer}",
    include(version),
    eventual
)]
// Two rows are `eventual`: https://github.com/rust-lang/rust-clippy/issues/13238.
#[allow(clippy::duplicated_attributes)]
pub struct Account {
    pub writer: String,
    pub number: u16,
    /// Different in each write.
    pub version: u64,
    pub day: u8,
    pub room: Option<u8>,
    pub login: Option<String>,
}

/// What a row of a room stores.
#[derive(Debug, PartialEq, Projection)]
#[projection(of = Account)]
pub struct InRoom {
    pub writer: String,
    pub number: u16,
    pub version: u64,
}

/// The accounts of one writer, by their numbers.
pub type Accounts = BTreeMap<u16, Account>;

/// What one call changes, as a whole or not at all: the new state of each number, `None` where it deletes.
pub type Change = BTreeMap<u16, Option<Account>>;

/// What a writer does next. The same name draws the same change.
pub fn change(name: (u64, u64, u64), writer: &str, stored: &Accounts) -> Change {
    let numbers = if draw((name, "two"), 0..4) == 0 { 2 } else { 1 };
    let changed = (0..numbers).map(|index| {
        let number = draw((name, index, "number"), 0..NUMBERS) as u16;
        let drawn = |what, range| draw((name, number, what), range);
        let deleted = stored.contains_key(&number) && drawn("deleted", 0..4) == 0;
        let room = drawn("room", 0..ROOMS + 1);
        let login = drawn("login", 0..LOGINS + 2);
        let account = Account {
            writer: writer.to_owned(),
            number,
            version: draw((name, "version"), 0..u64::from(u32::MAX)),
            day: drawn("day", 0..DAYS) as u8,
            room: (room < ROOMS).then_some(room as u8),
            login: (login < LOGINS).then(|| format!("login-{login}")),
        };
        (number, (!deleted).then_some(account))
    });
    changed.collect()
}

/// The accounts after a change.
pub fn applied(stored: &Accounts, change: &Change) -> Accounts {
    let mut accounts = stored.clone();
    for (number, account) in change {
        match account {
            Some(account) => drop(accounts.insert(*number, account.clone())),
            None => drop(accounts.remove(number)),
        }
    }
    accounts
}
