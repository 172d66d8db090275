#!/usr/bin/env bash
# Copies a table to Azurite, and there by three processes: copy.sh CONNECTION_STRING
set -euo pipefail
cd "$(dirname "$0")/../.."
copy() { cargo run --quiet --example table_copy --features azure -- "$@"; }
copy --from sample:5000 --to "$1"
copy --from "$1" --to "$1" --to-table copied --workers 3
