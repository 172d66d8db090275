//! The modules of each crate import in one direction, and the files of one folder in no circle.
//!
//! The order of the modules is the list in each crate's `lib.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

#[test]
fn modules_of_the_runtime_import_only_those_above_them() {
    let order = |docs: &str| {
        let rows = docs.lines().skip_while(|line| *line != "//! # Modules");
        let rows = rows.take_while(|line| *line != "//! # Features");
        rows.filter_map(|row| row.strip_prefix("//! | ")?.split('`').nth(1)).map(path).collect()
    };
    assert_none(&offences(&Crate::read("../../table-orm/src"), order));
}

#[test]
fn modules_of_the_derive_import_only_those_above_them() {
    let order = |docs: &str| {
        let rows = docs.lines().skip_while(|line| *line != "//! ```text").skip(1);
        let rows = rows.take_while(|line| *line != "//! ```");
        rows.filter_map(|row| row.strip_prefix("//! ")?.split_whitespace().next())
            .map(path)
            .collect()
    };
    assert_none(&offences(&Crate::read("../../table-derive/src"), order));
}

#[test]
fn modules_of_the_server_import_only_those_above_them() {
    let order = |docs: &str| {
        let rows = docs.lines().skip_while(|line| *line != "//! # Modules");
        let cells = rows.filter_map(|row| row.strip_prefix("//! | ")?.split(" | ").next());
        cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(path).collect()
    };
    assert_none(&offences(&Crate::read("../../table-server/src"), order));
}

#[test]
fn files_of_one_folder_import_in_no_circle() {
    for krate in ["table-orm", "table-derive", "table-server", "table-cli"] {
        assert_none(&circles(&Crate::read(&format!("../../{krate}/src"))));
    }
}

#[test]
fn an_offence_is_found_with_its_file_and_line() {
    let order = |_: &str| ["low", "high"].map(path).to_vec();
    let source = |low: &str, high: &str| {
        let lib = ("lib.rs".to_owned(), "mod high;\nmod low;\n".to_owned());
        let private = "pub use crate::high::{X as Y, Z};\npub use crate::__m as m;\n";
        let rest = [("low.rs", low), ("high.rs", high), ("__private.rs", private)];
        let rest = rest.map(|(name, text)| (name.to_owned(), text.to_owned()));
        Crate::of([lib].into_iter().chain(rest))
    };
    let fine = source("// crate::high::X\nconst A: u8 = 0;\n", "use crate::low::A;\n");
    assert_none(&offences(&fine, order));
    assert_none(&circles(&fine));
    let high = "#[macro_export]\nmacro_rules! __m {\n    () => {};\n}\n";
    for low in [
        "use crate::{low, high::X};\n",
        "use super::high::X;\n",
        "fn f() { crate::high::f() }\n",
        "macro_rules! f { () => { $crate::high::f() }; }\n",
        "type A = crate::__private::Y;\n",
        "macro_rules! f { () => { $crate::__private::m!() }; }\n",
        "crate::__m!();\n",
        "use crate::*;\n",
    ] {
        let found = offences(&source(low, high), order);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("low.rs:1: "), "{found:?}");
    }
    let tests = "const A: u8 = 0;\n\n#[cfg(test)]\nmod tests {\n    use crate::high::X;\n}\n";
    assert_none(&offences(&source(tests, ""), order));
    let circle = source("use super::high::B;\n", "\nuse crate::low::A;\n");
    let found = circles(&circle);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("low.rs:1") && found[0].contains("high.rs:2"), "{found:?}");
}

fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// A module or an item, from the crate's root.
type ModulePath = Vec<String>;

fn path(text: &str) -> ModulePath {
    text.split("::").map(str::to_owned).collect()
}

/// The code of one crate, without its tests.
struct Crate {
    docs: String,
    files: Vec<File>,
    /// The module of each macro that is at the crate's root.
    macros: BTreeMap<String, ModulePath>,
}

struct File {
    name: String,
    module: ModulePath,
    imports: Vec<Import>,
    /// The items that a folder's own file passes on, by name, with the file each comes from.
    passed_on: BTreeMap<String, String>,
}

/// A path in the code that names another module of the crate.
struct Import {
    line: usize,
    path: ModulePath,
    /// What the file calls it.
    name: String,
}

