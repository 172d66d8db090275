#!/bin/sh
# Runs the benchmarks whose figures have a goal, prints these figures, and fails if a goal is missed.
# Without an argument it runs all of them; `benches/goals.sh scan copy` runs these two.
#
# It leaves out benches/emulators.py, which needs Azurite, and the figures without a goal: the benchmarks
# `eventual` and `writer`, and `profile_bench`. Counts of instructions are those of `compile` only.
set -eu
cd "$(dirname "$0")/.."
figures=$(mktemp)
trap 'rm -f "$figures"' EXIT

# `WHAT = RATIO (goal met: at most GOAL)`, as the benchmarks print it.
verdicts='
function verdict(what, ratio, most, goal) {
    met = most == "most" ? ratio <= goal : ratio >= goal
    printf "%s = %s (goal %s: at %s %s)\n", what, ratio, met ? "met" : "missed", most, goal
}
'
# The CPU and the throughput of the Azure store against the client written by hand and azure_data_tables.
wire() {
    cargo bench -q -p benches --features wire --bench wire 2>&1 | awk -F '|' "$verdicts"'
        /^\| https?,/ {
            name = $2; gsub(/^ +| +$/, "", name)
            split($3, cpu, /[;,] */); split($5, together, /[;,] */); split($6, bytes, /[;,] */)
            verdict("CPU of " name " / by hand", cpu[2], "most", name ~ /transaction/ ? 1.0 : 1.1)
            if (name ~ /^https/) verdict("throughput of " name " / azure_data_tables", together[3], "least", 2.5)
            if (name ~ /page/) verdict("bytes of " name " / azure_data_tables", bytes[3], "most", 0.5)
        }'
}
# Scans on virtual time: speed-ups over one worker, and requests over the fewest.
virtual() {
    cargo run -q --release -p table-orm --features testing --example scan_bench 2>&1 | awk -F '|' "$verdicts"'
        / no limit / {
            name = $2; gsub(/^ +| +$/, "", name)
            split($6, adaptive, /x?; */); split($7, ordered, /x?; */)
            package = name ~ /^package ids/
            if (name !~ /^zipf/) verdict("adaptive scan of " name " / serial", adaptive[1], "least", package ? 12 : 14)
            verdict("requests of an adaptive scan of " name " / fewest", adaptive[2], "most", package ? 1.5 : 1.15)
            verdict("ordered scan of " name " / serial", ordered[1], "least", 10)
            verdict("requests of an ordered scan of " name " / fewest", ordered[2], "most", 1.6)
        }'
}
compile() {
    benches/compile/measure.sh | awk "$verdicts"'
        /^millions of instructions/ { verdict("check of 50 entities, instructions / serde", $NF, "most", 1.2) }'
}
bench() {
    cargo bench -q -p benches --bench "$1" 2>&1 | grep -E ' = |bytes on disk|^- '
}

[ $# -gt 0 ] || set -- key page embedded write load scan copy wire virtual compile
for part; do
    case $part in
    wire | virtual | compile) "$part" ;;
    *) bench "$part" ;;
    esac | tee -a "$figures"
done
if grep -q 'goal missed' "$figures"; then
    printf '\nMissed:\n'
    grep 'goal missed' "$figures"
    exit 1
fi
echo 'All goals are met.'
