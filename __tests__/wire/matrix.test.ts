import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ReplayReport } from "../../testkit/wire-matrix/replays.js";
import { type BuiltPrograms, buildPrograms } from "../support/built-programs.js";

// Its own process, because two of the chat models cannot be loaded as CommonJS.
const source = "testkit/wire-matrix/main.ts";
const listed = join(__dirname, "failing-cells.json");
let programs: BuiltPrograms;
let report: { readonly failing: unknown; readonly kept: string; readonly replays: ReplayReport };

beforeAll(async () => {
  programs = await buildPrograms([source]);
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [programs.pathOf(source), "--report"], { maxBuffer: 2 ** 26 });
  report = JSON.parse(stdout.trimEnd().split("\n").at(-1)!) as typeof report;
});
afterAll(() => programs.remove());

it("fails in no cell of the matrix but in those that are listed, and in each of these", () => {
  // After a change for the better: `npm run check:wire -- --json` prints the new list. It may only become shorter.
  expect(report.failing).toEqual(JSON.parse(readFileSync(listed, "utf8")));
});

it("sends the parts of answers that the table of docs/providers.md names", () => {
  const rows = (text: string) => text.split("\n").filter((line) => line.startsWith("|"));
  const cells = (row: string) => row.split("|").map((cell) => cell.trim().replace(/^-+$/, "---"));
  const page = readFileSync(join(__dirname, "../../docs/providers.md"), "utf8");
  const documented = page.slice(0, page.indexOf("## The profile `auto`"));
  // After a change: `npm run check:wire -- --kept` prints the new table.
  expect(rows(documented).map(cells)).toEqual(rows(report.kept).map(cells));
});

/** Untouched answers that an adapter cannot send back itself, or whose thoughts it sends so that they are refused. */
const mended: Readonly<Record<string, readonly [seeds: readonly number[], reason: string]>> = {
  "responses-v1": [[1, 2, 3], "another body"], // ChatOpenAI leaves out the ids of the items
  "anthropic-v1": [[1, 2, 3], "another body"], // ChatAnthropic sends streamed thoughts with the signature "undefined"
  "google-v1": [[1, 2, 3], "another body"], // ChatGoogle sends each call twice
  "google-genai": [[1, 2], "Error: Unknown content type inlineData"], // pictures that it made itself
};

it("sends untouched answers to their own provider byte for byte, and loses no text and no call", () => {
  const { mended: changed, equal, lost: losses } = report.replays;
  const named = Object.entries(mended).flatMap(([name, [seeds, reason]]) =>
    seeds.map((seed) => [`${name} ${seed}`, reason] as const),
  );
  expect(changed).toEqual(Object.fromEntries(named));
  expect(equal).toBe(36 - named.length);
  // ChatMistralAI 1.2 does not send the text beside calls; a streamed one may come in two blocks.
  for (const [cell, lost] of Object.entries(losses)) {
    expect([cell, lost.filter((text) => !["I look.", "I lo", "ok."].includes(text))]).toEqual([
      expect.stringMatching(/ > mistral$/),
      [],
    ]);
  }
});
