//! What can be said on the command line.

use super::ServeError;
use super::faults::{Fault, FaultPlan, FaultSource};
use crate::secret;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};
use std::ffi::OsStr;
use std::fs;
use std::io::{Write as _, stderr};
use std::path::PathBuf;
use table_orm::azure::SharedKey;
use table_orm::embedded::Durability;
use table_server::{Server, ServerBuilder};

const EXAMPLES: &str = "\
Examples:
  table-orm serve                                 # in memory, at port 10002, as Azurite
  table-orm serve --db race.redb --port 0         # the data of an app, at a free port
  table-orm serve --db race.redb --durability eventual   # does not wait for the disk
  table-orm serve --db race.redb --browse         # and pages for a browser
  table-orm serve --account race=env:RACE_KEY     # an account of your own
  table-orm serve --cert cert.pem --key key.pem   # HTTPS
  table-orm serve --faults 7                      # a third of all requests fails, repeatably
  table-orm serve --faults 7 --fault throttled=0.2 --fault lost-replies=0.1
  table-orm serve --faults bad-day.txt            # the same from a file
  table-orm serve --partition-rate 2000 --account-rate 20000   # the service's targets

Faults: throttled, errors-before, errors-after, lost-requests, lost-replies, cut-replies, late,
slow, empty-pages, short-pages, cut-pages, offline. Each is the share of requests, from 0 to 1.
slowest, offline-time and deletion-time are seconds. A file has a NAME=VALUE a line, with seed,
partition-rate and account-rate, and comments after #.

A request that the server cannot carry out, other than by a fault or a rate, is a line on standard error:
its method, its path, the status, the code and the message. There are at most 10 lines in 10 seconds, and one with
the number of the other requests.

The flags of Azurite --tableHost, --tablePort, --location, --inMemoryPersistence, --silent,
--skipApiVersionCheck and --oauth basic are understood, with the short ones. --debug, --loose,
--tableKeepAliveTimeout, --disableProductStyleUrl and --disableTelemetry are accepted, and change
nothing.";

/// Serves a database file, or memory, as an Azure Table service
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database file; it is created if it does not exist. Without it, data is kept in memory
    #[arg(long, value_name = "PATH", group = "file", conflicts_with = "memory")]
    db: Option<PathBuf>,
    /// A folder, in which the database file is `tables.redb`
    #[arg(short, long, value_name = "FOLDER", group = "file", conflicts_with = "memory")]
    location: Option<PathBuf>,
    /// When a write is in the database file
    #[arg(long, value_enum, default_value_t, requires = "file")]
    durability: WriteDurability,
    /// Keeps data in memory, which is the default
    #[arg(long = "inMemoryPersistence")]
    memory: bool,
    /// The address to listen at. Others than loopback let other machines in
    #[arg(long, visible_alias = "tableHost", value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: String,
    /// The port to listen at; 0 takes a free one
    #[arg(long, visible_alias = "tablePort", default_value_t = 10_002)]
    port: u16,
    /// An account in place of the emulator's; several have the same tables. KEY is base64, or env:NAME
    #[arg(long = "account", value_name = "NAME=KEY", value_parser = AccountParser)]
    accounts: Vec<SharedKey>,
    /// The certificates of HTTPS, as PEM
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The private key of the certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Accepts tokens of Entra ID over HTTPS; their signature is not verified
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "basic", value_parser = ["basic"], requires = "cert")]
    oauth: Option<String>,
    /// Accepts every x-ms-version
    #[arg(long = "skipApiVersionCheck", visible_alias = "skip-version-check")]
    any_version: bool,
    /// Shows the tables in a browser, too, at that port of this machine; without a port, at a free one
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    pub(super) browse: Option<u16>,
    /// Prints the address only, and no line for a request that fails
    #[arg(short, long)]
    pub(super) silent: bool,
    /// Injects faults. A seed repeats them: without --fault, all kinds but `late` and `cut-pages`. A file names its own
    #[arg(long, value_name = "SEED|FILE")]
    faults: Option<FaultSource>,
    /// A kind of fault, and how often it happens
    #[arg(long = "fault", value_name = "NAME=VALUE", requires = "faults")]
    kinds: Vec<Fault>,
    /// Answers 503 above this number of rows a second in one partition; the service's target is 2000. After a
    /// second without requests, that many more pass at once
    #[arg(long, value_name = "ROWS")]
    partition_rate: Option<u32>,
    /// Answers 503 above this number of rows a second in all; the service's target is 20000. After a second
    /// without requests, that many more pass at once
    #[arg(long, value_name = "ROWS")]
    account_rate: Option<u32>,
    #[command(flatten)]
    _without_effect: WithoutEffect,
}

/// The file in which Azurite keeps its tables.
const AZURITE_DATA: &str = "__azurite_db_table__.json";

