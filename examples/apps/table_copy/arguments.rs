//! What the command line asks for.

use crate::Failure;
use crate::hash::hash;
use crate::location::{Location, create};
use std::path::PathBuf;
use table_orm::repo::Table;
use table_orm::{TableName, Tables};

pub const HELP: &str = "\
table_copy: copies a table, with exact types, and checks the copy

usage: cargo run --release --example table_copy -- --from STORE --to STORE [options]

  --from STORE       where the table is
  --to STORE         where the copy is to be
  --table NAME       the table; `results` unless given
  --to-table NAME    the name of the copy; that of the table unless given
  --checkpoint FILE  where to keep the progress; TABLE-to-COPY-HASH.json unless given, with
                     a hash of both stores; not with --workers or --worker
  --over             write into a table that holds rows already
  --readers N        requests to the source at a time; 16 by default
  --writers N        transactions to the target at a time; 16 by default
  --no-count         do not count the rows first: saves reading the table once, shows no
                     end (with --workers, a rough one)
  --no-verify        do not check the copy: saves reading both tables once
  --workers N        copy by N processes, which share the copy through the target's account
  --worker           work on a copy that `--workers` has begun, on this or another machine
  --help             this text

STORE is the path of a database file; `memory`; `sample:ROWS`, rows made up in memory; or, in a build
with `--features azure`, the connection string of a storage account: UseDevelopmentStorage=true is
Azurite's. `env:NAME` is the STORE that the environment variable NAME has: a connection string has the
account's key, and a command line is shown to everyone on the machine.

Ctrl-C or SIGTERM ends it early. The same command continues from there: the few pages that were being
written are written again, which changes nothing. The checkpoint is deleted when the copy is whole
and, unless --no-verify, has the rows of the table, type by type and bit by bit.

With --workers, both stores are storage accounts. The progress is kept in the table `tablecopies` of
the target's account, and a queue there hands the work to the processes; --readers and
--writers are divided among them. When one dies, the others take over its work a minute later.
";

/// What the command line asks for.
#[derive(Debug)]
pub struct Arguments {
    pub from: Location,
    pub to: Location,
    pub table: TableName,
    pub to_table: TableName,
    pub checkpoint: PathBuf,
    pub over: bool,
    pub readers: usize,
    pub writers: usize,
    pub no_count: bool,
    pub no_verify: bool,
    pub part: Part,
}

/// The part of the copy that this process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    All,
    /// Everything except the copying, which this many workers do.
    Coordinator(usize),
    Worker,
}

impl Arguments {
    /// `None` when the user asks for the help text.
    pub fn read(mut parser: lexopt::Parser) -> Result<Option<Self>, Failure> {
        use lexopt::Arg::{Long, Short};
        let wrong = |error: lexopt::Error| Failure::Arguments(error.to_string());
        let (mut from, mut to, mut to_table, mut checkpoint) = (None, None, None, None);
        let mut table = TableName::new("results")?;
        let (mut readers, mut writers) = (16, 16);
        let [mut over, mut no_count, mut no_verify] = [false; 3];
        let (mut workers, mut worker) = (None, false);
        while let Some(argument) = parser.next().map_err(wrong)? {
            match argument {
                Long("from") => from = Some(Location::read(&text(&mut parser)?)?),
                Long("to") => to = Some(Location::read(&text(&mut parser)?)?),
                Long("table") => table = TableName::new(&text(&mut parser)?)?,
                Long("to-table") => to_table = Some(TableName::new(&text(&mut parser)?)?),
                Long("checkpoint") => checkpoint = Some(PathBuf::from(text(&mut parser)?)),
                Long("readers") => readers = positive("--readers", &text(&mut parser)?)?,
                Long("writers") => writers = positive("--writers", &text(&mut parser)?)?,
                Long("over") => over = true,
                Long("no-count") => no_count = true,
                Long("no-verify") => no_verify = true,
                Long("workers") => workers = Some(positive("--workers", &text(&mut parser)?)?),
                Long("worker") => worker = true,
                Long("help") | Short('h') => return Ok(None),
                _ => return Err(wrong(argument.unexpected())),
            }
        }
        let part = match (workers, worker) {
            (None, false) => Part::All,
            (Some(workers), false) => Part::Coordinator(workers),
            (None, true) => Part::Worker,
            (Some(_), true) => {
                return Err(invalid(
                    "--workers begins a copy and --worker joins one; give one of them",
                ));
            }
        };
        if part != Part::All && checkpoint.is_some() {
            return Err(invalid(
                "--checkpoint is of a copy by one process; --workers and --worker keep the \
                 progress in the target's account, so leave it out",
            ));
        }
        let missing = |option: &str| Failure::Arguments(format!("{option} STORE is missing"));
        let to_table = to_table.unwrap_or_else(|| table.clone());
        let from = from.ok_or_else(|| missing("--from"))?;
        let to = to.ok_or_else(|| missing("--to"))?;
        let checkpoint = match checkpoint {
            Some(checkpoint) => checkpoint,
            // Tables of one name exist in many stores.
            None => {
                let stores = hash(&[&from.name()?, &to.name()?]);
                format!("{table}-to-{to_table}-{stores:016x}.json").into()
            }
        };
        if part != Part::All && [&from, &to].iter().any(|store| store.account().is_none()) {
            return Err(Failure::NoAccount);
        }
        Ok(Some(Self {
            from,
            to,
            table,
            to_table,
            checkpoint,
            over,
            readers,
            writers,
            no_count,
            no_verify,
            part,
        }))
    }

    /// Both tables; creates the table of the copy if it does not exist.
    pub async fn open(&self) -> Result<(Table, Table), Failure> {
        let shared = self.from.is(&self.to);
        if shared && self.table == self.to_table {
            return Err(Failure::Same(self.table.to_string(), self.to_table.to_string()));
        }
        let from = self.from.open(&self.table, true).await?;
        let to = if shared { from.clone() } else { self.to.open(&self.to_table, false).await? };
        create(&to, &self.to_table).await?;
        Ok((from.table(self.table.clone()), to.table(self.to_table.clone())))
    }
}

fn text(parser: &mut lexopt::Parser) -> Result<String, Failure> {
    let text = parser.value().and_then(lexopt::ValueExt::string);
    text.map_err(|error| Failure::Arguments(error.to_string()))
}

fn invalid(why: &str) -> Failure {
    Failure::Arguments(why.to_owned())
}

fn positive(option: &str, text: &str) -> Result<usize, Failure> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(Failure::Arguments(format!("{option} {text} is no number of 1 or more"))),
    }
}
