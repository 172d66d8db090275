"""A round trip of the Python client before `azure-data-tables`, `azure-cosmosdb-table`. Argument: connection string."""

import sys
import uuid
from datetime import datetime, timedelta, timezone

from azure.common import AzureConflictHttpError, AzureHttpError, AzureMissingResourceHttpError
from azure.cosmosdb.table.common.models import AccessPolicy
from azure.cosmosdb.table.common.retry import no_retry
from azure.cosmosdb.table.models import EdmType, EntityProperty, TablePermissions
from azure.cosmosdb.table.tablebatch import TableBatch
from azure.cosmosdb.table.tableservice import TableService

connection = sys.argv[1]
parts = dict(part.split("=", 1) for part in connection.strip(";").split(";"))
service = TableService(connection_string=connection)


def fails(status, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except AzureHttpError as error:
        assert error.status_code == status, error
        return error
    raise AssertionError(f"{status} was expected")


assert service.create_table("cosmosdb")
assert not service.create_table("cosmosdb")
fails(409, service.create_table, "cosmosdb", fail_on_exist=True)
assert service.exists("cosmosdb") and not service.exists("nowhere")

moment = datetime(1971, 2, 3, 4, 5, 6, tzinfo=timezone.utc)
ann = {
    "PartitionKey": "it's 2026",
    "RowKey": "ann+é %",
    "Age": EntityProperty(EdmType.INT32, 55),
    "Chip": 12345678901234,
    "Born": moment,
    "Share": 0.5,
    "Infinite": float("inf"),
    "Paid": True,
    "Note": "é\U0001F3C3 <&>",
    "Id": EntityProperty(EdmType.GUID, uuid.UUID("0f8fad5b-d9cb-469f-a165-70867728950e")),
    "Photo": EntityProperty(EdmType.BINARY, b"\x00\x01\xff"),
    "Nothing": None,
}
etag = service.insert_entity("cosmosdb", ann)
for accept in ("application/json;odata=minimalmetadata", "application/json;odata=fullmetadata"):
    read = service.get_entity("cosmosdb", ann["PartitionKey"], ann["RowKey"], accept=accept)
    assert read.etag == etag and isinstance(read["Timestamp"], datetime), read
    assert read["Chip"] == ann["Chip"] and read["Share"] == 0.5 and read["Paid"] is True, read
    assert read["Infinite"] == float("inf") and read["Note"] == ann["Note"], read
    assert read["Born"] == moment and "Nothing" not in read, read
    assert read["Id"].value == str(ann["Id"].value) and read["Photo"].value == ann["Photo"].value, read
fails(409, service.insert_entity, "cosmosdb", ann)
chosen = service.get_entity("cosmosdb", ann["PartitionKey"], ann["RowKey"], select="Chip,Absent")
assert chosen["Chip"] == ann["Chip"] and "Paid" not in chosen, chosen

merged = service.merge_entity("cosmosdb", {**ann, "Chip": 5}, if_match=etag)
fails(412, service.update_entity, "cosmosdb", ann, if_match=etag)
service.update_entity("cosmosdb", {key: ann[key] for key in ("PartitionKey", "RowKey", "Paid")}, if_match=merged)
assert "Chip" not in service.get_entity("cosmosdb", ann["PartitionKey"], ann["RowKey"])
service.insert_or_merge_entity("cosmosdb", {"PartitionKey": "p", "RowKey": "r", "A": 1})
service.insert_or_replace_entity("cosmosdb", {"PartitionKey": "p", "RowKey": "r", "B": 2})
assert "A" not in service.get_entity("cosmosdb", "p", "r")
fails(404, service.get_entity, "cosmosdb", "p", "absent")
fails(404, service.delete_entity, "cosmosdb", "p", "absent")
fails(412, service.delete_entity, "cosmosdb", "p", "r", if_match=etag)
service.delete_entity("cosmosdb", "p", "r")

with service.batch("cosmosdb") as batch:
    for n in range(100):
        batch.insert_or_replace_entity({"PartitionKey": "many", "RowKey": f"{n:03}", "N": n})
batch = TableBatch()
batch.insert_entity({"PartitionKey": "many", "RowKey": "new"})
batch.insert_entity({"PartitionKey": "many", "RowKey": "000"})
# The client would send a failed batch three times more, and wait for a minute in all.
retry, service.retry = service.retry, no_retry
try:
    service.commit_batch("cosmosdb", batch)
    raise AssertionError("the batch succeeded")
except AzureHttpError as error:
    assert error.code == "EntityAlreadyExists", error
service.retry = retry
batch = TableBatch()
batch.merge_entity({"PartitionKey": "many", "RowKey": "000", "M": 1})
batch.delete_entity("many", "001")
batch.update_entity({"PartitionKey": "many", "RowKey": "002", "M": 2}, if_match="*")
assert len(service.commit_batch("cosmosdb", batch)) == 3

found = service.query_entities(
    "cosmosdb", filter="PartitionKey eq 'many' and N ge 90L", select="RowKey,N", num_results=4
)
first, marker = list(found), found.next_marker
assert [row["N"] for row in first] == [90, 91, 92, 93] and marker, (first, marker)
rest = service.query_entities("cosmosdb", filter="PartitionKey eq 'many' and N ge 90L", marker=marker)
assert [row["N"] for row in rest] == list(range(94, 100))
assert len(list(service.query_entities("cosmosdb", "PartitionKey eq 'it''s 2026'"))) == 1
assert "cosmosdb" in [table.name for table in service.list_tables()]

until = datetime.now(timezone.utc).replace(tzinfo=None) + timedelta(hours=1)
service.set_table_acl("cosmosdb", {"readers": AccessPolicy(TablePermissions.QUERY, until)})
assert service.get_table_acl("cosmosdb")["readers"].permission == "r"


def shared(**options):
    token = service.generate_table_shared_access_signature("cosmosdb", protocol="https,http", **options)
    endpoint = f"TableEndpoint={parts['TableEndpoint']};AccountName={parts['AccountName']}"
    return TableService(connection_string=f"{endpoint};SharedAccessSignature={token}")


for options, rows in [
    (dict(id="readers"), 100),
    (dict(permission=TablePermissions.QUERY, expiry=until, start_pk="many", end_pk="many"), 99),
    (dict(permission=TablePermissions.QUERY, expiry=until, start_pk="many", start_rk="090", end_pk="many", end_rk="094"), 5),
]:
    reader = shared(**options)
    assert len(list(reader.query_entities("cosmosdb"))) == rows, options
    fails(403, reader.insert_entity, "cosmosdb", {"PartitionKey": "many", "RowKey": "sas"})

properties = service.get_table_service_properties()
service.set_table_service_properties(logging=properties.logging, cors=[])
assert service.delete_table("cosmosdb") and not service.delete_table("cosmosdb")
fails(404, service.insert_entity, "cosmosdb", ann)
print("done")
