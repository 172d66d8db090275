//! Text that the command line takes from the environment, because everyone on the machine can see a
//! command line.

use std::borrow::Cow;

/// The prefix of the name of an environment variable.
const VARIABLE: &str = "env:";

/// A variable that does not exist, is empty, or names another one.
#[derive(Debug, PartialEq, Eq)]
struct NoText(String);

/// A connection string, or for `env:NAME` the value of that variable. The error says what to do.
pub fn connection_string(given: &str) -> Result<String, String> {
    let text = text(given, |name| std::env::var(name).ok());
    text.map(Into::into).map_err(|NoText(name)| {
        format!("`env:{name}`: the environment variable has no connection string; set it to one")
    })
}

/// The text itself, or for `env:NAME` the value of that variable.
fn text(text: &str, variable: impl FnOnce(&str) -> Option<String>) -> Result<Cow<'_, str>, NoText> {
    let Some(name) = text.strip_prefix(VARIABLE) else { return Ok(text.into()) };
    match variable(name) {
        // A variable that names a variable could make a circle.
        Some(text) if !text.is_empty() && !text.starts_with(VARIABLE) => Ok(text.into()),
        _ => Err(NoText(name.to_owned())),
    }
}
