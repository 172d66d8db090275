// A round trip of Microsoft's JavaScript client. Argument: connection string.
import assert from "node:assert/strict";
import { TableClient, TableServiceClient, odata } from "@azure/data-tables";

const [connection] = process.argv.slice(2);
const options = { allowInsecureConnection: true };
const service = TableServiceClient.fromConnectionString(connection, options);
const people = TableClient.fromConnectionString(connection, "javascript", options);
await people.createTable();

const ann = {
  partitionKey: "it's 2026",
  rowKey: "ann",
  age: 55,
  chip: 12345678901234n,
  born: new Date("1971-02-03T04:05:06.789Z"),
  share: 0.5,
  paid: true,
  note: "é\u{1F3C3}",
  photo: Buffer.from([0, 1, 255]),
};
await people.createEntity(ann);
const read = await people.getEntity("it's 2026", "ann");
for (const name of Object.keys(ann)) {
  assert.deepEqual(read[name], ann[name], name);
}
await people.updateEntity({ partitionKey: "it's 2026", rowKey: "ann", age: 56 }, "Merge", { etag: read.etag });
await assert.rejects(people.updateEntity(ann, "Replace", { etag: read.etag }), { statusCode: 412 });
await assert.rejects(people.createEntity(ann), { statusCode: 409 });

const rows = [...Array(100).keys()].map((n) => ["upsert", { partitionKey: "many", rowKey: `${n}`.padStart(3, "0"), n }]);
assert.equal((await people.submitTransaction(rows)).status, 202);
const clash = [["create", { partitionKey: "many", rowKey: "new" }], ["create", { partitionKey: "many", rowKey: "000" }]];
await assert.rejects(people.submitTransaction(clash), { statusCode: 409 });

const found = [];
const filter = odata`PartitionKey eq ${"many"} and n ge ${90}`;
for await (const page of people.listEntities({ queryOptions: { filter, select: ["rowKey", "n"] } }).byPage({ maxPageSize: 4 })) {
  assert(page.length <= 4);
  found.push(...page.map((row) => row.n));
}
assert.deepEqual(found, [90, 91, 92, 93, 94, 95, 96, 97, 98, 99]);

await people.setAccessPolicy([{ id: "readers", accessPolicy: { permission: "r" } }]);
assert.equal((await people.getAccessPolicy())[0].id, "readers");
await people.deleteEntity("it's 2026", "ann");
await assert.rejects(people.getEntity("it's 2026", "ann"), { statusCode: 404 });
const names = [];
for await (const table of service.listTables()) names.push(table.name);
assert(names.includes("javascript"));
await service.deleteTable("javascript");
console.log("done");
