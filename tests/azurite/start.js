// Runs Azurite on free ports, which it prints, with the arguments given, until standard input ends:
// it does not outlive the tests that started it, however these end.
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
process.argv.push("--blobPort", "0", "--queuePort", "0", "--tablePort", "0");
process.argv.push("--inMemoryPersistence", "--silent", "--disableTelemetry");
process.argv.push("--skipApiVersionCheck");
require("azurite/dist/src/azurite.js");
