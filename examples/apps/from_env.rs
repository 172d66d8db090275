//! Text that the command line leaves in the environment, for it is shown to everyone on the machine.

use std::borrow::Cow;

/// What the name of an environment variable is written behind.
const VARIABLE: &str = "env:";

/// A variable that is not there, is empty, or names another one.
#[derive(Debug, PartialEq, Eq)]
pub struct NoText(pub String);

/// The text itself, or of `env:NAME` what that variable has.
pub fn text(
    text: &str,
    variable: impl FnOnce(&str) -> Option<String>,
) -> Result<Cow<'_, str>, NoText> {
    let Some(name) = text.strip_prefix(VARIABLE) else { return Ok(text.into()) };
    match variable(name) {
        // A variable that names a variable might go round in circles.
        Some(text) if !text.is_empty() && !text.starts_with(VARIABLE) => Ok(text.into()),
        _ => Err(NoText(name.to_owned())),
    }
}
