#!/usr/bin/env bash
# Python reads what the Rust example wrote, and prints what its last comment says.
# PROGRAMS is the folder of the built programs; without it, cargo builds them.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
server=
trap 'kill $server 2> /dev/null || true; rm -r "$folder"' EXIT
if [ -z "${PROGRAMS:-}" ]; then
  cargo build --quiet --example footrace
  cargo build --quiet -p table-cli
  PROGRAMS=${CARGO_TARGET_DIR:-target}/debug
fi
"$PROGRAMS/examples/footrace" --db "$folder/race.redb" > /dev/null
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check azure-data-tables==12.7.0
"$PROGRAMS/table-orm" serve --db "$folder/race.redb" --port 0 > "$folder/said" &
server=$!
# Its third line is the connection string.
until [ "$(wc -l < "$folder/said")" -ge 3 ]; do
  kill -0 $server
  sleep 0.1
done
"$folder/python/bin/python" examples/python/read_race.py "$(sed -n 3p "$folder/said")" > "$folder/read"
sed '1,/^# Prints:$/d; s/^# //' examples/python/read_race.py | diff - "$folder/read"
