//! The guide shows the messages of the compiler.
//!
//! Each `compile_fail` example that a message follows is a fixture in `ui/guide`, whose `.stderr` the
//! test of fixtures records. `UPDATE_EXPECT=1` writes the fixtures anew, `TRYBUILD=overwrite` their
//! messages. Anything that this test still reports is wrong in the guide.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// An example that does not compile, and the guide's message for it.
struct Mistake {
    /// The name of its fixture.
    name: String,
    source: String,
    message: Vec<String>,
}

/// The examples of a chapter, named by it and by the heading above.
fn mistakes(chapter: &str, text: &str) -> Vec<Mistake> {
    let mut lines = text.lines().peekable();
    let mut heading = String::new();
    let mut taken = BTreeMap::new();
    let mut mistakes = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            let letters = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
            let words: String = line.chars().map(letters).collect();
            heading = words.split_whitespace().collect::<Vec<_>>().join("_");
        }
        if !line.starts_with("```rust,compile_fail") {
            // Another block's lines are no headings.
            if line.starts_with("```") {
                lines.by_ref().find(|line| *line == "```");
            }
            continue;
        }
        let mut source: String = lines
            .by_ref()
            .take_while(|line| *line != "```")
            .map(|line| format!("{}\n", line.strip_prefix("# ").unwrap_or(line)))
            .collect();
        if !source.contains("fn main()") {
            source += "\nfn main() {}\n";
        }
        while lines.peek().is_some_and(|line| line.is_empty()) {
            lines.next();
        }
        if lines.next_if_eq(&"```text").is_none() {
            continue;
        }
        let message = lines.by_ref().take_while(|line| *line != "```");
        let message = message.map(str::to_owned).collect();
        let times = taken.entry(heading.clone()).and_modify(|times| *times += 1).or_insert(1);
        let name = format!("{chapter}_{heading}_{times}");
        mistakes.push(Mistake { name, source, message });
    }
    mistakes
}

/// The chapters, by name.
fn chapters(guide: &Path) -> BTreeMap<String, String> {
    let mut chapters = BTreeMap::new();
    for entry in fs::read_dir(guide).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            chapters.extend(self::chapters(&path));
        } else {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            chapters.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    chapters
}

/// The rows of a chapter's table of messages: the parts of a message, and the sections that explain it.
fn index(text: &str) -> impl Iterator<Item = (Vec<&str>, Vec<String>)> {
    let rows = text.lines().skip_while(|line| !line.starts_with("| The message says |")).skip(2);
    rows.take_while(|line| line.starts_with('|')).map(|line| {
        let (message, links) = line.trim_start_matches("| `").split_once("` |").unwrap();
        let parts = message.split("..").map(str::trim).collect();
        let anchors = links.split("](#").skip(1).map(|link| link.split_once(')').unwrap().0);
        (parts, anchors.map(|anchor| anchor.replace('-', "_")).collect())
    })
}

/// A line as it is in any gutter and under any path.
fn bare(line: &str) -> String {
    let line = line.trim();
    match line.strip_prefix("--> ").and_then(|place| place.split_once(".rs")) {
        Some((_, place)) => format!("--> {place}"),
        None => line.to_owned(),
    }
}

#[test]
fn the_guide_shows_what_the_compiler_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let update = env::var_os("UPDATE_EXPECT").is_some();
    let fixtures = root.join("ui/guide");
    let mut wanted: Vec<PathBuf> = Vec::new();
    let mut wrong = Vec::new();
    for (chapter, text) in chapters(&root.join("../table-orm/guide")) {
        for mistake in mistakes(&chapter, &text) {
            let fixture = fixtures.join(&mistake.name).with_extension("rs");
            if update {
                fs::write(&fixture, &mistake.source).unwrap();
            }
            if fs::read_to_string(&fixture).unwrap_or_default() != mistake.source {
                wrong.push(format!("{}: the fixture is not the guide's example", mistake.name));
            }
            let said = fs::read_to_string(fixture.with_extension("stderr")).unwrap_or_default();
            let mut said = said.lines().map(bare);
            // The guide leaves lines out, but shows no line that the compiler does not print, and
            // keeps their order.
            let stale = mistake.message.iter().find(|line| !said.any(|said| said == bare(line)));
            if let Some(line) = stale {
                wrong.push(format!("{}: the compiler does not say: {line}", mistake.name));
            }
            wanted.push(fixture);
        }
    }
    for entry in fs::read_dir(&fixtures).unwrap() {
        let path = entry.unwrap().path().with_extension("rs");
        if !wanted.contains(&path) {
            wrong.push(format!("{}: no example of the guide", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_section_of_a_message_has_that_message() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wrong = Vec::new();
    for (chapter, text) in chapters(&root.join("../table-orm/guide")) {
        for (parts, sections) in index(&text) {
            for section in sections {
                let fixture = root.join(format!("ui/guide/{chapter}_{section}_1.stderr"));
                let said = fs::read_to_string(&fixture).unwrap_or_default();
                let mut rest = said.as_str();
                let missing = parts.iter().find(|part| match rest.split_once(**part) {
                    Some((_, after)) => {
                        rest = after;
                        false
                    }
                    None => true,
                });
                if let Some(part) = missing {
                    wrong.push(format!("{}: the compiler does not say: {part}", fixture.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
