/** Judges the journals that runs left, given by their folders, with the second opinion alone. Exits 1 on an anomaly. */
import { judge } from "./second-opinion/judge.js";
import { readFolder } from "./second-opinion/journals.js";
import { opinionLines } from "./opinions.js";

const folders = process.argv.slice(2);
if (folders.length === 0) {
  process.stderr.write("npm run check:faults:judge -- FOLDER ... (folders with the journals of runs)\n");
  process.exit(2);
}
let isSound = true;
for (const folder of folders) {
  const begin = performance.now();
  const opinion = judge(readFolder(folder));
  const seconds = ((performance.now() - begin) / 1_000).toFixed(1);
  isSound &&= opinion.anomalies.length === 0;
  process.stdout.write(
    `${folder}: ${seconds} s\n${opinionLines(opinion)
      .map((line) => `  ${line}\n`)
      .join("")}`,
  );
}
process.exit(isSound ? 0 : 1);
