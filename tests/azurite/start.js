// Runs Azurite's table service with the arguments given, until standard input ends: it does not
// outlive the tests that started it, however these end.
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
require("azurite/dist/src/table/main.js");
