// Runs a command while Azurite runs: AZURITE among its arguments becomes the connection string of
// its table and queue services.
//   node with.js cargo run --example footrace --features azure -- --azure AZURITE
const { spawn } = require("node:child_process");
const path = require("node:path");

const key =
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const [command, ...args] = process.argv.slice(2);
const azurite = spawn("node", [path.join(__dirname, "start.js")], {
  cwd: __dirname,
  stdio: ["pipe", "pipe", "inherit"],
});
let told = "";
let started = false;
azurite.on("exit", () => started || process.exit(1));
azurite.stdout.on("data", (text) => {
  told += text;
  const tables = endpoint("Table");
  const queues = endpoint("Queue");
  if (started || !tables || !queues) return;
  started = true;
  const account = `AccountName=devstoreaccount1;AccountKey=${key}`;
  const string = `${account};TableEndpoint=${tables};QueueEndpoint=${queues};`;
  const given = args.map((text) => (text === "AZURITE" ? string : text));
  const child = spawn(command, given, { stdio: "inherit" });
  child.on("exit", (code) => {
    azurite.stdin.end();
    process.exit(code ?? 1);
  });
});

function endpoint(service) {
  const said = new RegExp(`${service} service is successfully listening at (\\S+)\\n`).exec(told);
  return said && `${said[1]}/devstoreaccount1`;
}
