//! The guide and the docs of the derives name each rule and each attribute of the derives.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The functions of `check` that report a mistake, with their code: `keys::literals`.
fn rules() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../table-derive/src/check");
    // Rules report through it what they have in common.
    let entity = fs::read_to_string(folder.join("../ast/mod.rs")).unwrap();
    let known_field =
        entity.split("pub fn ").find(|part| part.starts_with("known_field(")).unwrap();
    let mut rules = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let text = fs::read_to_string(&file).unwrap();
        let subject = file.file_stem().unwrap().to_str().unwrap();
        for function in text.split("\nfn ").flat_map(|part| part.split("\npub fn ")).skip(1) {
            let name = function.split(['(', '<']).next().unwrap();
            let function = match function.contains(".known_field(") {
                true => format!("{function}{known_field}"),
                false => function.to_owned(),
            };
            if function.contains("mistake!(") {
                rules.insert(format!("{subject}::{name}"), function);
            }
        }
    }
    rules
}

/// The rows of the page: a rule, and a part of its message.
fn page() -> Vec<(String, String)> {
    let text = include_str!("../../table-orm/guide/reference/rules.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let (message, rest) = row.split_once(" | `").unwrap();
        let (rule, _) = rest.split_once('`').unwrap();
        (rule.to_owned(), message.trim_matches([' ', '`']).to_owned())
    })
    .collect()
}

#[test]
fn the_page_of_rules_names_each_rule_of_the_derive() {
    let (rules, page) = (rules(), page());
    assert!(rules.len() > 40, "only {} rules are found", rules.len());
    let named: BTreeSet<_> = page.iter().map(|(rule, _)| rule).collect();
    assert_eq!(rules.keys().collect::<BTreeSet<_>>(), named);
    for (rule, message) in page {
        let words = message.split('`').map(str::trim).max_by_key(|part| part.len()).unwrap();
        assert!(rules[&rule].contains(words), "`{rule}` does not say {words:?}");
    }
}

/// What each derive's attributes take, by the name of the list in `symbol.rs`.
fn attributes() -> BTreeMap<&'static str, Vec<&'static str>> {
    let symbols = include_str!("../../table-derive/src/symbol.rs");
    let lists = symbols.split("pub const ON_").skip(1).map(|list| {
        let (name, rest) = list.split_once(": Attribute").unwrap();
        let words = rest.split('"').nth(3).unwrap().split_whitespace();
        (name, words.filter(|word| *word != "\\").collect())
    });
    lists.collect()
}

/// The words in the code of a page.
fn words_in_code(page: &str) -> BTreeSet<&str> {
    let code = page.split('`').skip(1).step_by(2);
    code.flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '_')).collect()
}

#[test]
fn the_docs_of_each_derive_and_the_guide_name_each_attribute() {
    let guide = words_in_code(include_str!("../../table-orm/guide/reference/attributes.md"));
    let attributes = attributes();
    let docs: [(&str, &[&str]); 5] = [
        (
            include_str!("../../table-derive/src/table_entity.md"),
            &["ENTITY", "ROW", "UNIQUE", "OUTBOX", "FIELD"],
        ),
        (include_str!("../../table-derive/src/properties.md"), &["PROPERTIES"]),
        (include_str!("../../table-derive/src/key_part.md"), &["KEY_PART"]),
        (include_str!("../../table-derive/src/table_union.md"), &["UNION"]),
        (include_str!("../../table-derive/src/projection.md"), &["PROJECTION", "PROJECTED_FIELD"]),
    ];
    let mut lists = BTreeSet::new();
    for (page, names) in docs {
        let page = words_in_code(page);
        for name in names {
            lists.insert(*name);
            for word in &attributes[name] {
                assert!(page.contains(word), "the derive's docs lack `{word}` of {name}");
                assert!(guide.contains(word), "the guide lacks `{word}` of {name}");
            }
        }
    }
    assert_eq!(lists, attributes.keys().copied().collect());
}

#[test]
fn the_derive_and_the_runtime_have_the_same_limits() {
    use table_orm::TableEntity;
    use table_orm::entity::Schema;
    use table_orm::model::{MAX_KEY_UNITS, MAX_PROPERTIES, MAX_TRANSACTION_OPERATIONS};

    #[derive(TableEntity)]
    #[table(name = "scans", partition = "{owner}", row = "{id:05}")]
    struct Scan {
        owner: String,
        id: u32,
        #[table(chunked)]
        image: Vec<u8>,
    }
    let schema = Schema::of::<Scan>();
    let image = schema.properties.iter().find(|property| property.name == "Image").unwrap();
    let rules: String = ["keys", "fields", "table"]
        .map(|subject| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../table-derive/src/check");
            fs::read_to_string(folder.join(subject).with_extension("rs")).unwrap()
        })
        .concat();
    for (name, limit) in [
        ("MAX_KEY_UNITS", MAX_KEY_UNITS),
        ("MAX_PROPERTIES", MAX_PROPERTIES),
        ("MAX_ROWS", MAX_TRANSACTION_OPERATIONS),
        ("MAX_CHUNKS", image.slots.unwrap()),
    ] {
        let constant = format!("\nconst {name}: usize = {limit};\n");
        assert!(rules.contains(&constant), "no {constant:?} in the derive's rules");
    }
}
