// A round trip of Microsoft's JavaScript client before `@azure/data-tables`. Argument: connection string.
const assert = require("node:assert/strict");
const { promisify } = require("node:util");
const azure = require("azure-storage");

const [connection] = process.argv.slice(2);
const tables = azure.createTableService(connection, undefined, undefined);
const call = (name, ...args) => promisify(tables[name]).apply(tables, args);
const status = async (code, name, ...args) => assert.rejects(call(name, ...args), { statusCode: code });
const value = azure.TableUtilities.entityGenerator;

async function main() {
  assert((await call("createTableIfNotExists", "storage")).created);
  assert(!(await call("createTableIfNotExists", "storage")).created);
  await status(409, "createTable", "storage");
  assert((await call("doesTableExist", "storage")).exists);

  const ann = {
    PartitionKey: value.String("it's 2026"),
    RowKey: value.String("ann+é %"),
    Age: value.Int32(55),
    Chip: value.Int64("12345678901234"),
    Born: value.DateTime(new Date("1971-02-03T04:05:06.789Z")),
    Share: value.Double(0.5),
    Paid: value.Boolean(true),
    Note: value.String("é\u{1F3C3} <&>"),
    Id: value.Guid("0f8fad5b-d9cb-469f-a165-70867728950e"),
    Photo: value.Binary(Buffer.from([0, 1, 255])),
  };
  const inserted = await call("insertEntity", "storage", ann, { echoContent: true });
  assert.equal(inserted.Note._, ann.Note._);
  const read = await call("retrieveEntity", "storage", ann.PartitionKey._, ann.RowKey._);
  for (const name of Object.keys(ann)) {
    assert.deepEqual(String(read[name]._), String(ann[name]._), name);
  }
  await status(409, "insertEntity", "storage", ann);
  const etag = read[".metadata"].etag;
  await call("mergeEntity", "storage", { ...ann, Age: value.Int32(56), ".metadata": { etag } });
  await status(412, "replaceEntity", "storage", { ...ann, ".metadata": { etag } });
  await call("replaceEntity", "storage", ann);
  await call("insertOrMergeEntity", "storage", { PartitionKey: value.String("p"), RowKey: value.String("r"), A: value.Int32(1) });
  await call("insertOrReplaceEntity", "storage", { PartitionKey: value.String("p"), RowKey: value.String("r"), B: value.Int32(2) });
  assert.equal((await call("retrieveEntity", "storage", "p", "r")).A, undefined);
  await call("deleteEntity", "storage", { PartitionKey: value.String("p"), RowKey: value.String("r") });
  await status(404, "retrieveEntity", "storage", "p", "r");

  const many = new azure.TableBatch();
  for (let n = 0; n < 100; n++) {
    many.insertOrReplaceEntity({
      PartitionKey: value.String("many"),
      RowKey: value.String(`${n}`.padStart(3, "0")),
      N: value.Int32(n),
    });
  }
  assert.equal((await call("executeBatch", "storage", many)).length, 100);
  const clash = new azure.TableBatch();
  for (const row of ["new", "000"]) {
    clash.insertEntity({ PartitionKey: value.String("many"), RowKey: value.String(row) }, { echoContent: true });
  }
  await assert.rejects(call("executeBatch", "storage", clash), { code: "EntityAlreadyExists" });
  const mixed = new azure.TableBatch();
  mixed.insertEntity({ PartitionKey: value.String("many"), RowKey: value.String("new") }, { echoContent: true });
  mixed.mergeEntity({ PartitionKey: value.String("many"), RowKey: value.String("000"), M: value.Int32(1) });
  mixed.deleteEntity({ PartitionKey: value.String("many"), RowKey: value.String("001") });
  const results = await call("executeBatch", "storage", mixed);
  assert.deepEqual(results.map((result) => result.response.statusCode), [201, 204, 204]);
  const query = new azure.TableBatch();
  query.retrieveEntity("many", "002");
  const [retrieved] = await call("executeBatch", "storage", query);
  assert.equal(retrieved.entity.N._, 2);

  const wanted = new azure.TableQuery().select(["N"]).top(4).where("PartitionKey eq ? and N ge ?", "many", 90);
  const found = [];
  let token = null;
  do {
    const page = await call("queryEntities", "storage", wanted, token);
    assert(page.entries.length <= 4);
    found.push(...page.entries.map((row) => row.N._));
    token = page.continuationToken;
  } while (token);
  assert.deepEqual(found, [90, 91, 92, 93, 94, 95, 96, 97, 98, 99]);
  const born = new azure.TableQuery().where(azure.TableQuery.dateFilter("Born", "eq", new Date("1971-02-03T04:05:06.789Z")));
  assert.equal((await call("queryEntities", "storage", born, null)).entries.length, 1);
  assert((await call("listTablesSegmented", null)).entries.includes("storage"));

  const expiry = new Date(Date.now() + 3_600_000);
  await call("setTableAcl", "storage", { readers: { Permissions: "r", Expiry: expiry } });
  assert.equal((await call("getTableAcl", "storage")).signedIdentifiers.readers.Permissions, "r");
  const rule = { AllowedOrigins: ["https://a"], AllowedMethods: ["GET"], AllowedHeaders: ["x-ms-*"], ExposedHeaders: ["*"], MaxAgeInSeconds: 5 };
  await call("setServiceProperties", { Cors: { CorsRule: [rule] } });
  assert.deepEqual((await call("getServiceProperties")).Cors.CorsRule[0].AllowedOrigins, ["https://a"]);
  await call("setServiceProperties", { Cors: {} });

  for (const [policy, count] of [
    [{ Id: "readers" }, 101],
    [{ AccessPolicy: { Permissions: "r", Expiry: expiry, StartPk: "many", EndPk: "many", StartRk: "090", EndRk: "094" } }, 5],
  ]) {
    const signature = tables.generateSharedAccessSignature("storage", policy);
    const reader = azure.createTableServiceWithSas(tables.host.primaryHost, signature);
    const rows = await promisify(reader.queryEntities).call(reader, "storage", null, null);
    assert.equal(rows.entries.length, count);
    const refused = promisify(reader.insertEntity).call(reader, "storage", ann);
    await assert.rejects(refused, { statusCode: 403 });
  }
  assert(await call("deleteTableIfExists", "storage"));
  assert(!(await call("deleteTableIfExists", "storage")));
  console.log("done");
}

main();
