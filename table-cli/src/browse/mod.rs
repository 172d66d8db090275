//! `table-orm browse`: tables as pages for a browser.

mod html;
mod pages;
mod server;

pub(crate) use server::{BrowseServer, ListenError};

use crate::failure::Failure;
use crate::store::{STORES, StoreName};
use std::io::{Write as _, stdout};
use table_orm::TableName;

const EXAMPLES: &str = "\
Examples:
  table-orm browse race.redb
  table-orm browse env:STORAGE --port 8080
  table-orm serve --db race.redb --browse      # while clients use it

The pages can be read on this machine only, under the address that is printed: it has a secret. They show
tables, partitions, and rows with their exact types. Nothing can be changed.
";

/// Shows tables, partitions and rows in a browser, read-only
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n{STORES}"))]
pub(crate) struct Arguments {
    /// Where the tables are
    store: StoreName,
    /// The port to listen at; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
}

impl From<ListenError> for Failure {
    fn from(error: ListenError) -> Self {
        Self::new(error, 1)
    }
}

/// Serves until `stop` ends.
pub(crate) async fn run(
    arguments: Arguments,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let sample = TableName::new("results").map_err(table_orm::Error::from)?;
    let tables = arguments.store.open_to_read(&sample).await?;
    let server = BrowseServer::bind(tables, arguments.port).await?;
    writeln!(stdout(), "{}", server.url()?)?;
    tokio::select! {
        () = server.serve() => {}
        () = stop => {}
    }
    Ok(())
}
