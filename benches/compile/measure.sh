#!/usr/bin/env bash
# What the derive costs: 50 entities of six fields and two rows, checked beside the same 50 structs
# with serde's derive pair, in turn, five times. Prints the medians and their ratio.
# Where valgrind is installed, it also counts the compiler's instructions, which another load of the
# machine does not change. Needs GNU time. Usage: benches/compile/measure.sh [entities] [rounds]
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
entities=${1:-50}
rounds=${2:-5}
work=$root/target/compile-bench
mkdir -p "$work"/{orm,serde}/src

manifest() { # crate, dependencies
    printf '[package]\nname = "%s-bench"\nversion = "0.0.0"\nedition = "2024"\n\n' "$1"
    printf '[lib]\npath = "src/lib.rs"\n\n[workspace]\n\n[dependencies]\n%s\n' "$2"
    printf '\n[profile.dev]\nincremental = false\n'
}
manifest orm "table-orm = { path = \"$root/table-orm\", default-features = false }" >"$work/orm/Cargo.toml"
manifest serde 'serde = { version = "1", features = ["derive"] }' >"$work/serde/Cargo.toml"

fields='    pub tenant: String,
    pub number: u32,
    pub name: String,
    pub age: u8,
    pub active: bool,
    pub score: f64,'
{
    echo 'use table_orm::TableEntity;'
    for ((i = 0; i < entities; i++)); do
        printf '\n#[derive(TableEntity)]\n#[table(name = "things%d", partition = "{tenant}")]\n' "$i"
        printf '#[row(by_number, key = "NUM:{number:08}__{name}")]\n'
        printf '#[row(by_age, key = "AGE:{age:03}__{number:08}")]\n'
        printf 'pub struct Thing%d {\n%s\n}\n' "$i" "$fields"
    done
} >"$work/orm/src/lib.rs"
{
    echo 'use serde::{Deserialize, Serialize};'
    for ((i = 0; i < entities; i++)); do
        printf '\n#[derive(Serialize, Deserialize)]\npub struct Thing%d {\n%s\n}\n' "$i" "$fields"
    done
} >"$work/serde/src/lib.rs"

check() { # crate -> "seconds kilobytes" of the check of that crate alone
    touch "$work/$1/src/lib.rs"
    command time -f '%e %M' cargo check --quiet --offline --manifest-path "$work/$1/Cargo.toml" 2>&1 | tail -n 1
}
expanded() { # crate -> lines of generated and written code
    RUSTC_BOOTSTRAP=1 cargo rustc --quiet --offline --profile check --manifest-path "$work/$1/Cargo.toml" \
        -- -Zunpretty=expanded | wc -l
}
instructions() { # crate -> millions of instructions of the check of that crate alone
    touch "$work/$1/src/lib.rs"
    RUSTC_WORKSPACE_WRAPPER=$work/count cargo check --quiet --offline --manifest-path "$work/$1/Cargo.toml" 2>/dev/null
    awk '/I *refs/ { gsub(",", "", $NF); printf "%d\n", $NF / 1000000 }' "$work/instructions"
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

cp "$root/Cargo.lock" "$work/orm/Cargo.lock"
cp "$root/Cargo.lock" "$work/serde/Cargo.lock"
for crate in orm serde; do
    cargo check --quiet --manifest-path "$work/$crate/Cargo.toml"
    : >"$work/$crate/figures"
done
for ((round = 0; round < rounds; round++)); do
    for crate in orm serde; do
        check "$crate" >>"$work/$crate/figures"
    done
done

cat >"$work/count" <<COUNT
#!/bin/sh
case "\$*" in
*_bench*) exec valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null --log-file="$work/instructions" "\$@" ;;
*) exec "\$@" ;;
esac
COUNT
chmod +x "$work/count"

figure() { cut -d ' ' -f "$2" "$work/$1/figures" | median; }
printf '| %d entities, %d rounds | lines | seconds | peak memory |\n|---|---|---|---|\n' "$entities" "$rounds"
for crate in orm serde; do
    lines=$(expanded "$crate")
    seconds=$(figure "$crate" 1)
    memory=$(figure "$crate" 2)
    printf '| %s | %d | %s | %d MB |\n' "$crate" "$lines" "$seconds" "$((memory / 1024))"
    declare "lines_$crate=$lines" "seconds_$crate=$seconds" "memory_$crate=$memory"
done
# shellcheck disable=SC2154
awk -v l="$lines_orm" -v m="$lines_serde" -v s="$seconds_orm" -v t="$seconds_serde" \
    -v a="$memory_orm" -v b="$memory_serde" \
    'BEGIN { printf "| ratio | %.2f | %.2f | %.2f |\n", l / m, s / t, a / b }'
if command -v valgrind >/dev/null; then
    orm=$(instructions orm)
    serde=$(instructions serde)
    awk -v o="$orm" -v s="$serde" \
        'BEGIN { printf "\nmillions of instructions: %d and %d, ratio %.2f\n", o, s, o / s }'
fi
