import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type BuiltPrograms, buildPrograms } from "../support/built-programs.js";

// Its own process, because two of the chat models cannot be loaded as CommonJS.
const source = "testkit/wire-matrix/main.ts";
const listed = join(__dirname, "failing-cells.json");
let programs: BuiltPrograms;

beforeAll(async () => {
  programs = await buildPrograms([source]);
});
afterAll(() => programs.remove());

it("fails in no cell of the matrix but in those that are listed, and in each of these", async () => {
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [programs.pathOf(source), "--json"], { maxBuffer: 2 ** 26 });
  // After a change for the better: `npm run check:wire -- --json` prints the new list. It may only become shorter.
  expect(JSON.parse(stdout.slice(stdout.indexOf("\n{\n") + 1))).toEqual(JSON.parse(readFileSync(listed, "utf8")));
});

it("sends the parts of answers that the table of docs/providers.md names", async () => {
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [programs.pathOf(source), "--kept"], { maxBuffer: 2 ** 26 });
  const rows = (text: string) => text.split("\n").filter((line) => line.startsWith("|"));
  const cells = (row: string) => row.split("|").map((cell) => cell.trim().replace(/^-+$/, "---"));
  const page = readFileSync(join(__dirname, "../../docs/providers.md"), "utf8");
  const documented = page.slice(0, page.indexOf("## The profile `auto`"));
  // After a change: `npm run check:wire -- --kept` prints the new table.
  expect(rows(documented).map(cells)).toEqual(rows(stdout).map(cells));
});
