//! The case of names: fields as properties, rows as types.

/// Spells a `snake_case` name in another case.
pub type Case = fn(&str) -> String;

/// The cases that `rename_all` can name.
pub const CASES: [(&str, Case); 6] = [
    ("PascalCase", pascal),
    ("camelCase", camel),
    ("snake_case", str::to_owned),
    ("SCREAMING_SNAKE_CASE", str::to_uppercase),
    ("lowercase", |name| name.replace('_', "")),
    ("UPPERCASE", |name| name.replace('_', "").to_uppercase()),
];

/// `registered_at` as `RegisteredAt`.
pub fn pascal(name: &str) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect::<String>()
    };
    name.split('_').map(capital).collect()
}

fn camel(name: &str) -> String {
    let pascal = pascal(name);
    let mut chars = pascal.chars();
    chars.next().into_iter().flat_map(char::to_lowercase).chain(chars).collect()
}