/// One of the paths of an import, as it is written.
struct Leaf {
    path: ModulePath,
    /// What the file calls it.
    name: String,
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Crate {
    fn read(source: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
        let mut folders = vec![root.clone()];
        let mut texts = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap().path();
                if entry.is_dir() {
                    folders.push(entry);
                } else if entry.extension().is_some_and(|extension| extension == "rs") {
                    let name: PathBuf = entry.strip_prefix(&root).unwrap().into();
                    texts.push((
                        name.to_str().unwrap().to_owned(),
                        fs::read_to_string(entry).unwrap(),
                    ));
                }
            }
        }
        texts.sort();
        Self::of(texts)
    }

    fn of(texts: impl IntoIterator<Item = (String, String)>) -> Self {
        let (mut docs, mut files, mut macros) = (String::new(), Vec::new(), BTreeMap::new());
        for (name, text) in texts {
            let mut module = path(&name.trim_end_matches(".rs").replace('/', "::"));
            if module.iter().any(|part| ["tests", "snapshots"].contains(&&**part)) {
                continue;
            }
            if ["mod", "lib"].contains(&&**module.last().unwrap()) {
                module.pop();
            }
            let code = code(&text);
            let imports = imports(&module, &code);
            let passed_on = passed_on(&code);
            macros.extend(root_macros(&code).map(|name| (name, module.clone())));
            if name == "lib.rs" {
                docs = text;
            }
            files.push(File { name, module, imports, passed_on });
        }
        Self { docs, files, macros }
    }

    /// The path of what a path names, where it is a macro, or is passed on by the root or by `__private`.
    fn origin(&self, path: &[String]) -> ModulePath {
        let [first, rest @ ..] = path else { return Vec::new() };
        if let Some(module) = self.macros.get(first) {
            return module.clone();
        }
        let passed_on = |of: &str| self.files.iter().find(|file| file.module.join("::") == of);
        if let Some(module) = passed_on("").and_then(|root| root.passed_on.get(first)) {
            return [std::slice::from_ref(module), path].concat();
        }
        let ("__private", [name, ..]) = (&**first, rest) else { return path.to_vec() };
        let private = passed_on("__private").expect("a path in it");
        match private.imports.iter().find(|import| import.name == *name) {
            Some(import) => self.origin(&import.path),
            None => path.to_vec(),
        }
    }
}

/// A file without comments and tests, line by line.
fn code(text: &str) -> String {
    let tests = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let lines = text[..tests].lines();
    let lines = lines.map(|line| if line.trim_start().starts_with("//") { "" } else { line });
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// What `use child::Item` passes on, where `child` is a module that the file declares.
fn passed_on(code: &str) -> BTreeMap<String, String> {
    let mut items = BTreeMap::new();
    for (at, start) in code.match_indices("use ") {
        let mut leaves = Vec::new();
        leaf_paths(&mut &code[at + start.len()..], Vec::new(), &mut leaves);
        for Leaf { path, name } in leaves.into_iter().filter(|leaf| leaf.path.len() > 1) {
            if code.contains(&format!("mod {};", path[0])) {
                items.insert(name, path[0].clone());
            }
        }
    }
    items
}

/// The names of the macros that a file puts at the crate's root.
fn root_macros(code: &str) -> impl Iterator<Item = String> {
    let after = code.split("#[macro_export]\nmacro_rules! ").skip(1);
    after.filter_map(|text| Some(text.split_once(' ')?.0.to_owned()))
}

/// Every import of a file's code. `super` is the parent of `module`.
fn imports(module: &[String], code: &str) -> Vec<Import> {
    let mut imports = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || ['_', ':'].contains(&c)) {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            let mut leaves = Vec::new();
            leaf_paths(&mut &code[at..], Vec::new(), &mut leaves);
            let import = |Leaf { path, name }| Import { line, path: absolute(module, path), name };
            imports.extend(leaves.into_iter().map(import));
        }
    }
    imports
}

/// Expands a path with groups in braces, and removes it from the text.
fn leaf_paths(text: &mut &str, mut prefix: ModulePath, leaves: &mut Vec<Leaf>) {
    loop {
        *text = text.trim_start();
        if let Some(rest) = text.strip_prefix('{') {
            *text = rest;
            while !text.trim_start().starts_with('}') && !text.is_empty() {
                leaf_paths(text, prefix.clone(), leaves);
                *text = text.trim_start();
                *text = text.strip_prefix(',').unwrap_or(text);
            }
            *text = text.trim_start().strip_prefix('}').unwrap_or(text);
            return;
        }
        let name = identifier(text);
        if !name.is_empty() && name != "self" {
            prefix.push(name.to_owned());
        }
        match text.strip_prefix("::") {
            Some(rest) => *text = rest,
            None => {
                // Such as the `*` of a glob.
                *text = if name.is_empty() { text.get(1..).unwrap_or("") } else { text };
                let mut name = prefix.last().cloned().unwrap_or_default();
                if let Some(alias) = text.strip_prefix(" as ") {
                    *text = alias;
                    name = identifier(text).to_owned();
                }
                leaves.push(Leaf { path: prefix, name });
                return;
            }
        }
    }
}

