#!/usr/bin/env bash
# What an app's calls cost the compiler: how many functions it builds for each of 20 entities of two rows that are
# created, inserted, upserted, loaded, saved, updated, read, listed and deleted, and the seconds of that build. The
# number of functions depends on the compiler and the code alone.
# With `upkeep`, each is inserted in bulk, verified, repaired, backfilled and rewritten instead.
# Usage: benches/compile/calls.sh [entities] [upkeep]
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
entities=${1:-20}
kind=${2:-calls}
work=$root/target/compile-bench/$kind
mkdir -p "$work/src"
cat >"$work/Cargo.toml" <<MANIFEST
[package]
name = "calls-bench"
version = "0.0.0"
edition = "2024"

[workspace]

[dependencies]
table-orm = { path = "$root/table-orm" }
tokio = { version = "1", features = ["macros", "rt"] }

[profile.dev]
debug = "line-tables-only"
incremental = false
MANIFEST
# What an app does with its entities.
calls_of() {
    local i=$1
    cat <<CALLS

async fn calls$i(tables: &Tables) -> table_orm::Result<usize> {
    let things = tables.repo::<Thing$i>();
    things.create_table().await?;
    let thing = Thing$i { owner: "ann".into(), number: 1, name: "box".into(), size: 3, paid: true };
    things.insert(&thing).await?;
    things.upsert(&thing).await?;
    let key = || Thing$i::partition("ann").row().number(1);
    let Some(mut loaded) = things.load(key()).await?.optional()? else { return Ok(0) };
    loaded.size = 4;
    things.save(&mut loaded).await?;
    things.update(key(), |thing| thing.size += 1).await?;
    let found = things.get(key()).await?;
    let all: Vec<Thing$i> = things.list(Thing$i::partition("ann").by_name()).collect().await?;
    let Some(loaded) = things.load(key()).await?.optional()? else { return Ok(0) };
    things.delete(loaded).await?;
    Ok(all.len() + usize::from(found.is_some()))
}
CALLS
}
# What keeps stored rows in step.
upkeep_of() {
    local i=$1
    cat <<CALLS

async fn calls$i(tables: &Tables) -> table_orm::Result<usize> {
    let things = tables.repo::<Thing$i>();
    things.create_table().await?;
    let thing = |number| Thing$i { owner: "ann".into(), number, name: "box".into(), size: 3, paid: true };
    things.insert_many((0..2).map(thing)).await.all()?;
    let found = things.verify(Thing$i::partition("ann")).await?;
    things.repair(found.findings).await.all()?;
    things.backfill(Thing$i::partition("ann")).await.all()?;
    things.rewrite(table_orm::ScanPermit::because("all rows")).await.all()?;
    Ok(2)
}
CALLS
}

{
    printf 'use table_orm::{TableEntity, Tables};\n'
    for ((i = 0; i < entities; i++)); do
        cat <<ENTITY

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "things$i", partition = "{owner}", row = "THING:{number:06}")]
#[row(by_name, key = "NAME:{name}__{number:06}")]
struct Thing$i {
    owner: String,
    number: u32,
    name: String,
    size: i64,
    paid: bool,
}
ENTITY
        "${kind}_of" "$i"
    done
    printf '\n#[tokio::main(flavor = "current_thread")]\nasync fn main() -> table_orm::Result<()> {\n'
    printf '    let tables = Tables::in_memory()?;\n    let mut found = 0;\n'
    for ((i = 0; i < entities; i++)); do printf '    found += calls%d(&tables).await?;\n' "$i"; done
    printf '    assert_eq!(found, %d);\n    Ok(())\n}\n' "$((2 * entities))"
} >"$work/src/main.rs"
cp "$root/Cargo.lock" "$work/Cargo.lock"
manifest=(--manifest-path "$work/Cargo.toml")
cargo run --quiet "${manifest[@]}"
touch "$work/src/main.rs"
start=$(date +%s%N)
cargo build --quiet --offline "${manifest[@]}"
end=$(date +%s%N)
touch "$work/src/main.rs"
functions=$(RUSTC_BOOTSTRAP=1 cargo rustc --quiet --offline "${manifest[@]}" -- -Zprint-mono-items=yes |
    grep -c '^MONO_ITEM fn .*\bThing[0-9]\+\b')
awk -v f="$functions" -v n="$entities" -v t="$((end - start))" \
    'BEGIN { printf "%d functions for %d entities, %d each; %.1f s\n", f, n, f / n, t / 1e9 }'
