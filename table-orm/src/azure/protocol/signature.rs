//! The texts that signatures of the Table service cover.
//!
//! Both ends build them: a client to sign, a server to verify. A path is signed as it is sent,
//! percent-encoded.

/// Builds the text of `SharedKeyLite` (service documentation, "Authorize with Shared Key").
///
/// `date` is the header `x-ms-date`, or else `Date`. `comp` is the value of that query parameter.
///
/// ```
/// use table_orm::azure::protocol::signature;
/// let text = signature::shared_key_lite("D", "acc", "/People()", None);
/// assert_eq!(text, "D\n/acc/People()");
/// ```
#[must_use]
pub fn shared_key_lite(date: &str, account: &str, path: &str, comp: Option<&str>) -> String {
    let mut text = format!("{date}\n");
    push_resource(&mut text, account, path, comp);
    text
}

/// Builds the text of `SharedKey`: the method and two headers, empty if absent, before that of
/// [`shared_key_lite`].
#[must_use]
pub fn shared_key(
    method: &str,
    content_md5: &str,
    content_type: &str,
    date: &str,
    account: &str,
    path: &str,
    comp: Option<&str>,
) -> String {
    let mut text = format!("{method}\n{content_md5}\n{content_type}\n{date}\n");
    push_resource(&mut text, account, path, comp);
    text
}

/// Appends the resource as it is signed: `/account/path?comp=..`. No other parameter is signed.
pub(crate) fn push_resource(text: &mut String, account: &str, path: &str, comp: Option<&str>) {
    text.extend(["/", account, path]);
    if let Some(comp) = comp {
        text.extend(["?comp=", comp]);
    }
}

/// Builds the twelve lines of a table's shared access signature (service documentation, "Create a
/// service SAS"). `parameter` returns a parameter's value by its name, empty if absent. The case of
/// the table's name does not matter.
#[must_use]
pub fn table_sas<'p>(account: &str, table: &str, parameter: impl Fn(&str) -> &'p str) -> String {
    let resource = format!("/table/{account}/{}", table.to_ascii_lowercase());
    let [sp, st, se] = ["sp", "st", "se"].map(&parameter);
    let rest = ["si", "sip", "spr", "sv", "spk", "srk", "epk", "erk"].map(&parameter);
    [&[sp, st, se, &resource], &rest[..]].concat().join("\n")
}

/// Builds the lines of an account's shared access signature (service documentation, "Create an
/// account SAS"). `parameter` returns a parameter's value by its name, empty if absent. Versions from
/// 2020-12-06 on sign the encryption scope, too.
#[must_use]
pub fn account_sas<'p>(account: &str, parameter: impl Fn(&str) -> &'p str) -> String {
    let names = ["sp", "ss", "srt", "st", "se", "sip", "spr", "sv", "ses"];
    let signed = if parameter("sv") >= "2020-12-06" { 9 } else { 8 };
    let mut text = format!("{account}\n");
    for name in &names[..signed] {
        text.extend([parameter(name), "\n"]);
    }
    text
}
