"""Reads the rows the Rust tests wrote, checks every value and type, and writes the same back.

Arguments: connection string, table.
"""

import math
import sys
import uuid
from datetime import datetime, timezone

from azure.data.tables import EdmType, EntityProperty, TableServiceClient

ROWS = [
    ("2011 New York City Marathon__Full", "BIB:01234__John__M__55"),
    ("2011 New York City Marathon__Full", "AGE:055__1234__John__M"),
]


def int64(value):
    return EntityProperty(value, EdmType.INT64)


def instant(*parts):
    return datetime(*parts, tzinfo=timezone.utc)


PROPERTIES = {
    "StringEmpty": "",
    "StringQuote": "O'Brien \"said\" \\ \U0001F3C3\n--changeset_",
    "StringLong": "x" * (32 * 1024),
    "Int32Min": -(2**31),
    "Int32Max": 2**31 - 1,
    "Int64Min": int64(-(2**63)),
    "Int64Max": int64(2**63 - 1),
    "Int64Beyond53": int64(9007199254740993),
    "Int64Small": int64(3),
    "DoubleMax": sys.float_info.max,
    "DoubleSmallest": 5e-324,
    "DoubleTenth": 0.1,
    "DoubleInfinity": math.inf,
    "DoubleMinusInfinity": -math.inf,
    "DoubleWhole": 3.0,
    "BooleanTrue": True,
    "BooleanFalse": False,
    "DateTimeMin": instant(1601, 1, 1),
    "DateTimeWhole": instant(2011, 11, 6, 9, 10),
    "DateTimeMicrosecond": instant(2011, 11, 6, 9, 10, 0, 1),
    "GuidNil": uuid.UUID(int=0),
    "GuidAny": uuid.UUID("a1b2c3d4-e5f6-0718-293a-4b5c6d7e8f90"),
    "BinaryEmpty": b"",
    "BinaryAll": bytes(range(256)),
}


def same(read, expected):
    if isinstance(expected, datetime):
        return isinstance(read, datetime) and read == expected
    return type(read) is type(expected) and read == expected


def main(connection_string, table_name):
    table = TableServiceClient.from_connection_string(connection_string).get_table_client(table_name)
    for partition_key, row_key in ROWS:
        entity = dict(table.get_entity("rust " + partition_key, row_key))
        keys = entity.pop("PartitionKey"), entity.pop("RowKey")
        assert keys == ("rust " + partition_key, row_key), keys
        assert set(entity) == set(PROPERTIES), set(entity) ^ set(PROPERTIES)
        for name, expected in PROPERTIES.items():
            assert same(entity[name], expected), (name, entity[name], expected)
        listed = list(table.query_entities(f"PartitionKey eq 'rust {partition_key}'"))
        assert len(listed) == len(ROWS), len(listed)
        table.create_entity(
            {"PartitionKey": "python " + partition_key, "RowKey": row_key, **PROPERTIES}
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