/// Removes an identifier from the text.
fn identifier<'t>(text: &mut &'t str) -> &'t str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    *text = rest;
    name
}

/// The path from the crate's root.
fn absolute(module: &[String], leaf: ModulePath) -> ModulePath {
    let supers = leaf.iter().take_while(|name| *name == "super").count();
    let base = if supers == 0 { &[] } else { &module[..module.len().saturating_sub(supers)] };
    base.iter().cloned().chain(leaf.into_iter().skip(supers.max(1))).collect()
}

/// The imports from a module below the importing one.
fn offences(source: &Crate, order: impl Fn(&str) -> Vec<ModulePath>) -> Vec<String> {
    // They are not part of the order: the first may use all, the others are not in an app's build.
    const OUTSIDE: [&str; 4] = ["__private", "dose", "fuzzing", "guide"];
    let order = order(&source.docs);
    assert!(order.len() > 1, "no order of modules is found in `lib.rs`");
    let place = |path: &[String]| {
        let of = order.iter().enumerate().filter(|(_, module)| path.starts_with(module));
        of.max_by_key(|(_, module)| module.len()).map(|(place, _)| place)
    };
    let mut offences = Vec::new();
    for file in &source.files {
        if file.module.is_empty() || OUTSIDE.contains(&&*file.module[0]) {
            continue;
        }
        let Some(own) = place(&file.module) else {
            offences.push(format!("{file}: `{}` is not in the order", file.module.join("::")));
            continue;
        };
        for Import { line, path, .. } in &file.imports {
            let import = path.join("::");
            let path = source.origin(path);
            match place(&path) {
                Some(other) if other <= own => {}
                Some(_) => offences.push(format!("{file}:{line}: `{import}` is below it")),
                // A macro of the crate's root, or what macros use.
                None if path.is_empty() && !import.is_empty() => {}
                None if path.first().is_some_and(|module| module == "__private") => {}
                None => offences.push(format!("{file}:{line}: `{import}` names no module")),
            }
        }
    }
    offences
}

/// The circles among the files and folders of each folder.
fn circles(source: &Crate) -> Vec<String> {
    let modules: BTreeSet<_> = source.files.iter().map(|file| file.module.clone()).collect();
    let mut edges: BTreeMap<(ModulePath, ModulePath), String> = BTreeMap::new();
    for file in source.files.iter().filter(|file| file.name != "__private.rs") {
        for Import { line, path, .. } in &file.imports {
            let target = resolve(source, &modules, &source.origin(path));
            let common = file.module.iter().zip(&target).take_while(|(one, other)| one == other);
            let folder = common.count();
            // A folder's own file gathers what its files hold.
            if folder < file.module.len() && folder < target.len() {
                let sides = (file.module[..=folder].to_vec(), target[..=folder].to_vec());
                edges.entry(sides).or_insert_with(|| format!("{file}:{line}: {}", path.join("::")));
            }
        }
    }
    let starts: BTreeSet<_> = edges.keys().map(|(from, _)| from.clone()).collect();
    let mut found = BTreeMap::new();
    for start in starts {
        if let Some(circle) = circle_through(&edges, &start) {
            let members: BTreeSet<_> = circle.iter().map(|(from, _)| from.clone()).collect();
            let lines: Vec<_> = circle.iter().map(|side| edges[side].clone()).collect();
            found.entry(members).or_insert_with(|| format!("circle:\n  {}", lines.join("\n  ")));
        }
    }
    found.into_values().collect()
}

/// The module that holds what a path names; of an item that a folder's own file passes on, the file
/// it comes from.
fn resolve(source: &Crate, modules: &BTreeSet<ModulePath>, path: &[String]) -> ModulePath {
    let module = (0..=path.len()).rev().map(|length| &path[..length]);
    let module = module.into_iter().find(|part| modules.contains(*part)).unwrap_or_default();
    let Some(item) = path.get(module.len()) else { return module.to_vec() };
    let folder = source.files.iter().find(|file| file.module == module);
    match folder.and_then(|folder| folder.passed_on.get(item)) {
        Some(from) => [module, std::slice::from_ref(from)].concat(),
        None => module.to_vec(),
    }
}

type Edge = (ModulePath, ModulePath);

fn circle_through(edges: &BTreeMap<Edge, String>, start: &ModulePath) -> Option<Vec<Edge>> {
    let mut ways = vec![vec![start.clone()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        let last = way.last().unwrap();
        for (_, next) in edges.keys().filter(|(from, _)| from == last) {
            if next == start {
                let way: Vec<_> = way.iter().chain([start]).cloned().collect();
                return Some(
                    way.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect(),
                );
            }
            if seen.insert(next.clone()) {
                ways.push(way.iter().chain([next]).cloned().collect());
            }
        }
    }
    None
}
