//! Rules over the codes of an enum with `#[derive(KeyPart)]`.

use crate::errors::{Errors, mistake};
use crate::variants::Code;

pub fn codes(codes: &[Code<'_>], errors: &Errors) {
    for (at, code) in codes.iter().enumerate() {
        if allowed_in_keys(code, errors) {
            unambiguous(code, &codes[..at], errors);
        }
    }
}

/// Keys hold a code as it is, without an escape.
fn allowed_in_keys(code: &Code<'_>, errors: &Errors) -> bool {
    let forbidden = |c: &char| matches!(c, '/' | '\\' | '#' | '?' | '~') || c.is_control();
    let found = code.code.chars().find(forbidden);
    if code.code.is_empty() {
        mistake!(errors, code.at => "a code cannot be empty",
            help: "give every variant a code: `#[key(\"M\")]`");
    } else if let Some(c) = found {
        mistake!(errors, code.at => "a code cannot hold {c:?}",
            help: "use letters, digits and signs except `/`, `\\`, `#`, `?` and `~`");
    }
    !code.code.is_empty() && found.is_none()
}

/// A key is read back to the one variant that it was written from.
fn unambiguous(code: &Code<'_>, earlier: &[Code<'_>], errors: &Errors) {
    let Code { variant, code, at } = code;
    let earlier = || earlier.iter().filter(|other| !other.code.is_empty());
    if let Some(Code { variant: other, .. }) = earlier().find(|other| other.code == *code) {
        mistake!(errors, at => "`{other}` and `{variant}` have the same code {code:?}",
            help: "give each variant a code of its own: `#[key(\"..\")]`");
    } else if let Some(Code { code: other, .. }) =
        earlier().find(|other| other.code.starts_with(code) || code.starts_with(&other.code))
    {
        let (short, long) = if other.len() < code.len() { (other, code) } else { (code, other) };
        mistake!(errors, at => "code {short:?} is a prefix of code {long:?}, so stored keys would be ambiguous",
            help: "use codes of one length, or make sure that no code is a prefix of another");
    }
}
