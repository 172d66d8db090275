// Runs a command while Azurite runs: AZURITE among its arguments becomes the connection string.
//   node with.js cargo run --example footrace --features azure -- --azure AZURITE
const { spawn } = require("node:child_process");
const { createServer } = require("node:net");
const path = require("node:path");

const key =
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const [command, ...args] = process.argv.slice(2);
const probe = createServer().listen(0, "127.0.0.1", () => {
  const { port } = probe.address();
  probe.close(() => run(port));
});

function run(port) {
  const options = ["--tableHost", "127.0.0.1", "--tablePort", port, "--inMemoryPersistence"];
  const start = [path.join(__dirname, "start.js"), ...options, "--disableTelemetry", "--silent"];
  const azurite = spawn("node", [...start, "--skipApiVersionCheck"], {
    cwd: __dirname,
    stdio: ["pipe", "pipe", "inherit"],
  });
  let told = "";
  let started = false;
  azurite.on("exit", () => started || process.exit(1));
  azurite.stdout.on("data", (text) => {
    told += text;
    if (started || !told.includes("successfully started")) return;
    started = true;
    const endpoint = `http://127.0.0.1:${port}/devstoreaccount1`;
    const string = `AccountName=devstoreaccount1;AccountKey=${key};TableEndpoint=${endpoint};`;
    const given = args.map((text) => (text === "AZURITE" ? string : text));
    const child = spawn(command, given, { stdio: "inherit" });
    child.on("exit", (code) => {
      azurite.stdin.end();
      process.exit(code ?? 1);
    });
  });
}
