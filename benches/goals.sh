#!/bin/sh
# Runs the benchmarks of keys, pages, the embedded store, bulk writes and scans of a file, prints
# their ratios, and fails if a goal is missed.
set -eu
cd "$(dirname "$0")/.."
figures=$(mktemp)
trap 'rm -f "$figures"' EXIT
for bench in key page embedded write load scan; do
    cargo bench -q -p benches --bench "$bench" 2>&1 | grep -E ' = |bytes on disk|^- ' | tee -a "$figures"
done
if grep -q 'goal missed' "$figures"; then
    printf '\nMissed:\n'
    grep 'goal missed' "$figures"
    exit 1
fi
echo 'All goals are met.'
