//! What the command line asks for.

use super::CopyFailure;
use super::stable_hash::hash;
use crate::selection::requests;
use crate::store::{STORES, StoreName, create};
use std::path::PathBuf;
use table_orm::TableName;
use table_orm::repo::Table;

const EXAMPLES: &str = "\
Examples:
  table-orm copy --from sample:100000 --to copy.redb --table results
  table-orm copy --from env:STORAGE --to backup.redb --table results
  table-orm copy --from env:STORAGE --to env:OTHER --table results --workers 3

Ctrl-C or SIGTERM ends it early. The same command continues from there: the few pages that were being
written are written again, which changes nothing. The checkpoint is deleted when the copy is whole
and, unless --no-verify, has the rows of the table, type by type and bit by bit.

With --workers, both stores are storage accounts. The progress is kept in the table `tablecopies` of
the target's account, and a queue there hands the work to the processes; --readers and
--writers are divided among them. When one dies, the others take over its work a minute later.
";

/// Copies a table, with exact types, and checks the copy
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n{STORES}"))]
pub(crate) struct Arguments {
    /// Where the table is
    #[arg(long, value_name = "STORE")]
    pub from: StoreName,
    /// Where the copy is to be
    #[arg(long, value_name = "STORE")]
    pub to: StoreName,
    /// The table
    #[arg(long, value_name = "NAME")]
    pub table: TableName,
    /// The name of the copy; that of the table unless given
    #[arg(long, value_name = "NAME")]
    pub to_table: Option<TableName>,
    /// Where to keep the progress; TABLE-to-COPY-HASH.json unless given, with a hash of both stores
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workers", "worker"])]
    pub checkpoint: Option<PathBuf>,
    /// Writes into a table that holds rows already
    #[arg(long)]
    pub over: bool,
    /// Requests to the source at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = requests)]
    pub readers: usize,
    /// Transactions to the target at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = requests)]
    pub writers: usize,
    /// Does not count the rows first: saves reading the table once, shows no end
    #[arg(long)]
    pub no_count: bool,
    /// Does not check the copy: saves reading both tables once
    #[arg(long)]
    pub no_verify: bool,
    /// Copies by N processes, which share the copy through the target's account
    #[arg(long, value_name = "N", conflicts_with = "worker", value_parser = requests)]
    pub workers: Option<usize>,
    /// Works on a copy that `--workers` has begun, on this or another machine
    #[arg(long)]
    pub worker: bool,
    /// Prints a JSON object: `copied` rows; unless --no-verify, whether both are the `same`, with their `rows`
    /// and `content`
    #[arg(long)]
    pub json: bool,
}

impl Arguments {
    /// The name of the copy.
    pub fn copy(&self) -> &TableName {
        self.to_table.as_ref().unwrap_or(&self.table)
    }

    /// The file of the progress. Tables of one name exist in many stores.
    pub fn checkpoint(&self) -> Result<PathBuf, CopyFailure> {
        if let Some(checkpoint) = &self.checkpoint {
            return Ok(checkpoint.clone());
        }
        let stores = hash(&[&self.from.name()?, &self.to.name()?]);
        Ok(format!("{}-to-{}-{stores:016x}.json", self.table, self.copy()).into())
    }

    /// Both tables; creates the table of the copy if it does not exist.
    pub async fn open(&self) -> Result<(Table, Table), CopyFailure> {
        let shared = self.from.is(&self.to);
        let one_store = shared || self.from.is_account(&self.to)?;
        // The names of tables have no case.
        if one_store && self.table.as_str().eq_ignore_ascii_case(self.copy().as_str()) {
            return Err(CopyFailure::Same(self.table.clone(), self.copy().clone()));
        }
        let shares = self.workers.is_some() || self.worker;
        if shares && [&self.from, &self.to].iter().any(|store| store.account().is_none()) {
            return Err(CopyFailure::Arguments(
                "--workers and --worker need the connection strings of storage accounts: processes \
                 can share nothing else",
            ));
        }
        // A database file is opened once.
        let (from, to) = if shared {
            let both = self.from.open_to_change(&self.table).await?;
            (both.clone(), both)
        } else {
            (self.from.open_to_read(&self.table).await?, self.to.open_to_write()?)
        };
        create(&to, self.copy()).await?;
        Ok((from.table(self.table.clone()), to.table(self.copy().clone())))
    }
}
