"""Reads with Microsoft's client what the example `footrace` wrote:

    cargo run --example footrace -- --db race.redb
    table-orm serve --db race.redb
    python read_race.py "UseDevelopmentStorage=true"
"""

import sys

from azure.data.tables import TableServiceClient

service = TableServiceClient.from_connection_string(sys.argv[1])
finishers = service.get_table_client("finishers")
# Index rows by time: the fastest come first.
by_time = "RowKey ge 'TIME:' and RowKey lt 'TIME;'"
for row in list(finishers.query_entities(by_time))[:3]:
    print(row["RowKey"], row["Name"], row["Official"].value, sep=" | ")

# Prints:
# TIME:05785__W00001 | Brandvold, Siri | 5785
# TIME:05871__W00002 | Achterberg, Tom | 5871
# TIME:06246__W00003 | Quillfeather, Ines | 6246
