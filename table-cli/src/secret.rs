//! Text of a command line, or `env:NAME` for that of an environment variable: everyone on the machine
//! can see a command line, and connection strings and keys are secret.

use std::borrow::Cow;
use std::env;

/// The prefix of the name of an environment variable.
const VARIABLE: &str = "env:";

/// A variable that does not exist, is empty, or names another one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable `{0}` has no text; set it")]
pub(crate) struct NoText(pub String);

/// Returns the text that an argument means.
pub(crate) fn read(argument: &str) -> Result<Cow<'_, str>, NoText> {
    read_with(argument, |name| env::var(name).ok())
}

pub(crate) fn read_with(
    argument: &str,
    variable: impl FnOnce(&str) -> Option<String>,
) -> Result<Cow<'_, str>, NoText> {
    let Some(name) = argument.strip_prefix(VARIABLE) else { return Ok(argument.into()) };
    match variable(name) {
        // A variable that names a variable could make a circle.
        Some(text) if !text.is_empty() && !text.starts_with(VARIABLE) => Ok(text.into()),
        _ => Err(NoText(name.to_owned())),
    }
}
