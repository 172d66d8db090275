//! The options of the command line.

use crate::from_env;
use lexopt::ValueExt as _;
use std::path::PathBuf;

pub const HELP: &str = "\
shop: a day in a shop whose data is in tables, and what it costs

usage: cargo run --example shop -- [options]

  --db PATH      the database file to keep the data in, created if it is not there; without it,
                 memory
  --azure TEXT   keep it in the storage account of this connection string instead; Azurite's is
                 UseDevelopmentStorage=true. env:NAME is the one that the environment variable
                 NAME has: it has the account's key, and a command line is shown to everyone
  --crash        kill the process while it writes an order; run it again without --crash, and it
                 settles what was left
  --crash=N      kill it instead of its request number N
  --help         this text
";

/// Where the data is, and whether the process dies.
#[derive(Debug)]
pub struct Arguments {
    pub db: Option<PathBuf>,
    pub azure: Option<String>,
    pub crash: Option<Crash>,
}

/// When the process kills itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// While it writes an order.
    Order,
    /// Instead of the request of that number, from 1 on.
    Request(u64),
}

/// One line that says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}; --help lists the options")]
pub struct WrongArguments(pub String);

impl From<lexopt::Error> for WrongArguments {
    fn from(error: lexopt::Error) -> Self {
        Self(error.to_string())
    }
}

impl Arguments {
    /// `None` when the user asks for the help text.
    pub fn read(mut parser: lexopt::Parser) -> Result<Option<Self>, WrongArguments> {
        let mut arguments = Self { db: None, azure: None, crash: None };
        while let Some(argument) = parser.next()? {
            match argument {
                lexopt::Arg::Long("db") => arguments.db = Some(parser.value()?.into()),
                lexopt::Arg::Long("azure") => {
                    let given = parser.value()?.string()?;
                    let text = from_env::connection_string(&given).map_err(WrongArguments)?;
                    arguments.azure = Some(text);
                }
                lexopt::Arg::Long("crash") => {
                    let crash = match parser.optional_value() {
                        None => Crash::Order,
                        Some(number) => Crash::Request(number.parse()?),
                    };
                    arguments.crash = Some(crash);
                }
                lexopt::Arg::Long("help") | lexopt::Arg::Short('h') => return Ok(None),
                _ => return Err(argument.unexpected().into()),
            }
        }
        let wrong = |message: &str| Err(WrongArguments(message.to_owned()));
        match &arguments {
            Self { db: Some(_), azure: Some(_), .. } => {
                wrong("--db and --azure are two places for the data; give one")
            }
            Self { db: None, azure: None, crash: Some(_) } => {
                wrong("--crash needs data that outlives the process; give --db or --azure, too")
            }
            _ => Ok(Some(arguments)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> Result<Option<Arguments>, WrongArguments> {
        Arguments::read(lexopt::Parser::from_args(text.split_whitespace()))
    }

    #[test]
    fn wrong_arguments_are_one_line_that_says_what_to_do() {
        for wrong in [
            "--bogus",
            "extra",
            "--db",
            "--crash",
            "--db x --crash=soon",
            "--db x --azure y",
            "--azure env:SHOP_NO_SUCH_VARIABLE",
        ] {
            let line = arguments(wrong).unwrap_err().to_string();
            assert!(line.ends_with("; --help lists the options"), "{line}");
            assert!(!line.contains('\n'), "{line}");
        }
        assert!(arguments("--db x --help").unwrap().is_none());
        let crash = |text| arguments(text).unwrap().unwrap().crash;
        assert_eq!(crash("--db x --crash"), Some(Crash::Order));
        assert_eq!(crash("--crash=7 --azure y"), Some(Crash::Request(7)));
    }
}