/// Flags of Azurite that scripts have, and that change nothing here.
#[derive(Debug, clap::Args)]
struct WithoutEffect {
    #[arg(long = "disableTelemetry", hide = true)]
    _telemetry: bool,
    #[arg(long = "disableProductStyleUrl", hide = true)]
    _product_style: bool,
    #[arg(short = 'L', long = "loose", hide = true)]
    _loose: bool,
    #[arg(short = 'd', long = "debug", num_args = 0..=1, hide = true)]
    _debug: Option<PathBuf>,
    #[arg(long = "tableKeepAliveTimeout", hide = true)]
    _keep_alive: Option<u32>,
}

/// When a write is in the database file.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum WriteDurability {
    /// Before it is answered
    #[default]
    Immediate,
    /// Within about a second: faster; a crash loses the writes of that second, SIGTERM loses nothing
    Eventual,
}

impl Arguments {
    pub(super) const fn durability(&self) -> Durability {
        match self.durability {
            WriteDurability::Immediate => Durability::Immediate,
            WriteDurability::Eventual => Durability::Eventual,
        }
    }

    /// Returns the database file; `None` for memory. Creates the folder that Azurite would create.
    pub(super) fn database(&self) -> Result<Option<PathBuf>, ServeError> {
        let Some(folder) = &self.location else { return Ok(self.db.clone()) };
        let create = fs::create_dir_all(folder);
        create.map_err(|source| ServeError::Create { path: folder.clone(), source })?;
        let database = folder.join("tables.redb");
        if !database.exists() && folder.join(AZURITE_DATA).exists() {
            // Nobody may be reading.
            let _ = writeln!(
                stderr(),
                "the tables of Azurite in `{}` are not read: the server starts without tables",
                folder.display()
            );
        }
        Ok(Some(database))
    }

    /// Returns the settings of the server.
    pub(super) fn server(&self) -> Result<ServerBuilder, ServeError> {
        let mut server = Server::builder().host(&self.host).port(self.port);
        for account in &self.accounts {
            server = server.account(account.clone());
        }
        if let (Some(certificate), Some(key)) = (&self.cert, &self.key) {
            server = server.tls(read(certificate)?, read(key)?);
        }
        if self.oauth.is_some() {
            server = server.oauth();
        }
        if self.any_version {
            server = server.any_version();
        }
        Ok(server)
    }

    /// Returns the names of the accounts in place of the emulator's, if there are any.
    pub(super) fn account_names(&self) -> Option<String> {
        let names: Vec<_> = self.accounts.iter().map(SharedKey::account).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Returns what is injected.
    pub(super) fn fault_plan(&self) -> Result<FaultPlan, ServeError> {
        let plan = match &self.faults {
            None => FaultPlan::seeded(0),
            Some(FaultSource::Seed(seed)) if self.kinds.is_empty() => FaultPlan::mixed(*seed),
            Some(FaultSource::Seed(seed)) => FaultPlan::seeded(*seed),
            Some(FaultSource::File(path)) => {
                let text = fs::read_to_string(path);
                let text =
                    text.map_err(|source| ServeError::Read { path: path.clone(), source })?;
                let invalid = |reason| ServeError::Faults { path: path.clone(), reason };
                FaultPlan::read(&text).map_err(invalid)?
            }
        };
        let mut plan = self.kinds.iter().copied().fold(plan, FaultPlan::with);
        if let Some(rate) = self.partition_rate {
            plan.throttle = plan.throttle.per_partition(rate);
        }
        if let Some(rate) = self.account_rate {
            plan.throttle = plan.throttle.per_account(rate);
        }
        Ok(plan)
    }

    pub(super) const fn scheme(&self) -> &'static str {
        if self.cert.is_some() { "https" } else { "http" }
    }
}

fn read(path: &PathBuf) -> Result<Vec<u8>, ServeError> {
    fs::read(path).map_err(|source| ServeError::Read { path: path.clone(), source })
}

/// Reads an account. Its error does not repeat the text, which has a key.
#[derive(Debug, Clone, Copy)]
struct AccountParser;

impl TypedValueParser for AccountParser {
    type Value = SharedKey;

    fn parse_ref(
        &self,
        command: &Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> Result<SharedKey, clap::Error> {
        let text = value.to_str().ok_or_else(|| "the text is not UTF-8".to_owned());
        text.and_then(account).map_err(|message| {
            let message = format!("invalid value for '--account <NAME=KEY>': {message}\n");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

fn account(text: &str) -> Result<SharedKey, String> {
    let (name, key) = text.split_once('=').ok_or("write NAME=KEY")?;
    if name.contains(|letter: char| letter.is_ascii_uppercase()) {
        return Err("the service has no account names with capital letters".to_owned());
    }
    SharedKey::new(name, &secret::read(key).map_err(|error| error.to_string())?)
        .map_err(|error| error.to_string())
}
