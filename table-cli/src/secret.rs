//! Secrets on a command line: their text, or `env:NAME` for that of an environment variable, which
//! lists of processes do not show.

use std::env;

/// Returns the secret that an argument means.
pub(crate) fn read(argument: &str) -> Result<String, String> {
    let Some(name) = argument.strip_prefix("env:") else { return Ok(argument.to_owned()) };
    env::var(name).map_err(|_| format!("the environment variable `{name}` is not set to text"))
}
