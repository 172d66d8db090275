//! A process that writes accounts until it is killed, and says on its output what it does.

use super::account::{Account, Accounts, Change, applied, change};
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use support::worker;
use table_orm::{Error, Repo, Tables};

/// What a process is told to do.
#[derive(Serialize, Deserialize)]
pub struct Task {
    pub connection_string: String,
    pub seed: u64,
    /// The writers of the process.
    pub writers: Vec<String>,
}

/// A line of a writer.
#[derive(Debug, Serialize, Deserialize)]
pub enum Line {
    /// It sends this now.
    Sends(String, Change),
    /// It was answered: what it sent is stored, or was refused because another account has the login.
    Answered(String, bool),
}

impl Line {
    fn print(&self) {
        // One write of the system for each line.
        let line = format!("\n{}\n", serde_json::to_string(self).unwrap());
        std::io::stdout().write_all(line.as_bytes()).unwrap();
    }
}

/// Runs only in worker processes.
#[test]
fn worker_writes_until_it_is_killed() {
    let Some(task) = worker::task() else { return };
    let task: Task = serde_json::from_str(&task).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let tables = Tables::from_connection_string(&task.connection_string).unwrap();
        let writers = task.writers.into_iter().enumerate();
        let writers = writers.map(|(index, writer)| {
            let name = (task.seed, index as u64);
            tokio::spawn(write_for_ever(tables.repo::<Account>(), name, writer))
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
    });
}

async fn write_for_ever(repo: Repo<Account>, (seed, index): (u64, u64), writer: String) {
    let stored = repo.list(Account::partition(&*writer)).collect().await.unwrap();
    let mut stored: Accounts =
        stored.into_iter().map(|account| (account.number, account)).collect();
    for step in 0.. {
        let change = change((seed, index, step), &writer, &stored);
        Line::Sends(writer.clone(), change.clone()).print();
        let stores = match send(&repo, &writer, &stored, &change).await {
            Ok(()) => true,
            Err(Error::UniqueViolation { .. }) => false,
            Err(error) => panic!("{writer}, {change:?}: {error}"),
        };
        Line::Answered(writer.clone(), stores).print();
        if stores {
            stored = applied(&stored, &change);
        }
    }
}

/// Sends a change by the calls that an app would use.
async fn send(
    repo: &Repo<Account>,
    writer: &str,
    stored: &Accounts,
    change: &Change,
) -> Result<(), Error> {
    let partition = Account::partition(writer);
    let key = |number: u16| partition.row().number(number);
    if let [(number, account)] = &change.iter().collect::<Vec<_>>()[..] {
        let number = **number;
        return match account {
            None => repo.delete(repo.load(key(number)).await?.one()?).await,
            Some(account) if !stored.contains_key(&number) => repo.insert(account).await.map(drop),
            Some(account) if account.version % 2 == 0 => repo.upsert(account).await.map(drop),
            Some(account) => {
                repo.update(key(number), |stored| *stored = account.clone()).await.map(drop)
            }
        };
    }
    let mut transaction = repo.transaction(&partition);
    for (number, account) in change {
        transaction = match (account, stored.contains_key(number)) {
            (Some(account), false) => transaction.insert(account),
            (Some(account), true) => {
                let mut loaded = repo.load(key(*number)).await?.one()?;
                *loaded = account.clone();
                transaction.save(loaded)
            }
            (None, _) => transaction.delete(repo.load(key(*number)).await?.one()?),
        };
    }
    transaction.commit().await.map(drop)
}
