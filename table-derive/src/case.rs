//! The case of names: fields as properties, rows as types.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Lower,
    Upper,
}

pub const CASES: [(&str, Case); 6] = [
    ("PascalCase", Case::Pascal),
    ("camelCase", Case::Camel),
    ("snake_case", Case::Snake),
    ("SCREAMING_SNAKE_CASE", Case::ScreamingSnake),
    ("lowercase", Case::Lower),
    ("UPPERCASE", Case::Upper),
];

impl Case {
    /// The `snake_case` name in this case.
    pub fn apply(self, name: &str) -> String {
        match self {
            Self::Pascal => pascal(name),
            Self::Camel => {
                let pascal = pascal(name);
                let mut chars = pascal.chars();
                chars.next().into_iter().flat_map(char::to_lowercase).chain(chars).collect()
            }
            Self::Snake => name.to_owned(),
            Self::ScreamingSnake => name.to_uppercase(),
            Self::Lower => name.replace('_', ""),
            Self::Upper => name.replace('_', "").to_uppercase(),
        }
    }
}

/// `registered_at` as `RegisteredAt`.
pub fn pascal(name: &str) -> String {
    name.split('_')
        .flat_map(|word| {
            let mut chars = word.chars();
            chars.next().into_iter().flat_map(char::to_uppercase).chain(chars)
        })
        .collect()
}
