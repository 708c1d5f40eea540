import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { cellName, type CellReport, cellsOfParts } from "../../tools/testkit/wire-doors/cells.js";
import { type BuiltPrograms, buildPrograms } from "../support/built-programs.js";
import { drawnPart } from "./drawn-part.js";

// Its own process, because two of the chat models cannot be loaded as CommonJS.
const source = "tools/testkit/wire-doors/main.ts";
const { name, parts, options } = drawnPart();
const cells = cellsOfParts(parts).map(cellName);
let programs: BuiltPrograms;
let program: ChildProcess;
let lines: AsyncIterator<string>;

beforeAll(async () => {
  programs = await buildPrograms([source]);
  program = spawn(process.execPath, [programs.pathOf(source), ...options], { stdio: ["ignore", "pipe", "inherit"] });
  lines = createInterface({ input: program.stdout! })[Symbol.asyncIterator]();
});
afterAll(() => {
  program.kill();
  programs.remove();
});

/** The report of a cell; the program runs them in the order of the tests. */
async function reportOf(cell: string): Promise<CellReport> {
  for (;;) {
    const { value, done } = await lines.next();
    if (done === true) {
      throw new Error("The program ended before it had run this cell.");
    }
    const report = value.startsWith("{") ? (JSON.parse(value) as CellReport) : undefined;
    if (report?.cell === cell) {
      return report;
    }
  }
}

/**
 * Behind a prompt with a system text, where no model is in sight to merge another one into: ChatGoogleGenerativeAI
 * throws at it (langchain-ai/langgraph#2441, open).
 */
const excepted = ["recalled", "late system message"].map((operation) => `hidden/invoke/google-genai/${operation}`);
const secondSystem = "System message should be the first one";
/** Behind calls that are not its own, a ChatGoogle out of sight refuses their results: see the matrix. */
const unread = [
  "google/repair: calls by hand",
  ...["bedrock", "google", "mistral"].map((provider) => `${provider}/another provider's answers`),
  ...["bedrock/changes at random 2", "google/changes at random 2", "mistral/changes at random 1"],
].map((operation) => `hidden/invoke/${operation}`);
const resultOrder = "function response turn comes immediately after a function call turn.";

it.each(cells)(`no request is refused, and no run fails (${name}): %s`, async (cell) => {
  const { requests, ...report } = await reportOf(cell);
  const [isExcepted, isUnread] = [excepted.includes(cell), unread.includes(cell)];
  const failed = report.failed.filter(
    (failure) => !(isExcepted && failure.endsWith(secondSystem)) && !(isUnread && failure.endsWith(resultOrder)),
  );
  const refused = report.refused.filter((refusal) => !(isUnread && refusal.endsWith(": gemini/response-order")));
  expect({ ...report, failed, refused }).toEqual({ cell, refused: [], failed: [], happened: true });
  expect(report.failed.length + report.refused.length > 0).toBe(isExcepted || isUnread);
  expect(requests).toBeGreaterThan(1);
});
