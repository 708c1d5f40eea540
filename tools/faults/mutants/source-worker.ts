import { readFileSync } from "node:fs";
import { configureGlobal } from "fast-check";
import { SourceTests, type TestRequest } from "./source-tests.js";

const [root, texts, cache, mode] = process.argv.slice(2) as [string, string, string, string];

// A failed property has killed the mutant; a smaller input is of no use.
process.env["PROPERTY_RUNS"] ??= "0.2";
configureGlobal({ endOnFailure: true });
const tests = new SourceTests(root, JSON.parse(readFileSync(texts, "utf8")) as Record<string, string>, {
  covers: mode === "covers",
  cache,
});
process.on("message", (request: TestRequest) => {
  void tests.run(request).then((tested) => process.send?.(tested));
});
// Late errors of a change do not end the next one's run.
["uncaughtException", "unhandledRejection"].forEach((event) => process.on(event, () => undefined));
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
// One that is caught in a loop is silent.
setInterval(() => process.send?.("alive"), 500).unref();
process.send?.("alive");
